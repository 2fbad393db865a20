"""Edges between nodes of similar features."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import heatgraph as hg
from heatgraph.learning import _similar_nodes
from heatgraph.learning._similar_nodes import (
    SIMILAR_WEIGHT,
    add_similar_edges,
    similar_pairs,
    why_unaffordable,
    with_similar_edges,
)
from heatgraph.learning.scaling import Scaling


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
