"""Scores by which a search compares settings on held-out nodes, larger is better.

==================  ================================================================================
accuracy            share of nodes that are labelled right
balanced_accuracy   mean over classes of the share of their nodes that are labelled right (recall)
f1_macro            mean over classes of F1, the harmonic mean of precision and recall
log_loss            minus the mean negative log-probability of the true class
roc_auc             mean over classes of the area under the curve of one class against all others
==================  ================================================================================

Means over classes are over those that held-out nodes have. Every score comes with a standard error,
which tells how much of a difference may be luck: that of a proportion for shares, recall and F1
(the share of the mean of true and predicted nodes that are both), that of a mean for the log-loss,
and Hanley and McNeil's (1982) for areas.

Shapes: scores (..., m, C) of m held-out nodes; codes (m,) of their classes, -1 if unknown. Nodes of
unknown class count as wrong in the accuracy and are left out of other scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special
import scipy.stats

from heatgraph.errors import InputError
from heatgraph.learning.calibration import true_log_probabilities

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
# Values and standard errors (...) of scores (..., m, C), given codes (m,).
Scoring = Callable[[Array, Indices], tuple[Array, Array]]


def read_scoring(name: Any) -> Scoring:
    """The scoring of a name."""
    if not isinstance(name, str) or name not in SCORINGS:
        listed = ", ".join(map(repr, SCORINGS))
        raise InputError(f"scoring must be one of {listed}. Got {name!r}.")
    return SCORINGS[name]


def proportion_error(share: npt.ArrayLike, count: npt.ArrayLike) -> Array:
    """Standard error sqrt(a (1 - a) / m) of a share a of m.

    At shares of 0 and 1 the formula gives no error at all: half of one counts as an exception.
    """
    m = np.asarray(count, dtype=np.float64)
    a = np.clip(share, 0.5 / m, 1 - 0.5 / m)
    return np.asarray(np.sqrt(a * (1 - a) / m))


def accuracy(scores: Array, codes: Indices) -> tuple[Array, Array]:
    """Share of nodes whose largest score is that of their class."""
    share = np.mean(scores.argmax(axis=-1) == codes, axis=-1)
    return share, proportion_error(share, len(codes))


def balanced_accuracy(scores: Array, codes: Indices) -> tuple[Array, Array]:
    """Mean recall of the classes."""
    right, true, _ = _class_counts(scores, codes)
    recall = right / true
    return recall.mean(axis=-1), _mean_error(proportion_error(recall, true))


def f1_macro(scores: Array, codes: Indices) -> tuple[Array, Array]:
    """Mean F1 of the classes."""
    right, true, predicted = _class_counts(scores, codes)
    count = (true + predicted) / 2
    f1 = right / count
    return f1.mean(axis=-1), _mean_error(proportion_error(f1, np.maximum(count, 1)))


def negative_log_loss(scores: Array, codes: Indices) -> tuple[Array, Array]:
    """Mean log-probability of the true classes."""
    found = true_log_probabilities(scores, codes)
    return found.mean(axis=-1), found.std(axis=-1) / np.sqrt(found.shape[-1])


def roc_auc(scores: Array, codes: Indices) -> tuple[Array, Array]:
    """Mean area under the curve, of every class against all others.

    The area is the share of pairs of a node of the class and another one in which the former has
    the larger probability; ties count half.
    """
    known = codes >= 0
    P, codes = scipy.special.softmax(scores[..., known, :], axis=-1), codes[known]
    classes, positives = np.unique(codes, return_counts=True)
    if len(classes) < 2:
        half = np.full(scores.shape[:-2], 0.5)
        return half, half
    areas, errors = [], []
    for c, n in zip(classes, positives, strict=True):
        others = len(codes) - n
        ranks = scipy.stats.rankdata(P[..., c], axis=-1)
        area = (ranks[..., codes == c].sum(axis=-1) - n * (n + 1) / 2) / (n * others)
        above, below = area / (2 - area), 2 * area**2 / (1 + area)
        square = area * (1 - area) + (n - 1) * (above - area**2) + (others - 1) * (below - area**2)
        errors.append(np.sqrt(np.maximum(square / (n * others), 0.25 / len(codes) ** 2)))
        areas.append(area)
    return np.mean(areas, axis=0), _mean_error(np.stack(errors, axis=-1))


SCORINGS: dict[str, Scoring] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "f1_macro": f1_macro,
    "log_loss": negative_log_loss,
    "roc_auc": roc_auc,
}


def _class_counts(scores: Array, codes: Indices) -> tuple[Array, Array, Array]:
    """Nodes of each class that are labelled right, that are of it, and that are labelled so."""
    known = codes >= 0
    codes, labels = codes[known], scores.argmax(axis=-1)[..., known]
    classes, true = np.unique(codes, return_counts=True)
    predicted = np.stack([(labels == c).sum(axis=-1) for c in classes], axis=-1)
    right = np.stack([(labels == c)[..., codes == c].sum(axis=-1) for c in classes], axis=-1)
    return right, true, predicted


def _mean_error(errors: Array) -> Array:
    """Standard error of the mean over the last axis."""
    return np.asarray(np.sqrt(np.square(errors).sum(axis=-1)) / errors.shape[-1])
