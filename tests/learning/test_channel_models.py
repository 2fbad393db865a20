"""Linear models of channels, for graphs whose neighbours differ."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import heatgraph as hg
from heatgraph import DGCClassifier
from heatgraph._engine.threads import SingleBlasThread
from heatgraph.errors import ConvergenceWarning, InputError
from heatgraph.learning import _channel_models
from heatgraph.learning._channel_models import (
    are_channels_worth_comparing,
    candidate_sets,
    channel_scores,
    fit_channels,
    fit_set,
    is_clearly_better,
    neighbours_clearly_agree,
)
from heatgraph.learning._channels import HOPS, LINKS, Channels
from heatgraph.learning._folds import SampleSize
from heatgraph.learning._search_space import Setting
from heatgraph.learning._serialization import deserialize_model, serialize_model
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.learning._task import NodeClassificationTask
from heatgraph.learning.classifier import from_fitted_model, to_fitted_model

DIFFERING = hg.make_block_graph(400, 2400, 3, 16, homophily=0.02, signal=1.0, seed=1)
BIPARTITE = hg.make_block_graph(300, 1500, 2, 8, homophily=0.02, signal=0.6, seed=2)
AGREEING = hg.make_block_graph(300, 900, 3, 16, homophily=0.9, seed=3)
SETTING = Setting(hg.Heat(1.5), True, "standard", 1e-2, 0.2)


def fitted(data=DIFFERING, val=True, extensions="auto", **parameters):
    split = data.split
    model = DGCClassifier(extensions=extensions, **parameters)
    return model.fit(data.graph, data.labels, split.train, split.val if val else None)


def task_of(data, dtype="float64", graph=None, train=None):
    model = DGCClassifier(dtype=dtype, tol=1e-9 if dtype == "float64" else 1e-6)
    train = data.split.train if train is None else train
    return model._task(graph or data.graph, data.labels, train, data.split.val)[0]


def dense_mean(graph):
    A = graph.adjacency.toarray().astype(np.float64)
    np.fill_diagonal(A, 0)
    degrees = A.sum(axis=1, keepdims=True)
    return np.divide(A, degrees, out=np.zeros_like(A), where=degrees > 0)


def dense_block(name, graph, X, setting=SETTING):
    W = dense_mean(graph)
    if name == "heat":
        return hg.diffuse(graph.with_features(X), scheme=setting.scheme, dtype="float64", tol=1e-10)
    return np.linalg.matrix_power(W, len(HOPS[name])) @ (np.eye(len(W)) if name in LINKS else X)


def test_gram_of_a_set_is_that_of_its_blocks_side_by_side():
    task = task_of(DIFFERING)
    _, graph = task.scale_features("standard")
    folds = _channel_models.hold_out(task, _channel_models.COMPARING)
    L, names = folds.num_train_nodes, ("features", "neighbours", "links", "two-hop-links")
    grams = _channel_models._sampled_grams(task, SETTING, names, folds)
    blocks = [dense_block(name, graph, graph.features)[folds.nodes] for name in names]
    joined = np.hstack([Z / np.sqrt((Z[:L] ** 2).sum() / L) for Z in blocks])
    assert_allclose(sum(grams.values()), joined @ joined[:L].T, atol=1e-9)
    heat = _channel_models._sampled_grams(task, SETTING, ["heat"], folds)["heat"]
    Z = dense_block("heat", graph, graph.features)[folds.nodes]
    assert_allclose(heat, Z @ Z[:L].T / ((Z[:L] ** 2).sum() / L), atol=2e-2)


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 2e-3), ("float64", 1e-5)])
@pytest.mark.parametrize("few_nodes", [600, 100])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_fits_agree_with_blocks_side_by_side(monkeypatch, dtype, atol, few_nodes, is_sparse):
    """Few nodes by a Gram matrix, many by joined design matrices, heat as an operator if sparse."""
    monkeypatch.setattr(_channel_models, "FEW_NODES", few_nodes)
    monkeypatch.setattr("heatgraph.learning._softmax_regression.FEW_NODES", few_nodes)
    graph, setting = DIFFERING.graph, replace(SETTING, feature_scaling="none")
    if is_sparse:
        graph = graph.with_features(sp.csr_array(np.maximum(graph.features, 0)))
    task = task_of(DIFFERING, dtype, graph)
    if is_sparse and few_nodes == 100:
        monkeypatch.setattr(type(task), "fits_rows", lambda self, setting: False)
        monkeypatch.setattr(type(task), "mean_square", exact_mean_square)
    names = ("heat", "features", "neighbours", "links", "two-hop-links")
    model = fit_set(task, setting, names, 1e-2)
    X = np.asarray(graph.features.todense() if is_sparse else graph.features, dtype=np.float64)
    blocks = {name: dense_block(name, graph, X) for name in names}
    scales = {name: np.sqrt((Z[task.train] ** 2).sum(axis=1).mean()) for name, Z in blocks.items()}
    rows = np.hstack([blocks[name][task.train] / scales[name] for name in names])
    expected = SoftmaxRegression("lbfgs", 1, 0).fit(rows, task.codes, 3, 1e-2, 0.2)
    assert model.converged
    assert_allclose(model.bias, expected.bias, atol=atol)
    bounds = np.cumsum([blocks[name].shape[1] for name in names])[:-1]
    for name, Theta in zip(names, np.split(expected.Theta, bounds), strict=True):
        assert model.Thetas[name].dtype == dtype
        assert_allclose(model.Thetas[name] * scales[name], Theta, atol=atol)


def exact_mean_square(task, setting):
    rows = task.diffuse(task.graph, setting, rows=task.train)
    return float((rows.astype(np.float64) ** 2).sum()) / len(rows)


@pytest.mark.parametrize("val", [True, False])
@pytest.mark.parametrize("data", [DIFFERING, BIPARTITE])
def test_more_accurate_where_neighbours_differ(data, val):
    model, plain = fitted(data, val), fitted(data, val, extensions=None)
    assert model.channel_coefs_
    assert plain.channel_coefs_ == {}
    assert model.member_weights_ == {"channels": 1.0}
    test = data.split.test
    assert model.score(None, data.labels, test) > plain.score(None, data.labels, test) + 0.03
    assert model.validation_accuracy_ > plain.validation_accuracy_


def test_without_features_links_are_read():
    graph = DIFFERING.graph.with_features(None)
    data = replace(DIFFERING, graph=graph)
    model = fitted(data)
    assert set(model.channel_coefs_) <= set(LINKS)
    assert model.channel_coefs_["links"].shape == (3, 400)
    assert not model.coef_.any()
    explanation = model.explain(3)
    assert explanation.feature_shares is None
    assert_allclose(explanation.node_shares, explanation.link_shares)


def test_agreeing_neighbours_keep_the_very_same_model():
    others = ["similar-edges", "self-training", "class-offsets"]
    model, without = fitted(AGREEING), fitted(AGREEING, extensions=others)
    assert neighbours_clearly_agree(task_of(AGREEING))
    assert model.channel_coefs_ == {}
    for name in ("coef_", "similar_coef_", "intercept_", "temperature_"):
        assert_array_equal(getattr(model, name), getattr(without, name))


def with_channels(data, names, val=True, **parameters):
    """A model of a given set of channels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_channel_models, "SETS", (("heat",), names))
        patch.setattr(_channel_models, "is_clearly_better", lambda *scores: True)
        model = fitted(data, val, ["channels", "class-offsets"], T=1.5, **parameters)
    assert set(model.channel_coefs_) == set(names) - {"heat"}
    return model


ALL = ("heat", "features", "neighbours", "links", "two-hop-links")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_are_the_sum_of_blocks(dtype):
    model = with_channels(DIFFERING, ALL, dtype=dtype)
    graph, setting = DIFFERING.graph, replace(SETTING, scheme=model.scheme_)
    X = model.scaling_.apply(graph.features, np.dtype(np.float64))
    scores = dense_block("heat", graph, X, setting) @ model.coef_.T + model.intercept_
    for name, coef in model.channel_coefs_.items():
        scores = scores + dense_block(name, graph, X) @ coef.T
    assert_allclose(model.decision_function(), scores, atol=1e-4)
    val = DIFFERING.split.val
    predicted = (scores - model.class_offsets_).argmax(axis=1)[val]
    assert model.validation_accuracy_ == (predicted == DIFFERING.labels[val]).mean()


@pytest.mark.parametrize("val", [True, False])
@pytest.mark.parametrize("data", [DIFFERING, BIPARTITE])
def test_shares_of_an_explanation_add_up(data, val):
    model = with_channels(data, ALL, val, dtype="float64")
    scores = model.decision_function()
    for node in (0, 17):
        explanation = model.explain(node, label=model.classes_[1])
        score = scores[node] if len(model.classes_) == 2 else scores[node, 1]
        assert explanation.score == pytest.approx(score, abs=1e-4)
        whole = explanation.score - explanation.bias
        by_links = explanation.link_shares.sum()
        assert explanation.node_shares.sum() == pytest.approx(whole, abs=1e-9)
        assert explanation.feature_shares.sum() + by_links == pytest.approx(whole, abs=1e-9)
        everything = model.explain(node, label=model.classes_[1], top=data.graph.features.size)
        assert sum(pair["share"] for pair in everything.pairs) == pytest.approx(whole - by_links)
        channels = Channels(data.graph, np.dtype(np.float64))
        rows = [channels.kernel_rows(name, np.array([node])).toarray()[0] for name in ALL[3:]]
        assert not explanation.link_shares[np.sum(rows, axis=0) == 0].any()
        assert explanation.directed_link_shares == {}
        assert "  links\n" in repr(explanation)


def test_models_without_links_have_no_link_shares():
    explanation = with_channels(DIFFERING, ("features", "neighbours")).explain(5)
    assert explanation.link_shares is None
    assert explanation.links == []
    assert "links" not in repr(explanation)


def test_a_model_file_keeps_channels(tmp_path):
    model = with_channels(DIFFERING, ALL)
    model.save(tmp_path / "model.safetensors")
    loaded = hg.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.decision_function(DIFFERING.graph), model.decision_function())
    assert loaded.channel_coefs_.keys() == model.channel_coefs_.keys()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("channel_other", lambda tensors: tensors["channel_features"]),
        ("channel_features", lambda tensors: tensors["channel_links"]),
        ("channel_links", lambda tensors: tensors["channel_links"][1:]),
        ("channel_neighbours", lambda tensors: np.nan * tensors["channel_neighbours"]),
    ],
)
def test_files_of_invalid_channels_are_refused(name, change):
    content, tensors = serialize_model(to_fitted_model(with_channels(DIFFERING, ALL)))
    from_fitted_model(deserialize_model(content, dict(tensors)))
    with pytest.raises(ValueError, match="channel"):
        deserialize_model(content, tensors | {name: change(tensors)})


def test_links_label_no_other_nodes():
    graph = DIFFERING.graph
    model = with_channels(DIFFERING, ("features", "links"))
    with pytest.raises(InputError, match="fitted with channels of links.*Got one of 399.*without"):
        model.predict(graph.subgraph(np.arange(399)))
    ids = np.arange(1000, 1400)
    named = hg.Graph(graph.adjacency, graph.features, node_ids=ids)
    model = with_channels(replace(DIFFERING, graph=named), ("links",))
    model.predict(graph)
    model.predict(named)
    with pytest.raises(InputError, match="other ids or in another order. To label other graphs"):
        model.predict(hg.Graph(graph.adjacency, graph.features, node_ids=ids[::-1]))


@pytest.mark.filterwarnings("ignore::heatgraph.errors.ShiftWarning")
def test_features_of_neighbours_label_other_graphs():
    half = np.arange(0, 400, 2)
    model = with_channels(DIFFERING, ("heat", "features", "neighbours"))
    assert model.predict(DIFFERING.graph.subgraph(half)).shape == (200,)


def test_labels_of_test_nodes_are_never_read():
    wrong = DIFFERING.labels.copy()
    wrong[DIFFERING.split.test] = (wrong[DIFFERING.split.test] + 1) % 3
    other = fitted(replace(DIFFERING, labels=wrong))
    assert other.channel_coefs_
    assert_array_equal(other.decision_function(), fitted().decision_function())


def test_bits_do_not_depend_on_threads():
    one, two = (with_channels(DIFFERING, ALL, n_threads=k) for k in (1, 2))
    assert_array_equal(one.intercept_, two.intercept_)
    for name in one.channel_coefs_:
        assert_array_equal(one.channel_coefs_[name], two.channel_coefs_[name])


def test_candidates_depend_on_features_time_and_size(monkeypatch):
    task = task_of(DIFFERING)
    assert len(candidate_sets(task, SETTING)) == len(_channel_models.SETS)
    bare = task_of(DIFFERING, graph=DIFFERING.graph.with_features(None))
    assert candidate_sets(bare, SETTING) == [("heat",), ("links",), ("links", "two-hop-links")]
    still = candidate_sets(task, replace(SETTING, scheme=hg.Heat(0.0)))
    assert all(not {"heat", "features"} <= set(names) for names in still)
    assert ("features",) not in still
    monkeypatch.setattr(_channel_models, "MAX_TWO_HOP_ENTRIES", 10)
    assert all("two-hop-links" not in names for names in candidate_sets(task, SETTING))
    monkeypatch.setattr(_channel_models, "MAX_LINK_WEIGHTS", 10)
    assert all("links" not in names for names in candidate_sets(task, SETTING))
    assert fit_channels(bare, SETTING) is None


def test_given_weight_decays_are_kept():
    model = fitted(weight_decay=[1e-3, 1e-2])
    assert model.channel_coefs_ == {}
    assert fitted(extensions=["channels"], weight_decay=[1e-3, 1e-2]).channel_coefs_


def test_few_labelled_edges_compare_nothing():
    split = hg.random_split(DIFFERING.labels, 3, 9, 100, seed=0)
    task, _ = DGCClassifier()._task(DIFFERING.graph, DIFFERING.labels, split.train, split.val)
    assert neighbours_clearly_agree(task) is None
    assert not are_channels_worth_comparing(task)


def test_names_are_checked():
    with pytest.raises(InputError, match="'channels'. Got 'channel'"):
        fitted(extensions=["channel"])
    with pytest.raises(InputError, match="extensions need solver='lbfgs'"):
        fitted(extensions=["channels"], solver="adam")


def test_a_gain_must_exceed_its_standard_error():
    """Of 16 nodes, 9 are right by one and 1 by the other: a gain of 8 with an error of sqrt(10)."""
    codes = np.zeros(16, dtype=np.int64)
    right, wrong = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    ours = np.array([right] * 9 + [wrong] * 7)
    others = np.array([wrong] * 15 + [right])
    assert is_clearly_better(ours, others, codes)
    assert not is_clearly_better(others, ours, codes)
    assert not is_clearly_better(ours, others, codes, least_gain=3.0)
    assert not is_clearly_better(ours[:1], ours[:1], codes[:1])
    assert not is_clearly_better(ours[:1], others[:1], codes[:1])


def test_a_final_fit_may_include_validation_nodes():
    model = fitted(final_fit="train+val")
    assert model.channel_coefs_
    assert model.final_fit_nodes_ == len(DIFFERING.split.train) + len(DIFFERING.split.val)


def weak_features(seed):
    """Neighbours agree, features tell little, and 1,200 nodes have labels to learn links from."""
    return hg.make_block_graph(2000, 6000, 4, 16, homophily=0.6, signal=0.3, seed=seed)


@pytest.mark.parametrize("val", [True, False])
@pytest.mark.parametrize("clearly", [True, False])
def test_links_are_found_where_neighbours_agree_and_features_tell_little(val, clearly, monkeypatch):
    data = weak_features(0)
    task = task_of(data)
    monkeypatch.setattr(_channel_models, "CLEARLY_AGREEING", 0.4 if clearly else 0.6)
    assert neighbours_clearly_agree(task) == clearly
    model, plain = fitted(data, val), fitted(data, val, extensions=None)
    assert not set(LINKS).isdisjoint(model.channel_coefs_)
    test = data.split.test
    assert model.score(None, data.labels, test) > plain.score(None, data.labels, test) + 0.03
    # Where fits to all training nodes take too long, nothing is compared, but the sample decides
    # where neighbours do not clearly agree.
    monkeypatch.setattr(_channel_models, "MAX_FINAL_WORK", 0)
    assert are_channels_worth_comparing(task) != clearly
    assert are_channels_worth_comparing(task_of(DIFFERING))
    monkeypatch.setattr(_channel_models, "COMPARING", SampleSize(100, 0.01))
    assert fit_channels(task_of(DIFFERING), SETTING).held_out is None


def test_the_best_set_is_fitted_to_all_training_nodes():
    data = weak_features(1)
    task = replace(task_of(data), val=None, val_codes=None)
    model = fit_channels(task, SETTING)
    with SingleBlasThread():
        again = fit_set(task, SETTING, tuple(model.Thetas), model.weight_decay)
    for name, Theta in model.Thetas.items():
        assert_array_equal(Theta, again.Thetas[name])
    scores, codes = model.held_out
    assert len(scores) == len(codes) == len(task.train) // 5
    # Scores of nodes that the model has learned from would be more accurate.
    held_out = task.with_held_out_nodes(10**6)
    assert_array_equal(codes, held_out.val_codes)
    learned = channel_scores(task, SETTING, model)[held_out.val]
    assert (scores.argmax(axis=1) == codes).mean() < (learned.argmax(axis=1) == codes).mean()


def test_a_channel_fit_that_does_not_converge_is_told(monkeypatch):
    def stopped(*arguments):
        return replace(fit_set(*arguments), converged=False)

    monkeypatch.setattr(_channel_models, "fit_set", stopped)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        model = fitted()
    assert model.channel_coefs_
    assert not model.converged_


@pytest.mark.filterwarnings("error::heatgraph.errors.ConvergenceWarning")
def test_a_plain_fit_that_channels_replace_need_not_converge(monkeypatch):
    plain = NodeClassificationTask.fit

    def stopped(self, *arguments):
        scaling, fit = plain(self, *arguments)
        return scaling, replace(fit, converged=False)

    monkeypatch.setattr(NodeClassificationTask, "fit", stopped)
    model = fitted()
    assert model.channel_coefs_
    assert model.converged_
