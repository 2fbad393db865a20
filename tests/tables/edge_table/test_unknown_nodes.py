"""Edges whose ends the node table lacks."""

import numpy as np
import pytest
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.tables.from_tables import from_tables, read_tables
from heatgraph.tables.options import TableOptions

NODES = {
    "id": ["a", "b", "c"], "label": ["u", None, "w"], "split": ["train", None, "test"],
    "x": [1.0, 2.0, 3.0],
}  # fmt: skip
EDGES = {
    "source": ["a", "x", "b", "y", "c"], "target": ["b", "a", "c", "z", "y"],
    "weight": [1.0, 2.0, 3.0, 4.0, 5.0],
}  # fmt: skip


def read(nodes=NODES, edges=EDGES, **options):
    return read_tables(nodes, edges, TableOptions(**options))


def test_an_error_by_default():
    with pytest.raises(InputError, match=r"edges, row 1 .*'x' in column 'source' is not an id"):
        from_tables(NODES, EDGES)


def test_drop():
    result = read(unknown_edges="drop")
    graph = result.dataset.graph
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 3], [0, 3, 0]]
    assert result.num_edge_rows == 5
    assert result.notes == ["edges: dropped 3 rows with 3 ids that nodes lacks ('x', 'y', 'z')"]


def test_errors_about_rows_that_are_kept_have_their_place():
    edges = EDGES | {"weight": [1.0, 2.0, -3.0, 4.0, 5.0]}
    with pytest.raises(InputError, match=r"edges, row 2 \(counted from 0\): weight -3"):
        read(edges=edges, unknown_edges="drop")


def test_add():
    result = read(unknown_edges="add")
    data = result.dataset
    assert data.graph.node_ids.tolist() == ["a", "b", "c", "x", "y", "z"]
    assert data.graph.features.tolist() == [[1], [2], [3], [0], [0], [0]]
    assert data.labels.tolist() == ["u", None, "w", None, None, None]
    assert data.split.train.tolist() == [0]
    A = data.graph.adjacency.toarray()
    assert (A[3, 0], A[4, 5], A[2, 4]) == (2, 4, 5)
    assert result.notes == [
        "edges: added 3 nodes that nodes lacks ('x', 'y', 'z'), without labels; their features are "
        "0"
    ]


def test_added_ids_stay_integers_if_all_are():
    graph = from_tables(
        {"id": [1, 2]}, {"source": [1, 3], "target": [2, 1]}, unknown_edges="add"
    ).graph
    assert graph.node_ids.tolist() == [1, 2, 3]
    edges = {"source": ["1", "x"], "target": ["2", "1"]}
    graph = from_tables({"id": [1, 2]}, edges, unknown_edges="add").graph
    assert graph.node_ids.tolist() == ["1", "2", "x"]
    assert graph.adjacency.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


def test_sparse_features_and_integer_labels():
    nodes = {"id": [1, 2], "label": [5, 6]}
    edges = {"source": [1, 3], "target": [2, 1]}
    data = from_tables(nodes, edges, features=sp.eye_array(2, 30), unknown_edges="add")
    assert data.graph.features.toarray().tolist() == [*np.eye(2, 30).tolist(), [0] * 30]
    assert data.labels.tolist() == [5, 6, None]


@pytest.mark.parametrize("how", ["drop", "add"])
def test_nothing_unknown(how):
    edges = {"source": ["a"], "target": ["b"]}
    assert read(edges=edges, unknown_edges=how).notes == []


def test_wrong_choice():
    with pytest.raises(InputError, match="unknown_edges must be one of 'error', 'drop', 'add'"):
        from_tables(NODES, EDGES, unknown_edges="ignore")
