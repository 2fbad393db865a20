"""Nearest neighbours by cosine similarity, against sorting all cosines."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import seeds

from heatgraph.errors import HeatgraphWarning
from heatgraph.learning import _nearest_nodes
from heatgraph.learning._similar_nodes import similar_pairs


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


def test_without_the_extra_all_pairs_are_compared_with_a_warning(monkeypatch):
    X = random_features(60, 5, 0, "dense")
    expected = similar_pairs(X, 4).toarray()
    monkeypatch.setattr(_nearest_nodes, "MAX_EXACT_WORK", 0)
    monkeypatch.setattr(_nearest_nodes, "is_extra_installed", lambda: False)
    with pytest.warns(HeatgraphWarning, match=r"pip install 'heatgraph\[neighbours\]'"):
        found = similar_pairs(X, 4).toarray()
    assert_array_equal(found, expected)
