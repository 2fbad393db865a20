"""Learning without features, compared with the identity matrix as features."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import dense_operator, response_matrix
from strategies import graphs, planted, stable_schemes, times

import heatgraph as hg
from heatgraph import DGCClassifier
from heatgraph.learning._featureless import empirical_kernel_map, node_weights

GRAPH, LABELS = planted(kind=None)
ENGINE = {"tol": 1e-12, "dtype": "float64", "n_threads": 1, "memory_budget": None}


@given(
    graphs(featureless=True),
    st.one_of(times.map(hg.Heat), stable_schemes(hg.Euler)),
    st.booleans(),
    st.integers(1, 6),
)
@pytest.mark.filterwarnings("ignore::heatgraph.errors.CollapseWarning")
def test_the_kernel_map_has_the_gram_matrix_of_the_kernel(graph, scheme, self_loops, num_train):
    assume(graph.num_nodes > num_train)
    rows = np.arange(graph.num_nodes)[::-1]
    F, whitening = empirical_kernel_map(graph, [scheme], rows, num_train, self_loops, ENGINE)
    R = response_matrix(dense_operator(graph.adjacency.toarray(), self_loops), scheme)[rows]
    np.testing.assert_allclose(F[0] @ F[0, :num_train].T, R @ R[:num_train].T, atol=1e-7)
    weights = np.random.default_rng(0).normal(size=(num_train, 2))
    Theta = node_weights(
        graph, scheme, rows[:num_train], whitening[0] @ weights, self_loops, ENGINE
    )
    np.testing.assert_allclose(R[:num_train] @ Theta, F[0, :num_train] @ weights, atol=1e-5)


@pytest.mark.parametrize("parameters", [{}, {"self_loops": False}, {"K": 30}])
def test_a_fit_agrees_with_identity_features(parameters):
    identity = GRAPH.with_features(np.eye(90))
    usual = {"T": 3.0, "weight_decay": 1e-3, "feature_scaling": "none"} | parameters
    without, given_ones = (
        DGCClassifier(**usual).fit(graph, LABELS, np.arange(20)) for graph in (GRAPH, identity)
    )
    np.testing.assert_allclose(without.coef_, given_ones.coef_, atol=1e-4)
    np.testing.assert_allclose(without.intercept_, given_ones.intercept_, atol=1e-4)


@pytest.mark.parametrize("val", [np.arange(20, 50), None])
def test_a_search_agrees_with_identity_features(val):
    identity = GRAPH.with_features(np.eye(90))
    usual = {"T": [0.5, 3.0], "weight_decay": [1e-4, 1e-2], "feature_scaling": "none"}
    without, given_ones = (
        DGCClassifier(**usual).fit(graph, LABELS, np.arange(20), val) for graph in (GRAPH, identity)
    )
    for one, two in zip(without.search_, given_ones.search_, strict=True):
        assert one["accuracy"] == pytest.approx(two["accuracy"], abs=0.06)
        assert one["log_loss"] == pytest.approx(two["log_loss"], abs=0.01)


def test_few_labels_on_a_large_graph():
    """A large T is needed, where features are small: the grid of weight decays must follow."""
    random = np.random.default_rng(0)
    n = 20_000
    y = random.integers(4, size=n)
    src, dst = random.integers(n, size=(2, 12 * n))
    kept = (y[src] == y[dst]) | (random.random(len(src)) < 0.1)
    graph = hg.Graph.from_edges(src[kept], dst[kept], num_nodes=n, symmetrize="max")
    clf = DGCClassifier().fit(graph, y, np.arange(100), np.arange(100, 500))
    assert clf.score(None, y, np.arange(500, n)) > 0.9


def test_adam_and_pagerank_use_rows_of_the_kernel():
    for parameters in ({"solver": "adam"}, {"T": "auto", "scheme": hg.PersonalizedPageRank(0.1)}):
        usual = {"T": 3.0, "weight_decay": 1e-4} | parameters
        clf = DGCClassifier(**usual).fit(GRAPH, LABELS, np.arange(20))
        assert clf.score(None, LABELS, np.arange(20, 90)) > 0.8
