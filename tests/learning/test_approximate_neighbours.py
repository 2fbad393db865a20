"""Approximate nearest neighbours: what becomes of candidates, and the library that finds them."""

import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from heatgraph.learning import _approximate_neighbours, _nearest_nodes
from heatgraph.learning._approximate_neighbours import approximate_neighbours
from heatgraph.learning._nearest_nodes import NearestNodes


def random_features(n, d, seed, kind):
    X = np.random.default_rng(seed).normal(size=(n, d))
    if kind == "sparse":
        return np.where(X > 0.8, X, 0)
    return X


def all_cosines(X):
    lengths = np.linalg.norm(X, axis=1)
    unit = X / np.where(lengths > 0, lengths, 1)[:, np.newaxis]
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -1)
    return cosines


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
    nearest, _ = approximate_neighbours(unit, 10)
    numba.set_num_threads(1)
    try:
        assert_array_equal(approximate_neighbours(unit, 10)[0], nearest)
    finally:
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    exact = NearestNodes.find_exactly(unit, 10).nearest
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(nearest, exact, strict=True)])
    assert recall > 0.9
