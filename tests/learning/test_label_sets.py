"""Sets of labels per node."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError
from heatgraph.learning._label_sets import LabelSets, label_set_nodes


@pytest.mark.parametrize(
    "y",
    [
        [["b", "a"], None, []],
        [{"a", "b"}, np.nan, set()],
        [("a", "b", "a"), pd.NA, ()],
        pd.Series([np.array(["a", "b"]), None, []]),
    ],
)
def test_lists_of_labels(y):
    sets = LabelSets.read(y, 3)
    assert sets.labels.tolist() == ["a", "b"]
    assert_array_equal(sets.indicators, [[1, 1], [0, 0], [0, 0]])
    assert sets.known.tolist() == [True, False, True]


def test_a_list_of_lists_is_no_matrix():
    assert LabelSets.read([[0, 1], [1]], 2).labels.tolist() == [0, 1]
    assert_array_equal(LabelSets.read([[0, 1], [1, 1]], 2).indicators, [[1, 1], [0, 1]])


@pytest.mark.parametrize("make", [np.array, sp.csr_array, lambda Y: np.array(Y, dtype=bool)])
def test_matrices(make):
    sets = LabelSets.read(make([[0, 1, 0], [1, 1, 0]]), 2)
    assert sets.labels.tolist() == [0, 1, 2]
    assert_array_equal(sets.indicators, [[0, 1, 0], [1, 1, 0]])
    assert sets.known.all()


def test_rows_of_nan_are_unlabelled():
    sets = LabelSets.read(np.array([[0, 1], [np.nan, np.nan]]), 2)
    assert sets.known.tolist() == [True, False]


def test_a_data_frame_names_the_labels():
    frame = pd.DataFrame({"x": [1, 0], "a": [1, 1]})
    sets = LabelSets.read(frame, 2)
    assert sets.labels.tolist() == ["x", "a"]
    assert_array_equal(sets.of_classes(np.array(["a", "b", "x"])), [[1, 0, 1], [1, 0, 0]])
    twice = pd.DataFrame([[1, 0], [0, 1]], columns=["a", "a"])
    with pytest.raises(InputError, match="'a' is repeated"):
        LabelSets.read(twice, 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (3, "Got int"),
        (["a", "b"], r"Entry 0 is 'a', a str: write \['a'\]"),
        ([1, 2], "Entry 0 is 1, a int"),
        ([["a"]], "2 entries in all. Got 1"),
        ([["a", None], ["b"]], r"missing values among the labels.*Node 0 has \['a', None\]"),
        ([[["a"]], []], "cannot be compared"),
        (np.array([[0, 2], [1, 0]]), r"Row 0, column 1 is 2 \(1 such in all\)"),
        (np.array([[0, np.nan], [1, 0]]), "Row 0, column 1 is nan"),
        (np.array([["x", "y"], ["z", "w"]]), "The matrix has could not convert"),
        (np.zeros((3, 2)), r"2 rows and a column per label. Got shape \(3, 2\)"),
        (np.zeros((2, 0)), r"Got shape \(2, 0\)"),
    ],
)
def test_other_values_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        LabelSets.read(y, 2)


@pytest.mark.parametrize(
    "y",
    [[["a"], ["a\0"]], pd.DataFrame(np.eye(2, dtype=int), columns=["a", "a\0"])],
    ids=["lists", "data frame"],
)
def test_null_characters_at_the_end_of_a_label_count(y):
    sets = LabelSets.read(y, 2)
    assert sets.labels.tolist() == ["a", "a\0"]
    assert_array_equal(sets.of_classes(sets.labels), np.eye(2))


def test_nodes_without_labels_are_named():
    sets = LabelSets.read([["a"], None, []], 3)
    with pytest.raises(InputError, match=r"train names nodes without labels. Node 1 has none"):
        sets.labelled([0, 1], "train")


def test_columns_without_training_nodes_are_kept_of_a_matrix():
    sets = LabelSets.read(np.array([[1, 0], [0, 0], [0, 1]]), 3)
    with pytest.warns(UserWarning, match="have no training node"):
        train, val, classes = label_set_nodes(sets, [0, 1], [2])
    assert (train.tolist(), val.tolist(), classes.tolist()) == ([0, 1], [2], [0, 1])
