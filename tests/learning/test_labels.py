import numpy as np
import pytest

from heatgraph.errors import InputError, UnknownClassWarning
from heatgraph.learning._labels import Labels, training_nodes


class NAType:
    """What pandas' missing value is called."""


@pytest.mark.parametrize(
    ("y", "known", "classes"),
    [
        ([3, 7, -1, 3], [1, 1, 0, 1], [3, 7]),
        (np.array([3, 7, 0], dtype=np.uint8), [1, 1, 1], [0, 3, 7]),
        ([1.0, np.nan, -1.0, 4.0], [1, 0, 0, 1], [1.0, 4.0]),
        ([True, False, True], [1, 1, 1], [False, True]),
        ([True, None, False], [1, 0, 1], [False, True]),
        (["b", "a", "b"], [1, 1, 1], ["a", "b"]),
        (["b", None, "a", float("nan"), NAType()], [1, 0, 1, 0, 0], ["a", "b"]),
        ([5, None, 2, -1], [1, 0, 1, 0], [2, 5]),
        (["-1", "", "x"], [1, 1, 1], ["", "-1", "x"]),
        (["a", "b", float("nan"), -1], [1, 1, 0, 0], ["a", "b"]),
        ([True, False, -1], [1, 1, 0], [False, True]),
        ([2**53, 2**53 + 1, float("nan")], [1, 1, 0], [2**53, 2**53 + 1]),
        ((2**63, 2**63 + 1, -1), [1, 1, 0], [2**63, 2**63 + 1]),
    ],
)
def test_labels_of_any_kind(y, known, classes):
    labels = Labels.read(y, len(y))
    assert labels.known.tolist() == [bool(k) for k in known]
    nodes = np.flatnonzero(labels.known)
    found = labels.classes(nodes)
    assert found.tolist() == classes
    assert found.dtype != object
    codes = labels.encode(found, nodes)
    assert [found.tolist()[c] for c in codes] == [y[i] for i in nodes]


@pytest.mark.parametrize("dtype", ["Int64", "category", "string", "boolean", "int64", "float64"])
def test_labels_from_pandas(dtype):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    values = {
        "Int64": [2**62 + 1, 3],
        "category": ["b", "a"],
        "string": ["b", "a"],
        "boolean": [True, False],
        "int64": [4, 2],
        "float64": [4.0, 2.0],
    }[dtype]
    series = pandas.Series([*values, values[0]], dtype=dtype)
    if dtype != "int64":
        series = series.where([True, True, False])
    labels = Labels.read(series, 3)
    assert labels.known.tolist() == [True, True, dtype == "int64"]
    classes = labels.classes(np.array([0, 1]))
    assert classes.tolist() == sorted(values)
    assert [type(value) for value in classes.tolist()] == [type(value) for value in values]


def test_mixed_labels_come_back_unchanged():
    labels = Labels.read([3, 7, "x", 3], 4)
    classes = labels.classes(np.arange(4))
    assert classes.tolist() == [3, 7, "x"]
    assert labels.encode(classes, np.arange(4)).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("y", [["a", "a\0", "b"], np.array(["a", "a\0", "b"], dtype=object)])
def test_null_characters_at_the_end_of_a_label_count(y):
    """NumPy's arrays of text drop them."""
    labels = Labels.read(y, 3)
    classes = labels.classes(np.arange(3))
    assert classes.tolist() == ["a", "a\0", "b"]
    assert labels.encode(classes, np.arange(3)).tolist() == [0, 1, 2]


def test_a_label_that_is_no_class_is_encoded_as_minus_one():
    assert Labels.read([1, 2, 3], 3).encode(np.array([1, 3]), np.arange(3)).tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "the target y is None. Give one label per node"),
        ([1, 2], r"one label per node, 3 in all .*Got shape \(2,\)"),
        (np.eye(3), r"one label per node.*Got shape \(3, 3\)"),
        ([0.5, None, 2.5], "Unknown label type: continuous; entry 0 is 0.5 \\(2 such"),
        ([0.5, 1.0, 2.5], "Unknown label type: continuous; entry 0 is 0.5 \\(2 such"),
        (np.array(["2020-01-01"] * 3, dtype="datetime64[D]"), "numbers, strings or booleans"),
        (np.array([1, 2, 3], dtype=complex), "numbers, strings or booleans"),
    ],
)
def test_invalid_labels_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        Labels.read(y, 3)


def test_labels_that_cannot_be_compared():
    y = np.empty(2, dtype=object)
    y[:] = [[1], [2]]
    with pytest.raises(InputError, match="cannot be compared"):
        Labels.read(y, 2).classes(np.arange(2))


Y = np.array([0, 1, 0, 1, 2, -1, 2])


def read(train=None, val=None, y=Y):
    return training_nodes(Labels.read(y, len(y)), train, val)


def test_training_nodes_by_default_are_all_labelled_ones():
    train, val = read()
    assert train.tolist() == [0, 1, 2, 3, 4, 6]
    assert val is None


def test_validation_nodes_are_not_trained_on():
    train, val = read(val=[6, 0])
    assert train.tolist() == [1, 2, 3, 4]
    assert val.tolist() == [6, 0]


def test_masks_and_indices_are_the_same():
    mask = np.isin(np.arange(7), [0, 1, 4])
    assert read(train=mask)[0].tolist() == read(train=[0, 1, 4])[0].tolist() == [0, 1, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"train": [0, 2]}, "one class only: all 2 have the label 0.*-1 and 1"),
        ({"train": []}, "train names no node"),
        ({"train": np.zeros(7, dtype=bool)}, "train names no node"),
        ({"y": [-1, None, np.nan]}, "y has no label left to learn from"),
        ({"val": []}, "val names no node. Leave it out"),
        ({"train": [0, 1, 2], "val": [2, 1, 3]}, "overlap in 2 nodes, the first of them 1"),
        ({"train": [0, 1, 5]}, r"train names nodes without a label. Node 5 has .*-1.* \(1 such"),
        ({"train": [0, 1], "val": [5]}, "val names nodes without a label"),
        ({"train": [0, 1, 0]}, "train must name each node once. Node 0"),
        ({"train": [0, 1], "val": [2, 2]}, "val must name each node once. Node 2"),
        ({"train": [True, False]}, "train is a mask of 2 entries, but the graph has 7 nodes"),
        ({"train": [0, 1, 1, 0, 1, 0, 1]}, "looks like a mask"),
        ({"train": [0, 7]}, "node 7 is outside 0..6"),
        ({"val": [0.5]}, "val must be integers or a boolean mask"),
    ],
)
def test_invalid_training_and_validation_nodes_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        read(**arguments)


def test_classes_without_training_nodes_are_listed():
    with pytest.warns(UnknownClassWarning, match="1 of the classes in y .* never predicted: 2"):
        read(train=[0, 1], val=[4])
    many = np.repeat(np.arange(20), 2)
    with pytest.warns(UnknownClassWarning, match="18 of the .*: 2, 3, .*11, ...."):
        read(train=[0, 2], y=many)
