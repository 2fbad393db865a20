"""Columns of targets: which task they suggest, how they are read, and what is refused."""

import re

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError
from heatgraph.tables.from_tables import from_tables, read_tables
from heatgraph.tables.options import TableOptions

NO_EDGES = {"source": [], "target": []}


def read(values, task="auto", write_csv=None):
    """Read a column of a data frame, or of a CSV file."""
    if write_csv is None:
        nodes = pa.table({"id": range(len(values)), "label": values})
    else:
        rows = [f'{at},"{value}"\n' for at, value in enumerate(values)]
        nodes = write_csv("id,label\n" + "".join(rows))
    result = read_tables(nodes, NO_EDGES, TableOptions(task=task))
    return result.dataset, " ".join(result.notes)


@pytest.mark.parametrize(
    ("values", "task", "note"),
    [
        ([["a"], ["b", "a"], None], "multilabel", "has lists: several labels per node"),
        (["a", "b", None], "classification", ""),
        ([1, 2, None], "classification", ""),
        ([True, False, None], "classification", ""),
        ([1.0, 2.0, None], "classification", ""),
        ([0.5, 2.0, None], "regression", "2 distinct numbers, such as 0.5: read as numbers"),
        (np.arange(764) ** 2, "regression", "764 distinct integers from 0 to 582,169, most of"),
        (np.arange(764).repeat(6), "classification", "764 .* 5 nodes and more: read as classes. `"),
        (np.arange(764.0), "regression", "764 distinct integers"),
        (np.arange(100), "regression", "100 distinct integers"),
        (np.arange(19), "classification", ""),
        (np.arange(50).repeat(2), "classification", ""),
    ],
)
def test_the_task_is_guessed_and_told(values, task, note):
    data, notes = read(values)
    assert data.task == task
    assert re.search(note, notes) if note else not notes


@pytest.mark.parametrize(
    ("texts", "task", "note"),
    [
        (["[1, 2]", "", "[]"], "multilabel", "has lists"),
        (["a", "b", ""], "classification", ""),
        (["1.5", "2", ""], "classification", ""),
        ([f"{at}.5" for at in range(30)], "regression", "30 distinct values, most of them numbers"),
        ([str(at) for at in range(300)], "regression", "300 distinct integers from 0 to 299"),
        (["a|b", "b", "a"], "classification", "has '|' within labels.*--task multilabel"),
    ],
)
def test_the_task_of_a_csv_file(write_csv, texts, task, note):
    data, notes = read(texts, write_csv=write_csv)
    assert data.task == task
    assert re.search(note, notes) if note else not notes


def test_numbers_are_floats_with_nan():
    data, _ = read([1.5, None, -1.0], "regression")
    assert_array_equal(data.labels, [1.5, np.nan, -1])
    assert data.labelled.tolist() == [True, False, True]
    assert data.statistics["labelled"] == 2
    assert "classes" not in data.statistics


def test_numbers_of_a_csv_file(write_csv):
    data, _ = read(["1e3", "", " -2 ", "nan", "NA"], "regression", write_csv)
    assert_array_equal(data.labels, [1000, np.nan, -2, np.nan, np.nan])


def test_an_empty_column_has_no_numbers():
    assert np.isnan(read(pa.nulls(2), "regression")[0].labels).all()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (['[""a"", ""b""]', "", "[]"], [("a", "b"), None, ()]),
        (["['a, b', 'c']", "[a, b]", "[1, 2]"], [("a, b", "c"), ("a", "b"), (1, 2)]),
        (["a|b", "c", ""], [("a", "b"), ("c",), None]),
        (["a; b", "c", "a;a"], [("a", "b"), ("c",), ("a",)]),
        (["a, b", "c", "a"], [("a", "b"), ("c",), ("a",)]),
        (["a", "b", "b"], [("a",), ("b",), ("b",)]),
    ],
)
def test_lists_of_a_csv_file(write_csv, texts, expected):
    data, _ = read(texts, "multilabel", write_csv)
    assert data.labels.tolist() == expected
    assert data.labelled.tolist() == [one is not None for one in expected]


@pytest.mark.parametrize(
    ("texts", "task", "message"),
    [
        (["1.5", "abc", "x"], "regression", r"line 3: column 'label' has 'abc' among numbers \(2"),
        (["1.5", "2", "inf"], "regression", r"line 4: column 'label' is infinite \(1 such"),
        (["a|b", "a||b", "c"], "multilabel", "line 3: column 'label' has '' among the labels"),
        (
            ["[[1]]", "[2]", "[]"],
            "multilabel",
            r"line 2: column 'label' has \[1\] among the",
        ),
        (["[null]", "[2]", "[]"], "multilabel", "line 2: column 'label' has None among"),
    ],
)
def test_bad_cells_are_refused_with_their_line(write_csv, texts, task, message):
    with pytest.raises(InputError, match=message):
        read(texts, task, write_csv)


def test_a_faulty_column_of_numbers_is_no_column_of_classes(write_csv):
    texts = [f"{at}.5" for at in range(30)] + ["12,3"]
    with pytest.raises(InputError, match="line 32: column 'label' has '12,3' among numbers"):
        read(texts, write_csv=write_csv)


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ([["a"], ["b"]], "regression", "must be numeric for a regression, and has type list"),
        ([1.5, 2.5], "multilabel", "must be lists or text, and column 'label' has type double"),
        ([1.5, 2.5], "classification", "or predict numbers: the task regression"),
        ([np.inf, 2.5], "regression", "is infinite"),
        (["1,5", "2,5"], "regression", r"Set decimal \(--decimal\) to ',' to read '1,5' as 1.5."),
    ],
)
def test_columns_of_another_type_are_refused(values, task, message):
    with pytest.raises(InputError, match=message):
        read(values, task)


def test_the_task_must_be_known():
    with pytest.raises(InputError, match="task must be one of 'classification', 'multilabel'"):
        from_tables({"id": [1]}, NO_EDGES, task="ranking")


def test_training_nodes_of_a_split_need_a_number():
    nodes = {"id": [1, 2], "label": [1.5, None], "split": ["train", "val"]}
    with pytest.raises(InputError, match="the split is 'val', and there is no label"):
        from_tables(nodes, NO_EDGES, task="regression")


def test_minus_one_is_a_number():
    nodes = {"id": [1, 2], "label": [-1.0, 1.5], "split": ["train", "test"]}
    data = from_tables(nodes, NO_EDGES, task="regression")
    train, val, test = data.partition()
    assert (train.tolist(), val, test.tolist()) == ([0], None, [1])


def test_texts_that_mean_no_label(write_csv):
    nodes = write_csv("id,label\n1,1.5\n2,?\n3,2.5\n")
    data = from_tables(nodes, NO_EDGES, task="regression", unlabelled="?")
    assert_array_equal(data.labels, [1.5, np.nan, 2.5])
    data = from_tables(
        write_csv("id,label\n1,a|b\n2,?\n"), NO_EDGES, task="multilabel", unlabelled="?"
    )
    assert data.labels.tolist() == [("a", "b"), None]


@pytest.mark.parametrize(("task", "first"), [("regression", 1.5), ("multilabel", ("x",))])
def test_nodes_that_edges_add_are_unlabelled(task, first):
    label = [1.5, 2.5] if task == "regression" else [["x"], ["y"]]
    nodes, edges = {"id": ["a", "b"], "label": label}, {"source": ["a"], "target": ["new"]}
    data = from_tables(nodes, edges, task=task, unknown_edges="add")
    assert data.labels[0] == first
    assert data.labelled.tolist() == [True, True, False]


@pytest.mark.parametrize(("decimal", "mark"), [(".", ","), (",", ".")])
@pytest.mark.parametrize("task", ["auto", "regression"])
def test_numbers_with_marks_between_groups_of_digits(write_csv, decimal, mark, task):
    rows = [f'{at},"{at}{mark}250{decimal}5"\n' for at in range(1, 60)]
    nodes = write_csv("id,price\n" + "".join(rows) + "60,\n")
    options = TableOptions(label="price", task=task, decimal=decimal)
    data = read_tables(nodes, NO_EDGES, options).dataset
    assert data.task == "regression"
    assert_array_equal(data.labels, [*(1000 * at + 250.5 for at in range(1, 60)), np.nan])


@pytest.mark.parametrize(
    ("label", "remedy"),
    [
        ("{},250", "Set decimal (--decimal) to '.' to read '1,250' as 1250."),
        ("{},5", "Set decimal (--decimal) to ',' to read '1,5' as 1.5."),
        ("${},250", "Numbers must be written without currencies and units."),
        ("Ann{}", "Name another column (--label)"),
    ],
)
def test_labels_that_hardly_two_nodes_share_are_refused(label, remedy):
    labels = [label.format(at) for at in range(1, 30)]
    with pytest.raises(InputError, match="has 29 distinct labels at 30 nodes") as error:
        read([*labels, labels[0], None])
    assert remedy in str(error.value)
    assert read([*labels, None], "classification")[0].task == "classification"
    assert read(labels * 2)[0].task == "classification"
    assert read(labels[:19])[0].task == "classification"
