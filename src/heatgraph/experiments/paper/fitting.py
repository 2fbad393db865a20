"""Trials that fit a model once and evaluate it on the test nodes, shared by several experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from heatgraph.datasets.dataset import Dataset
from heatgraph.experiments.paper.experiment import DatasetCache
from heatgraph.experiments.paper.settings import AUTHORS
from heatgraph.experiments.results import Records, Trial
from heatgraph.graph import Graph
from heatgraph.learning._serialization import result_parameters, to_json_value
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.scaling import Scaling
from heatgraph.report.document import Series
from heatgraph.schemes import SGC

# From a seed to an unfitted estimator.
SeededFactory = Callable[[int], Any]

# Fitted attributes that hold a chosen setting; estimators have some of them.
CHOSEN_SETTINGS = (
    "T_", "K_", "scheme_", "weight_decay_", "learning_rate_", "feature_scaling_", "setting_",
)  # fmt: skip


def evaluate(model: Any, data: Dataset) -> dict[str, Any]:
    """Test accuracy of a fitted model, in percent, and its chosen settings."""
    accuracy = 100 * model.score(None, data.labels, data.split.test)
    result: dict[str, Any] = {"accuracy": round(accuracy, 4)}
    for name in CHOSEN_SETTINGS:
        value = getattr(model, name, None)
        if value is not None:
            result[name.rstrip("_")] = value if isinstance(value, dict) else to_json_value(value)
    return result


def estimator_parameters(model: Any) -> dict[str, Any]:
    """An estimator's parameters as JSON values, for the details of a trial."""
    return result_parameters(model)


def fit_trial(
    method: str, name: str, protocol: str, make: SeededFactory, split: str, seed: int
) -> Trial:
    """One fit of a method to a citation graph, evaluated on the test nodes."""

    def run(datasets: DatasetCache) -> dict[str, Any]:
        data = datasets.load(name, split, seed)
        # The authors' code for DGC reads no validation nodes: its settings are fixed.
        val = None if protocol == "published" and method == "DGC" else data.split.val
        return evaluate(make(seed).fit(data.graph, data.labels, data.split.train, val), data)

    setting = {
        "method": method,
        "dataset": name,
        "protocol": protocol,
        "split": split,
        "seed": seed,
    }
    return Trial(setting, run, estimator_parameters(make(seed)))


def fit_authors_dgc(data: Dataset, seed: int = 0, **overrides: Any) -> DGCClassifier:
    """Fit DGC with its authors' settings but for `overrides`, which may make it unstable."""
    model = AUTHORS[data.name].classifier(seed, **overrides)
    return model.fit(data.graph, data.labels, data.split.train)


def steps_trial(method: str, T: float | None, K: int, seed: int, **overrides: Any) -> Trial:
    """Accuracy on Cora after K steps, of DGC or, with T = None, of SGC.

    Both are trained with the learning rate and weight decay of DGC's authors; `overrides` are
    further parameters of the classifier.
    """

    def run(datasets: DatasetCache) -> dict[str, Any]:
        data = datasets.load("cora")
        steps: dict[str, Any] = {"T": T, "K": K}
        if T is None:
            steps = {"T": "auto", "K": None, "scheme": [SGC(K)]}
        return evaluate(fit_authors_dgc(data, seed, **steps, **overrides), data)

    setting = {"what": "steps", "method": method, "dataset": "cora", "protocol": "published",
               "T": T, "K": K, **overrides, "seed": seed}  # fmt: skip
    return Trial(setting, run, estimator_parameters(AUTHORS["cora"].classifier(seed)))


def with_scaled_rows(data: Dataset) -> Graph:
    """The graph with every feature row scaled to sum 1, as in the paper."""
    X = data.graph.features
    scaling = Scaling.learn("rows", X, data.split.train)
    return data.graph._with_features(scaling.apply(X, np.dtype(np.float32)))


def accuracy_series(name: str, groups: Sequence[tuple[float, Records]]) -> list[Series]:
    """Mean and standard deviation of accuracy over x; no series if there are no records."""
    accuracies = [(x, records.values("accuracy")) for x, records in groups if records]
    if not accuracies:
        return []
    x = [x for x, _ in accuracies]
    means = [float(np.mean(values)) for _, values in accuracies]
    spreads = [
        float(np.std(values, ddof=1)) if len(values) > 1 else 0.0 for _, values in accuracies
    ]
    return [Series(name, x, means, spreads)]
