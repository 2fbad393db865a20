"""Graphs that grow by nodes and edges: as if they had been built at once."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import adjacencies, seeds

from heatgraph import Graph
from heatgraph.errors import InputError


def path(n=4, **options):
    return Graph.from_edges(range(n - 1), range(1, n), num_nodes=n, symmetrize="max", **options)


def assert_same(found, expected):
    for name in ("indptr", "indices"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype
        assert not getattr(found, name).flags.writeable
    assert (found.weights is None) == (expected.weights is None)
    if found.weights is not None:
        np.testing.assert_array_equal(found.weights, expected.weights)
    assert sp.issparse(found.features) == sp.issparse(expected.features)
    if found.features is not None:
        difference = found.features - expected.features
        assert abs(difference).max() == 0
    assert found.feature_names == expected.feature_names
    assert found.names.tolist() == expected.names.tolist()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@given(adjacencies(10), st.booleans(), seeds)
def test_a_grown_graph_is_one_that_was_built_at_once(kind, A, named, seed):
    random = np.random.default_rng(seed)
    A = np.pad(A, ((1, 0), (1, 0)))
    n = len(A)
    R = random.integers(1, n)
    X = random.normal(size=(n, 2))
    X = sp.csr_array(X) if kind == "sparse" else X
    ids = np.array([f"n{v}" for v in range(n)]) if named else None
    whole = Graph(A, X, ids, feature_names=["a", "b"])
    before = whole.subgraph(np.arange(n - R))
    state = before.indices.copy()
    upper = sp.coo_array(np.triu(A))
    joins = upper.col >= n - R
    ends = np.stack([upper.row[joins], upper.col[joins]], axis=1)
    flipped = random.random(len(ends)) < 0.5
    ends[flipped] = ends[flipped][:, ::-1]
    order = random.permutation(len(ends))
    edges = ids[ends] if named else ends
    new = np.arange(n - R, n)
    given_form = X[new] if kind == "dense" else X[new].toarray()
    grown = before.with_nodes(
        given_form, edges[order], upper.data[joins][order], ids[new] if named else None
    )
    assert_same(grown, whole)
    np.testing.assert_array_equal(before.indices, state)
    assert before.num_nodes == n - R


@given(adjacencies(10), seeds)
def test_edges_are_added(A, seed):
    random = np.random.default_rng(seed)
    whole = Graph(A)
    upper = np.triu(A)
    kept = np.where(random.random(A.shape) < 0.5, upper, 0)
    before = Graph(kept + np.triu(kept, 1).T)
    missing = sp.coo_array(upper - kept)
    pairs = list(zip(missing.row.tolist(), missing.col.tolist(), strict=True))
    assert_same(before.with_edges(pairs, missing.data), whole)


def test_unweighted_graphs_stay_unweighted():
    grown = path().with_nodes(num_nodes=2, edges=[(4, 0), (0, 4), (5, 5)])
    assert grown.weights is None
    assert grown.num_self_loops == 1
    assert grown.num_duplicates == 1
    assert path().with_edges([(0, 1), (3, 0)]).weights is None
    assert path().with_edges([]).num_edges == 3
    assert path().with_nodes(num_nodes=1).num_isolated == 1


def test_duplicates_are_merged_as_told():
    weighted = path().with_edges([(0, 2)], [0.5])
    np.testing.assert_array_equal(weighted.degrees, [1.5, 2, 2.5, 1])
    for how, expected in (("sum", 0.75), ("max", 0.5)):
        again = weighted.with_edges([(2, 0)], [0.25], duplicates=how)
        assert again.adjacency[0, 2] == expected
        again = weighted.with_nodes(
            num_nodes=1, edges=[(4, 0), (0, 4)], weight=[0.25, 0.5], duplicates=how
        )
        assert again.adjacency[0, 4] == expected
    assert weighted.with_edges([(0, 2)], [0.5]).adjacency[0, 2] == 0.5
    with pytest.raises(InputError, match="edge 0 - 2 is known with weight 0.5, and given with 1"):
        weighted.with_edges([(2, 0)])
    with pytest.raises(InputError, match="duplicates must be one of"):
        weighted.with_edges([(2, 0)], duplicates="min")
    # An edge of weight zero is none.
    assert weighted.with_edges([(0, 3)], [0.0]).num_edges == weighted.num_edges


def test_ids_are_kept_and_extended():
    graph = path(node_ids=["a", "b", "c", "d"])
    grown = graph.with_nodes(num_nodes=1, node_ids=["long name"], edges=[("d", "long name")])
    assert grown.names.tolist() == ["a", "b", "c", "d", "long name"]
    mixed = graph.with_nodes(num_nodes=1, node_ids=[7], edges=[(7, "a")])
    assert mixed.names.tolist() == ["a", "b", "c", "d", 7]
    numbers = path(node_ids=[10, 20, 30, 40]).with_nodes(node_ids=[5], edges=[(5, 20)])
    assert numbers.names.tolist() == [10, 20, 30, 40, 5]
    assert numbers.adjacency[4, 1] == 1
    again = grown.with_nodes(node_ids=["e"], edges=[("long name", "e")])
    assert again.adjacency[4, 5] == 1
    assert graph.with_edges([("a", "d")]).names.tolist() == ["a", "b", "c", "d"]


def test_a_grown_graph_has_an_order_of_its_own():
    graph = path()
    graph.cache["order"] = np.arange(4)
    assert graph.with_nodes(num_nodes=1).cache == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "the number of new nodes is unknown"),
        ({"num_nodes": 0}, "num_nodes must be an integer >= 1"),
        ({"node_ids": []}, "at least one new node"),
        ({"node_ids": ["e", "e"]}, "distinct and hashable"),
        ({"node_ids": ["e", "b", "c"]}, "Entry 1 is 'b', which is in the graph .2 such in all."),
        ({"num_nodes": 2, "node_ids": ["e"]}, "one entry per node, 2"),
        ({"num_nodes": 1}, "the graph has node_ids: give node_ids="),
        ({"node_ids": ["e"], "features": np.ones((1, 2))}, "the graph's 0 features. Got 2"),
        ({"node_ids": ["e"], "edges": [("e", "zz")]}, "edge 0: target node 'zz' is neither"),
        ({"node_ids": ["e"], "edges": [("a", "b")]}, "Edge 0, 'a' - 'b', is between known nodes"),
        ({"node_ids": ["e"], "edges": [("e", ["a"])]}, "pairs of node ids: unhashable"),
        ({"node_ids": ["e"], "edges": ["eab"]}, "Edge 0 is"),
        ({"node_ids": ["e"], "edges": 3}, "edges must be pairs of nodes"),
        ({"node_ids": ["e"], "edges": np.ones(3)}, r"\(m, 2\). Got shape \(3,\)"),
        ({"node_ids": ["e"], "edges": [("e", "a")], "weight": ["x"]}, "weight must be real"),
        ({"node_ids": ["e"], "edges": [("e", "a")], "weight": [np.inf]}, "'a' - 'e', has inf"),
        (
            {"node_ids": ["e"], "edges": [("e", "a"), ("a", "e")], "weight": [1, 2]},
            "edge 'a' - 'e' is given several times",
        ),
    ],
)
def test_bad_growth_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        path(node_ids=["a", "b", "c", "d"]).with_nodes(**arguments)


def test_indices_are_integers_in_range():
    with pytest.raises(InputError, match="pairs of integers, since the graph has no node_ids"):
        path().with_edges([("a", "b")])
    with pytest.raises(InputError, match="edge 1: target node 4 is neither in the graph nor new"):
        path().with_edges([(0, 2), (1, 4)])
    with pytest.raises(InputError, match="add up to infinity"):
        path().with_edges([(0, 2), (0, 3)], [1.5e308, 1.5e308])


def test_a_graph_that_keeps_directions_is_refused():
    graph = Graph.from_edges([0, 1], [1, 2], num_nodes=3, symmetrize="max", directed=True)
    with pytest.raises(InputError, match="keeps the directions of its edges cannot grow"):
        graph.with_nodes(num_nodes=1)
