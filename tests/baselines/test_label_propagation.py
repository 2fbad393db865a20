"""Label propagation against the harmonic solution of a dense linear system."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from strategies import graphs, planted, seeds

from heatgraph import Graph
from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.errors import ConvergenceWarning, InputError

GRAPH, LABELS = planted()
TRAIN = np.arange(15)


@given(graphs(max_nodes=14, featureless=True), seeds)
def test_closed_form(graph, seed):
    n = graph.num_nodes
    y = np.random.default_rng(seed).permutation(np.where(np.arange(n) < max(2, n // 3), 0, -1))
    known = np.flatnonzero(y >= 0)
    if len(known) < 2:
        return
    y[known] = np.arange(len(known)) % 2
    F = LabelPropagation(class_mass=False, tol=1e-10).fit(graph, y).predict_proba()
    A = graph.adjacency.toarray().astype(float)
    reached = np.isin(graph.components, graph.components[known])
    unknown = np.flatnonzero(reached & (y < 0))
    one_hot = np.eye(2)[y[known]]
    L = np.diag(A.sum(axis=1)) - A
    expected = np.tile(one_hot.mean(axis=0), (n, 1))
    expected[known] = one_hot
    if len(unknown):
        right = A[np.ix_(unknown, known)] @ one_hot
        expected[unknown] = np.linalg.solve(L[np.ix_(unknown, unknown)], right)
    assert_allclose(F, expected, atol=1e-6)


def test_class_mass_normalisation():
    clf = LabelPropagation().fit(GRAPH, LABELS, TRAIN)
    raw = LabelPropagation(class_mass=False).fit(GRAPH, LABELS, TRAIN).predict_proba()
    reached = np.isin(GRAPH.components, GRAPH.components[TRAIN])
    unknown = np.setdiff1d(np.flatnonzero(reached), TRAIN)
    shares = np.bincount(LABELS[TRAIN]) / len(TRAIN)
    mass = raw[unknown] * shares / raw[unknown].sum(axis=0)
    assert_allclose(clf.predict_proba()[unknown], mass / mass.sum(axis=1, keepdims=True), atol=1e-6)


def test_other_graphs_are_refused():
    clf = LabelPropagation().fit(GRAPH, LABELS, TRAIN)
    with pytest.raises(InputError, match="knows the graph that it was fitted on"):
        clf.predict(GRAPH.subgraph(TRAIN))


def test_warning_without_convergence(monkeypatch):
    monkeypatch.setattr("scipy.sparse.linalg.cg", lambda L, b, rtol, M: (np.ones(len(b)), 1))
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        clf = LabelPropagation().fit(GRAPH, LABELS, TRAIN)
    assert not clf.converged_


def test_every_node_is_labelled():
    graph = Graph.from_edges([0], [1], num_nodes=2, symmetrize="max")
    assert_array_equal(LabelPropagation().fit(graph, ["a", "b"]).predict(), ["a", "b"])


def test_tolerance_is_checked():
    with pytest.raises(InputError, match="tol must be between 0 and 1. Got 0"):
        LabelPropagation(tol=0).fit(GRAPH, LABELS, TRAIN)


def test_a_class_that_reaches_no_unlabelled_node():
    """The only node of class 2 has one neighbour, which is labelled."""
    path = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], num_nodes=5, symmetrize="max")
    F = LabelPropagation().fit(path, [2, 0, -1, -1, 1]).predict_proba()
    assert np.isfinite(F).all()
    np.testing.assert_allclose(F.sum(axis=1), 1)
    assert F[2:4, 2].tolist() == [0, 0]
