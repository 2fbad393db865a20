"""Minimise the objective of softmax regression for one setting, by Newton's method.

With weights Theta (C, r), rows A (n, r) and probabilities P (C, n), the Hessian of J
(`heatgraph.learning._lbfgs`) maps a direction D (C, r) to

    H D = Q A + weight_decay D,   Q = P * (D A^T - sum_c P_c (D A^T)_c) / n,

with weights of the nodes in place of 1/n if they have some, so a product with it costs as much as a
gradient. The Newton system is solved by preconditioned conjugate gradients, roughly at first and
the more precisely the closer the optimum is (Nocedal & Wright, algorithm 7.1).

L-BFGS has the bound 1/2 on the curvature of the cross-entropy in its preconditioner. Where classes
are told apart well, the curvature is far smaller, and the mean of p (1 - p) over nodes and classes
is close to it: with weak penalties that saves nine of ten iterations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.learning._design_matrices import LARGEST, DesignMatrix, Preconditioner
from heatgraph.learning._lbfgs import MAX_BACKTRACKS, SUFFICIENT_DECREASE, cross_entropy

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Conjugate gradients end when the squared norm of the residual has shrunk by this factor at least,
# and after so many products.
LARGEST_RESIDUAL, MAX_PRODUCTS = 0.06, 250


def newton_minimize(
    design: DesignMatrix,
    y: Indices,
    num_classes: int,
    weight_decay: float,
    *,
    tolerance: float,
    max_iterations: int,
    sample_weight: Array | None = None,
) -> tuple[Array, bool]:
    """Minimise J over weights (1, 1, C, r), and say whether the gradient norm reached `tolerance`.

    The norm is relative to its value at zero, in the metric P^-1 of the preconditioner.
    `sample_weight` (n,) are the weights of a mean: they add up to 1.
    """
    _, n, r = design.shape
    decay = min(float(weight_decay), LARGEST)
    preconditioner = design.preconditioner(np.array([[decay]]))
    weights = np.zeros((1, 1, num_classes, r), dtype=design.dtype)
    scores = np.zeros((1, 1, num_classes, n), dtype=design.dtype)
    shares = np.full(n, 1 / n) if sample_weight is None else sample_weight
    shares = shares.astype(design.dtype)
    loss, residuals = cross_entropy(scores, y, sample_weight)
    rounding = 2 * float(np.finfo(design.dtype).eps)
    target = None
    for _ in range(max_iterations + 1):
        gradient = design.gradient(residuals) + decay * weights
        squared_norm = float(np.vdot(gradient, preconditioner.apply(gradient)))
        if target is None:
            first = squared_norm
            floor = rounding**2 * num_classes * float(preconditioner.trace[0, 0]) / n
            target = max(tolerance**2 * first, floor)
        if squared_norm <= target:
            return weights, True
        weighted = residuals.copy()
        weighted[..., y, np.arange(n)] += shares
        probabilities = weighted / shares
        curvature = float((weighted * (1 - probabilities)).sum()) / num_classes
        direction, score_change = _newton_direction(
            design,
            design.preconditioner(np.array([[decay]]), curvature),
            weighted,
            probabilities,
            gradient,
            decay,
            min(LARGEST_RESIDUAL, np.sqrt(squared_norm / first)),
        )
        slope = float(np.vdot(gradient, direction))
        linear = decay * float(np.vdot(weights, direction))
        quadratic = decay * float(np.vdot(direction, direction)) / 2
        length = 1.0
        for _ in range(MAX_BACKTRACKS):
            trial = scores + length * score_change
            trial_loss, residuals = cross_entropy(trial, y, sample_weight)
            change = float(trial_loss[0, 0] - loss[0, 0]) + length * (linear + length * quadratic)
            # A change of J below its rounding error can be neither confirmed nor refuted.
            if change <= SUFFICIENT_DECREASE * length * slope + 2 * rounding * float(loss[0, 0]):
                break
            length /= 2
        else:
            return weights, False
        weights = weights + length * direction
        scores, loss = trial, trial_loss
    return weights, False


def _newton_direction(
    design: DesignMatrix,
    preconditioner: Preconditioner,
    weighted: Array,
    probabilities: Array,
    gradient: Array,
    decay: float,
    share: float,
) -> tuple[Array, Array]:
    """Solve H D = -gradient until the squared residual norm has shrunk to a share; also D A^T.

    `weighted` (1, 1, C, n) are the probabilities times the weights of the nodes.
    """
    direction, score_change = np.zeros_like(gradient), np.zeros_like(weighted)
    residual = -gradient
    preconditioned = preconditioner.apply(residual)
    step = preconditioned
    squared_norm = float(np.vdot(residual, preconditioned))
    target = share * squared_norm
    for _ in range(MAX_PRODUCTS):
        step_scores = design.scores(step)
        mean = (probabilities * step_scores).sum(axis=-2, keepdims=True)
        product = design.gradient(weighted * (step_scores - mean)) + decay * step
        curvature = float(np.vdot(step, product))
        if not curvature > 0:
            break
        length = squared_norm / curvature
        direction += length * step
        score_change += length * step_scores
        residual = residual - length * product
        preconditioned = preconditioner.apply(residual)
        previous, squared_norm = squared_norm, float(np.vdot(residual, preconditioned))
        if squared_norm <= target:
            break
        step = preconditioned + (squared_norm / previous) * step
    return direction, score_change
