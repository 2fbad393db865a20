"""What many experiments do: fit a model to a data set once, and judge it on the test nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from heatgraph.datasets.dataset import Dataset
from heatgraph.experiments.paper.experiment import Materials
from heatgraph.experiments.paper.settings import AUTHORS
from heatgraph.experiments.results import Entry, Records
from heatgraph.graph import Graph
from heatgraph.learning._serialization import to_json_value
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.scaling import Scaling
from heatgraph.report.document import Series
from heatgraph.schemes import SGC

# Gives an estimator for a seed.
Make = Callable[[int], Any]

# What a fitted model may tell of its setting.
CHOSEN = ("T_", "K_", "scheme_", "weight_decay_", "learning_rate_", "feature_scaling_", "setting_")


def found(model: Any, data: Dataset) -> dict[str, Any]:
    """What a fitted model came to on the test nodes, in percent, and with which setting."""
    accuracy = 100 * model.score(None, data.labels, data.split.test)
    result: dict[str, Any] = {"accuracy": round(accuracy, 4)}
    for name in CHOSEN:
        value = getattr(model, name, None)
        if value is not None:
            result[name.rstrip("_")] = value if isinstance(value, dict) else to_json_value(value)
    return result


def parameters(model: Any) -> dict[str, Any]:
    """An estimator's parameters in plain values, as details of an entry."""
    return {name: to_json_value(value) for name, value in model.get_params(deep=False).items()}


def fit_entry(method: str, name: str, protocol: str, make: Make, split: str, seed: int) -> Entry:
    """One method, fitted once on a citation graph and judged on the test nodes."""

    def run(materials: Materials) -> dict[str, Any]:
        data = materials.data(name, split, seed)
        part = data.split
        # DGC's authors have no validation nodes: what there is to choose is chosen already.
        val = None if protocol == "published" and method == "DGC" else part.val
        return found(make(seed).fit(data.graph, data.labels, part.train, val), data)

    setting = {
        "method": method,
        "dataset": name,
        "protocol": protocol,
        "split": split,
        "seed": seed,
    }
    return Entry(setting, run, parameters(make(seed)))


def authors_dgc(data: Dataset, seed: int = 0, **changed: Any) -> DGCClassifier:
    """The authors' DGC fitted to a data set, but for what is changed; its steps may be unstable."""
    model = AUTHORS[data.name].classifier(seed, **changed)
    return model.fit(data.graph, data.labels, data.split.train)


def steps_entry(method: str, T: float | None, K: int, seed: int, **changed: Any) -> Entry:
    """Accuracy on Cora after K steps, of DGC or, without T, of SGC; trained as DGC's authors do.

    `changed` goes to the classifier.
    """

    def run(materials: Materials) -> dict[str, Any]:
        data = materials.data("cora")
        settings: dict[str, Any] = {"T": T, "K": K}
        if T is None:
            settings = {"T": "auto", "K": None, "scheme": [SGC(K)]}
        return found(authors_dgc(data, seed, **settings, **changed), data)

    setting = {"what": "steps", "method": method, "dataset": "cora", "protocol": "published",
               "T": T, "K": K, **changed, "seed": seed}  # fmt: skip
    return Entry(setting, run, parameters(AUTHORS["cora"].classifier(seed)))


def row_scaled(data: Dataset) -> Graph:
    """The graph with features scaled by row, as the paper has them."""
    X = data.graph.features
    scaling = Scaling.learn("rows", X, data.split.train)
    return data.graph.with_features(scaling.apply(X, np.dtype(np.float32)))


def line(name: str, groups: Sequence[tuple[float, Records]]) -> list[Series]:
    """Mean and spread of accuracy over x, where there are records; no series if there are none."""
    done = [(x, records.values("accuracy")) for x, records in groups if records]
    if not done:
        return []
    spread = [float(np.std(values, ddof=1)) if len(values) > 1 else 0.0 for _, values in done]
    return [
        Series(name, [x for x, _ in done], [float(np.mean(values)) for _, values in done], spread)
    ]
