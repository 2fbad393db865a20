"""Adam as the paper trains with it: PyTorch's Linear layer and Adam, full batches.

W settings are trained in parallel and do not influence each other. Shapes are those of
`heatgraph.learning._softmax_regression`.

With the gradient g_t of epoch t, Adam's step is rate m_t / (1 - b1^t) / (sqrt(v_t / (1 - b2^t)) +
eps), where m_t = b1 m_{t-1} + (1 - b1) g_t and v_t = b2 v_{t-1} + (1 - b2) g_t^2. Arrays of weights
are small, so each pass over them counts. To take fewer, the factors 1 - b1 and 1 - b2 are left out
of the averages:

    m <- b1 m + g    v <- b2 v + g^2    Theta <- Theta - rate a_t m / (sqrt(v) + eps / s_t)

with s_t = sqrt((1 - b2) / (1 - b2^t)) and a_t = (1 - b1) / (1 - b1^t) / s_t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.learning._lbfgs import expand

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# PyTorch's defaults.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
# OpenBLAS multiplies by rows four at a time. A product of seven rows of weights took 1.6 times as
# long as that of eight.
ROW_MULTIPLE = 4


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
    decays = np.broadcast_to(np.asarray(weight_decay, dtype=X.dtype), (G, W))
    rate = expand(np.asarray(learning_rate, dtype=X.dtype))
    rows = np.ones((n, p + 1), dtype=X.dtype)
    trained = np.empty((G, W, num_classes, p + 1), dtype=X.dtype)
    trained[:] = initial_weights(p, num_classes, X.dtype, seed)
    for features, decay, weights in zip(X, decays, trained, strict=True):
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
    """Train the weights (W, C, p + 1) of one feature set in place; decay and rate are (W, 1, 1)."""
    n, dtype = len(rows), weights.dtype
    columns = np.ascontiguousarray(rows.T)
    all_weights, Theta = _padded_rows(weights.shape, dtype)
    all_gradients, gradient = _padded_rows(weights.shape, dtype)
    all_scores, P = _padded_rows((*weights.shape[:2], n), dtype)
    target = np.zeros(P.shape[1:], dtype=dtype)
    target[y, np.arange(n)] = 1 / n
    largest = np.empty((len(P), 1, n), dtype=dtype)
    mean, square, work = (np.zeros_like(weights) for _ in range(3))
    Theta[:] = weights
    for epoch in range(1, epochs + 1):
        np.matmul(all_weights, columns, out=all_scores)
        P -= np.maximum.reduce(P, axis=1, keepdims=True, out=largest)
        np.exp(P, out=P)
        total = np.add.reduce(P, axis=1, keepdims=True, out=largest)
        total *= n
        P /= total
        P -= target
        np.matmul(all_scores, rows, out=all_gradients)
        gradient += np.multiply(decay, Theta, out=work)
        mean *= BETA_1
        mean += gradient
        gradient *= gradient
        square *= BETA_2
        square += gradient
        scale = math.sqrt((1 - BETA_2) / (1 - BETA_2**epoch))
        np.sqrt(square, out=work)
        work += EPSILON / scale
        np.divide(mean, work, out=work)
        work *= rate * ((1 - BETA_1) / (1 - BETA_1**epoch) / scale)
        Theta -= work
    # An average of squares that overflowed has stopped the steps: the caller refuses infinities.
    weights[:] = np.where(np.isfinite(square), Theta, np.inf)


def _padded_rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Zeros (K, k), and a view of its first W C rows in the given shape (W, C, k)."""
    W, C, k = shape
    padded = np.zeros((-(-W * C // ROW_MULTIPLE) * ROW_MULTIPLE, k), dtype=dtype)
    return padded, padded[: W * C].reshape(shape)
