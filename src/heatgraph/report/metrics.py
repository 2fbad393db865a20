"""Metrics of predictions on labelled nodes.

A label that the model does not know counts as wrong: in the accuracy and the calibration error, and
as a class that is never predicted in balanced accuracy and macro-F1. Log-loss and ROC AUC, which
need a probability of the true class, leave such nodes out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.errors import InputError
from heatgraph.learning.calibration import expected_calibration_error

Array = npt.NDArray[Any]
CONFIDENCE_LEVEL = 0.95
# Bins of a reliability curve, and the fewest nodes in each.
RELIABILITY_BINS, MIN_NODES_PER_BIN = 10, 2


@dataclass(frozen=True)
class ClassMetrics:
    """Metrics of one class: None for a precision, recall or F1 that is 0 / 0.

    `support` nodes have the label, and `predicted` nodes are predicted to have it.
    """

    label: Any
    support: int
    predicted: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True)
class ClassificationMetrics:
    """How well probabilities predict the labels of nodes.

    Attributes
    ----------
    nodes : int
    accuracy : float
    accuracy_interval : (float, float)
        Wilson's confidence interval at `CONFIDENCE_LEVEL`.
    balanced_accuracy : float
        Mean recall of the classes that occur.
    macro_f1 : float
        Mean F1 of the classes that occur or are predicted.
    log_loss : float or None
        Mean negative log-probability of the true class.
    calibration_error : float
    roc_auc : float or None
        Area under the ROC curve; with more than two classes, the mean of each against the rest.
        None unless some class both occurs and does not.
    largest_class : float
        Share of the most frequent label.
    classes : tuple of ClassMetrics
        In the order of the model's classes.
    confusion : tuple of tuples of int
        Numbers of nodes by label (rows) and prediction (columns). If there are labels that the
        model does not know, a last row is for these.
    unknown_labels : dict from str to int
        Labels that the model does not know, with their counts, the most frequent first.
    average_precision : float or None
        Of two classes, the area under the precision-recall curve of the rarer one (of the second,
        if they are equally frequent).
    """

    nodes: int
    accuracy: float
    accuracy_interval: tuple[float, float]
    balanced_accuracy: float
    macro_f1: float
    log_loss: float | None
    calibration_error: float
    roc_auc: float | None
    largest_class: float
    classes: tuple[ClassMetrics, ...]
    confusion: tuple[tuple[int, ...], ...]
    unknown_labels: dict[str, int]
    average_precision: float | None = None

    @classmethod
    def measure(
        cls, probabilities: Array, classes: Array, labels: Sequence[Any] | Array
    ) -> ClassificationMetrics:
        """Compare probabilities (m, C) of the C `classes` with the m true `labels`.

        A label is a class if it equals it, or else if both are written alike: a table in which
        some label is no number has all of them as strings.

        Examples
        --------
        >>> P = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
        >>> found = ClassificationMetrics.measure(P, np.array(["a", "b"]), ["a", "b", "c"])
        >>> round(found.accuracy, 3), found.confusion, found.unknown_labels
        (0.333, ((1, 0), (1, 0), (0, 1)), {'c': 1})
        """
        from scipy.stats import binomtest

        truth, unknown = encode_labels(labels, classes)
        if len(truth) == 0:
            raise InputError("there is no labelled node to evaluate.")
        predicted = probabilities.argmax(axis=1)
        correct = int((predicted == truth).sum())
        interval = binomtest(correct, len(truth)).proportion_ci(CONFIDENCE_LEVEL, "wilson")
        per_class = _per_class(truth, predicted, classes)
        recalls = [one.recall for one in per_class if one.recall is not None]
        f1 = [one.f1 for one in per_class if one.f1 is not None]
        known = truth >= 0
        counts = [*(one.support for one in per_class), *unknown.values()]
        return cls(
            nodes=len(truth),
            accuracy=correct / len(truth),
            accuracy_interval=(float(interval.low), float(interval.high)),
            balanced_accuracy=sum(recalls) / (len(recalls) + len(unknown)),
            macro_f1=sum(f1) / (len(f1) + len(unknown)),
            log_loss=_log_loss(probabilities[known], truth[known]),
            calibration_error=expected_calibration_error(probabilities, truth),
            roc_auc=_roc_auc(probabilities[known], truth[known]),
            largest_class=max(counts) / len(truth),
            classes=tuple(per_class),
            confusion=_confusion(truth, predicted, len(classes)),
            unknown_labels=unknown,
            average_precision=_average_precision(probabilities[known], truth[known]),
        )

    @property
    def rarer_class(self) -> ClassMetrics:
        """The class of the fewest nodes, the last of several."""
        return min(reversed(self.classes), key=lambda one: one.support)


def encode_labels(
    labels: Sequence[Any] | Array, classes: Array
) -> tuple[npt.NDArray[np.int64], dict[str, int]]:
    """Indices (m,) into `classes`, -1 for others, and the others with their counts."""
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    by_value = {label: code for code, label in enumerate(classes.tolist())}
    by_text = {str(label): code for label, code in by_value.items()}
    codes = [by_value.get(label, by_text.get(str(label), -1)) for label in values]
    others = (str(label) for label, code in zip(values, codes, strict=True) if code < 0)
    return np.array(codes, dtype=np.int64), dict(Counter(others).most_common())


def _per_class(truth: Array, predicted: Array, classes: Array) -> list[ClassMetrics]:
    from sklearn.metrics import precision_recall_fscore_support

    codes = np.arange(len(classes))
    measured = precision_recall_fscore_support(truth, predicted, labels=codes, zero_division=np.nan)
    precision, recall, f1, support = (values.tolist() for values in measured)
    counts = np.bincount(predicted, minlength=len(classes)).tolist()
    return [
        ClassMetrics(
            label,
            support[code],
            counts[code],
            _none_if_nan(precision[code]),
            _none_if_nan(recall[code]),
            _none_if_nan(f1[code]),
        )
        for code, label in enumerate(classes.tolist())
    ]


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else value


def _log_loss(probabilities: Array, truth: Array) -> float | None:
    from sklearn.metrics import log_loss

    if len(truth) == 0:
        return None
    return float(log_loss(truth, probabilities, labels=np.arange(probabilities.shape[1])))


def _roc_auc(probabilities: Array, truth: Array) -> float | None:
    """Mean over classes that some nodes have and some have not; of two classes, the second."""
    from sklearn.metrics import roc_auc_score

    codes = range(probabilities.shape[1])
    areas = [
        roc_auc_score(truth == code, probabilities[:, code])
        for code in (codes if len(codes) > 2 else codes[1:])
        if 0 < np.count_nonzero(truth == code) < len(truth)
    ]
    return float(np.mean(areas)) if areas else None


def _average_precision(probabilities: Array, truth: Array) -> float | None:
    from sklearn.metrics import average_precision_score

    counts = np.bincount(truth, minlength=probabilities.shape[1])
    if len(counts) != 2 or not counts.all():
        return None
    rarer = int(counts[1] <= counts[0])
    return float(average_precision_score(truth == rarer, probabilities[:, rarer]))


def _confusion(truth: Array, predicted: Array, num_classes: int) -> tuple[tuple[int, ...], ...]:
    from sklearn.metrics import confusion_matrix

    rows = num_classes + bool((truth < 0).any())
    truth = np.where(truth < 0, num_classes, truth)
    matrix = confusion_matrix(truth, predicted, labels=np.arange(num_classes + 1))
    return tuple(map(tuple, matrix[:rows, :num_classes].tolist()))


@dataclass(frozen=True)
class ReliabilityBin:
    """Nodes of similar confidence: its mean, the share that is right, and their number."""

    confidence: float
    accuracy: float
    nodes: int


def reliability_curve(
    probabilities: Array, codes: Array, bins: int = RELIABILITY_BINS
) -> list[ReliabilityBin]:
    """Accuracy over confidence, in bins of equal numbers of nodes, the least confident first.

    `codes` (m,) are indices of the true classes, -1 for one that the model does not know.

    Examples
    --------
    >>> P = np.array([[0.6, 0.4], [0.6, 0.4], [0.9, 0.1], [0.9, 0.1]])
    >>> [(one.confidence, one.accuracy) for one in reliability_curve(P, np.array([0, 1, 0, 0]), 2)]
    [(0.6, 0.5), (0.9, 1.0)]
    """
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == codes
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split(order, max(1, min(bins, len(order) // MIN_NODES_PER_BIN or 1)))
    return [
        ReliabilityBin(float(confidence[part].mean()), float(correct[part].mean()), len(part))
        for part in parts
        if len(part)
    ]
