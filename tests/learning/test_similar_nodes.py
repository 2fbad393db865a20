"""Edges between nodes of similar features."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import seeds

import heatgraph as hg
from heatgraph.learning import _nearest_nodes
from heatgraph.learning._similar_nodes import (
    SIMILAR_WEIGHT,
    add_similar_edges,
    is_affordable,
    similar_pairs,
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


def test_large_graphs_are_not_affordable():
    n = 1000
    graph = hg.Graph(sp.csr_array((n, n)), features=np.ones((n, 4)))
    assert is_affordable(graph)
    assert not is_affordable(hg.Graph(sp.csr_array((n * 400, n * 400)), np.ones((n * 400, 4))))
