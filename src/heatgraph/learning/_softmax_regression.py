"""Softmax regression: the linear classifier that reads diffused features.

For features X (n, p) with classes y in 0, ..., C - 1, weights Theta (p, C) and bias b (C,), both
heads go down the same objective,

    J(Theta, b) = mean_i -log softmax(x_i Theta + b)[y_i] + weight_decay/2 (|Theta|^2 + |b|^2),

where the bias is penalised like any other weight, as the paper's coupled weight decay does. `lbfgs`
goes to its optimum, which is unique; `adam` takes the paper's 100 steps towards it.

Conventions
-----------
``X``      (G, n, p): G sets of features of the same nodes, such as one per T
``y``      (n,): classes, the same for each set
``W``      settings: each is fitted to each set, all of them in one batched computation; a weight
           decay is the same for all sets (W,), or of each set's own (G, W)
``Theta``  (G, W, p, C), and ``bias`` (G, W, C)

Inside, weights are (G, W, C, p) and scores (G, W, C, n): one product of matrices serves all
settings of a set, sums over classes run along memory, and a setting that is done can be dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heatgraph.errors import InputError

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# L-BFGS: pairs of steps and gradients that are remembered, and iterations after which to give up.
MEMORY = 5
MOST_ITERATIONS = 1000
# How small the gradient is at the end, against its size at the start: for a final fit, and for one
# that is only compared with others.
FINE, ROUGH = 1e-6, 1e-3
# Share of the decrease that the slope promises, which a step has to bring.
SUFFICIENT_DECREASE = 1e-4
MOST_HALVINGS = 30
# Numbers beyond this are as good as infinite, and would overflow in single precision.
LARGEST = 1e30
# Rows that are brought to double precision at a time.
BLOCK_ROWS = 1 << 13
# Sets are trained side by side while the scores of all take no more than this.
BATCH_BYTES = 1 << 19
# Adam, as PyTorch has it.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Fit:
    """Heads fitted to G sets of features with W settings each."""

    Theta: Array
    bias: Array
    converged: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SoftmaxRegression:
    """How heads are trained: a solver with what it needs besides the settings."""

    solver: Literal["lbfgs", "adam"]
    epochs: int
    seed: int

    def fit(
        self,
        X: Array,
        y: Indices,
        num_classes: int,
        weight_decay: npt.ArrayLike,
        learning_rate: Sequence[float],
    ) -> Fit:
        """Train every setting on every set of features."""
        if self.solver == "lbfgs":
            return lbfgs(X, y, num_classes, weight_decay)
        return adam(
            X, y, num_classes, weight_decay, learning_rate, epochs=self.epochs, seed=self.seed
        )

    def scores(
        self,
        X: Array,
        y: Indices,
        num_classes: int,
        weight_decay: npt.ArrayLike,
        learning_rate: Sequence[float],
        others: Array,
        stopping: Callable[[], bool] = lambda: False,
    ) -> Array:
        """Scores (G, W, m, C) of `others` (G, m, p) after training on X (G, n, p), for a search.

        L-BFGS stays in a frame's coordinates, where weights of all p features are never formed, and
        stops when settings can be told apart.
        """
        if self.solver == "lbfgs":
            frame = Frame.of(X)
            Phi, _ = minimise(frame, y, num_classes, weight_decay, ROUGH, stopping)
            coordinates = frame.coordinates(others)
            scores = _times(Phi.astype(coordinates.dtype), _transposed(coordinates))
            return np.asarray(scores.swapaxes(2, 3))
        fit = self.fit(X, y, num_classes, weight_decay, learning_rate)
        return np.asarray(others[:, np.newaxis] @ fit.Theta + fit.bias[:, :, np.newaxis])


def sets_at_once(n: int, num_classes: int, W: int) -> int:
    """Number of sets to train side by side: few enough that their scores stay in the cache."""
    return max(1, BATCH_BYTES // (8 * n * num_classes * W))


def lbfgs(X: Array, y: Indices, num_classes: int, weight_decay: npt.ArrayLike) -> Fit:
    """Find the optimum of J for every set of features and every weight decay."""
    frame = Frame.of(X)
    Phi, converged = minimise(frame, y, num_classes, weight_decay, FINE)
    weights = _times(Phi, _transposed(frame.basis)).swapaxes(2, 3).astype(X.dtype)
    return Fit(weights[:, :, :-1], weights[:, :, -1], converged)


def adam(
    X: Array,
    y: Indices,
    num_classes: int,
    weight_decay: npt.ArrayLike,
    learning_rate: Sequence[float],
    *,
    epochs: int,
    seed: int,
) -> Fit:
    """Train as the paper does: PyTorch's Linear and Adam, full batches, W settings side by side.

    Weights start uniform in +-1/sqrt(p), the same for every setting; weight decay is *coupled*,
    that is, part of the gradient that Adam rescales. Every setting (weight_decay[w],
    learning_rate[w]) comes out as it would alone.
    """
    G, n, p = X.shape
    W = len(learning_rate)
    decays = np.broadcast_to(np.asarray(weight_decay, dtype=X.dtype), (G, W))
    rate = _each(np.asarray(learning_rate, dtype=X.dtype))
    rows = np.ones((n, p + 1), dtype=X.dtype)
    trained = np.empty((G, W, num_classes, p + 1), dtype=X.dtype)
    trained[:] = initial_weights(p, num_classes, X.dtype, seed)
    for features, decay, weights in zip(X, decays, trained, strict=True):
        rows[:, :p] = features
        _adam(rows, y, weights, _each(decay), rate, epochs)
    trained = trained.swapaxes(2, 3)
    return Fit(trained[:, :, :-1], trained[:, :, -1], np.ones((G, W), dtype=bool))


def initial_weights(p: int, num_classes: int, dtype: npt.DTypeLike, seed: int) -> Array:
    """PyTorch's start of a Linear layer, (C, p + 1) with the bias last: uniform in +-1/sqrt(p)."""
    bound = 1 / np.sqrt(p)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(-bound, bound, size=(num_classes, p))
    bias = rng.uniform(-bound, bound, size=(num_classes, 1))
    return np.concatenate([weights, bias], axis=1).astype(dtype)


def _adam(rows: Array, y: Indices, weights: Array, decay: Array, rate: Array, epochs: int) -> None:
    """Train the weights (W, C, p + 1) of one set in place; decay and rate are (W, 1, 1).

    Written out in place, because the arrays are small and every pass over them counts.
    """
    W, C, p = weights.shape
    flat = weights.reshape(W * C, p)
    mean, square, work = (np.zeros_like(weights) for _ in range(3))
    columns = np.ascontiguousarray(rows.T)
    for epoch in range(1, epochs + 1):
        P = (flat @ columns).reshape(W, C, -1)
        P -= P.max(axis=1, keepdims=True)
        np.exp(P, out=P)
        residual = _derivative(P, P.sum(axis=1, keepdims=True), y)
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


@dataclass(frozen=True)
class Frame:
    """Coordinates Z = [X, 1] V in which the columns of Z are orthogonal.

    The r columns of V are orthonormal. With no more rows than columns they span the rows of [X, 1],
    in which the optimum lies; otherwise they span everything. Either way |V Phi| = |Phi|, so that
    nothing is lost, and the work is done in the smaller of the two sizes.

    Shapes: Z is (G, n, r), V is (G, p + 1, r), and `squares` (G, r) are the diagonals of Z^T Z.
    """

    Z: Array
    basis: Array
    squares: Array

    @classmethod
    def of(cls, X: Array) -> Frame:
        """Take the eigenvectors of the smaller of the two Gram matrices of [X, 1]."""
        with np.errstate(over="ignore", invalid="ignore"):  # seen to in _directions
            return cls._of_columns(X) if X.shape[1] > X.shape[2] else cls._of_rows(X)

    @classmethod
    def _of_columns(cls, X: Array) -> Frame:
        G, n, p = X.shape
        blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, n, BLOCK_ROWS)]
        gram = np.zeros((G, p + 1, p + 1))
        for block in blocks:
            rows = _with_ones(X[:, block])
            gram += _transposed(rows) @ rows
        # Directions that features of this precision cannot tell from none are left out.
        precision = max(np.finfo(np.float64).eps, 16 * float(np.finfo(X.dtype).eps) ** 2)
        squares, V = _directions(gram, (p + 1) * precision)
        V *= (squares > 0)[:, np.newaxis]
        # The parts of a large mean cancel in most directions. They are added up in double, so that
        # the rest, which is the work, can be done in single precision.
        mean = X.mean(axis=1, keepdims=True, dtype=np.float64).astype(X.dtype)
        shift = (_with_ones(mean) @ V).astype(X.dtype)
        turn = V[:, :-1].astype(X.dtype)
        Z = np.empty((G, n, p + 1), dtype=X.dtype)
        for block in blocks:
            np.matmul(X[:, block] - mean, turn, out=Z[:, block])
            Z[:, block] += shift
        return cls(Z, V, squares)

    @classmethod
    def _of_rows(cls, X: Array) -> Frame:
        n = X.shape[1]
        rows = _with_ones(X)
        squares, U = _directions(rows @ _transposed(rows), n * float(np.finfo(np.float64).eps))
        lengths = np.sqrt(squares)
        V = _transposed(rows) @ (U * _reciprocal(lengths)[:, np.newaxis])
        return cls(U * lengths[:, np.newaxis], V, squares)

    def coordinates(self, X: Array) -> Array:
        """Coordinates (G, m, r) of other rows of the same features."""
        return _read(X, self.basis.astype(X.dtype, copy=False))


def minimise(
    frame: Frame,
    y: Indices,
    num_classes: int,
    weight_decay: npt.ArrayLike,
    accuracy: float,
    stopping: Callable[[], bool] = lambda: False,
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Minimise J over Phi (G, W, C, r), the weights in a frame's coordinates, by L-BFGS.

    The Hessian of the loss is at most Z^T Z / 2n for every class (Bohning 1992), which is diagonal
    here: its inverse starts off L-BFGS's own, so that steps are of the right length from the first
    and few are needed however the features are scaled. The search ends when the gradient, measured
    in that metric, is `accuracy` times what it was at zero, or no more than rounding.

    Returns Phi and, for each set and setting, whether it got there. It is given up when `stopping`
    says so.
    """
    decay = np.minimum(np.atleast_1d(np.asarray(weight_decay, dtype=np.float64)), LARGEST)
    decay = np.broadcast_to(decay, (len(frame.Z), decay.shape[-1]))
    descent = _Descent(frame, y, num_classes, decay)
    Phi = descent.Phi.copy()
    goal = np.maximum(accuracy**2 * descent.gradient_size(), descent.gradient_rounding())
    converged = np.zeros(goal.shape, dtype=bool)
    left = np.arange(decay.shape[1])
    for _ in range(MOST_ITERATIONS):
        descent.advance()
        arrived = descent.gradient_size() <= goal[:, left]
        Phi[:, left], converged[:, left] = descent.Phi, arrived
        descent.active &= ~arrived
        if not descent.active.any() or stopping():
            break
        going = np.asarray(descent.active.any(axis=0))
        if not going.all():
            left = left[going]
            descent.keep(going)
    return Phi, converged


class _Descent:
    """L-BFGS on J for all sets and settings side by side: where each stands, and its last steps.

    Shapes: Phi, gradient, steps and turns (of the gradient) are (G, W, C, r), scores (G, W, C, n);
    loss, decay and whatever else is one number each (G, W).
    """

    def __init__(self, frame: Frame, y: Indices, num_classes: int, decay: Array) -> None:
        self.Z, self.squares, self.y = frame.Z, frame.squares, y
        G, n, r = self.Z.shape
        W = decay.shape[1]
        self.decay = decay.astype(self.Z.dtype)
        curvature = self.squares[:, np.newaxis] / (2 * n) + decay[..., np.newaxis]
        inverse = np.minimum(_reciprocal(curvature), LARGEST).astype(self.Z.dtype)
        self.inverse = inverse[:, :, np.newaxis]
        self.Phi = np.zeros((G, W, num_classes, r), dtype=self.Z.dtype)
        self.scores = np.zeros((G, W, num_classes, n), dtype=self.Z.dtype)
        self.loss, residual = _cross_entropy(self.scores, y)
        self.gradient = _times(residual, self.Z)
        self.active = np.ones((G, W), dtype=bool)
        self.pairs: list[tuple[Array, Array, Array]] = []

    def gradient_size(self) -> Array:
        """Squared norm of the gradient in the metric of the first inverse Hessian."""
        return _inner(self.gradient, self.inverse * self.gradient)

    def gradient_rounding(self) -> Array:
        """What rounding alone can make of that, for residuals of at most 1/n."""
        _, n, _ = self.Z.shape
        squares = self.squares[:, np.newaxis] * self.inverse[:, :, 0]
        unit = 8 * np.finfo(self.Z.dtype).eps
        return np.asarray(unit**2 * self.Phi.shape[2] * squares.sum(axis=2) / n)

    def keep(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Go on with some of the settings only."""
        for name in ("decay", "inverse", "Phi", "scores", "loss", "gradient", "active"):
            setattr(self, name, getattr(self, name)[:, chosen])
        self.pairs = [
            (step[:, chosen], turn[:, chosen], rho[:, chosen]) for step, turn, rho in self.pairs
        ]

    def advance(self) -> None:
        """Take a step where there is need; where none decreases J, there is none any more."""
        direction = self._direction()
        length, residual = self._line_search(direction)
        self.active &= length > 0
        step = direction * _each(length)
        self.Phi += step
        gradient = _times(residual, self.Z) + self.Phi * _each(self.decay)
        turn = gradient - self.gradient
        self.pairs = [*self.pairs[1 - MEMORY :], (step, turn, _reciprocal(_inner(step, turn)))]
        self.gradient = gradient

    def _direction(self) -> Array:
        """The two loops of L-BFGS (Nocedal & Wright, algorithm 7.4)."""
        q = -self.gradient
        shares = []
        for step, turn, rho in reversed(self.pairs):
            share = rho * _inner(step, q)
            q -= turn * _each(share)
            shares.append(share)
        q *= self.inverse
        if self.pairs:
            _, turn, rho = self.pairs[-1]
            scale = rho * _inner(turn, self.inverse * turn)
            q *= _each(np.where(scale > 0, _reciprocal(scale), 1))
        for (step, turn, rho), share in zip(self.pairs, reversed(shares), strict=True):
            q += step * _each(share - rho * _inner(turn, q))
        return q

    def _line_search(self, direction: Array) -> tuple[Array, Array]:
        """Halve the step until J falls by enough; give its length, and the residual there.

        Scores are linear in the length, so that a trial needs no product with the features.
        """
        along = _times(direction, _transposed(self.Z))
        slope = _inner(self.gradient, direction)
        pull = self.decay * _inner(self.Phi, direction)
        bend = self.decay * _inner(direction, direction) / 2
        # A change of J below its rounding cannot be judged, and is let through.
        rounding = 4 * np.finfo(self.Z.dtype).eps * self.loss
        length = (self.active & (slope < 0)).astype(self.Z.dtype)
        for trial in range(MOST_HALVINGS + 1):
            scores = self.scores + along * _each(length)
            loss, residual = _cross_entropy(scores, self.y)
            change = loss - self.loss + length * (pull + length * bend)
            enough = change <= SUFFICIENT_DECREASE * length * slope + rounding
            if enough.all():
                break
            length = np.where(enough, length, length / 2 if trial + 1 < MOST_HALVINGS else 0)
        self.scores, self.loss = scores, loss
        return length, residual


def _cross_entropy(scores: Array, y: Indices) -> tuple[Array, Array]:
    """Mean loss of scores (..., C, n), and its derivative by them."""
    P = scores - scores.max(axis=-2, keepdims=True)
    chosen = P[..., y, np.arange(len(y))]
    np.exp(P, out=P)
    total = P.sum(axis=-2, keepdims=True)
    loss = (np.log(total[..., 0, :]) - chosen).mean(axis=-1, dtype=np.float64)
    return loss, _derivative(P, total, y)


def _derivative(P: Array, total: Array, y: Indices) -> Array:
    """Turn exponentials of scores into the derivative of the mean loss, in place."""
    n = len(y)
    P /= total * n
    P[..., y, np.arange(n)] -= P.dtype.type(1 / n)
    return P


def _inner(a: Array, b: Array) -> Array:
    """Inner products (G, W) of what belongs to one setting."""
    products: Array = np.einsum("gwcr,gwcr->gw", a, b)
    return products


def _times(a: Array, matrix: Array) -> Array:
    """Multiply (G, W, C, i) by (G, i, j)."""
    G, W, C, i = a.shape
    return (a.reshape(G, W * C, i) @ matrix).reshape(G, W, C, -1)


def _each(values: Array) -> Array:
    """Numbers of the settings (..., W) beside what belongs to them (..., W, C, r)."""
    return values[..., np.newaxis, np.newaxis]


def _reciprocal(values: Array) -> Array:
    """1 / values, and 0 for what is not positive."""
    reciprocal: Array = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
    return reciprocal


def _with_ones(X: Array) -> Array:
    """[X, 1] in double precision."""
    rows = np.ones((*X.shape[:2], X.shape[2] + 1))
    rows[:, :, :-1] = X
    return rows


def _directions(gram: Array, precision: float) -> tuple[Array, Array]:
    """Eigenvalues of Gram matrices, 0 for those within precision of none, and eigenvectors."""
    if not np.isfinite(gram).all():
        raise InputError(
            "features are too large: their squares overflow. Scale them, for example by "
            "feature_scaling='standard'."
        )
    squares, vectors = np.linalg.eigh(gram)
    return np.where(squares > precision * squares[:, -1:], squares, 0), vectors


def _transposed(matrices: Array) -> Array:
    return matrices.swapaxes(-1, -2)


def _read(X: Array, weights: Array) -> Array:
    """[X, 1] times weights whose last row is the bias."""
    return np.asarray(X @ weights[:, :-1] + weights[:, -1:])
