"""How well a fit predicts labels that it has not learned from, and what the graph contributes.

A fitted model is compared with three simpler ones on the same nodes: the features alone (T = 0),
the labels alone (label propagation), and the largest class. The nodes are the test nodes of the
split; without any, its validation nodes, predicted by a model that has not learned from them; and
without a split, training nodes out of fold, predicted by models with the chosen settings.

The gain over a simpler model is the mean of d_v = [v correct] - [v correct by the simpler model]
over the m nodes, and its standard error is std(d) / sqrt(m). A gain below that is no gain.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.baselines.schemes import COMPARISON_TOLERANCE, fit_features_alone
from heatgraph.datasets.dataset import Dataset
from heatgraph.learning._folds import NUM_FOLDS, stratified_parts
from heatgraph.learning._labels import Labels
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.progress import Progress
from heatgraph.report.metrics import ClassificationMetrics
from heatgraph.report.summary import used_extensions

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Part = Literal["test", "validation", "out-of-fold"]

# Folds are predicted until there are this many nodes, whose accuracy has a standard error of 1 %.
ENOUGH_NODES = 2_500
# Edges times classes up to which labels are propagated: each class is a linear system.
MAX_PROPAGATION_WORK = 500_000_000
# Classes that a sentence lists.
MAX_LISTED = 5
# Share of the largest class from which on accuracy tells little.
IMBALANCED_SHARE = 0.9


@dataclass(frozen=True)
class Gain:
    """Accuracy minus that of a simpler model on the same nodes, and its standard error."""

    accuracy: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether it exceeds its standard error."""
        return self.accuracy > self.error

    @property
    def is_clear_loss(self) -> bool:
        """Whether it is negative by more than two standard errors."""
        return self.accuracy < -2 * self.error


@dataclass(frozen=True)
class Finding:
    """A sentence about a result; a warning if the result should not be used as it is."""

    kind: str
    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class FitResult:
    """Metrics of a fit beside those of simpler models, and what they mean.

    Attributes
    ----------
    part : {"test", "validation", "out-of-fold"}
        The nodes that were predicted.
    metrics : ClassificationMetrics
    features_alone, labels_alone : ClassificationMetrics or None
        None without features, and where labels would take long to propagate.
    largest_class : float
        Accuracy of always predicting the most frequent label of training nodes.
    gains : dict from "features alone", "labels alone" and "largest class" to Gain
    findings : tuple of Finding
        The most important first.
    """

    part: Part
    metrics: ClassificationMetrics
    features_alone: ClassificationMetrics | None
    labels_alone: ClassificationMetrics | None
    largest_class: float
    gains: dict[str, Gain]
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class _Predictions:
    """Probabilities (m, C) of the `nodes` (m,) by each model."""

    part: Part
    nodes: Indices
    with_graph: Array
    features_alone: Array | None
    labels_alone: Array | None


def evaluate_fit(
    model: DGCClassifier, data: Dataset, *, use_test: bool = True, progress: Progress | None = None
) -> FitResult | None:
    """Evaluate a fitted model on nodes whose labels it has not learned.

    `data` are the graph, labels and split of the fit. Without `use_test`, test nodes are ignored.
    None if there is no node to predict: no class has two labelled nodes.
    """
    labels = Labels.read(data.labels, data.graph.num_nodes)
    train, _, _ = data.partition()
    train = labels.labelled(train, "train")
    with _without_warnings():
        found = _predict(model, data, labels, use_test, progress)
    if found is None:
        return None
    truth = labels.encode(model.classes_, found.nodes)
    values = labels.values[found.nodes]

    def measure(probabilities: Array | None) -> ClassificationMetrics | None:
        if probabilities is None:
            return None
        return ClassificationMetrics.measure(probabilities, model.classes_, values)

    learned = learned_nodes(model, data) if found.part == "test" else train
    codes = labels.encode(model.classes_, learned)
    counts = np.bincount(codes[codes >= 0], minlength=len(model.classes_))
    correct = found.with_graph.argmax(axis=1) == truth
    others = {
        "features alone": found.features_alone,
        "labels alone": found.labels_alone,
        "largest class": np.tile(counts, (len(truth), 1)),
    }
    gains = {
        name: _gain(correct, probabilities.argmax(axis=1) == truth)
        for name, probabilities in others.items()
        if probabilities is not None
    }
    metrics = measure(found.with_graph)
    assert metrics is not None
    features_alone = measure(found.features_alone)
    return FitResult(
        part=found.part,
        metrics=metrics,
        features_alone=features_alone,
        labels_alone=measure(found.labels_alone),
        largest_class=float((truth == counts.argmax()).mean()),
        gains=gains,
        findings=tuple(_findings(model, metrics, features_alone, gains, counts, found.part)),
    )


def learned_nodes(model: DGCClassifier, data: Dataset) -> Indices:
    """The nodes of a fit's data whose labels the model has learned."""
    train, val, _ = data.partition()
    learned = Labels.read(data.labels, data.graph.num_nodes).labelled(train, "train")
    if val is not None and model.final_fit == "train+val":
        learned = np.union1d(learned, val)
    return learned


def _gain(correct: Array, simpler: Array) -> Gain:
    difference = correct.astype(np.float64) - simpler
    spread = difference.std(ddof=1) if len(difference) > 1 else 0.0
    return Gain(float(difference.mean()), float(spread / np.sqrt(len(difference))))


def _predict(
    model: DGCClassifier, data: Dataset, labels: Labels, use_test: bool, progress: Progress | None
) -> _Predictions | None:
    train, val, test = data.partition()
    fit = (data.graph, data.labels)
    has_labels_alone = len(data.graph.indices) * len(model.classes_) <= MAX_PROPAGATION_WORK
    if test is not None and use_test:
        alone = fit_features_alone(model, *fit, train, val, progress=progress)
        return _Predictions(
            "test",
            test,
            _probabilities(model, model.classes_, test),
            None if alone is None else _probabilities(alone, model.classes_, test),
            _propagate(model, data, learned_nodes(model, data), test) if has_labels_alone else None,
        )
    if val is not None:
        alone = fit_features_alone(model, *fit, train, val, progress=progress)
        if alone is not None and alone.final_fit == "train+val":
            alone = _with_settings(alone, alone.weight_decay).fit(*fit, train, val)
        held_out = model
        if model.final_fit == "train+val" or model.class_offsets_ is not None:
            held_out = _with_settings(model, model.weight_decay).fit(*fit, train, val)
        return _Predictions(
            "validation",
            val,
            _probabilities(held_out, model.classes_, val),
            None if alone is None else _probabilities(alone, model.classes_, val),
            _propagate(model, data, train, val) if has_labels_alone else None,
        )
    return _predict_folds(model, data, labels, has_labels_alone, progress)


def _predict_folds(
    model: DGCClassifier,
    data: Dataset,
    labels: Labels,
    has_labels_alone: bool,
    progress: Progress | None,
) -> _Predictions | None:
    """Predict training nodes, each by models that have not learned from it."""
    train, _, _ = data.partition()
    train = labels.labelled(train, "train")
    codes = labels.encode(model.classes_, train)
    if np.bincount(codes).max() < 2:
        return None
    alone = fit_features_alone(model, data.graph, data.labels, train, progress=progress)
    parts = stratified_parts(codes, min(NUM_FOLDS, len(codes)), np.random.default_rng(0))
    found: list[tuple[Indices, Array, Array | None, Array | None]] = []
    for part in np.unique(parts):
        learned, held_out = train[parts != part], train[parts == part]
        if len(np.unique(codes[parts != part])) < 2:
            continue

        def refit(fitted: DGCClassifier, learned: Indices = learned) -> DGCClassifier:
            unfitted = _with_settings(fitted, fitted.weight_decay_)
            unfitted.calibrate = False
            unfitted.fit(data.graph, data.labels, learned)
            unfitted.temperature_ = fitted.temperature_
            return unfitted

        found.append(
            (
                held_out,
                _probabilities(refit(model), model.classes_, held_out),
                None if alone is None else _probabilities(refit(alone), model.classes_, held_out),
                _propagate(model, data, learned, held_out) if has_labels_alone else None,
            )
        )
        if sum(len(nodes) for nodes, *_ in found) >= ENOUGH_NODES:
            break
    if not found:
        return None
    columns = [
        None if column[0] is None else np.concatenate(column) for column in zip(*found, strict=True)
    ]
    nodes, with_graph, features_alone, labels_alone = columns
    assert nodes is not None
    assert with_graph is not None
    return _Predictions("out-of-fold", nodes, with_graph, features_alone, labels_alone)


def _with_settings(model: DGCClassifier, weight_decay: Any) -> DGCClassifier:
    """An unfitted model with the settings of a fitted one, for nodes that it shall not learn from.

    Class offsets are left out, as they are learned from the labels of held-out nodes.
    """
    extensions = [name for name in used_extensions(model) if name != "class-offsets"]
    unfitted: DGCClassifier = clone(model).set_params(
        T="auto",
        K=None,
        scheme=[model.scheme_],
        self_loops=model.self_loops_,
        feature_scaling=model.feature_scaling_,
        weight_decay=weight_decay,
        learning_rate=model.learning_rate_,
        extensions=extensions or None,
        final_fit="train",
    )
    unfitted._solver_tolerance = COMPARISON_TOLERANCE
    return unfitted


def _propagate(model: DGCClassifier, data: Dataset, learned: Any, nodes: Indices) -> Array:
    labels_alone = LabelPropagation().fit(data.graph, data.labels, learned)
    return _probabilities(labels_alone, model.classes_, nodes)


def _probabilities(model: Any, classes: Array, nodes: Indices) -> Array:
    """Probabilities (m, C) of `classes`, 0 for one that the model does not know."""
    known = {label: at for at, label in enumerate(classes.tolist())}
    probabilities = np.zeros((len(nodes), len(classes)))
    columns = [known[label] for label in model.classes_.tolist()]
    probabilities[:, columns] = model.predict_proba(None, nodes)
    return probabilities


def _findings(
    model: DGCClassifier,
    metrics: ClassificationMetrics,
    features_alone: ClassificationMetrics | None,
    gains: dict[str, Gain],
    counts: Array,
    part: Part,
) -> Iterator[Finding]:
    """What to know about a result, beginning with what makes it useless."""
    classes = model.classes_.tolist()
    predicted = [one for one in metrics.classes if one.predicted]
    never = [one.label for one in metrics.classes if one.support and not one.predicted]
    balanced = (
        f"Balanced accuracy is {metrics.balanced_accuracy:.1%}, where chance gives "
        f"{1 / len(classes):.1%}."
    )
    remedy = (
        ""
        if model.class_weight
        else " Class weights (--class-weight balanced) favour rare classes."
    )
    if len(predicted) == 1:
        yield Finding(
            "one class",
            f"Every node is predicted as {_text(predicted[0].label)}: nothing was found that tells "
            f"the classes apart, or the others have too few labels. {balanced}{remedy}",
            True,
        )
    elif not gains["largest class"].is_clear and model.class_weight is None:
        gain = _points(gains["largest class"], "the largest class")
        yield Finding(
            "largest class",
            f"No better than always predicting the largest class: {gain}. {balanced}{remedy}",
            True,
        )
    elif metrics.largest_class >= IMBALANCED_SHARE:
        compared = ""
        if features_alone is not None:
            compared = f", by features alone {features_alone.balanced_accuracy:.1%}"
        largest = max(metrics.classes, key=lambda one: one.support)
        yield Finding(
            "imbalance",
            f"{metrics.largest_class:.1%} of the nodes are {_text(largest.label)}, so that "
            f"accuracy tells little. Balanced accuracy is {metrics.balanced_accuracy:.1%}"
            f"{compared}.{remedy}",
        )
    if "features alone" in gains:
        yield _graph_finding(model, gains["features alone"])
        if "labels alone" in gains and not gains["labels alone"].is_clear:
            how = "better" if gains["labels alone"].is_clear_loss else "as well"
            gain = _points(gains["labels alone"], "them")
            yield Finding(
                "labels alone",
                f"Labels alone, propagated along the edges, do {how}: {gain} by features and "
                "labels together.",
            )
    if never and len(predicted) > 1:
        yield Finding("never predicted", f"Never predicted: {_listed(never)}.", True)
    single = [label for label, count in zip(classes, counts.tolist(), strict=True) if count == 1]
    if single:
        unknown = "; nothing held out tells how well these are predicted" * (part == "out-of-fold")
        yield Finding(
            "single labels", f"With a single training node: {_listed(single)}{unknown}.", True
        )


def _graph_finding(model: DGCClassifier, gain: Gain) -> Finding:
    if model.T_ == 0 and not model.channel_coefs_:
        return Finding("graph unused", "The graph is not used: T = 0, features alone.", True)
    if gain.is_clear:
        return Finding("graph helps", f"The graph helps: {_points(gain, 'features alone')}.")
    verb = "does harm" if gain.is_clear_loss else "does not help"
    text = f"The graph {verb}: {_points(gain, 'features alone')}."
    return Finding("graph does not help", text, True)


def _points(gain: Gain, over: str) -> str:
    value = round(100 * gain.accuracy, 1) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{value:+.1f} points over {over} (standard error {100 * gain.error:.1f})"


def _listed(labels: list[Any]) -> str:
    more = f", ... ({len(labels):,} in all)" if len(labels) > MAX_LISTED else ""
    return ", ".join(map(_text, labels[:MAX_LISTED])) + more


def _text(label: Any) -> str:
    return repr(label) if isinstance(label, str) else str(label)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Suppress warnings, which the fit of the model has given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
