"""Linear baselines against their definitions, written out densely."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense_operator
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from strategies import graphs, planted, seeds

from heatgraph import SGC, Graph, load
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.baselines.schemes import features_alone, personalized_pagerank, sgc
from heatgraph.baselines.stacked import PairNormClassifier, SIGNClassifier, pair_norm
from heatgraph.errors import ConvergenceWarning, FileFormatError, InputError
from heatgraph.learning.scaling import Scaling

GRAPH, LABELS = planted()
DENSE, _ = planted(kind="dense")
TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)
MODELS = {
    "SGC": sgc([1, 2], weight_decay=[0.01, 0.1]),
    "PageRank": personalized_pagerank([0.1, 0.3], weight_decay=0.1),
    "features": features_alone(weight_decay=[0.01, 0.1]),
    "SIGN": SIGNClassifier(r=(1, 2), weight_decay=[0.01, 0.1]),
    "PairNorm": PairNormClassifier(K=(1, 2), scale=(1.0, 5.0), weight_decay=[0.01, 0.1]),
    "label propagation": LabelPropagation(),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def operator(graph=GRAPH, self_loops=True):
    return dense_operator(graph.adjacency.toarray(), self_loops)


def rows_scaled(graph=GRAPH):
    return Scaling.learn("rows", graph.features, TRAIN).apply(graph.features, np.dtype(float))


# What all have in common


@every_model
@pytest.mark.parametrize("val", [VAL, None], ids=["validation", "folds"])
def test_it_learns(model, val):
    clf = clone(model).fit(GRAPH, LABELS, TRAIN, val)
    assert clf.score(GRAPH, LABELS, TEST) > 0.4
    probabilities = clf.predict_proba()
    assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    assert_array_equal(clf.classes_[probabilities.argmax(axis=1)], clf.predict())
    assert_array_equal(clf.predict(nodes=TEST), clf.predict()[TEST])
    right = (clf.predict(nodes=TEST) == LABELS[TEST]).mean()
    assert clf.score(None, LABELS, TEST) == pytest.approx(right)


@every_model
def test_labels_of_any_kind(model):
    names = np.array(["x", "y", "z"])[LABELS].astype(object)
    names[TEST] = None
    clf = clone(model).fit(GRAPH, names, val=VAL)
    assert set(clf.predict(GRAPH)) <= {"x", "y", "z"}
    assert clf.score(GRAPH, names) > 0.5


@every_model
def test_validation_nodes_are_not_learned_from(model):
    wrong = LABELS.copy()
    wrong[VAL] = (LABELS[VAL] + 1) % 3
    fixed = {"weight_decay": 0.1} if "weight_decay" in model.get_params() else {}
    if "r" in model.get_params():
        fixed["r"] = 2
    if isinstance(model, PairNormClassifier):
        fixed |= {"K": 2, "scale": 1.0}
    if "scheme" in model.get_params() and model.scheme is not None:
        fixed["scheme"] = model.scheme[:1]
    one, other = (
        clone(model).set_params(**fixed).fit(GRAPH, y, TRAIN, VAL) for y in (LABELS, wrong)
    )
    assert_array_equal(one.predict(), other.predict())


@every_model
def test_errors(model):
    with pytest.raises(NotFittedError):
        clone(model).predict(GRAPH)
    with pytest.raises(InputError, match="must be a heatgraph.Graph"):
        clone(model).fit(GRAPH.adjacency, LABELS)
    with pytest.raises(InputError, match="at least two classes"):
        clone(model).fit(GRAPH, np.zeros(90, dtype=int))
    with pytest.raises(InputError, match="overlap"):
        clone(model).fit(GRAPH, LABELS, TRAIN, TRAIN)


@every_model
def test_clones_and_refits_are_the_same(model):
    first, second = (clone(model).fit(GRAPH, LABELS, TRAIN, VAL) for _ in range(2))
    assert_array_equal(first.predict_proba(), second.predict_proba())
    assert first.get_params().keys() == model.get_params().keys()


# Each by its definition


@pytest.mark.parametrize("K", [1, 2, 5])
def test_sgc(K):
    clf = sgc(K, weight_decay=0.1, feature_scaling="rows", dtype="float64").fit(
        GRAPH, LABELS, TRAIN
    )
    assert clf.scheme_ == SGC(K)
    X = np.linalg.matrix_power(operator(), K) @ rows_scaled().toarray()
    assert_allclose(clf.decision_function(), X @ clf.coef_.T + clf.intercept_, atol=1e-5)


def test_personalized_pagerank():
    clf = personalized_pagerank(0.2, weight_decay=0.1, feature_scaling="rows", dtype="float64")
    clf.fit(GRAPH, LABELS, TRAIN)
    R = 0.2 * np.linalg.inv(np.eye(90) - 0.8 * operator())
    scores = R @ rows_scaled().toarray() @ clf.coef_.T + clf.intercept_
    assert_allclose(clf.decision_function(), scores, atol=1e-5)


def test_features_alone_need_no_edges():
    edgeless = Graph(sp.csr_array((90, 90)), GRAPH.features)
    one, other = (features_alone().fit(graph, LABELS, TRAIN, VAL) for graph in (GRAPH, edgeless))
    assert_array_equal(one.predict(), other.predict())


@pytest.mark.parametrize("self_loops", [True, False])
def test_sign_stacks_powers(self_loops):
    clf = SIGNClassifier(r=3, weight_decay=0.1, self_loops=self_loops, dtype="float64")
    clf.fit(GRAPH, LABELS, TRAIN)
    S, X = operator(self_loops=self_loops), rows_scaled().toarray()
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
def test_the_scale_of_pair_norm(seed):
    random = np.random.default_rng(seed)
    X = pair_norm(random.normal(size=(20, 4)) + 5, scale=2.5)
    assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    assert np.square(X).sum(axis=1).mean() == pytest.approx(2.5**2)


def test_pair_norm_of_equal_rows():
    assert_array_equal(pair_norm(np.ones((3, 2))), np.zeros((3, 2)))


def test_the_best_candidate_on_validation_nodes_is_taken():
    tried = []
    for r in (1, 2, 3):
        tried.append(SIGNClassifier(r=r).fit(GRAPH, LABELS, TRAIN, VAL).validation_accuracy_)
    clf = SIGNClassifier(r=(1, 2, 3)).fit(GRAPH, LABELS, TRAIN, VAL)
    assert clf.validation_accuracy_ == max(tried)
    assert clf.setting_["r"] == 1 + int(np.argmax(tried))


def test_progress():
    calls = []
    model = PairNormClassifier(K=(1, 2), weight_decay=0.1)
    model.fit(GRAPH, LABELS, TRAIN, VAL, progress=lambda *call: calls.append(call))
    assert calls == [("search", k, 2) for k in range(3)]


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
        (SIGNClassifier(r=0), "r must be a whole number >= 1"),
        (SIGNClassifier(r=()), "r must have at least one candidate"),
        (PairNormClassifier(K=1.5), "K must be a whole number"),
        (PairNormClassifier(scale=-1.0), "scale must be a number > 0"),
        (SIGNClassifier(feature_scaling="zscore"), "feature_scaling"),
        (LabelPropagation(tol=0), "tol must be between 0 and 1"),
    ],
)
def test_parameters_are_checked(model, message):
    with pytest.raises(InputError, match=message):
        model.fit(GRAPH, LABELS, TRAIN)


def test_stacks_need_features():
    with pytest.raises(InputError, match="SIGNClassifier needs a graph with features"):
        SIGNClassifier().fit(GRAPH.with_features(None), LABELS)
    clf = SIGNClassifier(r=1, weight_decay=0.1).fit(GRAPH, LABELS, TRAIN)
    with pytest.raises(InputError, match="no labelled node to score"):
        clf.score(GRAPH, np.full(90, -1))


# Label propagation


@given(graphs(max_nodes=14, featureless=True), seeds)
def test_label_propagation_solves_its_closed_form(graph, seed):
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
    wanted = np.tile(one_hot.mean(axis=0), (n, 1))
    wanted[known] = one_hot
    if len(unknown):
        right = A[np.ix_(unknown, known)] @ one_hot
        wanted[unknown] = np.linalg.solve(L[np.ix_(unknown, unknown)], right)
    assert_allclose(F, wanted, atol=1e-6)


def test_classes_get_their_mass():
    clf = LabelPropagation().fit(GRAPH, LABELS, TRAIN)
    raw = LabelPropagation(class_mass=False).fit(GRAPH, LABELS, TRAIN).predict_proba()
    reached = np.isin(GRAPH.components, GRAPH.components[TRAIN])
    unknown = np.setdiff1d(np.flatnonzero(reached), TRAIN)
    shares = np.bincount(LABELS[TRAIN]) / len(TRAIN)
    mass = raw[unknown] * shares / raw[unknown].sum(axis=0)
    assert_allclose(clf.predict_proba()[unknown], mass / mass.sum(axis=1, keepdims=True), atol=1e-6)


def test_label_propagation_stays_on_its_graph():
    clf = LabelPropagation().fit(GRAPH, LABELS, TRAIN)
    with pytest.raises(InputError, match="knows the graph that it was fitted on"):
        clf.predict(DENSE)


def test_label_propagation_tells_if_it_did_not_converge(monkeypatch):
    monkeypatch.setattr("scipy.sparse.linalg.cg", lambda L, b, rtol, M: (np.ones(len(b)), 1))
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        clf = LabelPropagation().fit(GRAPH, LABELS, TRAIN)
    assert not clf.converged_


def test_everything_is_labelled():
    graph = Graph.from_edges([0], [1], num_nodes=2, symmetrize="max")
    assert_array_equal(LabelPropagation().fit(graph, ["a", "b"]).predict(), ["a", "b"])


@pytest.mark.parametrize("candidates", [(1, 4), np.array([1, 4])], ids=["tuple", "array"])
def test_candidates_are_compared_in_folds_even_if_nothing_else_is_open(candidates):
    def fit(r):
        return SIGNClassifier(r=r, weight_decay=0.1).fit(GRAPH, LABELS, TRAIN)

    accuracy = {r: fit((r, r)).validation_accuracy_ for r in (1, 4)}
    clf = fit(candidates)
    assert clf.validation_accuracy_ == max(accuracy.values())
    assert accuracy[clf.setting_["r"]] == max(accuracy.values())


# Files


STACKED = {name: MODELS[name] for name in ("SIGN", "PairNorm")}
stacked = pytest.mark.parametrize("model", STACKED.values(), ids=STACKED)


@stacked
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


def test_a_file_of_another_kind_is_refused(tmp_path):
    MODELS["SIGN"].fit(GRAPH, LABELS, TRAIN, VAL).save(tmp_path / "model")
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
def test_what_does_not_fit_together_is_refused(changes, tmp_path):
    clf = clone(MODELS["SIGN"]).set_params(r=2).fit(GRAPH, LABELS, TRAIN, VAL)
    clf.save(tmp_path / "model")
    content, tensors = read_tensors(tmp_path / "model", "SIGNClassifier")
    write_tensors(tmp_path / "model", "SIGNClassifier", content | changes, tensors)
    with pytest.raises(FileFormatError, match="does not hold a whole model"):
        SIGNClassifier.load(tmp_path / "model")
