"""Probabilities that mean what they say.

A model is calibrated when, of the nodes that it labels with probability 0.8, eight in ten are
right. The expected calibration error sums how far it is from that; dividing all scores by one
temperature mends most of it without changing a single prediction.

Shapes: scores and probabilities are (m, C); codes (m,) are the positions of the true classes among
the columns, or -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.special

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Temperatures are looked for within a factor of e^5 of 1.
LARGEST_LOG_TEMPERATURE = 5.0


def log_loss(scores: Array, codes: Indices) -> Array:
    """Mean negative log-probability of the true classes, of each (m, C) in an array of scores.

    Nodes of unknown class (-1) are left out; without any other, it is 0.
    """
    known = np.flatnonzero(codes >= 0)
    if len(known) == 0:
        return np.zeros(scores.shape[:-2])
    kept = scores[..., known, :].astype(np.float64)
    chosen = kept[..., np.arange(len(known)), codes[known]]
    return np.asarray((scipy.special.logsumexp(kept, axis=-1) - chosen).mean(axis=-1))


def best_temperature(scores: Array, codes: Indices) -> float:
    """Temperature t that minimises the log-loss of softmax(scores / t).

    As in Platt's scaling, m nodes are no reason to be surer than m + 2: each counts for its class
    with (m + 1) / (m + 2), and for all classes alike with the rest. Without any node, it is 1.
    """
    known = codes >= 0
    if not known.any():
        return 1.0
    scores, codes = scores[known].astype(np.float64), codes[known]
    doubt = 1 / (len(codes) + 2)

    def loss(log_t: float) -> float:
        cooled = scores / np.exp(log_t)
        uniform = (scipy.special.logsumexp(cooled, axis=1) - cooled.mean(axis=1)).mean()
        return float((1 - doubt) * log_loss(cooled, codes) + doubt * uniform)

    found = scipy.optimize.minimize_scalar(
        loss,
        bounds=(-LARGEST_LOG_TEMPERATURE, LARGEST_LOG_TEMPERATURE),
        method="bounded",
    )
    return float(np.exp(found.x))


def expected_calibration_error(
    probabilities: npt.ArrayLike, codes: npt.ArrayLike, bins: int = 15
) -> float:
    """Mean distance between confidence and accuracy, over bins of equal width in confidence.

    Parameters
    ----------
    probabilities : array of shape (m, C)
    codes : array of shape (m,)
        Position of the true class of each node among the columns.
    bins : int
        Number of bins; 15 is customary.

    Examples
    --------
    >>> expected_calibration_error([[0.9, 0.1], [0.9, 0.1]], [0, 1])
    0.4
    """
    P = np.asarray(probabilities, dtype=np.float64)
    confidence = P.max(axis=1)
    right = P.argmax(axis=1) == np.asarray(codes)
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(place, weights=confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(P))
