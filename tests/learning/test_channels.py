"""Rows of channels and their Gram matrices, compared with dense formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import directed_graphs, graphs

from heatgraph import Graph
from heatgraph.learning import _channels
from heatgraph.learning._channels import DIRECTED, HOPS, LINKS, Channels, block_gram


def dense_mean(graph, direction="any"):
    A = graph.adjacency if direction == "any" else graph.directed_adjacency
    A = A.toarray().astype(np.float64)
    A = A.T.copy() if direction == "in" else A
    np.fill_diagonal(A, 0)
    degrees = A.sum(axis=1, keepdims=True)
    return np.divide(A, degrees, out=np.zeros_like(A), where=degrees > 0)


@given(graphs(max_nodes=9) | directed_graphs(max_nodes=9), st.sampled_from(["f4", "f8"]))
def test_rows_are_those_of_the_dense_formulas(graph, dtype):
    n, dtype, atol = graph.num_nodes, np.dtype(dtype), 1e-5 if dtype == "f4" else 1e-9
    X = np.asarray(graph.features.todense() if sp.issparse(graph.features) else graph.features)
    nodes = np.arange(n)[::-2]
    columns = np.arange(2.0 * n).reshape(n, 2).astype(dtype)
    for name, hops in HOPS.items():
        if name in DIRECTED and graph.directed_adjacency is None:
            continue
        kernel = np.eye(n)
        for direction in hops:
            kernel = kernel @ dense_mean(graph, direction)
        expected = kernel @ (np.eye(n) if name in LINKS else X)
        for features in (X, sp.csr_array(X)):
            channels = Channels(graph.with_features(features), dtype, 1)
            rows = channels.rows(name, nodes)
            assert rows.dtype == dtype
            dense = rows.toarray() if sp.issparse(rows) else rows
            assert_allclose(dense, expected[nodes], atol=atol)
        assert_allclose(channels.kernel_rows(name, nodes).toarray(), kernel[nodes], atol=atol)
        assert_allclose(channels.apply(name, columns), kernel @ columns, atol=20 * atol)


def test_directions_are_told_apart():
    """0 -> 1 -> 2 and 3 -> 1, with 3 -> 1 three times as heavy."""
    edges = [0, 1, 3], [1, 2, 1], [1.0, 5.0, 3.0]
    channels = Channels(Graph.from_edges(*edges, 4, directed=True), np.dtype(np.float64), 1)
    rows = {name: channels.kernel_rows(name, np.arange(4)).toarray() for name in DIRECTED}
    assert rows["out-links"].tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0] * 4, [0, 1, 0, 0]]
    assert rows["in-links"].tolist() == [[0] * 4, [0.25, 0, 0, 0.75], [0, 1, 0, 0], [0] * 4]
    assert rows["two-hop-out-links"].tolist() == [[0, 0, 1, 0], [0] * 4, [0] * 4, [0, 0, 1, 0]]
    assert rows["two-hop-in-links"].tolist() == [[0] * 4, [0] * 4, [0.25, 0, 0, 0.75], [0] * 4]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_matrices_of_sparse_and_dense_rows(monkeypatch, dtype):
    monkeypatch.setattr(_channels, "BLOCK_ENTRIES", 1000)
    rows = sp.random_array((9, 300), density=0.1, rng=np.random.default_rng(0)).tocsr()
    rows = rows.astype(dtype)
    expected = (rows @ rows[:7].T).toarray()
    assert_allclose(block_gram(rows, 7, 1), expected, rtol=1e-5)
    assert_allclose(block_gram(rows.toarray(), 7, 1), expected, rtol=1e-5)
