"""The estimator, from labels to predictions, compared with its definition by dense matrices."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import cloudpickle
import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import dense_operator, response_matrix, softmax_optimum
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from strategies import graphs, planted, schemes, seeds

import heatgraph as hg
from heatgraph import DGCClassifier, Graph, load
from heatgraph.errors import (
    CollapseWarning,
    ConvergenceWarning,
    FeatureNamesWarning,
    InputError,
    OneClassWarning,
    StabilityWarning,
    UnknownClassWarning,
)
from heatgraph.learning import _softmax_regression
from heatgraph.learning._adam import adam
from heatgraph.learning.scaling import Scaling

GRAPH, LABELS = planted()
TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)
FIXED = {"T": 3.0, "weight_decay": 1e-3}


def fitted(graph=GRAPH, y=LABELS, train=TRAIN, val=None, **parameters):
    return DGCClassifier(**(FIXED | parameters)).fit(graph, y, train=train, val=val)


def by_definition(clf, graph):
    """r(S) X Theta + b, with dense matrices."""
    R = response_matrix(dense_operator(graph.adjacency.toarray(), clf.self_loops_), clf.scheme_)
    X = np.eye(graph.num_nodes)
    if graph.features is not None:
        X = clf.scaling_.apply(graph.features, np.dtype(np.float64))
        X = X.toarray() if sp.issparse(X) else X
    return R @ X @ clf.coef_.T.astype(np.float64) + clf.intercept_


@pytest.mark.parametrize("kind", ["words", "dense", None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fit_is_softmax_regression_on_diffused_features(kind, dtype):
    graph, labels = planted(kind=kind)
    clf = fitted(graph, labels, dtype=dtype)
    R = response_matrix(dense_operator(graph.adjacency.toarray()), hg.Heat(3.0))
    X = np.eye(90)
    if kind:
        X = Scaling.learn(clf.feature_scaling_, graph.features, TRAIN).apply(
            graph.features, np.dtype(np.float64)
        )
        X = X.toarray() if sp.issparse(X) else X
    optimum, _ = softmax_optimum((R @ X)[TRAIN], LABELS[TRAIN], 3, 1e-3)
    tolerance = {"float32": 2e-3, "float64": 1e-4}[dtype] * np.abs(optimum).max()
    np.testing.assert_allclose(clf.coef_.T, optimum[:-1], atol=tolerance)
    np.testing.assert_allclose(clf.intercept_, optimum[-1], atol=tolerance)
    assert clf.coef_.dtype == dtype


@given(graphs(), schemes, st.booleans(), st.integers(2, 3), seeds)
@pytest.mark.filterwarnings("ignore::heatgraph.errors.CollapseWarning")
def test_scores_match_the_definition(graph, scheme, self_loops, C, seed):
    assume(graph.num_nodes >= C)
    y = np.arange(graph.num_nodes) % C
    clf = DGCClassifier(
        scheme=scheme,
        self_loops=self_loops,
        weight_decay=0.1,
        feature_scaling="none",
        dtype="float64",
        tol=1e-12,
    ).fit(graph, y)
    scores = by_definition(clf, graph)
    np.testing.assert_allclose(clf._scores(graph, None), scores, atol=1e-9)
    probabilities = scipy.special.softmax(scores, axis=1)
    np.testing.assert_allclose(clf.predict_proba(), probabilities, atol=1e-9)
    expected = scores[:, 1] - scores[:, 0] if C == 2 else scores
    np.testing.assert_allclose(clf.decision_function(), expected, atol=1e-9)


@pytest.mark.parametrize("kind", ["words", "dense", None])
def test_it_classifies(kind):
    graph, labels = planted(kind=kind)
    clf = fitted(graph, labels)
    assert clf.score(graph, labels, nodes=TEST) > 0.85
    assert clf.score(None, labels, nodes=np.isin(np.arange(90), TEST)) == clf.score(
        graph, labels, nodes=TEST
    )


def test_predictions_of_nodes_are_rows_of_all_predictions():
    clf = fitted()
    for name in ("predict", "predict_proba", "decision_function"):
        whole = getattr(clf, name)()
        np.testing.assert_array_equal(getattr(clf, name)(nodes=[7, 3, 3]), whole[[7, 3, 3]])
        np.testing.assert_array_equal(getattr(clf, name)(GRAPH, TEST), whole[TEST])
        assert len(getattr(clf, name)(nodes=[])) == 0


def test_unlabelled_nodes_need_no_train():
    y = [str(c) if i in TRAIN else None for i, c in enumerate(LABELS)]
    by_missing, by_train = fitted(y=y, train=None), fitted()
    np.testing.assert_array_equal(by_missing.coef_, by_train.coef_)
    assert by_missing.predict().tolist() == [str(c) for c in by_train.predict()]


@pytest.mark.parametrize(
    "names", [[3, 7, 12], ["x", "y", "z"], [3, 7, "x"], [0.0, 1.0, 5.0], [2**60, 2**60 + 1, 5]]
)
def test_labels_come_back_unchanged(names):
    y = np.array([names[c] for c in LABELS], dtype=object if names == [3, 7, "x"] else None)
    predicted = fitted(y=y).predict()
    assert set(predicted.tolist()) == set(names)
    expected = [names[c] for c in fitted().predict()]
    order = sorted(names, key=lambda name: (type(name).__name__, name))
    if order == names:
        assert predicted.tolist() == expected
    assert fitted(y=y).score(None, y, TEST) > 0.85


def test_two_classes_have_one_score():
    labels = LABELS == 1
    clf = fitted(y=labels)
    assert clf.decision_function().shape == (90,)
    assert clf.predict_proba().shape == (90, 2)
    assert clf.predict().dtype == bool
    np.testing.assert_array_equal(clf.predict(), clf.decision_function() > 0)
    np.testing.assert_allclose(
        clf.predict_proba()[:, 1], scipy.special.expit(clf.decision_function()), rtol=1e-5
    )


@pytest.mark.parametrize("kind", ["words", "dense"])
def test_the_inductive_setting(kind):
    """Fitted to the training part alone, it labels the whole graph, and nothing has leaked."""
    graph, labels = planted(kind=kind)
    part = np.arange(0, 90, 2)
    clf = fitted(graph.subgraph(part), labels[part], train=None)
    assert clf.score(graph, labels, nodes=np.arange(1, 90, 2)) > 0.8
    np.testing.assert_allclose(
        clf.predict_proba(graph),
        scipy.special.softmax(by_definition(clf, graph), axis=1),
        atol=1e-4,
    )
    other = graph.features.toarray() if sp.issparse(graph.features) else graph.features.copy()
    other[1::2] = 5
    again = fitted(graph.with_features(other).subgraph(part), labels[part], train=None)
    np.testing.assert_allclose(again.coef_, clf.coef_, atol=1e-6)


def test_predicting_diffuses_a_column_per_class(monkeypatch):
    seen = []

    def watch(graph, **options):
        seen.append(graph.num_features)
        return hg.diffuse(graph, **options)

    clf = fitted()
    monkeypatch.setattr("heatgraph.learning._diffusion_model.diffuse", watch)
    clf.predict()
    assert seen == [3]
    clf.explain(0)
    assert seen == [3, 0]


def test_published_protocol_is_literal_steps_and_adam():
    """K literal steps and Adam give the same scores and predictions."""
    clf = fitted(T=2.0, K=40, solver="adam", learning_rate=0.2, weight_decay=1e-4, random_state=3)
    assert clf.scheme_ == hg.Euler(2.0, 40)
    assert clf.K_ == 40
    scaled = GRAPH.with_features(clf.scaling_.apply(GRAPH.features, np.dtype(np.float32)))
    X = hg.diffuse(scaled, 2.0, 40, method="steps")
    seed = np.random.RandomState(3).randint(2**31)
    (weights,) = adam(X[np.newaxis, TRAIN], LABELS[TRAIN], 3, [1e-4], [0.2], epochs=100, seed=seed)
    scores = X @ weights[0, :-1] + weights[0, -1]
    np.testing.assert_allclose(clf.decision_function(), scores, atol=2e-3)
    assert (scores.argmax(axis=1) == clf.predict()).all()


@pytest.mark.parametrize(
    ("parameters", "scheme"),
    [
        ({"T": 2.0}, hg.Heat(2.0)),
        ({"T": 2.0, "K": 5}, hg.Euler(2.0, 5)),
        ({"T": 2.0, "K": 5, "scheme": "rk4"}, hg.RungeKutta4(2.0, 5)),
        ({"T": "auto", "scheme": hg.SGC(2)}, hg.SGC(2)),
        ({"T": "auto", "scheme": hg.PersonalizedPageRank(0.1)}, hg.PersonalizedPageRank(0.1)),
    ],
)
def test_schemes(parameters, scheme):
    clf = fitted(**parameters)
    assert clf.scheme_ == scheme
    assert getattr(scheme, "T", None) == clf.T_
    assert clf.search_ == []


def test_seeds():
    def weights(state):
        return fitted(solver="adam", random_state=state, epochs=3).coef_

    np.testing.assert_array_equal(weights(5), weights(5))
    np.testing.assert_array_equal(weights(None), weights(None))
    np.testing.assert_array_equal(
        weights(np.random.default_rng(1)), weights(np.random.default_rng(1))
    )
    np.testing.assert_array_equal(
        weights(np.random.RandomState(1)), weights(np.random.RandomState(1))
    )
    assert (weights(5) != weights(6)).any()


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_refitting_gives_the_same_and_changes_no_input(solver):
    graph, labels = planted(kind="dense")
    X, y = graph.features.copy(), labels.copy()
    clf = DGCClassifier(solver=solver, T=[1.0, 3.0], weight_decay=[1e-3, 1e-1], epochs=5)
    before = {name: copy.deepcopy(value) for name, value in clf.get_params().items()}
    first = clf.fit(graph, labels, TRAIN, VAL).predict_proba()
    records = clf.search_
    np.testing.assert_array_equal(clf.fit(graph, labels, TRAIN, VAL).predict_proba(), first)
    assert clf.search_ == records
    assert clf.get_params() == before
    np.testing.assert_array_equal(graph.features, X)
    np.testing.assert_array_equal(labels, y)


def test_the_number_of_threads_changes_nothing():
    one, two = (DGCClassifier(n_threads=k).fit(GRAPH, LABELS, TRAIN, VAL) for k in (1, 2))
    assert one.search_ == two.search_
    assert one.T_ == two.T_
    np.testing.assert_allclose(one.predict_proba(), two.predict_proba(), atol=1e-6)


def test_clone_params_and_repr():
    clf = fitted(T=2.0, K=[5, 9], scheme=["euler", "rk4"])
    copied = clone(clf)
    assert copied.get_params() == clf.get_params()
    assert not hasattr(copied, "coef_")
    assert copied.set_params(T=1.0).T == 1.0
    assert repr(DGCClassifier(T=2.0)) == "DGCClassifier(T=2.0)"


@pytest.mark.parametrize("dump", [pickle.dumps, cloudpickle.dumps])
def test_pickles(dump):
    clf = fitted()
    again = pickle.loads(dump(clf))
    np.testing.assert_array_equal(again.predict_proba(), clf.predict_proba())


def test_joblib(tmp_path):
    clf = fitted()
    joblib.dump(clf, tmp_path / "model")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model").predict(), clf.predict())
    # A method of the estimator: other processes cannot import the functions of a test.
    models = [DGCClassifier(**FIXED | {"T": T}) for T in (1.0, 2.0)]
    fits = (joblib.delayed(model.fit)(GRAPH, LABELS, TRAIN) for model in models)
    results = joblib.Parallel(n_jobs=2)(fits)
    np.testing.assert_array_equal(results[1].coef_, fitted(T=2.0).coef_)


def test_many_threads_predict_the_same_bits():
    clf = fitted()
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: clf.predict_proba(), range(32)))
    assert all((result == results[0]).all() for result in results)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"T": "often"}, "T must be a finite number >= 0. Got 'often'"),
        ({"T": -1.0}, "T must be a finite number >= 0. Got -1.0"),
        ({"T": []}, "T is an empty list"),
        ({"K": 0}, "K must be at least 1"),
        ({"T": "auto", "K": 0}, "K must be at least 1"),
        ({"K": 2.5}, "K must be an integer"),
        ({"scheme": "explicit"}, "scheme must be one of 'heat', 'euler', 'rk4'"),
        ({"scheme": "heat", "K": 3}, "takes no K"),
        ({"scheme": "rk4"}, "needs a number of steps"),
        ({"scheme": hg.SGC(2)}, "scheme objects have their own T and K"),
        ({"self_loops": "yes"}, "self_loops must be True or False. Got 'yes'"),
        ({"feature_scaling": "row"}, "feature_scaling must be one of 'auto', 'none'"),
        ({"solver": "sgd"}, "solver must be 'lbfgs' or 'adam'. Got 'sgd'"),
        ({"learning_rate": 0}, "learning_rate must be a finite number > 0. Got 0"),
        ({"epochs": 0}, "epochs must be an integer >= 1. Got 0"),
        ({"weight_decay": -1}, "weight_decay must be a finite number >= 0. Got -1"),
        ({"weight_decay": [1, np.nan]}, "weight_decay must be a finite number >= 0. Got nan"),
        ({"weight_decay": True}, "weight_decay must be a finite number >= 0. Got True"),
        ({"tol": 0}, "tol must be a number"),
        ({"dtype": "int8"}, "dtype must be float32 or float64"),
        ({"n_threads": 0}, "n_threads must be an integer"),
        ({"memory_budget": "much"}, "memory_budget must be"),
        ({"calibrate": "yes"}, "calibrate must be True, False or 'auto'"),
        ({"random_state": "seed"}, "cannot be used to seed"),
    ],
)
def test_invalid_parameters_are_refused(parameters, message):
    clf = DGCClassifier(**(FIXED | parameters))
    with pytest.raises(ValueError, match=message):
        clf.fit(GRAPH, LABELS, TRAIN)
    assert not hasattr(clf, "coef_")


def test_graphs_that_do_not_fit_the_model_are_refused():
    with pytest.raises(InputError, match=r"Got csr_array; Graph\(adjacency, features\) makes one"):
        DGCClassifier().fit(GRAPH.adjacency, LABELS)
    clf = fitted()
    with pytest.raises(InputError, match="fitted with 12 features per node. Got a graph with 3"):
        clf.predict(GRAPH.with_features(np.ones((90, 3))))
    with pytest.raises(InputError, match="fitted with 12 features per node. Got a graph with 0"):
        clf.predict(GRAPH.with_features(None))
    with pytest.raises(InputError, match=r"must be a heatgraph.Graph. Got ndarray"):
        clf.predict(np.ones((90, 12)))
    alone = fitted(GRAPH.with_features(None))
    with pytest.raises(InputError, match="without features, so .* graph of 90 nodes"):
        alone.predict(planted(n=60, kind=None)[0])
    with pytest.raises(InputError, match="no labelled node to score"):
        clf.score(None, np.full(90, -1))
    with pytest.raises(InputError, match="nodes names nodes without a label"):
        clf.score(None, np.full(90, -1), nodes=[1])


@pytest.mark.parametrize("name", ["predict", "predict_proba", "decision_function", "explain"])
def test_not_fitted(name):
    with pytest.raises(NotFittedError):
        getattr(DGCClassifier(), name)(GRAPH)
    with pytest.raises(NotFittedError):
        DGCClassifier().save("model")


def test_a_label_never_seen_in_training_counts_as_wrong():
    y = LABELS.astype(object)
    y[50] = "new"
    clf = fitted()
    assert clf.score(None, y, nodes=[50]) == 0


def test_warnings(monkeypatch):
    with pytest.warns(StabilityWarning, match="smallest stable K for this T is 3"):
        fitted(K=2)
    with pytest.warns(CollapseWarning):
        fitted(T=5000.0)
    y = np.where(np.isin(np.arange(90), TRAIN), LABELS, 9)
    with pytest.warns(UnknownClassWarning, match="1 of the classes .*: 9"):
        fitted(y=y, val=VAL)
    monkeypatch.setattr(_softmax_regression, "MAX_NEWTON_ITERATIONS", 2)
    with pytest.warns(ConvergenceWarning, match="weight_decay=1e-07 .*Choose a larger"):
        clf = fitted(weight_decay=1e-7)
    assert clf.converged_ is False


def test_a_memory_budget_is_kept_or_refused():
    with pytest.raises(hg.errors.MemoryBudgetError, match="needs .*, budget 1.0 kB"):
        fitted(memory_budget=1000)
    assert fitted(memory_budget="1MB").score(None, LABELS, TEST) > 0.85


def test_awkward_graphs():
    """No edges, and as many nodes as classes."""
    edgeless = Graph(sp.csr_array((4, 4)), features=np.eye(4))
    clf = DGCClassifier().fit(edgeless, [0, 1, -1, -1])
    assert clf.predict().tolist()[:2] == [0, 1]
    assert np.isfinite(clf.predict_proba()).all()


# Calibration


@pytest.mark.parametrize("val", [VAL, None])
def test_a_temperature_corrects_overconfidence(val):
    graph, labels = planted(n=400, kind="dense", noise=3.0)
    train = np.arange(60)
    val = None if val is None else np.arange(60, 200)
    hot = DGCClassifier(T=0.5, weight_decay=1e-6, calibrate=True).fit(graph, labels, train, val)
    raw = DGCClassifier(T=0.5, weight_decay=1e-6, calibrate=False).fit(graph, labels, train, val)
    assert hot.temperature_ > 1
    assert raw.temperature_ == 1
    np.testing.assert_array_equal(hot.predict(), raw.predict())
    np.testing.assert_array_equal(hot.decision_function(), raw.decision_function())
    test = np.arange(200, 400)
    errors = [
        hg.expected_calibration_error(clf.predict_proba(nodes=test), labels[test])
        for clf in (hot, raw)
    ]
    assert errors[0] < 0.5 * errors[1]


def test_when_to_calibrate():
    assert fitted().temperature_ == 1
    assert fitted(calibrate=True).temperature_ != 1
    assert fitted(calibrate=np.True_).temperature_ != 1
    assert fitted(val=VAL).temperature_ != 1
    assert fitted(val=VAL, calibrate=False).temperature_ == 1
    assert fitted(T=[1.0, 2.0]).temperature_ != 1


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_training_that_overflows_says_so():
    with pytest.raises(InputError, match="exceed float32, with learning_rate=1e\\+38"):
        fitted(solver="adam", learning_rate=1e38)


# Features and nodes that a model was fitted to


def named(names, graph=GRAPH):
    return graph.with_features(graph.features, names)


NAMES = [f"word {j}" for j in range(12)]


def test_features_are_recognised_by_name(tmp_path):
    clf = fitted(named(NAMES))
    assert clf.feature_names_in_ == NAMES
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.feature_names_in_ == NAMES
    for model in (clf, again):
        np.testing.assert_array_equal(model.predict(GRAPH), clf.predict())  # names are optional
        order = [1, 0, *range(2, len(NAMES))]
        shuffled = GRAPH.with_features(GRAPH.features[:, order], [NAMES[at] for at in order])
        np.testing.assert_array_equal(model.predict_proba(shuffled), model.predict_proba(GRAPH))
        with pytest.raises(InputError, match=r"lacks 1 of the \d+ features .* 'word 1'"):
            model.predict(named([NAMES[0], "another", *NAMES[2:]]))
    assert not hasattr(clf.fit(GRAPH, LABELS, TRAIN), "feature_names_in_")
    assert not hasattr(load(saved(clf, tmp_path)), "feature_names_in_")


def test_more_features_than_the_model_has_are_left_out():
    clf = fitted(named(NAMES))
    X = sp.hstack([np.ones((GRAPH.num_nodes, 1)), GRAPH.features], format="csr")
    wider = GRAPH.with_features(X, ["another", *NAMES])
    np.testing.assert_array_equal(clf.predict_proba(wider), clf.predict_proba(GRAPH))


def test_features_of_a_model_without_names_are_taken_in_order():
    clf = fitted()
    with pytest.warns(FeatureNamesWarning, match="taken in their order: 'word 0' for the first"):
        np.testing.assert_array_equal(clf.predict(named(NAMES)), clf.predict())


def test_predictions_of_one_class_are_warned_of():
    graph = GRAPH.with_features(np.zeros((90, 2)))
    labels = np.array(["a"] * 80 + ["b"] * 10)
    clf = DGCClassifier(T=1.0, weight_decay=1.0).fit(graph, labels)
    with pytest.warns(OneClassWarning, match="all 90 nodes are predicted as 'a', one of 2"):
        clf.predict()


@pytest.mark.parametrize("name", ["solver", "calibrate", "final_fit", "dtype", "n_threads"])
def test_long_values_are_cut_in_messages(name):
    with pytest.raises(InputError, match=name) as error:
        fitted(**{name: np.arange(100.0)})
    assert len(str(error.value)) < 160
    assert "\n" not in str(error.value)


def saved(clf, folder):
    clf.save(folder / "other")
    return folder / "other"


def test_nodes_without_features_are_recognised_by_their_ids(tmp_path):
    graph, labels = planted(kind=None)

    def with_ids(ids):
        return Graph(graph.adjacency, node_ids=ids)

    clf = fitted(with_ids(np.arange(90)), labels)
    again = load(saved(clf, tmp_path))
    for model in (clf, again):
        np.testing.assert_array_equal(model.predict(with_ids(list(range(90)))), clf.predict())
        np.testing.assert_array_equal(model.predict(graph), clf.predict())
        with pytest.raises(InputError, match="other ids or in another order"):
            model.predict(with_ids(np.arange(90)[::-1]))
        with pytest.raises(InputError, match="Got one of 89 nodes"):
            model.predict(with_ids(np.arange(90)).subgraph(np.arange(89)))


def test_validation_accuracy(tmp_path):
    assert fitted().validation_accuracy_ is None
    by_nodes = fitted(val=VAL)
    assert by_nodes.validation_accuracy_ == by_nodes.score(GRAPH, LABELS, VAL)
    assert fitted(val=VAL, calibrate=False).validation_accuracy_ == by_nodes.validation_accuracy_
    assert load(saved(by_nodes, tmp_path)).validation_accuracy_ == by_nodes.validation_accuracy_
    by_folds = DGCClassifier(T=[3.0], weight_decay=[1e-3], feature_scaling=["rows", "sqrt"])
    by_folds.fit(GRAPH, LABELS, TRAIN)
    best = max(record["accuracy"] for record in by_folds.search_)
    assert by_folds.validation_accuracy_ == pytest.approx(best, abs=0.2)


def test_one_node_per_class_gives_no_validation_accuracy():
    clf = DGCClassifier(T=[1.0, 2.0]).fit(GRAPH, LABELS, [0, 1, 2])
    assert clf.validation_accuracy_ is None
