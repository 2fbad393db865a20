"""Tables of nodes that join a known graph."""

import numpy as np
import pyarrow as pa
import pytest

from heatgraph import DGCClassifier, Graph
from heatgraph.errors import InputError
from heatgraph.tables.from_tables import from_tables
from heatgraph.tables.new_nodes import read_new_node_tables
from heatgraph.tables.options import TableOptions


def known(ids=("a", "b", "c")):
    return Graph.from_edges([0], [1], features=np.eye(3), node_ids=ids, symmetrize="max")


NODES = {"id": ["x", "y"], "f0": [1.0, 0.0], "f1": [0.0, 2.0], "f2": [0.0, 1.0]}


def read(edges, graph=None, nodes=NODES, **options):
    graph = known() if graph is None else graph
    return read_new_node_tables(nodes, edges, graph, TableOptions(label="", split="", **options))


def test_edges_refer_to_known_and_to_new_ids():
    found = read({"source": ["x", "b", "y"], "target": ["a", "x", "y"]})
    pairs = {frozenset(pair) for pair in found.edges.tolist()}
    assert pairs == {frozenset("xa"), frozenset("bx"), frozenset("y")}
    assert found.weight is None
    grown = known().with_nodes(**found.arguments(known()))
    assert grown.names.tolist() == ["a", "b", "c", "x", "y"]
    assert grown.num_edges == 4
    np.testing.assert_array_equal(grown.features[3:], [[1, 0, 0], [0, 2, 1]])


def test_weights_and_directions_follow_the_options():
    edges = {"source": ["x", "a"], "target": ["a", "x"], "weight": [2.0, 3.0]}
    assert read(edges).weight.tolist() == [3]
    assert read(edges, directed="sum").weight.tolist() == [5]
    with pytest.raises(InputError, match="has no counterpart of equal weight"):
        read(edges, directed="refuse")


def test_numbers_and_strings_are_the_same_ids():
    found = read({"source": ["x"], "target": ["20"]}, known((10, 20, 30)))
    assert found.edges.tolist() == [[20, "x"]]
    numbered = NODES | {"id": [7, 8]}
    found = read({"source": [7], "target": [8]}, known((10, 20, 30)), numbered)
    assert found.edges.tolist() == [[7, 8]]
    with pytest.raises(InputError, match="node 7 is in the graph already"):
        read({"source": [7], "target": [8]}, known(("7", "b", "c")), numbered)


def test_a_graph_without_ids_is_referred_to_by_index():
    graph = Graph.from_edges([0], [1], features=np.eye(3), symmetrize="max")
    found = read({"source": ["x", "y"], "target": ["0", "x"]}, graph)
    assert sorted(found.edges.tolist()) == [[0, 3], [3, 4]]
    assert found.arguments(graph)["node_ids"] is None


def test_edges_between_known_nodes_are_refused():
    with pytest.raises(InputError, match="edge 'a' - 'c' is between known nodes .1 such in all"):
        read({"source": ["x", "c"], "target": ["a", "a"]})


def test_unknown_ids_are_no_new_nodes():
    edges = {"source": ["x", "ghost"], "target": ["a", "x"]}
    assert len(read(edges, unknown_edges="drop").edges) == 1
    with pytest.raises(InputError, match="cannot be 'add' for new nodes"):
        read(edges, unknown_edges="add")


def test_features_of_new_nodes_from_a_table_without_edges():
    """As docs/classifier.md does it in Python: the same as tables of all nodes and edges."""
    random = np.random.default_rng(0)
    plans, ids = np.array(["free", "pro"]), [f"n{at}" for at in range(60)]
    nodes = pa.table({"id": ids, "label": plans[np.arange(60) % 2],
                      "plan": random.choice(plans, 60), "age": random.normal(size=60)})  # fmt: skip
    ends = [(f"n{at}", f"n{(at + 2) % 60}") for at in range(60)]
    edges = {"source": [a for a, _ in ends], "target": [b for _, b in ends]}
    data = from_tables(nodes, edges)
    clf = DGCClassifier(T=2.0, weight_decay=1e-3).fit(data.graph, data.labels)
    new_nodes = {"id": ["x", "y"], "plan": ["pro", "free"], "age": [0.5, -1.0]}
    new_edges = {"source": ["x", "y"], "target": ["n3", "n8"]}
    no_edges = {"source": [], "target": []}
    X_new = from_tables(new_nodes, no_edges, model=clf).graph.features
    pairs = zip(new_edges["source"], new_edges["target"], strict=True)
    found = clf.predict_proba_new(X_new, pairs, node_ids=new_nodes["id"])
    every = {name: [*nodes[name].to_pylist(), *new_nodes[name]] for name in new_nodes}
    every_edge = {name: [*edges[name], *new_edges[name]] for name in edges}
    full = from_tables(every, every_edge, model=clf).graph
    np.testing.assert_allclose(found, clf.predict_proba(full, [60, 61]), atol=1e-5)
