"""Weights of classes and nodes in the loss, against scikit-learn and against repeated nodes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from strategies import planted

import heatgraph as hg
from heatgraph.errors import InputError
from heatgraph.learning._loss_weights import LossWeights

GRAPH, CODES = planted(kind="dense", noise=2.0)
LABELS = np.array(["a", "b", "c"])[CODES]
TRAIN = np.arange(40)
GIVEN = {
    "T": 2.0,
    "weight_decay": 1e-2,
    "feature_scaling": "none",
    "dtype": "float64",
    "tol": 1e-12,
}


def sklearn_coef(sample_weight):
    """Weights of the same objective: the bias is penalised, as the weight of a column of ones."""
    X = hg.diffuse(GRAPH, T=2.0, tol=1e-12, dtype="float64")[TRAIN]
    rows = np.hstack([X, np.ones((len(X), 1))])
    weights = sample_weight / sample_weight.sum()
    model = LogisticRegression(C=1 / GIVEN["weight_decay"], fit_intercept=False, tol=1e-10,
                               max_iter=5000)  # fmt: skip
    return model.fit(rows, LABELS[TRAIN], sample_weight=weights).coef_


@pytest.mark.parametrize(
    "class_weight", [None, "balanced", {"a": 3.0, "b": 0.5}], ids=["none", "balanced", "given"]
)
@pytest.mark.parametrize("by_node", [False, True])
def test_weights_are_those_of_scikit_learn(class_weight, by_node):
    sample_weight = np.random.default_rng(0).uniform(0, 3, GRAPH.num_nodes) if by_node else None
    clf = hg.DGCClassifier(class_weight=class_weight, **GIVEN)
    clf.fit(GRAPH, LABELS, TRAIN, sample_weight=sample_weight)
    expected = np.ones(len(TRAIN)) if sample_weight is None else sample_weight[TRAIN]
    if class_weight == "balanced":
        counts = {label: (LABELS[TRAIN] == label).sum() for label in "abc"}
        expected = expected / [counts[label] for label in LABELS[TRAIN]]
    elif class_weight:
        expected = expected * [class_weight.get(label, 1.0) for label in LABELS[TRAIN]]
    found = np.hstack([clf.coef_, clf.intercept_[:, np.newaxis]])
    found -= found.mean(axis=0)
    np.testing.assert_allclose(found, sklearn_coef(expected), atol=1e-4 * np.abs(found).max())


@pytest.mark.parametrize("val", [None, np.arange(40, 70)], ids=["folds", "val"])
def test_equal_weights_change_nothing(val):
    plain = hg.DGCClassifier().fit(GRAPH, LABELS, TRAIN, val)
    weighted = hg.DGCClassifier().fit(
        GRAPH, LABELS, TRAIN, val, sample_weight=np.full(GRAPH.num_nodes, 7.0)
    )
    assert pytest.approx(plain.T_, rel=1e-6) == weighted.T_
    np.testing.assert_allclose(weighted.predict_proba(), plain.predict_proba(), atol=1e-3)


def imbalanced(seed=0, positives=17, n=600):
    """A graph with a rare class, whose features hardly tell it."""
    random = np.random.default_rng(seed)
    y = np.zeros(n, dtype=int)
    y[random.choice(n, positives, replace=False)] = 1
    X = random.normal(size=(n, 5))
    X[:, 0] += 1.2 * y
    ends = random.integers(n, size=(2, 1500))
    return hg.Graph.from_edges(*ends, num_nodes=n, features=X, symmetrize="max"), y


@pytest.mark.filterwarnings("ignore::heatgraph.errors.OneClassWarning")
def test_a_rare_class_is_predicted_with_balanced_weights():
    graph, y = imbalanced()
    plain = hg.DGCClassifier().fit(graph, y)
    balanced = hg.DGCClassifier(class_weight="balanced", scoring="balanced_accuracy").fit(graph, y)
    assert plain.predict().sum() < 17
    assert balanced.predict()[y == 1].mean() > 0.5
    assert balanced.class_offsets_ is None
    assert balanced.validation_score_ > 0.6 > 0.5 == pytest.approx(plain_recall(plain, y), abs=0.1)


def plain_recall(clf, y):
    labels = clf.predict()
    return np.mean([(labels[y == c] == c).mean() for c in (0, 1)])


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1_macro", "log_loss", "roc_auc"])
@pytest.mark.parametrize("val", [None, np.arange(40, 70)], ids=["folds", "val"])
def test_every_scoring_searches_and_is_kept(scoring, val, tmp_path):
    weights = {"class_weight": {"a": 2.0}}
    clf = hg.DGCClassifier(scoring=scoring, **weights).fit(GRAPH, LABELS, TRAIN, val)
    best = max(clf.search_, key=lambda record: record["score"])
    assert best["score"] != best["accuracy"]
    assert clf.validation_score_ is not None
    clf.save(tmp_path / "model")
    loaded = hg.load(tmp_path / "model")
    assert loaded.get_params() == clf.get_params()
    assert (loaded.validation_score_, loaded.search_) == (clf.validation_score_, clf.search_)


def test_final_fit_balances_all_its_nodes():
    """The weights of validation nodes count too once the last fit learns from them."""
    weights = LossWeights.read("balanced", None, np.array([0, 1]), 6)
    np.testing.assert_allclose(
        weights.of_nodes(np.arange(4), np.array([0, 0, 0, 1]), 2), [1 / 6, 1 / 6, 1 / 6, 1 / 2]
    )
    clf = hg.DGCClassifier(class_weight="balanced", final_fit="train+val")
    clf.fit(GRAPH, LABELS, TRAIN, np.arange(40, 70))
    assert clf.final_fit_nodes_ == 70


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("balance", "class_weight must be None, 'balanced', or a weight for each label"),
        ({"d": 1.0}, "class_weight has a weight for 'd', which no training node has"),
        ({"a": "2"}, "class_weight of 'a' must be a number. Got '2'"),
        ({"a": -1.0}, "class_weight of 'a' must be finite and >= 0. Got -1.0"),
        ({"a": 0, "b": 0, "c": 0}, "the weights of all training nodes are zero"),
    ],
)
def test_wrong_class_weights(class_weight, message):
    with pytest.raises(InputError, match=message):
        hg.DGCClassifier(class_weight=class_weight, **GIVEN).fit(GRAPH, LABELS, TRAIN)


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (np.ones(3), r"sample_weight must have one weight per node.*Got shape \(3,\)"),
        (["x"] * GRAPH.num_nodes, "sample_weight must be real numbers"),
        (np.full(GRAPH.num_nodes, np.nan), "sample_weight must be finite"),
        (-np.ones(GRAPH.num_nodes), "sample_weight must be >= 0. Got -1 for node 0"),
        (np.zeros(GRAPH.num_nodes), "the weights of all training nodes are zero"),
    ],
)
def test_wrong_sample_weights(sample_weight, message):
    with pytest.raises(InputError, match=message):
        hg.DGCClassifier(**GIVEN).fit(GRAPH, LABELS, TRAIN, sample_weight=sample_weight)


@pytest.mark.parametrize("name", ["class_weight", "sample_weight"])
def test_adam_takes_no_weights(name):
    given = {"class_weight": "balanced"} if name == "class_weight" else {}
    kept = {"sample_weight": np.ones(GRAPH.num_nodes)} if name == "sample_weight" else {}
    with pytest.raises(InputError, match=f"{name} needs solver='lbfgs'"):
        hg.DGCClassifier(T=1.0, weight_decay=0.1, solver="adam", **given).fit(
            GRAPH, LABELS, TRAIN, **kept
        )
