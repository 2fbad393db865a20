"""Measures of one run."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import accuracy_score, f1_score

from heatgraph import DGCClassifier
from heatgraph.baselines.gnn.grid_search import TunedGNNClassifier
from heatgraph.baselines.gnn.recipes import RECIPES
from heatgraph.baselines.stacked import SIGNClassifier
from heatgraph.errors import InputError
from heatgraph.experiments.compare import measures
from heatgraph.experiments.compare.measures import (
    Job,
    classification_metrics,
    correct_predictions,
    count_parameters,
    measure,
    without_search,
)
from heatgraph.experiments.compare.methods import LINEAR_METHODS, METHODS, Method

MEASURED_NETWORKS = ("gcn", "gwnn", "sgc-pyg")


def silent(*_):
    pass


def test_metrics_are_those_of_scikit_learn(data):
    rng = np.random.default_rng(0)
    test = data.split.test
    P = rng.dirichlet([1, 1, 1], len(test))
    metrics = classification_metrics(P, np.array([0, 1, 2]), data, test)
    truth, predicted = data.labels[test], P.argmax(axis=1)
    assert metrics["accuracy"] == accuracy_score(truth, predicted)
    assert metrics["macro_f1"] == pytest.approx(f1_score(truth, predicted, average="macro"))
    assert_array_equal(correct_predictions(metrics), truth == predicted)
    assert (metrics["test_nodes"], metrics["test_share"]) == (45, 0.5)


def test_classes_without_training_nodes_are_always_wrong(data):
    names = np.array(["a", "b", "c", "d", "e"], dtype=object)[np.arange(90) % 5]
    test = data.split.test
    P = np.random.default_rng(0).dirichlet([1, 1], len(test))
    classes = np.array(["b", "d"], dtype=object)
    metrics = classification_metrics(P, classes, replace(data, labels=names), test)
    predicted = np.where(P[:, 0] > P[:, 1], "b", "d")
    assert metrics["accuracy"] == accuracy_score(names[test], predicted)
    assert metrics["macro_f1"] == pytest.approx(f1_score(names[test], predicted, average="macro"))


@pytest.mark.parametrize(
    "method",
    [
        *LINEAR_METHODS,
        "dgc-refit",
        *(pytest.param(name, marks=pytest.mark.torch) for name in MEASURED_NETWORKS),
    ],
)
def test_measure(method, data, monkeypatch):
    if not METHODS[method].is_installed:
        pytest.skip(f"{method} needs the extra {METHODS[method].extra}")
    network = method.removesuffix("-pyg")
    if method in MEASURED_NETWORKS:
        brief = replace(RECIPES[network].default, epochs=40)
        monkeypatch.setitem(RECIPES, network, replace(RECIPES[network], default=brief))
    result = measure(Job(method, data, threads=1), silent)
    assert result["accuracy"] > 0.4
    assert result["fit_seconds"] > 0
    assert result["predict_seconds"] > 0
    assert (result["refit_seconds"] is None) == (
        method in ("label-propagation", "deepwalk", *MEASURED_NETWORKS)
    )
    if sys.platform != "win32":
        assert 10e6 < result["peak_bytes"] < 100e9
    assert (result["parameters"] > 0) == (method != "label-propagation")


@pytest.mark.torch
def test_measure_of_a_tuned_network(data, monkeypatch):
    if not METHODS["gcn-tuned"].is_installed:
        pytest.skip("gcn-tuned needs the extra gnn")
    grid = {"learning_rate": [1e-6, 0.05]}
    brief = replace(METHODS["gcn-tuned"], make=lambda _: TunedGNNClassifier("gcn", grid, epochs=40))
    monkeypatch.setitem(METHODS, "gcn-tuned", brief)
    stages = []
    result = measure(Job("gcn-tuned", data, threads=1), lambda fit: stages.append(fit.stage))
    assert set(stages) == {"search"}
    assert result["accuracy"] > 0.4
    assert 0 < result["refit_seconds"] < result["fit_seconds"]
    assert result["validation_accuracy"] > 0.4
    assert result["parameters"] > 0


def test_noise_lowers_accuracy(data):
    clean, noisy = (measure(Job("dgc", data, noise=noise), silent) for noise in (0.0, 9.0))
    assert noisy["accuracy"] < clean["accuracy"]


def test_without_features(data):
    bare = replace(data, graph=data.graph.with_features(None))
    assert measure(Job("dgc", bare), silent)["accuracy"] > 0.4


def test_parameters_of_a_model_with_similar_edges_are_counted(data):
    split, parameters = data.split, []
    for names in (None, ["similar-edges"], ["class-offsets"]):
        model = DGCClassifier(T=2.0, weight_decay=1e-2, extensions=names)
        model.fit(data.graph, data.labels, split.train, split.val)
        parameters.append(count_parameters(model))
    d = data.graph.num_features
    assert parameters == [3 * d + 3, 6 * d + 3, 3 * d + 3]


@pytest.mark.parametrize(
    "model",
    [
        DGCClassifier(extensions=None),
        DGCClassifier(),
        DGCClassifier(final_fit="train+val"),
        SIGNClassifier(r=(1, 2)),
    ],
)
def test_a_fit_without_search_gives_the_same_model(model, data):
    split = data.split
    fitted = model.fit(data.graph, data.labels, split.train, split.val)
    again = without_search(fitted).fit(data.graph, data.labels, split.train, split.val)
    assert_array_equal(again.predict(), fitted.predict())
    assert again.weight_decay_ == fitted.weight_decay_
    assert count_parameters(again) == count_parameters(fitted) > 12


@pytest.mark.torch
@pytest.mark.parametrize("has_val", [True, False])
def test_a_tuned_network_without_search_is_the_same(has_val, data):
    pytest.importorskip("torch_geometric", reason="needs the extra gnn")
    split = data.split
    val = split.val if has_val else None
    model = TunedGNNClassifier("gcn", {"hidden": [2, 4]}, epochs=5, random_state=3, n_threads=1)
    fitted = model.fit(data.graph, data.labels, split.train, val)
    again = without_search(fitted).fit(data.graph, data.labels, split.train, val)
    assert_array_equal(again.predict_proba(), fitted.predict_proba())


def test_divergence_is_an_error(data, monkeypatch):
    class Diverging(DGCClassifier):
        def predict_proba(self, graph=None, nodes=None):
            return np.full((len(nodes), 3), np.nan)

    monkeypatch.setitem(METHODS, "dgc", Method("DGC", lambda _: Diverging(T=1.0)))
    with pytest.raises(InputError, match="its training diverged"):
        measure(Job("dgc", data), silent)


def test_a_failing_refit_keeps_the_other_measures(data, monkeypatch):
    monkeypatch.setattr(measures, "without_search", lambda model: "no estimator")
    assert measure(Job("dgc", data), silent)["refit_seconds"] is None
