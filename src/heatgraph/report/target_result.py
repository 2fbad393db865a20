"""How well a fit predicts numbers or sets of labels, and what the graph contributes.

As for classes (`heatgraph.report.fit_result`), the nodes are the test nodes of the split; without
any, its validation nodes, which these models do not learn from; and without a split, training nodes
out of fold. The gain over the features alone is the mean of d_v over the m nodes, its standard
error std(d) / sqrt(m): for numbers, d_v is the absolute error of the features alone minus that of
the model; for sets of labels, the influence of a node on the difference of micro-F1. With h_v
labels right, s_v true and p_v predicted ones, and F = 2 sum h / sum (s + p), that is the difference
of F + (2 h_v - F (s_v + p_v)) m / sum (s + p).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from heatgraph._io.formatting import format_number
from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.learning._folds import NUM_FOLDS
from heatgraph.learning.progress import Progress
from heatgraph.report.fit_result import Finding, Gain
from heatgraph.report.held_out import ENOUGH_NODES, Part
from heatgraph.report.target_metrics import MultilabelMetrics, RegressionMetrics, label_indicators
from heatgraph.report.target_summary import interval_half_width

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Metrics = RegressionMetrics | MultilabelMetrics


@dataclass(frozen=True)
class TargetResult:
    """Metrics of a fit beside those of the features alone, and what they mean.

    `predictions` and `alone` are numbers (m,) or probabilities (m, L) of the `nodes` (m,). What
    concerns the features alone is None if there are none, or if the model does not use the graph.
    """

    part: Part
    nodes: Indices
    predictions: Array
    metrics: Metrics
    alone: Array | None
    features_alone: Metrics | None
    gain: Gain | None
    findings: tuple[Finding, ...]


def fit_targets_alone(model: Any, data: Dataset, progress: Progress | None = None) -> Any:
    """The same model without the graph; None if that is the model itself, or has no features."""
    if data.graph.features is None or model.T_ == 0:
        return None
    train, val, _ = data.partition()
    alone = clone(model).set_params(T=0.0, K=None, scheme=None)
    return alone.fit(data.graph, data.labels, train, val, progress=progress)


def evaluate_targets(model: Any, alone: Any, data: Dataset) -> TargetResult | None:
    """Evaluate a fitted model, and the one of `fit_targets_alone`, on nodes not learned from.

    None if too few nodes are labelled to hold some out.
    """
    assert data.labels is not None
    _, val, test = data.partition()
    part: Part = "out-of-fold"
    nodes = val if test is None else test
    if nodes is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fitting `model` gave the same warnings
            nodes, predictions = _predict_folds(model, data)
            others = None if alone is None else _predict_folds(alone, data)[1]
        if len(nodes) == 0:
            return None
    else:
        part = "validation" if test is None else "test"
        predictions = _predict(model, nodes)
        others = None if alone is None else _predict(alone, nodes)
    metrics = _measure(model, data, nodes, predictions, with_bounds=part == "test")
    features_alone, gain = None, None
    if others is not None:
        features_alone = _measure(alone, data, nodes, others, with_bounds=part == "test")
        gain = _gain(model, data.labels[nodes], predictions, others)
    findings = tuple(_findings(model, metrics, features_alone, gain))
    return TargetResult(part, nodes, predictions, metrics, others, features_alone, gain, findings)


def _predict(model: Any, nodes: Indices) -> Array:
    is_multilabel = hasattr(model, "predict_proba")
    return np.asarray((model.predict_proba if is_multilabel else model.predict)(nodes=nodes))


def _predict_folds(model: Any, data: Dataset) -> tuple[Indices, Array]:
    """Predict labelled nodes, each by a model with the same settings that has not learned it."""
    train, _, _ = data.partition()
    labelled = np.flatnonzero(data.labelled) if train is None else train
    parts = np.random.default_rng(0).permutation(len(labelled)) % min(NUM_FOLDS, len(labelled))
    nodes, predictions = [], []
    for part in np.unique(parts):
        held_out = labelled[parts == part]
        unfitted = clone(model).set_params(
            T="auto",
            K=None,
            scheme=[model.scheme_],
            self_loops=model.self_loops_,
            feature_scaling=model.feature_scaling_,
            weight_decay=model.weight_decay_,
        )
        try:
            fitted = unfitted.fit(data.graph, data.labels, labelled[parts != part])
        except InputError:  # the nodes left to learn from are too few, or all alike
            continue
        found = _predict(fitted, held_out)
        if hasattr(model, "classes_"):
            place = {label: at for at, label in enumerate(model.classes_.tolist())}
            columns = [place[label] for label in fitted.classes_.tolist()]
            full = np.zeros((len(found), len(place)))
            full[:, columns] = found
            found = full
        nodes.append(held_out)
        predictions.append(found)
        if sum(map(len, nodes)) >= ENOUGH_NODES:
            break
    if not nodes:
        return np.empty(0, dtype=np.int64), np.empty(0)
    return np.concatenate(nodes), np.concatenate(predictions)


def _measure(
    model: Any, data: Dataset, nodes: Indices, predictions: Array, with_bounds: bool
) -> Metrics:
    assert data.labels is not None
    truth = data.labels[nodes]
    if data.task == "multilabel":
        return MultilabelMetrics.measure(predictions, model.classes_, truth)
    half_width = interval_half_width(model) if with_bounds else None
    bounds = None
    if half_width is not None:
        bounds = np.stack([predictions - half_width, predictions + half_width], axis=-1)
    return RegressionMetrics.measure(predictions, truth, bounds)


def _gain(model: Any, truth: Array, predictions: Array, others: Array) -> Gain:
    if hasattr(model, "classes_"):
        own, simpler = (f1_terms(truth, model.classes_, P) for P in (predictions, others))
        terms = own - simpler
    else:
        terms = np.abs(others - truth) - np.abs(predictions - truth)
    spread = float(terms.std(ddof=1)) if len(terms) > 1 else 0.0
    return Gain(float(terms.mean()), spread / np.sqrt(len(terms)))


def f1_terms(sets: Any, classes: Array, probabilities: Array) -> Array:
    """Terms (m,) whose mean is the micro-F1 of probabilities (m, L), given the m true sets."""
    truth, unknown = label_indicators(sets, classes)
    predicted = probabilities > 0.5
    hits = (truth & predicted).sum(axis=1)
    labels = truth.sum(axis=1) + unknown + predicted.sum(axis=1)
    total = max(int(labels.sum()), 1)
    f1 = 2 * hits.sum() / total
    return np.asarray(f1 + (2 * hits - f1 * labels) * len(hits) / total)


def _findings(
    model: Any, metrics: Metrics, features_alone: Metrics | None, gain: Gain | None
) -> list[Finding]:
    found = []
    if isinstance(metrics, RegressionMetrics) and metrics.r2 is not None and metrics.r2 <= 0:
        found.append(
            Finding("mean", "No better than predicting the mean for every node: R2 <= 0.", True)
        )
    if model.T_ == 0 and model.n_features_in_:
        text = "The graph is not used: T = 0, features alone."
        found.append(Finding("graph unused", text, True))
    if features_alone is None or gain is None:
        return found
    kind, verb = "graph does not help", "does not help"
    if gain.is_clear:
        kind, verb = "graph helps", "helps"
    elif gain.is_clear_loss:
        verb = "does harm"
    text = f"The graph {verb}: {_compared(metrics, features_alone, gain)}."
    found.append(Finding(kind, text, kind != "graph helps"))
    return found


def _compared(metrics: Metrics, alone: Metrics, gain: Gain) -> str:
    if isinstance(metrics, MultilabelMetrics) and isinstance(alone, MultilabelMetrics):
        points = round(100 * gain.accuracy, 1) + 0.0  # + 0.0 turns -0.0 into 0.0
        return (
            f"micro-F1 {metrics.micro_f1:.1%}, by features alone {alone.micro_f1:.1%} "
            f"({points:+.1f} points, standard error {100 * gain.error:.1f})"
        )
    assert isinstance(metrics, RegressionMetrics)
    assert isinstance(alone, RegressionMetrics)
    own, other = format_number(metrics.mae), format_number(alone.mae)
    smaller = format_number(abs(gain.accuracy), 3)
    how = "smaller" if gain.accuracy >= 0 else "larger"
    return (
        f"mean absolute error {own}, by features alone {other} ({smaller} {how}, standard error "
        f"{format_number(gain.error, 2)})"
    )
