"""Edges between nodes of similar features."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import seeds

import heatgraph as hg
from heatgraph.errors import HeatgraphWarning
from heatgraph.learning import _approximate_neighbours, _nearest_nodes, _similar_nodes
from heatgraph.learning._approximate_neighbours import approximate_neighbours
from heatgraph.learning._nearest_nodes import NearestNodes
from heatgraph.learning._similar_nodes import (
    SIMILAR_WEIGHT,
    add_similar_edges,
    similar_pairs,
    why_unaffordable,
    with_similar_edges,
)
from heatgraph.learning.scaling import Scaling


def nearest_pairs(X, k):
    """The pattern of `similar_pairs`, by sorting all cosines."""
    cosines = all_cosines(np.asarray(X, dtype=np.float64))
    pattern = np.zeros(cosines.shape)
    for node, row in enumerate(cosines):
        order = np.lexsort((np.arange(len(row)), -row))[:k]
        pattern[node, order[row[order] > 1e-12]] = 1
    return np.maximum(pattern, pattern.T)


def random_features(n, d, seed, kind):
    X = np.random.default_rng(seed).normal(size=(n, d))
    if kind == "sparse":
        return np.where(X > 0.8, X, 0)
    return X


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@given(st.integers(1, 90), st.integers(1, 6), st.integers(1, 12), seeds)
def test_agrees_with_sorting_all_cosines(kind, n, d, k, seed):
    X = random_features(n, d, seed, kind)
    given_form = sp.csr_array(X) if kind == "sparse" else X
    found = similar_pairs(given_form, k).toarray()
    assert_array_equal(found, found.T)
    expected = nearest_pairs(X, k)
    # Only a pair at the edge of either node's neighbours, to float32, may be sorted either way.
    cosines, edge = all_cosines(X), kth_largest_cosine(X, k)
    for i, j in np.argwhere(found != expected):
        assert min(abs(cosines[i, j] - edge[i]), abs(cosines[i, j] - edge[j])) < 1e-5


def all_cosines(X):
    lengths = np.linalg.norm(X, axis=1)
    unit = X / np.where(lengths > 0, lengths, 1)[:, np.newaxis]
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -1)
    return cosines


def kth_largest_cosine(X, k):
    """The smallest cosine among the k nearest of each node; 0 if fewer are positive."""
    ordered = -np.sort(-all_cosines(X), axis=1)
    return np.maximum(ordered[:, min(k, len(X)) - 1], 0)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocks_and_threads_change_nothing(kind, n_threads, monkeypatch):
    X = random_features(500, 20, 0, kind)
    given_form = sp.csr_array(X) if kind == "sparse" else X
    whole = similar_pairs(given_form, 10, 1)
    monkeypatch.setattr(_nearest_nodes, "BLOCK_ENTRIES", 500 * 7)
    parts = similar_pairs(given_form, 10, n_threads)
    assert_array_equal(whole.toarray(), parts.toarray())
    assert_array_equal(whole.toarray(), nearest_pairs(X, 10))


def test_nodes_without_features_stay_alone():
    X = sp.csr_array(np.array([[1.0, 0], [1, 0], [0, 0], [0, 1]]))
    assert similar_pairs(X, 2).toarray().tolist() == [
        [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0],
    ]  # fmt: skip


def test_weights_are_added_to_those_of_the_graph():
    graph = hg.Graph.from_edges([0], [1], num_nodes=3, symmetrize="max")
    graph = graph.with_features(np.array([[1.0, 0], [1, 0], [1, 0.1]]))
    weights = add_similar_edges(graph).adjacency.toarray()
    assert weights[0, 1] == weights[1, 0] == pytest.approx(1 + SIMILAR_WEIGHT)
    assert weights[0, 2] == weights[2, 1] == pytest.approx(SIMILAR_WEIGHT)
    assert_array_equal(np.diag(weights), 0)


def test_a_result_is_kept_for_its_graph_and_scaling(monkeypatch):
    graph = hg.Graph.from_edges([0], [1], num_nodes=3, symmetrize="max")
    graph = graph.with_features(np.array([[1.0, 0], [1, 0], [1, 0.1]]))
    scaling = Scaling("none")
    first = with_similar_edges(graph, scaling)
    assert first.features is None
    assert with_similar_edges(graph, scaling) is first
    assert with_similar_edges(graph, Scaling("rows")) is not first
    assert with_similar_edges(graph.with_features(graph.features), scaling) is not first


def graph_of(n):
    return hg.Graph(sp.csr_array((n, n)), features=np.ones((n, 4)))


@pytest.mark.parametrize("is_installed", [False, True])
def test_large_graphs_take_the_extra_and_its_memory(is_installed, monkeypatch):
    monkeypatch.setattr(_similar_nodes, "is_extra_installed", lambda: is_installed)
    assert why_unaffordable(graph_of(1000), 0) is None
    large = graph_of(400_000)
    if not is_installed:
        assert "pip install 'heatgraph[neighbours]'" in why_unaffordable(large, 1e12)
        return
    assert why_unaffordable(large, 1e12) is None
    assert "more than half of the memory budget of 1.0 GB" in why_unaffordable(large, 1e9)


def test_without_the_extra_all_pairs_are_compared_with_a_warning(monkeypatch):
    X = random_features(60, 5, 0, "dense")
    expected = similar_pairs(X, 4).toarray()
    monkeypatch.setattr(_nearest_nodes, "MAX_EXACT_WORK", 0)
    monkeypatch.setattr(_nearest_nodes, "is_extra_installed", lambda: False)
    with pytest.warns(HeatgraphWarning, match=r"pip install 'heatgraph\[neighbours\]'"):
        found = similar_pairs(X, 4).toarray()
    assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_larger_graph_takes_approximate_neighbours(kind, monkeypatch):
    """Their similarities are exact, whichever they are."""
    X = random_features(50, 5, 0, kind)
    X = np.vstack([X, X[:1], np.zeros((2, 5))])  # a duplicate, and nodes without features
    given_form = sp.csr_array(X) if kind == "sparse" else X
    candidates = np.random.default_rng(1).permuted(np.tile(np.arange(53), (53, 1)), axis=1)
    candidates[:, 20:] = -1
    found_in = SimpleNamespace(neighbor_graph=(candidates.astype(np.int32), None))
    module = SimpleNamespace(NNDescent=lambda *arguments, **options: found_in)
    monkeypatch.setitem(sys.modules, "pynndescent", module)
    monkeypatch.setattr(_nearest_nodes, "MAX_EXACT_WORK", 0)
    monkeypatch.setattr(_nearest_nodes, "is_extra_installed", lambda: True)
    monkeypatch.setattr(_approximate_neighbours, "BLOCK_ENTRIES", 500)
    found = NearestNodes.find(given_form, 4)
    cosines = all_cosines(X)
    for node in range(53):
        known = [other for other in candidates[node, :20] if cosines[node, other] > 1e-6]
        expected = sorted(known, key=lambda other: (-round(cosines[node, other], 5), other))[:4]
        assert found.nearest[node].tolist() == expected + [-1] * (4 - len(expected))
        np.testing.assert_allclose(
            found.similarity[node, : len(expected)], cosines[node, expected], atol=1e-5
        )


@pytest.mark.slow
def test_nearest_neighbour_descent_is_reproducible_and_finds_most():
    pytest.importorskip("pynndescent")
    X = random_features(3000, 16, 0, "dense")
    unit = _nearest_nodes.unit_rows(X)
    nearest, _ = approximate_neighbours(unit, 10, n_threads=1)
    assert_array_equal(approximate_neighbours(unit, 10, n_threads=2)[0], nearest)
    exact = NearestNodes.find_exactly(unit, 10).nearest
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(nearest, exact, strict=True)])
    assert recall > 0.9
