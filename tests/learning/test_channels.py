"""Rows of channels and their Gram matrices, compared with dense formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from numpy.testing import assert_allclose
from strategies import graphs

from heatgraph.learning import _channels
from heatgraph.learning._channels import (
    HOPS,
    LINKS,
    apply_channel,
    block_gram,
    channel_row,
    channel_rows,
    mean_operator,
)


def dense_mean(graph):
    A = graph.adjacency.toarray().astype(np.float64)
    np.fill_diagonal(A, 0)
    degrees = A.sum(axis=1, keepdims=True)
    return np.divide(A, degrees, out=np.zeros_like(A), where=degrees > 0)


@given(graphs(max_nodes=9))
def test_rows_are_those_of_the_dense_formulas(graph):
    X = np.asarray(graph.features.todense() if sp.issparse(graph.features) else graph.features)
    X = X.astype(np.float64)
    W = mean_operator(graph, np.dtype(np.float64))
    assert_allclose(W.toarray(), dense_mean(graph), atol=1e-12)
    nodes = np.arange(graph.num_nodes)[::-2]
    for name in HOPS:
        expected = np.linalg.matrix_power(dense_mean(graph), HOPS[name]) @ (
            np.eye(graph.num_nodes) if name in LINKS else X
        )
        for features in (X, sp.csr_array(X)):
            rows = channel_rows(name, W, features, nodes, 1)
            dense = rows.toarray() if sp.issparse(rows) else rows
            assert_allclose(dense, expected[nodes], atol=1e-9)
        kernel = np.linalg.matrix_power(dense_mean(graph), HOPS[name])
        assert_allclose(channel_row(name, graph, 0), kernel[0], atol=1e-12)
        columns = np.ones((graph.num_nodes, 2))
        assert_allclose(apply_channel(name, W, columns, 1), kernel @ columns, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_matrices_of_sparse_and_dense_rows(monkeypatch, dtype):
    monkeypatch.setattr(_channels, "BLOCK_ENTRIES", 1000)
    rows = sp.random_array((9, 300), density=0.1, rng=np.random.default_rng(0)).tocsr()
    rows = rows.astype(dtype)
    expected = (rows @ rows[:7].T).toarray()
    assert_allclose(block_gram(rows, 7, 1), expected, rtol=1e-5)
    assert_allclose(block_gram(rows.toarray(), 7, 1), expected, rtol=1e-5)
