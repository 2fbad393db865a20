"""Losses of targets (n, q) that are not classes: the squared error and the logistic loss.

The score z of a number or label is linear in the features, plus a base b that does not depend on
them, z_i = b + x_i Theta + o. The objective of each of q numbers or labels is

    J(Theta, o) = mean_i loss(z_i, y_i) + weight_decay/2 (|Theta|^2 + |o|^2),

==================  =========================  =====================================================
squared error       (z - y)^2 / 2              b: the mean. Then J is the objective of ridge
                                               regression with alpha = n weight_decay
logistic loss       log(1 + e^z) - y z         b: the log-odds of the share of nodes with the label
==================  =========================  =====================================================

The offset o is penalised like any other weight, as in the classifier, but away from the base: with
an infinite penalty all nodes get the mean, or the share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special

from heatgraph.learning._lbfgs import Loss

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Targets:
    """Targets `values` (n, q) of n nodes, and the base (q,) of their scores."""

    values: Array
    base: Array


@dataclass(frozen=True)
class TargetLoss(Loss):
    """A loss of targets, how its base follows from them, and how held-out scores are rated.

    `rate` takes scores (..., m, q), base included, targets (m, q) and the variances (q,) of
    held-out targets. It returns ratings (..., m) of nodes, of which more is better; their mean is
    the `metric` of a search, up to the sign.
    """

    base: Callable[[Array], Array]
    rate: Callable[[Array, Array, Array], Array]
    metric: str
    sign: int

    def targets(self, values: Array) -> Targets:
        """Targets with the base of their own."""
        return Targets(values, self.base(values))


def squared_error(
    scores: Array, targets: Targets, sample_weight: Array | None = None
) -> tuple[Array, Array]:
    """Half the mean squared error of scores (..., q, n), summed over q, and its gradient."""
    wanted = (targets.values - targets.base).T.astype(scores.dtype, copy=False)
    residuals = scores - wanted
    shares = _shares(len(targets.values), sample_weight)
    losses = np.square(residuals, dtype=np.float64).sum(axis=-2) / 2
    return losses @ shares, residuals * shares.astype(scores.dtype)


def logistic_loss(
    scores: Array, targets: Targets, sample_weight: Array | None = None
) -> tuple[Array, Array]:
    """The mean logistic loss of scores (..., L, n), summed over labels, and its gradient."""
    Y = targets.values.T.astype(scores.dtype, copy=False)
    z = scores + targets.base[:, np.newaxis].astype(scores.dtype)
    shares = _shares(len(targets.values), sample_weight)
    losses = (np.logaddexp(0, z) - Y * z).sum(axis=-2, dtype=np.float64)
    return losses @ shares, (scipy.special.expit(z) - Y) * shares.astype(scores.dtype)


def log_odds(Y: Array) -> Array:
    """Log-odds (L,) of the shares of nodes with each label; half a node counts as exception."""
    n, counts = len(Y), Y.sum(axis=0, dtype=np.float64)
    return np.asarray(np.log((counts + 0.5) / (n - counts + 0.5)))


def _shares(n: int, sample_weight: Array | None) -> Array:
    return np.full(n, 1 / n) if sample_weight is None else sample_weight


def _mean(Y: Array) -> Array:
    return np.asarray(Y.mean(axis=0, dtype=np.float64))


def _explained(scores: Array, Y: Array, variances: Array) -> Array:
    """Ratings whose mean is R^2, averaged over the q numbers."""
    errors = np.square(scores - Y, dtype=np.float64)
    return np.asarray(1 - (errors / np.where(variances > 0, variances, 1)).mean(axis=-1))


def _log_likelihood(scores: Array, Y: Array, variances: Array) -> Array:
    """Mean log-probability of a node's labels."""
    z = scores.astype(np.float64)
    return np.asarray((Y * z - np.logaddexp(0, z)).mean(axis=-1))


SQUARED_ERROR = TargetLoss(squared_error, 1.0, _mean, _explained, "r2", 1)
LOGISTIC = TargetLoss(logistic_loss, 0.25, log_odds, _log_likelihood, "log_loss", -1)
