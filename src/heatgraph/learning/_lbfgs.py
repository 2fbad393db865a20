"""Minimise the objective of softmax regression for many settings at once.

    J(Theta) = mean_i -log softmax(a_i Theta)[y_i] + weight_decay/2 |Theta|^2

with the rows a_i of a design matrix A (`heatgraph.learning._design_matrices`, whose conventions for
axes hold here); nodes may have weights in the mean. L-BFGS starts from zero with the inverse
Hessian P^-1 of a quadratic upper bound of J, so its first step minimises that bound: it is ridge
regression on the centred indicators of the classes, and `ridge_weights` computes it alone.

Scores are linear in the step, so that a line search needs no product, and settings leave the batch
when they converge. Other losses than the cross-entropy take its place by `loss`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.learning._design_matrices import LARGEST, DesignMatrix

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# L-BFGS keeps this many curvature pairs.
HISTORY_SIZE = 5
# Armijo condition: a step must achieve this share of the decrease that the slope predicts.
SUFFICIENT_DECREASE = 1e-4
MAX_BACKTRACKS = 30


@dataclass(frozen=True)
class Loss:
    """A convex loss of scores (..., C, n), and a bound on its second derivative.

    `evaluate` takes scores, what is known of the nodes, and perhaps weights of the nodes that add
    up to 1. It returns the mean loss (...) and the gradient with respect to the scores.
    """

    evaluate: Callable[[Array, Any, Array | None], tuple[Array, Array]]
    curvature: float


def minimize(
    design: DesignMatrix,
    y: Any,
    num_classes: int,
    weight_decay: npt.ArrayLike,
    *,
    tolerance: float,
    max_iterations: int,
    sample_weight: Array | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    loss: Loss | None = None,
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Minimise J over weights (G, W, C, r), for weight decays (W,) or (G, W).

    `sample_weight` (n,) are the weights of a mean: they add up to 1.

    A setting has converged when its gradient norm in the metric P^-1 is `tolerance` times what it
    was at zero, or at the level of rounding. Returns the weights and, for each feature set and
    setting, whether it converged. `should_stop` is asked once per iteration. `loss` is by default
    the cross-entropy of classes y (n,).
    """
    decay = _broadcast_decay(design, weight_decay)
    solver = _LBFGS(design, y, num_classes, decay, sample_weight, loss or CROSS_ENTROPY)
    weights = solver.weights.copy()
    target = np.maximum(tolerance**2 * solver.squared_gradient_norm, solver.rounding_floor())
    converged = np.zeros(target.shape, dtype=bool)
    remaining = np.arange(target.shape[1])
    for _ in range(max_iterations):
        solver.iterate()
        reached = solver.squared_gradient_norm <= target[:, remaining]
        weights[:, remaining], converged[:, remaining] = solver.weights, reached
        solver.active &= ~reached
        if not solver.active.any() or should_stop():
            break
        unfinished = np.asarray(solver.active.any(axis=0))
        if not unfinished.all():
            remaining = remaining[unfinished]
            solver.select(unfinished)
    return weights, converged


def ridge_weights(
    design: DesignMatrix,
    y: Any,
    num_classes: int,
    weight_decay: npt.ArrayLike,
    sample_weight: Array | None = None,
    loss: Loss | None = None,
) -> Array:
    """Weights (G, W, C, r) that minimise the quadratic upper bound of J at zero.

    With Y the indicators (n, C) of the classes, they are (A^T A / 2 + n weight_decay I)^-1 A^T
    (Y - 1/C), exactly so if the preconditioner is. For the squared error, which equals its bound,
    that is the minimum itself. `sample_weight` weighs A^T (Y - 1/C) alone, as linear discriminant
    analysis weighs means of classes and not the covariance.
    """
    loss = loss or CROSS_ENTROPY
    decay = _broadcast_decay(design, weight_decay)
    G, n, _ = design.shape
    zeros = np.zeros((G, 1, num_classes, n), dtype=design.dtype)
    _, residuals = loss.evaluate(zeros, y, sample_weight)
    gradient = np.repeat(design.gradient(residuals), decay.shape[1], axis=1)
    return -design.preconditioner(decay, loss.curvature).apply(gradient)


def _broadcast_decay(design: DesignMatrix, weight_decay: npt.ArrayLike) -> Array:
    decay = np.minimum(np.atleast_1d(np.asarray(weight_decay, dtype=np.float64)), LARGEST)
    return np.broadcast_to(decay, (design.shape[0], decay.shape[-1]))


class _LBFGS:
    """The state of L-BFGS on J, for all feature sets and settings in one batch.

    Shapes: weights, gradient and both halves of a curvature pair are (G, W, C, r), scores
    (G, W, C, n); loss, decay and every other scalar of a setting are (G, W).
    """

    def __init__(
        self,
        design: DesignMatrix,
        y: Any,
        num_classes: int,
        decay: Array,
        sample_weight: Array | None,
        loss_function: Loss,
    ) -> None:
        self.design, self.y, self.sample_weight = design, y, sample_weight
        self.loss_function = loss_function
        G, n, r = design.shape
        W = decay.shape[1]
        self.decay = decay.astype(design.dtype)
        self.preconditioner = design.preconditioner(decay, loss_function.curvature)
        self.weights = np.zeros((G, W, num_classes, r), dtype=design.dtype)
        self.scores = np.zeros((G, W, num_classes, n), dtype=design.dtype)
        # At zero, all settings have the same scores.
        loss, residuals = loss_function.evaluate(self.scores[:, :1], y, sample_weight)
        self.loss = np.repeat(loss, W, axis=1)
        self.active = np.ones((G, W), dtype=bool)
        # Curvature pairs (step, change of the gradient, 1 / their inner product), oldest first.
        self.pairs: list[tuple[Array, Array, Array]] = []
        self._set_gradient(np.repeat(design.gradient(residuals), W, axis=1))

    def _set_gradient(self, gradient: Array) -> None:
        self.gradient = gradient
        self.preconditioned = self.preconditioner.apply(gradient)
        self.squared_gradient_norm = _inner(gradient, self.preconditioned)

    def rounding_floor(self) -> Array:
        """The squared norm that rounding alone can cause, for residuals of at most 1/n."""
        _, n, _ = self.design.shape
        rounding = 2 * np.finfo(self.design.dtype).eps
        return np.asarray(rounding**2 * self.weights.shape[2] * self.preconditioner.trace / n)

    def select(self, settings: npt.NDArray[np.bool_]) -> None:
        """Continue with these settings only."""
        for name in ("decay", "weights", "scores", "loss", "gradient", "preconditioned", "active"):
            setattr(self, name, getattr(self, name)[:, settings])
        self.squared_gradient_norm = self.squared_gradient_norm[:, settings]
        self.preconditioner = self.preconditioner.select(settings)
        self.pairs = [
            (step[:, settings], change[:, settings], rho[:, settings])
            for step, change, rho in self.pairs
        ]

    def iterate(self) -> None:
        """Take one step of every active setting; one that finds no descent becomes inactive."""
        direction = self._direction()
        length, residuals = self._line_search(direction)
        self.active &= length > 0
        direction *= expand(length)
        self.weights += direction
        gradient = self.design.gradient(residuals)
        gradient += self.weights * expand(self.decay)
        change = gradient - self.gradient
        rho = _reciprocal_or_zero(_inner(direction, change))
        self.pairs = [*self.pairs[1 - HISTORY_SIZE :], (direction, change, rho)]
        self._set_gradient(gradient)

    def _direction(self) -> Array:
        """The two-loop recursion of L-BFGS (Nocedal & Wright, algorithm 7.4)."""
        if not self.pairs:
            return -self.preconditioned
        q = -self.gradient
        alphas = []
        for step, change, rho in reversed(self.pairs):
            alpha = rho * _inner(step, q)
            q -= change * expand(alpha)
            alphas.append(alpha)
        q = self.preconditioner.apply(q)
        _, change, rho = self.pairs[-1]
        scale = rho * _inner(change, self.preconditioner.apply(change))
        q *= expand(np.where(scale > 0, _reciprocal_or_zero(scale), 1))
        for (step, change, rho), alpha in zip(self.pairs, reversed(alphas), strict=True):
            q += step * expand(alpha - rho * _inner(change, q))
        return q

    def _line_search(self, direction: Array) -> tuple[Array, Array]:
        """Backtrack until the Armijo condition holds; return step lengths and residuals.

        Scores are linear in the step length, so a trial needs no product with the features.
        """
        dtype = self.design.dtype
        score_change = self.design.scores(direction)
        slope = _inner(self.gradient, direction)
        penalty_slope = self.decay * _inner(self.weights, direction)
        penalty_curvature = self.decay * _inner(direction, direction) / 2
        # A change of J below its rounding error can be neither confirmed nor refuted: accept it.
        rounding = 4 * np.finfo(dtype).eps * self.loss
        length = (self.active & (slope < 0)).astype(dtype)
        for trial in range(MAX_BACKTRACKS + 1):
            scores = score_change * expand(length)
            scores += self.scores
            loss, residuals = self.loss_function.evaluate(scores, self.y, self.sample_weight)
            penalty_change = length * (penalty_slope + length * penalty_curvature)
            change = loss - self.loss + penalty_change
            accepted = change <= SUFFICIENT_DECREASE * length * slope + rounding
            if accepted.all():
                break
            length = np.where(accepted, length, length / 2 if trial + 1 < MAX_BACKTRACKS else 0)
        self.scores, self.loss = scores, loss
        return length, residuals


def cross_entropy(
    scores: Array, y: Indices, sample_weight: Array | None = None
) -> tuple[Array, Array]:
    """Mean cross-entropy of scores (..., C, n), and its gradient with respect to them."""
    P = scores - scores.max(axis=-2, keepdims=True)
    true = P[..., y, np.arange(len(y))]
    np.exp(P, out=P)
    total = P.sum(axis=-2, keepdims=True)
    losses = np.log(total[..., 0, :]) - true
    if sample_weight is None:
        return losses.mean(axis=-1, dtype=np.float64), loss_gradient(P, total, y)
    P *= sample_weight.astype(P.dtype) / total
    P[..., y, np.arange(len(y))] -= sample_weight.astype(P.dtype)
    return losses.astype(np.float64) @ sample_weight, P


def loss_gradient(P: Array, total: Array, y: Indices) -> Array:
    """Turn exponentials of scores into the gradient of the mean loss, in place."""
    n = len(y)
    P /= total * n
    P[..., y, np.arange(n)] -= P.dtype.type(1 / n)
    return P


# The Hessian is at most 1/2 (Bohning 1992).
CROSS_ENTROPY = Loss(cross_entropy, 0.5)


def expand(values: Array) -> Array:
    """Append two axes, so that (..., W) broadcasts against (..., W, C, r)."""
    return values[..., np.newaxis, np.newaxis]


def _inner(a: Array, b: Array) -> Array:
    """Inner products (G, W) of two (G, W, C, r), one per feature set and setting."""
    products: Array = np.einsum("gwcr,gwcr->gw", a, b)
    return products


def _reciprocal_or_zero(values: Array) -> Array:
    """1 / values where they are positive, and 0 elsewhere."""
    reciprocal: Array = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
    return reciprocal
