"""What networks see of a graph, against dense matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from trained_networks import GRAPH, A, L, S

from heatgraph import Graph
from heatgraph.errors import MemoryBudgetError

pytestmark = pytest.mark.usefixtures("torch")


def test_wavelets_that_do_not_fit_into_memory(monkeypatch):
    from heatgraph.baselines.gnn.structures import wavelets

    graph = Graph(A, GRAPH.features)
    wavelets(graph, 0.5, 1e-3)  # imports all that would else import the function replaced below
    monkeypatch.setattr("heatgraph._io.memory.memory_budget_bytes", lambda budget: 1000)
    with pytest.raises(MemoryBudgetError, match="keeping the wavelets needs"):
        wavelets(graph, 0.8, 1e-3)


def test_wavelets_are_computed_once_for_a_graph_and_a_setting():
    from heatgraph.baselines.gnn.structures import wavelets

    graph = Graph(A, GRAPH.features)
    first = wavelets(graph, 0.8, 1e-3)
    assert wavelets(graph, 0.8, 1e-3) is first
    other = wavelets(graph, 0.8, 1e-2)
    assert other[0].nnz < first[0].nnz
    assert wavelets(Graph(A, GRAPH.features), 0.8, 1e-2) is not other


def dense(edges, values):
    matrix = np.zeros((90, 90))
    matrix[edges[1], edges[0]] = values
    return matrix


def test_edges_and_weights():
    from heatgraph.baselines.gnn.structures import edge_pairs, edge_weights

    weighted = Graph(2 * A, GRAPH.features)
    assert_array_equal(dense(edge_pairs(weighted), edge_weights(weighted)), 2 * A)
    assert_array_equal(edge_weights(GRAPH), 1)
    assert_array_equal(dense(edge_pairs(GRAPH, self_loops=True), 1), A + np.eye(90))
    assert (np.diff(edge_pairs(GRAPH)[1]) >= 0).all()


def test_operators():
    from heatgraph.baselines.gnn import structures

    normalised = GRAPH.operator().to_scipy()
    assert_allclose(dense(*structures.operator_entries(normalised)), S, atol=1e-6)
    assert_allclose(structures.csr_tensor(normalised).to_dense(), S, atol=1e-6)
    assert_allclose(structures.loop_weighted_operator(GRAPH, 1.0).toarray(), S, atol=1e-6)


def test_wavelets():
    from heatgraph.baselines.gnn.structures import wavelets

    for kernel, sign in zip(wavelets(GRAPH, 0.8, 1e-3), (-1, 1), strict=True):
        exact = expm(sign * 0.8 * L)
        assert_allclose(kernel.toarray(), np.where(exact > 1e-3, exact, 0), atol=1e-6)
