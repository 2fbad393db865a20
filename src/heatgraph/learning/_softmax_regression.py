"""Softmax regression (multinomial logistic regression) on diffused features.

For features X (n, p) with classes y in 0, ..., C - 1, weights Theta (p, C) and bias b (C,), both
solvers minimise the same objective,

    J(Theta, b) = mean_i -log softmax(x_i Theta + b)[y_i] + weight_decay/2 (|Theta|^2 + |b|^2).

The bias is penalised like any other weight, as by the paper's coupled weight decay. `lbfgs`
converges to the unique optimum; `adam` takes the paper's 100 steps towards it.

Conventions
-----------
``X``      (G, n, p): G feature sets of the same nodes, such as one per T
``y``      (n,): classes, shared by all feature sets
``W``      settings; each is fitted to each feature set, all in one batched computation. A weight
           decay is shared by all feature sets (W,) or given for each of them (G, W).
``Theta``  (G, W, p, C), and ``bias`` (G, W, C)

Internally, weights are (G, W, C, p) and scores (G, W, C, n): one matrix product serves all settings
of a feature set, sums over classes run over contiguous memory, and settings that have converged can
be dropped from the batch.
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

# L-BFGS keeps this many curvature pairs and gives up after this many iterations.
HISTORY_SIZE = 5
MAX_ITERATIONS = 1500
# Converged: the gradient norm, relative to its value at zero weights, is at most this. With more
# rows than columns and features in float32, a final fit runs in float32, where rounding allows no
# more than 1e-6; otherwise it runs in float64, where 1e-8 makes weights agree across BLAS kernels
# to about 1e-6. A search ranks settings, for which 1e-3 is enough.
FINAL_TOLERANCE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-8}
SEARCH_TOLERANCE = 1e-3
# Armijo condition: a step must achieve this share of the decrease that the slope predicts.
SUFFICIENT_DECREASE = 1e-4
MAX_BACKTRACKS = 30
# Cap on weight decays and inverse curvatures, whose products would overflow float32 beyond it.
LARGEST = 1e30
# Rows converted to float64 at a time.
BLOCK_ROWS = 1 << 13
# Feature sets are batched while their scores fit in this many bytes of cache.
BATCH_BYTES = 1 << 19
# Adam's constants, PyTorch's defaults.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class SoftmaxFit:
    """Weights fitted to G feature sets with W settings each."""

    Theta: Array
    bias: Array
    converged: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SoftmaxRegression:
    """A solver and its fixed parameters; `epochs` and `seed` matter to Adam only."""

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
    ) -> SoftmaxFit:
        """Fit every setting to every feature set."""
        if self.solver == "lbfgs":
            return lbfgs(X, y, num_classes, weight_decay)
        return adam(
            X, y, num_classes, weight_decay, learning_rate, epochs=self.epochs, seed=self.seed
        )

    def held_out_scores(
        self,
        X: Array,
        y: Indices,
        num_classes: int,
        weight_decay: npt.ArrayLike,
        learning_rate: Sequence[float],
        X_held_out: Array,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Array:
        """Scores (G, W, m, C) of held-out rows (G, m, p) after fitting X (G, n, p), for a search.

        L-BFGS stays in orthogonal coordinates, so that weights of all p features are never formed,
        and stops at `SEARCH_TOLERANCE`.
        """
        if self.solver == "lbfgs":
            coordinates = OrthogonalCoordinates.from_features(X)
            Phi, _ = minimize_lbfgs(
                coordinates, y, num_classes, weight_decay, SEARCH_TOLERANCE, should_stop
            )
            Z = coordinates.transform(X_held_out)
            scores = _batched_matmul(Phi.astype(Z.dtype), _transpose(Z))
            return np.asarray(scores.swapaxes(2, 3))
        fit = self.fit(X, y, num_classes, weight_decay, learning_rate)
        return np.asarray(X_held_out[:, np.newaxis] @ fit.Theta + fit.bias[:, :, np.newaxis])


def feature_sets_per_batch(n: int, num_classes: int, W: int) -> int:
    """Number of feature sets to fit together such that their scores stay in the cache."""
    return max(1, BATCH_BYTES // (8 * n * num_classes * W))


def lbfgs(X: Array, y: Indices, num_classes: int, weight_decay: npt.ArrayLike) -> SoftmaxFit:
    """Find the optimum of J for every feature set and every weight decay."""
    coordinates = OrthogonalCoordinates.from_features(X)
    tolerance = FINAL_TOLERANCE[coordinates.Z.dtype]
    Phi, converged = minimize_lbfgs(coordinates, y, num_classes, weight_decay, tolerance)
    weights = _batched_matmul(Phi, _transpose(coordinates.basis)).swapaxes(2, 3).astype(X.dtype)
    return SoftmaxFit(weights[:, :, :-1], weights[:, :, -1], converged)


def adam(
    X: Array,
    y: Indices,
    num_classes: int,
    weight_decay: npt.ArrayLike,
    learning_rate: Sequence[float],
    *,
    epochs: int,
    seed: int,
) -> SoftmaxFit:
    """Train as the paper does: PyTorch's Linear and Adam, full batches, W settings in parallel.

    Weights start uniform in +-1/sqrt(p), the same for every setting; weight decay is *coupled*,
    that is, part of the gradient that Adam rescales. Settings do not influence each other.
    """
    G, n, p = X.shape
    W = len(learning_rate)
    weight_decays = np.broadcast_to(np.asarray(weight_decay, dtype=X.dtype), (G, W))
    rate = _expand(np.asarray(learning_rate, dtype=X.dtype))
    rows = np.ones((n, p + 1), dtype=X.dtype)
    trained = np.empty((G, W, num_classes, p + 1), dtype=X.dtype)
    trained[:] = initial_weights(p, num_classes, X.dtype, seed)
    for features, decay, weights in zip(X, weight_decays, trained, strict=True):
        rows[:, :p] = features
        _adam(rows, y, weights, _expand(decay), rate, epochs)
    trained = trained.swapaxes(2, 3)
    return SoftmaxFit(trained[:, :, :-1], trained[:, :, -1], np.ones((G, W), dtype=bool))


def initial_weights(p: int, num_classes: int, dtype: npt.DTypeLike, seed: int) -> Array:
    """PyTorch's initial Linear layer, (C, p + 1) with the bias last: uniform in +-1/sqrt(p)."""
    bound = 1 / np.sqrt(p)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(-bound, bound, size=(num_classes, p))
    bias = rng.uniform(-bound, bound, size=(num_classes, 1))
    return np.concatenate([weights, bias], axis=1).astype(dtype)


def _adam(rows: Array, y: Indices, weights: Array, decay: Array, rate: Array, epochs: int) -> None:
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
        residual = _loss_gradient(P, P.sum(axis=1, keepdims=True), y)
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
class OrthogonalCoordinates:
    """Coordinates Z = [X, 1] V in which the columns of Z are orthogonal.

    The r columns of V are orthonormal. With n <= p they span the row space of [X, 1], which
    contains the optimum; otherwise they span the whole space. Either way |V Phi| = |Phi|, so the
    penalty keeps its form and the problem has the smaller of the two sizes.

    Shapes: Z is (G, n, r), the basis V is (G, p + 1, r), and `squared_norms` (G, r) are the
    diagonals of Z^T Z.
    """

    Z: Array
    basis: Array
    squared_norms: Array

    @classmethod
    def from_features(cls, X: Array) -> OrthogonalCoordinates:
        """Take the eigenvectors of the smaller of the two Gram matrices of [X, 1]."""
        with np.errstate(over="ignore", invalid="ignore"):  # _eigendecomposition checks for it
            return cls._from_columns(X) if X.shape[1] > X.shape[2] else cls._from_rows(X)

    @classmethod
    def _from_columns(cls, X: Array) -> OrthogonalCoordinates:
        G, n, p = X.shape
        blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, n, BLOCK_ROWS)]
        gram = np.zeros((G, p + 1, p + 1))
        for block in blocks:
            rows = _append_ones(X[:, block])
            gram += _transpose(rows) @ rows
        # Directions below the precision of the features are rounding errors.
        precision = max(np.finfo(np.float64).eps, 16 * float(np.finfo(X.dtype).eps) ** 2)
        squared_norms, V = _eigendecomposition(gram, (p + 1) * precision)
        V *= (squared_norms > 0)[:, np.newaxis]
        # A large mean cancels in most directions. Only its projection needs float64; the centred
        # rest, which is most of the work, can be multiplied in the precision of X.
        mean = X.mean(axis=1, keepdims=True, dtype=np.float64).astype(X.dtype)
        projected_mean = (_append_ones(mean) @ V).astype(X.dtype)
        rotation = V[:, :-1].astype(X.dtype)
        Z = np.empty((G, n, p + 1), dtype=X.dtype)
        for block in blocks:
            np.matmul(X[:, block] - mean, rotation, out=Z[:, block])
            Z[:, block] += projected_mean
        return cls(Z, V, squared_norms)

    @classmethod
    def _from_rows(cls, X: Array) -> OrthogonalCoordinates:
        n = X.shape[1]
        rows = _append_ones(X)
        precision = n * float(np.finfo(np.float64).eps)
        squared_norms, U = _eigendecomposition(rows @ _transpose(rows), precision)
        norms = np.sqrt(squared_norms)
        V = _transpose(rows) @ (U * _reciprocal_or_zero(norms)[:, np.newaxis])
        return cls(U * norms[:, np.newaxis], V, squared_norms)

    def transform(self, X: Array) -> Array:
        """Coordinates (G, m, r) of other rows X (G, m, p) of the same features."""
        V = self.basis.astype(X.dtype, copy=False)
        return np.asarray(X @ V[:, :-1] + V[:, -1:])


def minimize_lbfgs(
    coordinates: OrthogonalCoordinates,
    y: Indices,
    num_classes: int,
    weight_decay: npt.ArrayLike,
    tolerance: float,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Minimise J over Phi (G, W, C, r), the weights in orthogonal coordinates.

    The Hessian of the loss is at most Z^T Z / 2n for every class (Bohning 1992), which is diagonal
    in these coordinates. Its inverse is the initial inverse Hessian of L-BFGS, which makes the
    iterations independent of the scale of the features. A setting has converged when its gradient
    norm in that metric is `tolerance` times what it was at zero, or at the level of rounding.

    Returns Phi and, for each feature set and setting, whether it converged. `should_stop` is asked
    once per iteration.
    """
    decay = np.minimum(np.atleast_1d(np.asarray(weight_decay, dtype=np.float64)), LARGEST)
    decay = np.broadcast_to(decay, (len(coordinates.Z), decay.shape[-1]))
    solver = _LBFGS(coordinates, y, num_classes, decay)
    Phi = solver.Phi.copy()
    target = np.maximum(tolerance**2 * solver.squared_gradient_norm(), solver.rounding_floor())
    converged = np.zeros(target.shape, dtype=bool)
    remaining = np.arange(decay.shape[1])
    for _ in range(MAX_ITERATIONS):
        solver.iterate()
        reached = solver.squared_gradient_norm() <= target[:, remaining]
        Phi[:, remaining], converged[:, remaining] = solver.Phi, reached
        solver.active &= ~reached
        if not solver.active.any() or should_stop():
            break
        unfinished = np.asarray(solver.active.any(axis=0))
        if not unfinished.all():
            remaining = remaining[unfinished]
            solver.select(unfinished)
    return Phi, converged


class _LBFGS:
    """The state of L-BFGS on J, for all feature sets and settings in one batch.

    Shapes: Phi, gradient and both halves of a curvature pair are (G, W, C, r), scores
    (G, W, C, n); loss, decay and every other scalar of a setting are (G, W).
    """

    def __init__(
        self, coordinates: OrthogonalCoordinates, y: Indices, num_classes: int, decay: Array
    ) -> None:
        self.Z, self.squared_norms, self.y = coordinates.Z, coordinates.squared_norms, y
        G, n, r = self.Z.shape
        W = decay.shape[1]
        self.decay = decay.astype(self.Z.dtype)
        hessian_bound = self.squared_norms[:, np.newaxis] / (2 * n) + decay[..., np.newaxis]
        inverse = np.minimum(_reciprocal_or_zero(hessian_bound), LARGEST).astype(self.Z.dtype)
        self.inverse_hessian = inverse[:, :, np.newaxis]
        self.Phi = np.zeros((G, W, num_classes, r), dtype=self.Z.dtype)
        self.scores = np.zeros((G, W, num_classes, n), dtype=self.Z.dtype)
        self.loss, residual = _cross_entropy(self.scores, y)
        self.gradient = _batched_matmul(residual, self.Z)
        self.active = np.ones((G, W), dtype=bool)
        # Curvature pairs (step, change of the gradient, 1 / their inner product), oldest first.
        self.pairs: list[tuple[Array, Array, Array]] = []

    def squared_gradient_norm(self) -> Array:
        """Squared norm of the gradient in the metric of the initial inverse Hessian."""
        return _inner(self.gradient, self.inverse_hessian * self.gradient)

    def rounding_floor(self) -> Array:
        """The part of that norm that rounding alone can cause, for residuals of at most 1/n."""
        _, n, _ = self.Z.shape
        squares = self.squared_norms[:, np.newaxis] * self.inverse_hessian[:, :, 0]
        rounding = 8 * np.finfo(self.Z.dtype).eps
        return np.asarray(rounding**2 * self.Phi.shape[2] * squares.sum(axis=2) / n)

    def select(self, settings: npt.NDArray[np.bool_]) -> None:
        """Continue with these settings only."""
        for name in ("decay", "inverse_hessian", "Phi", "scores", "loss", "gradient", "active"):
            setattr(self, name, getattr(self, name)[:, settings])
        self.pairs = [
            (step[:, settings], change[:, settings], rho[:, settings])
            for step, change, rho in self.pairs
        ]

    def iterate(self) -> None:
        """Take one step of every active setting; one that finds no descent becomes inactive."""
        direction = self._direction()
        length, residual = self._line_search(direction)
        self.active &= length > 0
        step = direction * _expand(length)
        self.Phi += step
        gradient = _batched_matmul(residual, self.Z) + self.Phi * _expand(self.decay)
        change = gradient - self.gradient
        rho = _reciprocal_or_zero(_inner(step, change))
        self.pairs = [*self.pairs[1 - HISTORY_SIZE :], (step, change, rho)]
        self.gradient = gradient

    def _direction(self) -> Array:
        """The two-loop recursion of L-BFGS (Nocedal & Wright, algorithm 7.4)."""
        q = -self.gradient
        alphas = []
        for step, change, rho in reversed(self.pairs):
            alpha = rho * _inner(step, q)
            q -= change * _expand(alpha)
            alphas.append(alpha)
        q *= self.inverse_hessian
        if self.pairs:
            _, change, rho = self.pairs[-1]
            scale = rho * _inner(change, self.inverse_hessian * change)
            q *= _expand(np.where(scale > 0, _reciprocal_or_zero(scale), 1))
        for (step, change, rho), alpha in zip(self.pairs, reversed(alphas), strict=True):
            q += step * _expand(alpha - rho * _inner(change, q))
        return q

    def _line_search(self, direction: Array) -> tuple[Array, Array]:
        """Backtrack until the Armijo condition holds; return step lengths and residuals.

        Scores are linear in the step length, so a trial needs no product with the features.
        """
        score_change = _batched_matmul(direction, _transpose(self.Z))
        slope = _inner(self.gradient, direction)
        penalty_slope = self.decay * _inner(self.Phi, direction)
        penalty_curvature = self.decay * _inner(direction, direction) / 2
        # A change of J below its rounding error can be neither confirmed nor refuted: accept it.
        rounding = 4 * np.finfo(self.Z.dtype).eps * self.loss
        length = (self.active & (slope < 0)).astype(self.Z.dtype)
        for trial in range(MAX_BACKTRACKS + 1):
            scores = self.scores + score_change * _expand(length)
            loss, residual = _cross_entropy(scores, self.y)
            penalty_change = length * (penalty_slope + length * penalty_curvature)
            change = loss - self.loss + penalty_change
            accepted = change <= SUFFICIENT_DECREASE * length * slope + rounding
            if accepted.all():
                break
            length = np.where(accepted, length, length / 2 if trial + 1 < MAX_BACKTRACKS else 0)
        self.scores, self.loss = scores, loss
        return length, residual


def _cross_entropy(scores: Array, y: Indices) -> tuple[Array, Array]:
    """Mean cross-entropy of scores (..., C, n), and its gradient with respect to them."""
    P = scores - scores.max(axis=-2, keepdims=True)
    true = P[..., y, np.arange(len(y))]
    np.exp(P, out=P)
    total = P.sum(axis=-2, keepdims=True)
    loss = (np.log(total[..., 0, :]) - true).mean(axis=-1, dtype=np.float64)
    return loss, _loss_gradient(P, total, y)


def _loss_gradient(P: Array, total: Array, y: Indices) -> Array:
    """Turn exponentials of scores into the gradient of the mean loss, in place."""
    n = len(y)
    P /= total * n
    P[..., y, np.arange(n)] -= P.dtype.type(1 / n)
    return P


def _inner(a: Array, b: Array) -> Array:
    """Inner products (G, W) of two (G, W, C, r), one per feature set and setting."""
    products: Array = np.einsum("gwcr,gwcr->gw", a, b)
    return products


def _batched_matmul(a: Array, matrix: Array) -> Array:
    """Multiply (G, W, C, i) by (G, i, j)."""
    G, W, C, i = a.shape
    return (a.reshape(G, W * C, i) @ matrix).reshape(G, W, C, -1)


def _expand(values: Array) -> Array:
    """Append two axes, so that (..., W) broadcasts against (..., W, C, r)."""
    return values[..., np.newaxis, np.newaxis]


def _reciprocal_or_zero(values: Array) -> Array:
    """1 / values where they are positive, and 0 elsewhere."""
    reciprocal: Array = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
    return reciprocal


def _append_ones(X: Array) -> Array:
    """[X, 1] in float64."""
    rows = np.ones((*X.shape[:2], X.shape[2] + 1))
    rows[:, :, :-1] = X
    return rows


def _eigendecomposition(gram: Array, precision: float) -> tuple[Array, Array]:
    """Eigenvalues of Gram matrices, 0 for those below precision, and eigenvectors."""
    if not np.isfinite(gram).all():
        raise InputError(
            "features are too large: their squares overflow. Scale them, for example by "
            "feature_scaling='standard'."
        )
    eigenvalues, vectors = np.linalg.eigh(gram)
    significant = eigenvalues > precision * eigenvalues[:, -1:]
    return np.where(significant, eigenvalues, 0), vectors


def _transpose(matrices: Array) -> Array:
    return matrices.swapaxes(-1, -2)
