"""Confidence intervals of metrics, over nodes drawn at random with replacement.

Metrics of the confusion matrix N (C, C) alone are bootstrapped: m nodes drawn with replacement give
a matrix with the multinomial distribution of m draws with probabilities N / m, so that matrices are
drawn instead of nodes. Means over nodes, such as the log-loss, have the standard error s / sqrt(m).
So has the area under a ROC curve, with the influence of each node on it in place of its loss
(DeLong, DeLong and Clarke-Pearson 1988): for a class of n_1 nodes, m - n_1 others, and area a,

    influence(v) = (share of others below v   - a) m / n_1          for v of the class,
                   (share of the class above v - a) m / (m - n_1)   for v of another.

The influence on a mean of areas is the mean of influences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.report.metrics import CONFIDENCE_LEVEL, ClassificationMetrics, encode_labels

Array = npt.NDArray[Any]
Interval = tuple[float, float]

NUM_RESAMPLES = 2_000
# Entries of resampled confusion matrices in memory at a time.
BLOCK_ENTRIES = 1 << 22


def metric_intervals(
    metrics: ClassificationMetrics, probabilities: Array, classes: Array, labels: Any
) -> dict[str, Interval]:
    """Intervals of metrics at `CONFIDENCE_LEVEL`, by the names of their fields.

    Those are "accuracy" and, where they exist, "balanced_accuracy", "macro_f1", "log_loss" and
    "roc_auc". The other arguments are those of `ClassificationMetrics.measure`.
    """
    truth, _ = encode_labels(labels, classes)
    known = truth >= 0
    P, truth = probabilities[known], truth[known]
    found = {"accuracy": metrics.accuracy_interval}
    if len(metrics.unknown_labels) <= 1:  # else the matrix has one row for several of them
        found |= _confusion_intervals(np.array(metrics.confusion))
    if metrics.log_loss is not None:
        chosen = np.clip(P[np.arange(len(P)), truth], np.finfo(P.dtype).eps, 1)
        found["log_loss"] = mean_interval(metrics.log_loss, -np.log(chosen))
    if metrics.roc_auc is not None:
        low, high = mean_interval(metrics.roc_auc, roc_auc_influences(P, truth))
        found["roc_auc"] = low, min(high, 1.0)
    return found


def mean_interval(value: float, terms: Array) -> Interval:
    """The interval of a mean over nodes, `value`, from its terms or influences (m,)."""
    from scipy.stats import norm

    spread = float(terms.std(ddof=1)) if len(terms) > 1 else 0.0
    margin = float(norm.ppf((1 + CONFIDENCE_LEVEL) / 2)) * spread / np.sqrt(len(terms))
    return value - margin, value + margin


def _confusion_intervals(confusion: Array) -> dict[str, Interval]:
    """Percentile intervals of balanced accuracy and macro-F1."""
    rng, m = np.random.default_rng(0), int(confusion.sum())
    values: list[tuple[Array, Array]] = []
    step = max(1, BLOCK_ENTRIES // confusion.size)
    for start in range(0, NUM_RESAMPLES, step):
        count = min(step, NUM_RESAMPLES - start)
        drawn = rng.multinomial(m, confusion.ravel() / m, size=count)
        values.append(_balanced_accuracy_and_f1(drawn.reshape(count, *confusion.shape)))
    tail = (1 - CONFIDENCE_LEVEL) / 2
    intervals = {}
    for at, name in enumerate(("balanced_accuracy", "macro_f1")):
        drawn = np.concatenate([pair[at] for pair in values])
        low, high = np.quantile(drawn, [tail, 1 - tail]).tolist()
        intervals[name] = low, high
    return intervals


def _balanced_accuracy_and_f1(confusion: Array) -> tuple[Array, Array]:
    """Mean recall and mean F1 of the classes that occur, of matrices (B, C or C + 1, C)."""
    C = confusion.shape[2]
    hits = np.zeros(confusion.shape[:2])
    hits[:, :C] = np.diagonal(confusion[:, :C], axis1=1, axis2=2)
    support = confusion.sum(axis=2)
    predicted = np.zeros(confusion.shape[:2])
    predicted[:, :C] = confusion.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        recall, f1 = hits / support, 2 * hits / (support + predicted)
    return np.nanmean(recall, axis=1), np.nanmean(f1, axis=1)


def roc_auc_influences(probabilities: Array, truth: Array) -> Array:
    """Influences (m,) of nodes on the mean area under the ROC curves of the classes.

    `truth` (m,) are indices of classes; of two classes, the area is that of the second.
    """
    from scipy.stats import rankdata

    m, C = probabilities.shape
    influences = []
    for code in range(C) if C > 2 else [1]:
        positive = truth == code
        n1 = int(positive.sum())
        if not 0 < n1 < m:
            continue
        scores = probabilities[:, code]
        # A rank counts the nodes below, and half of those with the same score.
        among_all, among_own = rankdata(scores), np.empty(m)
        among_own[positive] = rankdata(scores[positive])
        among_own[~positive] = rankdata(scores[~positive])
        below = (among_all - among_own) / np.where(positive, m - n1, n1)
        share = np.where(positive, below, 1 - below)
        area = share[positive].mean()
        influences.append((share - area) * m / np.where(positive, n1, m - n1))
    return np.asarray(np.mean(influences, axis=0))
