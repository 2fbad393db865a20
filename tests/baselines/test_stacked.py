"""SIGN and PairNorm against their definitions, written out densely, and their files."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense_operator
from sklearn.base import clone
from strategies import planted, seeds

from heatgraph import load
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.baselines.stacked import PairNormClassifier, SIGNClassifier, pair_norm
from heatgraph.errors import FileFormatError, InputError
from heatgraph.learning.scaling import Scaling

GRAPH, LABELS = planted()
DENSE, _ = planted(kind="dense")
TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)
MODELS = {
    "SIGN": SIGNClassifier(r=(1, 2), weight_decay=[0.01, 0.1]),
    "PairNorm": PairNormClassifier(K=(1, 2), scale=(1.0, 5.0), weight_decay=[0.01, 0.1]),
}


def operator(graph, self_loops=True):
    return dense_operator(graph.adjacency.toarray(), self_loops)


def scale_rows(graph):
    X = graph.features
    return Scaling.learn("rows", X, TRAIN).apply(X, np.dtype(float)).toarray()


@pytest.mark.parametrize("self_loops", [True, False])
def test_sign_stacks_powers(self_loops):
    clf = SIGNClassifier(r=3, weight_decay=0.1, self_loops=self_loops, dtype="float64")
    clf.fit(GRAPH, LABELS, TRAIN)
    S, X = operator(GRAPH, self_loops=self_loops), scale_rows(GRAPH)
    stacked = np.hstack([np.linalg.matrix_power(S, k) @ X for k in range(4)])
    assert clf.head_.coef_.shape == (3, 4 * X.shape[1])
    scores = stacked @ clf.head_.coef_.T + clf.head_.intercept_
    assert_allclose(clf.decision_function(), scores, atol=1e-5)
    assert clf.setting_ == {"r": 3}


def test_pair_norm_after_every_step():
    clf = PairNormClassifier(K=2, scale=3.0, weight_decay=0.1, dtype="float64")
    clf.fit(DENSE, LABELS, TRAIN)
    assert clf.feature_scaling_ == "standard"
    X = clf.scaling_.apply(DENSE.features, np.dtype(float))
    for _ in range(2):
        X = operator(DENSE) @ X
        X = X - X.mean(axis=0)
        X = 3.0 * X / np.sqrt((X**2).sum(axis=1).mean())
    scores = X @ clf.head_.coef_.T + clf.head_.intercept_
    assert_allclose(clf.decision_function(), scores, atol=1e-4)


@given(seeds)
def test_pair_norm_centres_and_scales_rows(seed):
    random = np.random.default_rng(seed)
    X = pair_norm(random.normal(size=(20, 4)) + 5, scale=2.5)
    assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    assert np.square(X).sum(axis=1).mean() == pytest.approx(2.5**2)


def test_pair_norm_of_equal_rows():
    assert_array_equal(pair_norm(np.ones((3, 2))), np.zeros((3, 2)))


def test_best_candidate_on_validation_nodes():
    tried = []
    for r in (1, 2, 3):
        tried.append(SIGNClassifier(r=r).fit(GRAPH, LABELS, TRAIN, VAL).validation_accuracy_)
    clf = SIGNClassifier(r=(1, 2, 3)).fit(GRAPH, LABELS, TRAIN, VAL)
    assert clf.validation_accuracy_ == max(tried)
    assert clf.setting_["r"] == 1 + int(np.argmax(tried))


@pytest.mark.parametrize("candidates", [(1, 4), np.array([1, 4])], ids=["tuple", "array"])
def test_candidates_are_cross_validated_with_a_fixed_weight_decay(candidates):
    def fit(r):
        return SIGNClassifier(r=r, weight_decay=0.1).fit(GRAPH, LABELS, TRAIN)

    accuracy = {r: fit((r, r)).validation_accuracy_ for r in (1, 4)}
    clf = fit(candidates)
    assert clf.validation_accuracy_ == max(accuracy.values())
    assert accuracy[clf.setting_["r"]] == max(accuracy.values())


def test_progress():
    calls = []
    model = PairNormClassifier(K=(1, 2), weight_decay=0.1)
    model.fit(GRAPH, LABELS, TRAIN, VAL, progress=calls.append)
    steps = [(call.stage, call.done, call.total) for call in calls]
    assert list(dict.fromkeys(steps)) == [("search", k, 2) for k in range(3)]


def test_other_graphs_with_the_same_features():
    part = np.arange(60)
    clf = SIGNClassifier(r=2, weight_decay=0.1).fit(GRAPH.subgraph(part), LABELS[part], TRAIN)
    assert clf.predict(GRAPH).shape == (90,)
    assert clf.score(GRAPH, LABELS) > 0.5
    with pytest.raises(InputError, match="fitted with 12 features per node. Got a graph with 3"):
        clf.predict(GRAPH.with_features(np.ones((90, 3))))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SIGNClassifier(r=0), "r must be an integer >= 1"),
        (SIGNClassifier(r=()), "r must have at least one candidate"),
        (PairNormClassifier(K=1.5), "K must be an integer"),
        (PairNormClassifier(scale=-1.0), "scale must be a number > 0"),
        (SIGNClassifier(feature_scaling="zscore"), "feature_scaling"),
    ],
)
def test_parameters_are_checked(model, message):
    with pytest.raises(InputError, match=message):
        model.fit(GRAPH, LABELS, TRAIN)


def test_features_are_required():
    with pytest.raises(InputError, match="SIGNClassifier needs a graph with features"):
        SIGNClassifier().fit(GRAPH.with_features(None), LABELS)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("scaling", ["idf", "standard"])
def test_a_saved_model_predicts_the_same(model, scaling, tmp_path):
    graph = GRAPH if scaling == "idf" else DENSE
    clf = clone(model).set_params(feature_scaling=scaling, random_state=3)
    clf.fit(graph, np.array(["x", "y", "z"])[LABELS], TRAIN, VAL)
    clf.save(tmp_path / "model")
    again = type(model).load(tmp_path / "model")
    assert_array_equal(again.predict_proba(graph), clf.predict_proba())
    assert_array_equal(again.predict(graph, TEST), clf.predict(nodes=TEST))
    assert str(again.get_params()) == str(clf.get_params()).replace("(", "[").replace(")", "]")
    for name in ("setting_", "feature_scaling_", "weight_decay_", "validation_accuracy_"):
        assert getattr(again, name) == getattr(clf, name)
    with pytest.raises(InputError, match="has no graph of its own: pass graph="):
        again.predict()
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_file_of_another_class(tmp_path):
    clone(MODELS["SIGN"]).fit(GRAPH, LABELS, TRAIN, VAL).save(tmp_path / "model")
    with pytest.raises(FileFormatError, match="holds a SIGNClassifier; expected a PairNorm"):
        PairNormClassifier.load(tmp_path / "model")
    with pytest.raises(FileFormatError, match="holds a SIGNClassifier; expected a DGCClassifier"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    "changes",
    [
        {"setting": {"r": -1}},
        {"setting": {"scale": 1.0}},
        {"setting": 3},
        {"num_features": 0},
        {"num_features": 7},
        {"feature_scaling": "evil"},
        {"head": {}},
        {"parameters": {"r": 2, "evil": 1}},
    ],
)
def test_inconsistent_file(changes, tmp_path):
    clf = clone(MODELS["SIGN"]).set_params(r=2).fit(GRAPH, LABELS, TRAIN, VAL)
    clf.save(tmp_path / "model")
    content, tensors = read_tensors(tmp_path / "model", "SIGNClassifier")
    write_tensors(tmp_path / "model", "SIGNClassifier", content | changes, tensors)
    with pytest.raises(FileFormatError, match="does not hold a valid model"):
        SIGNClassifier.load(tmp_path / "model")
