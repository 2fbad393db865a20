"""Fits of one setting: every form of the features gives the same optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import dense_operator, response_matrix, softmax_optimum
from strategies import planted

import heatgraph as hg
from heatgraph import DGCClassifier
from heatgraph.errors import InputError
from heatgraph.learning import _softmax_regression, _task
from heatgraph.learning._search_space import Setting
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.learning._task import NodeClassificationTask

ENGINE = {"tol": 1e-10, "dtype": "float64", "n_threads": 1, "memory_budget": None}
SETTING = Setting(hg.Heat(2.0), True, "none", 1e-3, 0.2)


def make_task(graph, labels, num_train=40, solver="lbfgs", **engine):
    train, val = np.arange(num_train)[::-1], np.arange(num_train, num_train + 20)
    regression = SoftmaxRegression(solver, 100, 0)
    return NodeClassificationTask(
        graph, train, labels[train], val, labels[val], 3, regression, ENGINE | engine, seed=0
    )


def dense_optimum(task, X):
    S = dense_operator(task.graph.adjacency.toarray(), True)
    rows = (response_matrix(S, SETTING.scheme) @ X)[task.train]
    return softmax_optimum(rows, task.codes, 3, SETTING.weight_decay)[0]


@pytest.fixture(params=["few", "rows", "operator"])
def form(request, monkeypatch):
    """Make the task take one form of the features."""
    if request.param != "few":
        for module in (_task, _softmax_regression):
            monkeypatch.setattr(module, "FEW_NODES", 0)
        uses = request.param == "operator"
        monkeypatch.setattr(NodeClassificationTask, "_uses_operator", lambda *_: uses)
    return request.param


@pytest.mark.parametrize("kind", ["words", None])
def test_all_forms_give_the_same_weights(form, kind):
    graph, labels = planted(kind=kind, noise=3.0)
    task = make_task(graph, labels)
    _, fit = task.fit(SETTING)
    assert fit.converged
    optimum = dense_optimum(task, np.eye(90) if kind is None else graph.features.toarray())
    weights = np.vstack([fit.Theta, fit.bias])
    np.testing.assert_allclose(weights, optimum, atol=1e-4 * np.abs(optimum).max())


def test_known_rows_are_not_diffused_again(monkeypatch):
    graph, labels = planted(kind="dense")
    task = make_task(graph, labels)
    rows = hg.diffuse(graph, 2.0, rows=task.train, dtype=np.float64, tol=1e-10)
    _, expected = task.fit(SETTING)
    monkeypatch.setattr(_task, "diffuse", lambda *_, **__: pytest.fail("diffused"))
    _, fit = task.fit(SETTING, rows)
    np.testing.assert_allclose(fit.Theta, expected.Theta, atol=1e-9)


@pytest.mark.parametrize("kind", ["words", "dense", None])
def test_validation_scores_are_those_of_predictions(kind):
    graph, labels = planted(kind=kind)
    task = make_task(graph, labels)
    _, fit = task.fit(SETTING)
    clf = DGCClassifier(
        T=2.0, feature_scaling="none", weight_decay=1e-3, dtype="float64", tol=1e-10
    ).fit(graph, labels, task.train)
    scores = task.scores(SETTING, fit)[task.val]
    np.testing.assert_allclose(scores, clf.decision_function(nodes=task.val), atol=1e-8)


def test_the_operator_is_used_for_many_labels_and_sparse_features_if_it_is_cheaper():
    random = np.random.default_rng(0)
    n = 4000
    src, dst = random.integers(n, size=(2, 3 * n))
    words = sp.random_array((n, 3000), density=0.005, format="csr", rng=random)
    graph = hg.Graph.from_edges(src, dst, features=words, symmetrize="max")
    labels = np.arange(n) % 3
    assert make_task(graph, labels, 2000)._uses_operator(SETTING)
    narrow = graph.with_features(words[:, :20])
    assert not make_task(narrow, labels, 2000)._uses_operator(SETTING)
    size_of_rows = 8 * 2000 * 20
    assert make_task(narrow, labels, 2000, memory_budget=2 * size_of_rows)._uses_operator(SETTING)
    dense = graph.with_features(random.normal(size=(n, 30)))
    assert not make_task(dense, labels, 2000)._uses_operator(SETTING)
    assert not make_task(graph, labels, 2000, solver="adam")._uses_operator(SETTING)
    assert make_task(graph, labels, 2000).fits_rows(SETTING) is False
    assert make_task(graph, labels, 200).fits_rows(SETTING)
    featureless = graph.with_features(None)
    assert not make_task(featureless, labels, 200).fits_rows(SETTING)
    assert make_task(featureless, labels, 200, solver="adam").fits_rows(SETTING)


def test_the_last_scaling_is_kept():
    graph, labels = planted(kind="words")
    task = make_task(graph, labels)
    one = task.scale_features("sqrt")
    assert task.scale_features("sqrt") is one
    assert task.scale_features("rows")[0].name == "rows"
    assert task.scale_features("sqrt") is not one


def test_numbers_that_overflow_are_refused():
    graph, labels = planted(kind="dense")
    task = make_task(graph, labels, solver="adam", dtype="float32")
    diverging = Setting(hg.Heat(2.0), True, "none", 1e-3, 3e38)
    with pytest.raises(InputError, match="exceed float32"), np.errstate(all="ignore"):
        task.fit(diverging)


@pytest.mark.parametrize("parameters", [{}, {"self_loops": False}, {"K": 30}])
def test_a_fit_without_features_agrees_with_identity_features(parameters):
    graph, labels = planted(kind=None)
    identity = graph.with_features(np.eye(90))
    usual = {"T": 3.0, "weight_decay": 1e-3, "feature_scaling": "none"} | parameters
    without, given_ones = (
        DGCClassifier(**usual).fit(one, labels, np.arange(20)) for one in (graph, identity)
    )
    np.testing.assert_allclose(without.coef_, given_ones.coef_, atol=1e-4)
    np.testing.assert_allclose(without.intercept_, given_ones.intercept_, atol=1e-4)


def test_adam_and_pagerank_without_features_use_rows_of_the_kernel():
    graph, labels = planted(kind=None)
    for parameters in ({"solver": "adam"}, {"T": "auto", "scheme": hg.PersonalizedPageRank(0.1)}):
        usual = {"T": 3.0, "weight_decay": 1e-4} | parameters
        clf = DGCClassifier(**usual).fit(graph, labels, np.arange(20))
        assert clf.score(None, labels, np.arange(20, 90)) > 0.8
