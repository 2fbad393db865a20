"""`DGCMultilabelClassifier`: logistic regressions on diffused features."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from oracles import by_eigenvalues, dense_operator
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.utils.multiclass import type_of_target
from strategies import graphs, planted, precisions, seeds

import heatgraph as hg
from heatgraph import DGCMultilabelClassifier
from heatgraph.errors import InputError, UnknownClassWarning

T, DECAY = 1.5, 0.02
FIXED = {"T": T, "weight_decay": DECAY, "feature_scaling": "none"}


def indicators_on(graph, classes, seed=0):
    """Three labels: two follow the classes and overlap, one is rare."""
    random = np.random.default_rng(seed)
    Y = np.stack([classes == 0, classes != 1, random.random(len(classes)) < 0.1], axis=1)
    return (Y ^ (random.random(Y.shape) < 0.05)).astype(int)


def exact_scores(Z, Y, train, decay):
    """Scores by SciPy's minimisation of the objective, label by label."""
    rows = np.hstack([Z, np.ones((len(Z), 1))])
    scores = np.empty(Y.shape)
    for label in range(Y.shape[1]):
        y = Y[train, label]
        base = np.log((y.sum() + 0.5) / (len(y) - y.sum() + 0.5))

        def objective(theta, y=y, base=base):
            z = base + rows[train] @ theta
            value = np.mean(np.logaddexp(0, z) - y * z) + decay / 2 * theta @ theta
            residual = (scipy.special.expit(z) - y) / len(y)
            return value, rows[train].T @ residual + decay * theta

        found = scipy.optimize.minimize(
            objective, np.zeros(rows.shape[1]), jac=True, options={"gtol": 1e-10}
        )
        scores[:, label] = base + rows @ found.x
    return scores


def dense(graph):
    X = graph.features
    return X.toarray() if hasattr(X, "toarray") else X


@settings(max_examples=25)
@given(graphs(max_nodes=12), precisions, seeds)
def test_scores_minimise_the_objective(graph, dtype, seed):
    n = graph.num_nodes
    random = np.random.default_rng(seed)
    Y = random.integers(0, 2, (n, 3))
    if n < 2 or (Y[0] == Y).all() or not Y.any(axis=0).all():
        return
    kernel = by_eigenvalues(dense_operator(graph.adjacency.toarray()), hg.Heat(T))
    clf = DGCMultilabelClassifier(**FIXED, dtype=dtype).fit(graph, Y)
    expected = exact_scores(kernel @ dense(graph), Y, np.arange(n), DECAY)
    assert_allclose(clf.decision_function(), expected, atol=5e-4)
    t = clf.temperature_
    assert_allclose(clf.predict_proba(), scipy.special.expit(clf.decision_function() / t))


@pytest.mark.parametrize("kind", ["words", "dense", None])
@pytest.mark.parametrize("n_train", [40, 700])
def test_labels_of_half_the_nodes_are_scikit_learns_logistic_regression(kind, n_train):
    """Their log-odds are 0: the bias is penalised like any other weight."""
    graph, classes = planted(n=900, kind=kind)
    order = np.random.default_rng(0).permutation(900)
    half = np.zeros(900, dtype=int)
    train = order[:n_train]
    half[train[np.argsort(classes[train], kind="stable")[: n_train // 2]]] = 1
    Z = hg.diffuse(graph, T=T, tol=1e-12, dtype="float64")
    rows = np.hstack([Z, np.ones((900, 1))])
    model = LogisticRegression(C=1 / (DECAY * n_train), fit_intercept=False, tol=1e-8, max_iter=999)
    expected = model.fit(rows[train], half[train]).decision_function(rows)
    clf = DGCMultilabelClassifier(**FIXED, dtype="float64").fit(graph, half[:, None], train=train)
    assert_allclose(clf.decision_function()[:, 0], expected, atol=2e-4)
    assert clf.converged_


def test_labels_are_independent_of_each_other():
    graph, classes = planted(n=150)
    Y = indicators_on(graph, classes)
    train = np.arange(80)
    both = DGCMultilabelClassifier(**FIXED, dtype="float64").fit(graph, Y, train=train)
    for label in range(3):
        one = DGCMultilabelClassifier(**FIXED, dtype="float64")
        one.fit(graph, Y[:, label : label + 1], train=train)
        assert_allclose(
            one.decision_function()[:, 0], both.decision_function()[:, label], atol=1e-5
        )


@pytest.mark.parametrize("has_validation_nodes", [True, False])
def test_the_search_finds_a_time_that_helps(has_validation_nodes):
    graph, classes = planted(n=400, kind="dense", noise=1.5)
    Y = indicators_on(graph, classes)
    train, val, test = np.arange(150), np.arange(150, 220), np.arange(220, 400)
    val = val if has_validation_nodes else None
    clf = DGCMultilabelClassifier().fit(graph, Y, train, val)
    alone = DGCMultilabelClassifier(T=0.0).fit(graph, Y, train, val)
    f1 = [f1_score(Y[test], one.predict(nodes=test), average="micro") for one in (clf, alone)]
    assert clf.T_ > 0.5
    assert f1[0] > f1[1] + 0.03
    assert {"log_loss", "standard_error", "head"} <= clf.search_[0].keys()
    assert {one["head"] for one in clf.search_} == {"ridge", "logistic"}
    if has_validation_nodes:
        expected = f1_score(Y[val], clf.predict(nodes=val), average="micro")
        assert clf.validation_f1_ == pytest.approx(expected)


def test_the_search_has_the_log_loss_of_every_candidate():
    graph, classes = planted(n=200, kind="dense")
    Y = indicators_on(graph, classes)
    train, val = np.arange(100), np.arange(100, 200)
    clf = DGCMultilabelClassifier(
        T=[0.0, 2.0], weight_decay=[1e-3, 0.1], feature_scaling="none", dtype="float64"
    ).fit(graph, Y, train, val)
    assert len(clf.search_) == 4
    for one in clf.search_:
        kernel = by_eigenvalues(dense_operator(graph.adjacency.toarray()), hg.Heat(one["T"]))
        z = exact_scores(kernel @ graph.features, Y, train, one["weight_decay"])[val]
        expected = np.mean(np.logaddexp(0, z) - Y[val] * z)
        assert one["log_loss"] == pytest.approx(expected, abs=0.01)


def test_lists_and_matrices_are_the_same():
    graph, classes = planted(n=120)
    Y = indicators_on(graph, classes)
    names = np.array(["a", "b", "c"])
    lists = [names[row == 1].tolist() for row in Y]
    lists[100:] = [None] * 20
    known = Y.astype(float)
    known[100:] = np.nan
    by_lists, by_sets, by_matrix = (
        DGCMultilabelClassifier(**FIXED).fit(graph, y)
        for y in (lists, [one and set(one) for one in lists], known)
    )
    assert by_lists.classes_.tolist() == ["a", "b", "c"]
    assert by_matrix.classes_.tolist() == [0, 1, 2]
    assert_array_equal(by_lists.predict_proba(), by_matrix.predict_proba())
    assert by_lists.predict_labels() == [names[row == 1].tolist() for row in by_matrix.predict()]
    assert by_lists.score(graph, lists) == by_matrix.score(graph, known)
    # An empty set is no label, which None would be.
    assert by_sets.coef_.shape == by_lists.coef_.shape


def test_predictions_are_scikit_learns_multilabel_indicators():
    graph, classes = planted(n=90)
    clf = DGCMultilabelClassifier(**FIXED).fit(graph, indicators_on(graph, classes))
    assert is_classifier(clf)
    assert type_of_target(clf.predict()) == "multilabel-indicator"
    assert_array_equal(clf.predict(), clf.predict_proba() > 0.5)


def test_score_is_the_subset_accuracy():
    graph, classes = planted(n=90)
    Y = indicators_on(graph, classes)
    clf = DGCMultilabelClassifier(**FIXED).fit(graph, Y)
    assert clf.score(None, Y) == pytest.approx((clf.predict() == Y).all(axis=1).mean())
    wrong = [[*one, "new"] for one in clf.predict_labels()]
    assert clf.score(None, wrong) == 0
    with pytest.raises(InputError, match="a column for each of the 3 labels of the model. Got 2"):
        clf.score(None, Y[:, :2])
    with pytest.raises(InputError, match="no labelled node to score"):
        clf.score(None, [None] * 90)


def test_calibration_divides_scores_by_one_temperature():
    graph, classes = planted(n=200, kind="dense")
    Y = indicators_on(graph, classes)
    train, val = np.arange(60), np.arange(60, 200)
    options = {"T": 2.0, "weight_decay": 1e-6, "feature_scaling": "none"}
    plain, calibrated = (
        DGCMultilabelClassifier(**options, calibrate=calibrate).fit(graph, Y, train, val)
        for calibrate in (False, True)
    )

    def log_loss(t):
        z = plain.decision_function(nodes=val) / t
        return np.mean(np.logaddexp(0, z) - Y[val] * z)

    assert plain.temperature_ == 1
    assert_array_equal(plain.predict(), calibrated.predict())
    found = log_loss(calibrated.temperature_)
    assert found < log_loss(1)
    # Smoothing of targets moves the optimum a little.
    assert found < min(map(log_loss, np.geomspace(0.1, 10, 200))) + 1e-3


@pytest.mark.parametrize("kind", ["words", "dense", None])
def test_explanations_add_up_to_the_score(kind):
    graph, classes = planted(n=90, kind=kind)
    names = np.array(["a", "b", "c"])
    lists = [names[row == 1].tolist() for row in indicators_on(graph, classes)]
    clf = DGCMultilabelClassifier(**FIXED, dtype="float64").fit(graph, lists)
    for label in ("b", None):
        explanation = clf.explain(70, label)
        at = clf.classes_.tolist().index(explanation.label)
        assert explanation.score == pytest.approx(clf.decision_function()[70, at], abs=1e-6)
        assert explanation.probability == pytest.approx(clf.predict_proba()[70, at], abs=1e-6)
        assert explanation.bias + explanation.node_shares.sum() == pytest.approx(explanation.score)
    assert at == clf.decision_function()[70].argmax()
    with pytest.raises(InputError, match=r"one of the labels \['a', 'b', 'c'\]. Got 'd'"):
        clf.explain(0, "d")


@pytest.mark.parametrize("labels", [["a", "b", "c"], [1, 2, 3], [True, "x", 7]])
def test_a_saved_model_predicts_the_same_bits(tmp_path, labels):
    graph, classes = planted(n=90)
    Y = indicators_on(graph, classes)
    lists = [[label for label, has in zip(labels, row, strict=True) if has] for row in Y]
    clf = DGCMultilabelClassifier().fit(graph, lists, train=np.arange(60))
    clf.save(tmp_path / "model")
    again = hg.load(tmp_path / "model")
    assert isinstance(again, DGCMultilabelClassifier)
    assert again.classes_.tolist() == clf.classes_.tolist()
    assert again.predict_labels(graph) == clf.predict_labels()
    assert_array_equal(again.predict_proba(graph), clf.predict_proba())
    assert again.search_ == clf.search_


def test_labels_without_training_nodes_are_told():
    graph, _ = planted(n=12)
    y = [["a"], ["b"], ["a", "b"], []] * 2 + [["a", "new"]] * 2 + [None] * 2
    with pytest.warns(UnknownClassWarning, match="1 of the labels in y have no training .*'new'"):
        clf = DGCMultilabelClassifier(**FIXED).fit(graph, y, range(8), range(8, 10))
    assert clf.classes_.tolist() == ["a", "b"]
    with pytest.warns(UnknownClassWarning):
        DGCMultilabelClassifier().fit(graph, y, range(8), range(8, 10))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[]] * 6, "all 6 have no label at all"),
        ([["a"]] * 6, "all 6 have the same labels"),
        ([None] * 6, "y has no label left to learn from"),
        (["a"] * 6, r"Entry 0 is 'a', a str: write \['a'\], or use DGCClassifier"),
    ],
)
def test_labels_that_cannot_be_learned(y, message):
    graph, _ = planted(n=6)
    with pytest.raises(InputError, match=message):
        DGCMultilabelClassifier(**FIXED).fit(graph, y)


def test_calibrate_must_be_a_boolean():
    graph, _ = planted(n=6)
    with pytest.raises(InputError, match="calibrate must be True or False. Got 'auto'"):
        DGCMultilabelClassifier(calibrate="auto").fit(graph, [["a"], []] * 3)


def test_many_rare_labels_are_one_stratum():
    graph, _ = planted(n=300)
    random = np.random.default_rng(0)
    Y = (random.random((300, 120)) < 0.02).astype(int)
    Y[np.arange(120), np.arange(120)] = 1
    clf = DGCMultilabelClassifier(T=1.0, weight_decay=[0.1, 1.0]).fit(graph, Y)
    assert clf.predict_proba().shape == (300, 120)
    # Labels of noise are predicted by their share.
    assert clf.predict_proba().mean() == pytest.approx(0.02, abs=0.01)
