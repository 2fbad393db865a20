"""How well a fit predicts labels that it has not learned from, and what the graph contributes.

A fitted model is compared with three simpler ones on the same nodes (`heatgraph.report.held_out`):
the features alone (T = 0), the labels alone (label propagation), and the largest class.

The gain over a simpler model is the mean of d_v = [v correct] - [v correct by the simpler model]
over the m nodes, and its standard error is std(d) / sqrt(m). A gain below that is no gain.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.datasets.dataset import Dataset
from heatgraph.learning._labels import Labels
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.progress import Progress
from heatgraph.report.held_out import HeldOut, Part, learned_nodes, predict_held_out
from heatgraph.report.metrics import ClassificationMetrics

Array = npt.NDArray[Any]

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
    predictions : HeldOut or None
        What was measured; JSON leaves it out.
    """

    part: Part
    metrics: ClassificationMetrics
    features_alone: ClassificationMetrics | None
    labels_alone: ClassificationMetrics | None
    largest_class: float
    gains: dict[str, Gain]
    findings: tuple[Finding, ...]
    predictions: HeldOut | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        values = asdict(replace(self, predictions=None))
        del values["predictions"]
        return values


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
        found = predict_held_out(model, data, labels, use_test, progress)
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
        predictions=found,
    )


def _gain(correct: Array, simpler: Array) -> Gain:
    difference = correct.astype(np.float64) - simpler
    spread = difference.std(ddof=1) if len(difference) > 1 else 0.0
    return Gain(float(difference.mean()), float(spread / np.sqrt(len(difference))))


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
