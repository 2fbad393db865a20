"""What a default fit adds to DGC: similar edges, self-training and class offsets."""

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

import heatgraph as hg
from heatgraph import DGCClassifier
from heatgraph.errors import InputError
from heatgraph.learning import _extensions
from heatgraph.learning._extensions import EXTENSIONS, read_extensions
from heatgraph.learning._similar_nodes import add_similar_edges

DATA = hg.make_block_graph(600, 1200, 3, 20, signal=2.0, seed=3)
SPLIT = hg.random_split(DATA.labels, 10, 120, 300, seed=0)
GRAPH, LABELS = DATA.graph, DATA.labels


def fitted(extensions="auto", val=SPLIT.val, **parameters):
    model = DGCClassifier(extensions=extensions, **parameters)
    return model.fit(GRAPH, LABELS, SPLIT.train, val)


def test_names_are_read():
    assert read_extensions("auto") == EXTENSIONS
    assert read_extensions(None) == ()
    assert read_extensions("class-offsets") == ("class-offsets",)
    assert read_extensions(["self-training"]) == ("self-training",)
    with pytest.raises(InputError, match="extensions must be 'auto', None or a list of 'similar-"):
        fitted(["similar"])
    with pytest.raises(InputError, match="extensions need solver='lbfgs'"):
        fitted(["self-training"], solver="adam")


def test_members_of_a_default_fit():
    model = fitted()
    assert set(model.member_weights_) == {"plain", "similar", "student"}
    assert sum(model.member_weights_.values()) == pytest.approx(1)
    assert model.similar_coef_.shape == model.coef_.shape == (3, 20)
    assert model.class_offsets_.shape == (3,)


def test_plain_dgc_is_one_parameter_away():
    plain = fitted(None)
    assert plain.member_weights_ == {"plain": 1.0}
    assert plain.similar_coef_ is None
    assert plain.class_offsets_ is None
    same = fitted("auto", T=plain.T_, weight_decay=plain.weight_decay_)
    assert_array_equal(same.coef_, plain.coef_)
    assert fitted(T=[1.0, 2.0]).similar_coef_ is None
    assert DGCClassifier(scheme=[hg.SGC(1), hg.SGC(2)]).fit(
        GRAPH, LABELS, SPLIT.train, SPLIT.val
    ).member_weights_ == {"plain": 1.0}


def test_without_validation_nodes_there_is_no_student():
    model = fitted(val=None)
    assert set(model.member_weights_) == {"plain", "similar"}
    assert model.validation_accuracy_ is not None


def test_scores_are_the_sum_of_both_graphs():
    model = fitted(dtype="float64")
    X = model.scaling_.apply(GRAPH.features, np.dtype(np.float64))
    similar = add_similar_edges(GRAPH.with_features(X.astype(np.float32))).with_features(X)
    plain = hg.diffuse(GRAPH.with_features(X), T=model.T_, dtype="float64", tol=1e-9)
    other = hg.diffuse(similar, T=model.T_, dtype="float64", tol=1e-9)
    scores = plain @ model.coef_.T + other @ model.similar_coef_.T + model.intercept_
    assert_allclose(model.decision_function(), scores, atol=1e-4)


@pytest.mark.parametrize("val", [SPLIT.val, None])
def test_shares_of_an_explanation_add_up(val):
    model = fitted(val=val, dtype="float64")
    scores = model.decision_function()
    for node in (0, 17):
        explanation = model.explain(node, label=model.classes_[1])
        assert explanation.score == pytest.approx(scores[node, 1], abs=1e-4)
        for shares in (explanation.node_shares, explanation.feature_shares):
            assert explanation.bias + shares.sum() == pytest.approx(explanation.score, abs=1e-9)


def test_a_model_file_keeps_everything(tmp_path):
    model = fitted()
    model.save(tmp_path / "model.safetensors")
    loaded = hg.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.decision_function(GRAPH), model.decision_function())
    assert loaded.member_weights_ == model.member_weights_
    assert_allclose(loaded.class_offsets_, model.class_offsets_)
    assert loaded.extensions == "auto"


def test_bits_do_not_depend_on_threads():
    one, two = (fitted(n_threads=k) for k in (1, 2))
    for name in ("coef_", "similar_coef_", "intercept_", "temperature_"):
        assert_array_equal(getattr(one, name), getattr(two, name))


def test_labels_of_test_nodes_are_never_read():
    wrong = np.array(LABELS).copy()
    hidden = np.setdiff1d(np.arange(600), np.concatenate([SPLIT.train, SPLIT.val]))
    wrong[hidden] = (wrong[hidden] + 1) % 3
    other = DGCClassifier().fit(GRAPH, wrong, SPLIT.train, SPLIT.val)
    assert_array_equal(other.decision_function(), fitted().decision_function())


@pytest.mark.filterwarnings("ignore::heatgraph.errors.ShiftWarning")
def test_other_graphs_get_similar_edges_of_their_own():
    model = fitted()
    half = np.arange(0, 600, 2)
    part = GRAPH.subgraph(half)
    assert model.score(part, LABELS[half]) > 0.5
    assert model.predict(part).shape == (300,)


def test_a_member_that_is_clearly_worse_counts_for_nothing(monkeypatch):
    """Similar edges between nodes that have nothing in common."""

    def shuffled(graph, n_threads):
        order = np.random.default_rng(0).permutation(graph.num_nodes)
        return add_similar_edges(graph.with_features(graph.features[order])).with_features(
            np.random.default_rng(1).normal(size=graph.features.shape)
        )

    monkeypatch.setattr(_extensions, "add_similar_edges", shuffled)
    weights = fitted(["similar-edges"]).member_weights_
    assert weights["similar"] < 0.01


def test_no_similar_edges_without_features_edges_or_time():
    without = DGCClassifier().fit(GRAPH.with_features(None), LABELS, SPLIT.train, SPLIT.val)
    assert without.similar_coef_ is None
    assert without.class_offsets_ is not None
    still = fitted(["similar-edges", "class-offsets"], T=0.0)
    assert still.similar_coef_ is None


def test_self_training_weights_labelled_nodes_and_confidence():
    model = fitted(None)
    task, _ = model._task(GRAPH, LABELS, SPLIT.train, SPLIT.val)
    scores = model.decision_function()
    codes = LABELS[SPLIT.val]
    student = _extensions._student_task(task, (scores, scores[SPLIT.val]), codes)
    n = len(SPLIT.train)
    assert_array_equal(student.train[:n], SPLIT.train)
    assert set(student.train[n:]).isdisjoint(SPLIT.val)
    assert student.sample_weight.sum() == pytest.approx(1)
    assert student.sample_weight[:n].sum() == pytest.approx(1 / 4)
    P = scipy.special.softmax(scores[student.train[n:]], axis=1)
    assert np.corrcoef(student.sample_weight[n:], P.max(axis=1))[0, 1] > 0.8


def test_class_offsets_correct_shares(recwarn):
    """Training nodes with equal shares, where one class is much larger."""
    random = np.random.default_rng(0)
    labels = random.choice(3, size=900, p=[0.8, 0.1, 0.1])
    X = np.eye(3)[labels] + random.normal(size=(900, 3))
    src, dst = random.integers(900, size=(2, 300))
    graph = hg.Graph.from_edges(src, dst, features=X, symmetrize="max")
    split = hg.random_split(labels, 15, 300, 500, seed=0)
    plain, offset = (
        DGCClassifier(extensions=names, T=0.5, weight_decay=[1e-2, 1e-1]).fit(
            graph, labels, split.train, split.val
        )
        for names in (None, ["class-offsets"])
    )
    assert offset.class_offsets_.argmax() == 0
    assert offset.score(None, labels, split.test) > plain.score(None, labels, split.test) + 0.05
    # Accuracy on validation nodes is reported before the offsets are learned from them.
    assert offset.validation_accuracy_ == plain.validation_accuracy_


def test_extensions_that_are_named_hold_out_nodes_by_themselves():
    model = fitted(["similar-edges", "class-offsets"], val=None, T=2.0, weight_decay=0.01)
    assert set(model.member_weights_) == {"plain", "similar"}
    assert model.class_offsets_ is not None


def test_a_default_fit_leaves_out_what_takes_long(monkeypatch):
    monkeypatch.setattr(_extensions, "MAX_STUDENT_WORK", 1.0)
    assert set(fitted().member_weights_) == {"plain", "similar"}
    monkeypatch.setattr("heatgraph.learning._similar_nodes.MAX_EXACT_WORK", 1.0)
    monkeypatch.setattr("heatgraph.learning._similar_nodes.is_extra_installed", lambda: False)
    assert set(fitted().member_weights_) == {"plain"}
    named = fitted(["similar-edges", "self-training"])
    assert set(named.member_weights_) == {"plain", "similar", "student"}
