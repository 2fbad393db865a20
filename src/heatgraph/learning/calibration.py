"""Calibration of probabilities: temperature scaling and the expected calibration error.

A model is calibrated if, of the nodes that it labels with probability 0.8, 80 % are right. The
expected calibration error measures the deviation from that. Temperature scaling, softmax(z / t)
with one t for all scores z, corrects most of it without changing a prediction (Guo et al. 2017).

Class offsets, softmax(z / t + o) with one o_c for each class, correct shares of classes that differ
between training nodes and others; together the two are known as bias-corrected temperature scaling
(Alexandari et al. 2020). They do change predictions.

Shapes: scores and probabilities are (m, C); codes (m,) are indices of the true classes, or -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.optimize

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Temperatures are searched between e^-5 and e^5.
MAX_LOG_TEMPERATURE = 5.0
# Penalty of class offsets, in nodes per class.
OFFSET_PENALTY = 5.0


def log_loss(scores: Array, codes: Indices) -> Array:
    """Mean negative log-probability of the true classes, for scores (..., m, C).

    Nodes of unknown class (-1) are left out; it is 0 if no others remain.
    """
    if not (codes >= 0).any():
        return np.zeros(scores.shape[:-2])
    return np.asarray(-true_log_probabilities(scores, codes).mean(axis=-1, dtype=np.float64))


def true_log_probabilities(scores: Array, codes: Indices) -> Array:
    """Log-probabilities (..., m') of the true classes of the m' nodes whose class is known."""
    known = np.flatnonzero(codes >= 0)
    if len(known) < len(codes):
        scores = scores[..., known, :]
    # Classes first: sums over them then run over contiguous memory.
    scores = np.ascontiguousarray(np.moveaxis(scores, -1, 0))
    scores = scores - scores.max(axis=0)
    true = np.take_along_axis(scores, codes[known].reshape((1,) * (scores.ndim - 1) + (-1,)), 0)[0]
    total = np.exp(scores).sum(axis=0)
    return np.asarray(true - np.log(total))


def best_temperature(scores: Array, codes: Indices) -> float:
    """Temperature t that minimises the log-loss of softmax(scores / t).

    Targets are smoothed as in Platt scaling, so that m correct nodes do not give certainty: a
    node's true class has weight (m + 1) / (m + 2), and the rest is uniform over classes. Without
    any node, the temperature is 1.
    """
    known = codes >= 0
    if not known.any():
        return 1.0
    scores, codes = scores[known].astype(np.float64), codes[known]
    smoothing = 1 / (len(codes) + 2)
    # Relative to the largest score of a node, classes first; what targets add up to is linear.
    below = np.ascontiguousarray((scores - scores.max(axis=1, keepdims=True)).T)
    true = below[codes, np.arange(len(codes))].mean()
    targets = (1 - smoothing) * true + smoothing * below.mean()

    def loss(log_t: float) -> float:
        inverse = np.exp(-log_t)
        return float(np.log(np.exp(below * inverse).sum(axis=0)).mean() - targets * inverse)

    found = scipy.optimize.minimize_scalar(
        loss,
        bounds=(-MAX_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE),
        method="bounded",
    )
    return float(np.exp(found.x))


def best_offsets(scores: Array, codes: Indices, temperature: float) -> Array:
    """Offsets o (C,) that minimise the log-loss of softmax(scores / temperature + o).

    The penalty OFFSET_PENALTY C / 2m |o|^2 keeps them small if there are few nodes, and zero
    without any.
    """
    known = codes >= 0
    C, m = scores.shape[1], int(known.sum())
    if m == 0:
        return np.zeros(C)
    scaled, codes = scores[known].astype(np.float64) / temperature, codes[known]
    shares = np.bincount(codes, minlength=C) / m
    penalty = OFFSET_PENALTY * C / m
    by_class = np.ascontiguousarray(scaled.T)
    true = by_class[codes, np.arange(m)].mean()

    def loss(offsets: Array) -> tuple[float, Array]:
        P = by_class + offsets[:, np.newaxis]
        largest = P.max(axis=0)
        np.exp(P - largest, out=P)
        total = P.sum(axis=0)
        P /= total
        value = float((np.log(total) + largest).mean() - true - shares @ offsets)
        value += penalty / 2 * float(offsets @ offsets)
        return value, P.mean(axis=1) - shares + penalty * offsets

    found = scipy.optimize.minimize(loss, np.zeros(C), jac=True, method="L-BFGS-B")
    return np.asarray(found.x)


def expected_calibration_error(
    probabilities: npt.ArrayLike, codes: npt.ArrayLike, bins: int = 15
) -> float:
    """Mean distance between confidence and accuracy, over bins of equal width in confidence.

    Parameters
    ----------
    probabilities : array of shape (m, C)
    codes : array of shape (m,)
        Index of the true class of each node.
    bins : int
        Number of bins; 15 is customary.

    Examples
    --------
    >>> expected_calibration_error([[0.9, 0.1], [0.9, 0.1]], [0, 1])
    0.4
    """
    P = np.asarray(probabilities, dtype=np.float64)
    confidence = P.max(axis=1)
    correct = P.argmax(axis=1) == np.asarray(codes)
    bin_index = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(bin_index, weights=confidence - correct, minlength=bins)
    return float(np.abs(gaps).sum() / len(P))
