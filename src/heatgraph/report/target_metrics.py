"""Metrics of predicted numbers, and of predicted sets of labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.errors import InputError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RegressionMetrics:
    """How well numbers are predicted.

    Attributes
    ----------
    nodes : int
    r2 : float or None
        Coefficient of determination; None of a single node, or of equal numbers.
    mae, rmse : float
        Mean absolute error, and root of the mean squared error.
    rmse_of_mean : float
        The latter if the mean of these nodes is predicted for all: what R^2 compares with.
    coverage : float or None
        Share of nodes whose interval contains the number; None without intervals.
    interval_width : float or None
        Mean width of the intervals.
    """

    nodes: int
    r2: float | None
    mae: float
    rmse: float
    rmse_of_mean: float
    coverage: float | None
    interval_width: float | None

    @classmethod
    def measure(
        cls, predictions: Array, numbers: Array, bounds: Array | None = None
    ) -> RegressionMetrics:
        """Compare predictions (m,) and intervals (m, 2) with true numbers (m,).

        Examples
        --------
        >>> found = RegressionMetrics.measure(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
        >>> found.mae, round(found.rmse, 3), round(found.r2, 3)
        (1.0, 1.414, 0.111)
        """
        if len(numbers) == 0:
            raise InputError("there is no labelled node to evaluate.")
        errors = predictions - numbers
        mse, variance = float(np.mean(errors**2)), float(np.var(numbers))
        covered = width = None
        if bounds is not None:
            covered = float(np.mean((bounds[:, 0] <= numbers) & (numbers <= bounds[:, 1])))
            width = float(np.mean(bounds[:, 1] - bounds[:, 0]))
        return cls(
            nodes=len(numbers),
            r2=1 - mse / variance if variance > 0 else None,
            mae=float(np.abs(errors).mean()),
            rmse=float(np.sqrt(mse)),
            rmse_of_mean=float(np.sqrt(variance)),
            coverage=covered,
            interval_width=width,
        )


@dataclass(frozen=True)
class LabelMetrics:
    """Metrics of one label: None for a precision, recall or F1 that is 0 / 0."""

    label: Any
    support: int
    predicted: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True)
class MultilabelMetrics:
    """How well sets of labels are predicted.

    Labels that the model does not know count as missed in micro-F1, as a label without any hit in
    macro-F1, and make the set of a node wrong.

    Attributes
    ----------
    nodes : int
    micro_f1 : float
        F1 over all pairs of node and label.
    macro_f1 : float
        Mean F1 of the labels that occur or are predicted.
    subset_accuracy : float
        Share of nodes of which all labels are right.
    hamming_loss : float
        Share of pairs of node and label that are wrong.
    log_loss : float
        Mean negative log-probability, over pairs of node and known label.
    mean_labels : float
        Labels per node.
    labels : tuple of LabelMetrics
        In the order of the model's labels.
    unknown_labels : dict from str to int
        Labels that the model does not know, with their counts, the most frequent first.
    """

    nodes: int
    micro_f1: float
    macro_f1: float
    subset_accuracy: float
    hamming_loss: float
    log_loss: float
    mean_labels: float
    labels: tuple[LabelMetrics, ...]
    unknown_labels: dict[str, int]

    @classmethod
    def measure(cls, probabilities: Array, classes: Array, sets: Any) -> MultilabelMetrics:
        """Compare probabilities (m, L) of L labels with the m true sets of labels.

        Examples
        --------
        >>> P = np.array([[0.9, 0.2], [0.6, 0.7]])
        >>> found = MultilabelMetrics.measure(P, np.array(["a", "b"]), [("a",), ("b", "c")])
        >>> round(found.micro_f1, 3), found.subset_accuracy, found.unknown_labels
        (0.667, 0.5, {'c': 1})
        """
        if len(sets) == 0:
            raise InputError("there is no labelled node to evaluate.")
        truth, unknown, has_unknown = _indicators(sets, classes)
        predicted = probabilities > 0.5
        hits = (truth & predicted).sum(axis=0)
        support, given = truth.sum(axis=0), predicted.sum(axis=0)
        per_label = tuple(
            LabelMetrics(
                label,
                int(support[at]),
                int(given[at]),
                _ratio(hits[at], given[at]),
                _ratio(hits[at], support[at]),
                _ratio(2 * hits[at], support[at] + given[at]),
            )
            for at, label in enumerate(classes.tolist())
        )
        missed = sum(unknown.values())
        f1 = [one.f1 for one in per_label if one.f1 is not None] + [0.0] * len(unknown)
        P = np.clip(np.where(truth, probabilities, 1 - probabilities), 1e-15, 1)
        pairs = truth.size + len(sets) * len(unknown)
        return cls(
            nodes=len(sets),
            micro_f1=_ratio(2 * hits.sum(), support.sum() + given.sum() + missed) or 0.0,
            macro_f1=float(np.mean(f1)) if f1 else 0.0,
            subset_accuracy=float(((truth == predicted).all(axis=1) & ~has_unknown).mean()),
            hamming_loss=float(((truth != predicted).sum() + missed) / pairs),
            log_loss=float(-np.log(P).mean()),
            mean_labels=float((support.sum() + missed) / len(sets)),
            labels=per_label,
            unknown_labels=unknown,
        )


def _indicators(
    sets: Any, classes: Array
) -> tuple[npt.NDArray[np.bool_], dict[str, int], npt.NDArray[np.bool_]]:
    """Which labels nodes have (m, L), other labels with their counts, and who has others (m,).

    A label is one of the model's if it equals it, or else if both are written alike.
    """
    by_value = {label: at for at, label in enumerate(classes.tolist())}
    by_text = {str(label): at for label, at in by_value.items()}
    truth = np.zeros((len(sets), len(classes)), dtype=bool)
    has_unknown = np.zeros(len(sets), dtype=bool)
    others: Counter[str] = Counter()
    for row, labels in enumerate(sets):
        for label in labels:
            at = by_value.get(label, by_text.get(str(label), -1))
            if at >= 0:
                truth[row, at] = True
            else:
                has_unknown[row] = True
                others[str(label)] += 1
    return truth, dict(others.most_common()), has_unknown


def label_indicators(
    sets: Any, classes: Array
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Which labels of a model nodes have (m, L), and how many others (m,)."""
    truth, _, _ = _indicators(sets, classes)
    counts = np.array([len(set(map(str, labels))) for labels in sets], dtype=np.int64)
    return truth, counts - truth.sum(axis=1)


def _ratio(numerator: Any, denominator: Any) -> float | None:
    return float(numerator / denominator) if denominator else None
