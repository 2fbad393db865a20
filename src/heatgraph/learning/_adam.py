"""Adam as the paper trains with it: PyTorch's Linear layer and Adam, full batches.

W settings are trained in parallel and do not influence each other. Shapes are those of
`heatgraph.learning._softmax_regression`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.learning._lbfgs import expand, loss_gradient

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# PyTorch's defaults.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


def adam(
    X: Array,
    y: Indices,
    num_classes: int,
    weight_decay: npt.ArrayLike,
    learning_rate: Sequence[float],
    *,
    epochs: int,
    seed: int,
) -> Array:
    """Weights (G, W, p + 1, C), the bias last, after training on X (G, n, p).

    Weights start uniform in +-1/sqrt(p), the same for every setting; weight decay is *coupled*,
    that is, part of the gradient that Adam rescales.
    """
    G, n, p = X.shape
    W = len(learning_rate)
    weight_decays = np.broadcast_to(np.asarray(weight_decay, dtype=X.dtype), (G, W))
    rate = expand(np.asarray(learning_rate, dtype=X.dtype))
    rows = np.ones((n, p + 1), dtype=X.dtype)
    trained = np.empty((G, W, num_classes, p + 1), dtype=X.dtype)
    trained[:] = initial_weights(p, num_classes, X.dtype, seed)
    for features, decay, weights in zip(X, weight_decays, trained, strict=True):
        rows[:, :p] = features
        _train(rows, y, weights, expand(decay), rate, epochs)
    return trained.swapaxes(2, 3)


def initial_weights(p: int, num_classes: int, dtype: npt.DTypeLike, seed: int) -> Array:
    """PyTorch's initial Linear layer, (C, p + 1) with the bias last: uniform in +-1/sqrt(p)."""
    bound = 1 / np.sqrt(p)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(-bound, bound, size=(num_classes, p))
    bias = rng.uniform(-bound, bound, size=(num_classes, 1))
    return np.concatenate([weights, bias], axis=1).astype(dtype)


def _train(rows: Array, y: Indices, weights: Array, decay: Array, rate: Array, epochs: int) -> None:
    """Train the weights (W, C, p + 1) of one feature set in place; decay and rate are (W, 1, 1).

    Every operation is in place, because the arrays are small and each pass over them counts.
    """
    W, C, p = weights.shape
    flat = weights.reshape(W * C, p)
    mean, square, work = (np.zeros_like(weights) for _ in range(3))
    columns = np.ascontiguousarray(rows.T)
    for epoch in range(1, epochs + 1):
        P = (flat @ columns).reshape(W, C, -1)
        P -= P.max(axis=1, keepdims=True)
        np.exp(P, out=P)
        residual = loss_gradient(P, P.sum(axis=1, keepdims=True), y)
        gradient = (residual.reshape(W * C, -1) @ rows).reshape(W, C, p)
        gradient += np.multiply(decay, weights, out=work)
        np.subtract(gradient, mean, out=work)
        work *= 1 - BETA_1
        mean += work
        gradient *= gradient
        gradient *= 1 - BETA_2
        square *= BETA_2
        square += gradient
        np.sqrt(square, out=work)
        work *= 1 / np.sqrt(1 - BETA_2**epoch)
        work += EPSILON
        np.divide(mean, work, out=work)
        work *= rate / (1 - BETA_1**epoch)
        weights -= work
