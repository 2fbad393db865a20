"""Design matrices of softmax regression: from weights to scores, and back to gradients.

The rows [x_i, 1] of n nodes are the design matrix A (n, r) of a linear model; its last column
belongs to the bias. A solver needs three things of it:

    scores          A Theta                                       (n, C)
    gradients       A^T R, for residuals R (n, C)                 (r, C)
    preconditioner  P^-1, with P close to A^T A / 2n + weight_decay I.

The Hessian of the mean cross-entropy is at most A^T A / 2n for every class (Bohning 1992). So P is
the Hessian of an upper bound, and a step in its metric has the right length whatever the scale of
the features.

==================  ================================================================================
`OrthogonalMatrix`  A in coordinates in which A^T A is diagonal, for G feature sets at once: for few
                    nodes or few features, because an eigendecomposition is cubic in either
`RowMatrix`         dense or sparse rows as they are
`DiffusedMatrix`    [r(S) X, 1] at some nodes, as two products that are not multiplied out
`JoinedMatrix`      several of the last two side by side
==================  ================================================================================

The last three are for one feature set and many nodes. P is then exact on the subspace that a
randomized Nystrom approximation finds to be the most important one (`LowRankPreconditioner`).

Conventions
-----------
``weights``    (G, W, C, r): G feature sets, W settings of each
``scores``     (G, W, C, n), and residuals likewise
``decay``      (G, W)

With this order of axes, one matrix product serves all settings and classes, and sums over classes
run over contiguous memory.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from heatgraph._engine.memory_estimate import padded_width
from heatgraph._engine.sparse_products import sparse_times_dense
from heatgraph._engine.threads import WorkerThreads, thread_count
from heatgraph.errors import InputError

Array = npt.NDArray[Any]

# Cap on weight decays and inverse curvatures, whose products would overflow float32 beyond it.
LARGEST = 1e30
# Rows of a dense matrix that are converted at a time.
BLOCK_ROWS = 1 << 13
# Threads share the rows of a dense matrix in blocks: at least this many rows, and at most so many
# blocks. Sums over blocks are the same on any number of threads.
MIN_BLOCK_ROWS, MAX_BLOCKS = 1 << 10, 16
# Rank of a low-rank preconditioner. The bound on the Hessian is far from it in the directions that
# tell classes apart well: larger ranks took more iterations, not fewer.
SKETCH_RANK = 16


class Preconditioner(ABC):
    """P^-1 for each feature set and setting; `trace` (G, W) is the trace of A^T A P^-1."""

    trace: Array

    @abstractmethod
    def apply(self, vectors: Array) -> Array:
        """P^-1 times vectors (G, W, C, r)."""

    @abstractmethod
    def select(self, settings: npt.NDArray[np.bool_]) -> Preconditioner:
        """The preconditioner of some of the W settings."""


class DesignMatrix(ABC):
    """A (G, n, r): the rows [x_i, 1] of n nodes, for G feature sets."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """Feature sets G, nodes n and columns r, which include the column of the bias."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Precision of scores and gradients."""

    @abstractmethod
    def scores(self, weights: Array) -> Array:
        """Scores (G, W, C, n) of weights (G, W, C, r)."""

    @abstractmethod
    def gradient(self, residuals: Array) -> Array:
        """Residuals (G, W, C, n) times A, of shape (G, W, C, r)."""

    @abstractmethod
    def preconditioner(self, decay: Array, curvature: float = 0.5) -> Preconditioner:
        """The preconditioner for weight decays (G, W).

        P is close to curvature A^T A / n + weight_decay I; with 1/2, that bounds the Hessian.
        """


@dataclass(frozen=True)
class DiagonalPreconditioner(Preconditioner):
    """P is diagonal; `inverse` is (G, W, 1, r)."""

    inverse: Array
    trace: Array

    def apply(self, vectors: Array) -> Array:
        return np.asarray(self.inverse * vectors)

    def select(self, settings: npt.NDArray[np.bool_]) -> DiagonalPreconditioner:
        return DiagonalPreconditioner(self.inverse[:, settings], self.trace[:, settings])


@dataclass(frozen=True)
class OrthogonalMatrix(DesignMatrix):
    """Coordinates Z = B V of rows B, in which the columns of Z are orthogonal.

    With more nodes than features, B is [X, 1] and V is orthogonal. Otherwise, B is the Gram matrix
    [X, 1] [X, 1]^T with eigenvectors U and eigenvalues lambda, and V = U lambda^(-1/2), the
    empirical kernel map. Either way, weights of Z have the norm of the weights of [X, 1] that give
    the same scores: the penalty keeps its form, and the problem has the smaller of the two sizes.

    Shapes: Z is (G, n, r), V is `basis` (G, columns of B, r), and `squared_norms` (G, r) are the
    diagonals of Z^T Z.
    """

    Z: Array
    basis: Array
    squared_norms: Array

    @classmethod
    def from_rows(cls, X: Array) -> OrthogonalMatrix:
        """From features X (G, n, p), in their precision."""
        G, n, p = X.shape
        blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, n, BLOCK_ROWS)]
        gram = np.zeros((G, p + 1, p + 1))
        with np.errstate(over="ignore", invalid="ignore"):  # _eigendecomposition checks for it
            for block in blocks:
                rows = append_ones(X[:, block])
                gram += _transpose(rows) @ rows
        # Directions below the precision of the features are rounding errors.
        precision = max(np.finfo(np.float64).eps, 16 * float(np.finfo(X.dtype).eps) ** 2)
        squared_norms, V = _eigendecomposition(gram, (p + 1) * precision)
        V *= (squared_norms > 0)[:, np.newaxis]
        # A large mean cancels in most directions. Only its projection needs float64; the centred
        # rest, which is most of the work, can be multiplied in the precision of X.
        mean = X.mean(axis=1, keepdims=True, dtype=np.float64).astype(X.dtype)
        projected_mean = (append_ones(mean) @ V).astype(X.dtype)
        rotation = V[:, :-1].astype(X.dtype)
        Z = np.empty((G, n, p + 1), dtype=X.dtype)
        for block in blocks:
            np.matmul(X[:, block] - mean, rotation, out=Z[:, block])
            Z[:, block] += projected_mean
        return cls(Z, V, squared_norms)

    @classmethod
    def from_gram(cls, gram: Array, dtype: np.dtype[Any], noise: float = 0.0) -> OrthogonalMatrix:
        """From Gram matrices (G, n, n) of the rows [x_i, 1], which may have errors.

        Eigenvalues up to `noise` are taken for zeros.
        """
        gram = gram.astype(np.float64, copy=False)
        rounding = gram.shape[1] * float(np.finfo(np.float64).eps)
        squared_norms, U = _eigendecomposition(gram, rounding)
        squared_norms[squared_norms <= noise] = 0
        norms = np.sqrt(squared_norms)
        basis = U * _reciprocal_or_zero(norms)[:, np.newaxis]
        return cls((U * norms[:, np.newaxis]).astype(dtype), basis, squared_norms)

    @classmethod
    def stack(cls, matrices: Sequence[OrthogonalMatrix]) -> OrthogonalMatrix:
        """The feature sets of several matrices of the same shape in one."""
        if len(matrices) == 1:
            return matrices[0]
        return cls(
            np.concatenate([matrix.Z for matrix in matrices]),
            np.concatenate([matrix.basis for matrix in matrices]),
            np.concatenate([matrix.squared_norms for matrix in matrices]),
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        G, n, r = self.Z.shape
        return G, n, r

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.Z.dtype

    def scores(self, weights: Array) -> Array:
        return _batched_matmul(weights, _transpose(self.Z))

    def gradient(self, residuals: Array) -> Array:
        return _batched_matmul(residuals, self.Z)

    def preconditioner(self, decay: Array, curvature: float = 0.5) -> DiagonalPreconditioner:
        squares = self.squared_norms[:, np.newaxis]
        bound = curvature * squares / self.Z.shape[1] + decay[..., np.newaxis]
        inverse = np.minimum(_reciprocal_or_zero(bound), LARGEST)
        trace = (squares * inverse).sum(axis=2)
        return DiagonalPreconditioner(inverse[:, :, np.newaxis].astype(self.dtype), trace)

    def to_basis(self, weights: Array) -> Array:
        """Weights (G, W, C, columns of B) of B for weights (G, W, C, r) of Z."""
        return _batched_matmul(weights, _transpose(self.basis).astype(weights.dtype, copy=False))


@dataclass(frozen=True)
class LowRankPreconditioner(Preconditioner):
    """P = U diag(a) U^T + b (I - U U^T), with orthonormal U (r, k).

    a = lambda / 2n + weight_decay for the approximate eigenvalues lambda (k,) of A^T A, and b the
    same for the smallest of them. `inverse` (W, 1, k) is 1 / a - 1 / b, and `rest` (W, 1, 1) is
    1 / b, or 0 if k = r.
    """

    U: Array
    inverse: Array
    rest: Array
    trace: Array

    def apply(self, vectors: Array) -> Array:
        _, W, C, r = vectors.shape
        k = self.U.shape[1]
        flat = vectors.reshape(W * C, r)
        inside = (flat @ self.U).reshape(W, C, k)
        inside *= self.inverse
        correction = inside.reshape(W * C, k) @ self.U.T
        return np.asarray(correction.reshape(1, W, C, r) + self.rest * vectors)

    def select(self, settings: npt.NDArray[np.bool_]) -> LowRankPreconditioner:
        return LowRankPreconditioner(
            self.U, self.inverse[settings], self.rest[settings], self.trace[:, settings]
        )


class _ManyNodes(DesignMatrix):
    """A design matrix of one feature set, with a low-rank preconditioner."""

    def preconditioner(self, decay: Array, curvature: float = 0.5) -> LowRankPreconditioner:
        _, n, r = self.shape
        eigenvalues, U = self._largest_eigenvalues(SKETCH_RANK)
        inside = curvature * eigenvalues / n + decay[0, :, np.newaxis]
        # Outside of the subspace, rounding must not make P^-1 indefinite.
        rounding = 16 * float(np.finfo(self.dtype).eps)
        smallest = np.maximum(inside[:, -1:], rounding * inside[:, :1])
        inverse, rest = (np.minimum(_reciprocal_or_zero(c), LARGEST) for c in (inside, smallest))
        if len(eigenvalues) == r:
            rest[:] = 0
        outside = (r - len(eigenvalues)) * eigenvalues[-1]
        trace = (inverse * eigenvalues).sum(axis=1) + outside * rest[:, 0]
        return LowRankPreconditioner(
            U.astype(self.dtype),
            (inverse - rest)[:, np.newaxis].astype(self.dtype),
            rest[..., np.newaxis].astype(self.dtype),
            trace[np.newaxis],
        )

    def _largest_eigenvalues(self, rank: int) -> tuple[Array, Array]:
        """Approximate eigenvalues (k,) and eigenvectors (r, k) of A^T A."""
        r = self.shape[2]

        def product(columns: Array) -> Array:
            """A^T A times columns (r, k), which take the place of settings."""
            scores = self.scores(np.ascontiguousarray(columns.T)[np.newaxis, :, np.newaxis])
            return np.ascontiguousarray(self.gradient(scores)[0, :, 0].T)

        return nystrom_approximation(product, r, min(rank, r), self.dtype)


@dataclass(frozen=True)
class RowMatrix(_ManyNodes):
    """[X, 1] with dense or sparse features X (n, p) as they are.

    Dense X are stored without their `mean` (p,), or scores would lose digits to a large one. They
    are multiplied by our own threads: those of BLAS spin until the slowest has finished, which
    beside another busy process took ten times as long.
    """

    X: Any
    mean: Array | None = None
    n_threads: int | None = None

    @classmethod
    def from_features(
        cls, X: Any, overwrite: bool = False, n_threads: int | None = None
    ) -> RowMatrix:
        """Centre dense features, in place if they may be overwritten."""
        if sp.issparse(X):
            return cls(sp.csr_array(X), None, n_threads)
        mean = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        return cls(np.subtract(X, mean, out=X if overwrite else None), mean, n_threads)

    @property
    def shape(self) -> tuple[int, int, int]:
        n, p = self.X.shape
        return 1, n, p + 1

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    @cached_property
    def _transposed(self) -> sp.csr_array:
        return sp.csr_array(self.X.T)

    def scores(self, weights: Array) -> Array:
        _, W, C, r = weights.shape
        flat = weights.reshape(W * C, r)
        bias = flat[:, -1:]
        if self.mean is None:
            columns = np.ascontiguousarray(flat[:, :-1].T)
            scores = sparse_times_dense(self.X, columns, self.n_threads).T + bias
            return np.asarray(scores.reshape(1, W, C, -1))
        bias = bias + flat[:, :-1] @ self.mean[:, np.newaxis]
        scores = np.empty((W * C, self.X.shape[0]), dtype=self.dtype)

        def multiply(block: slice) -> None:
            np.matmul(flat[:, :-1], self.X[block].T, out=scores[:, block])
            scores[:, block] += bias

        self._share_blocks(multiply)
        return scores.reshape(1, W, C, -1)

    def gradient(self, residuals: Array) -> Array:
        _, W, C, n = residuals.shape
        flat = residuals.reshape(W * C, n)
        gradient = np.empty((W * C, self.shape[2]), dtype=self.dtype)
        gradient[:, -1] = flat.sum(axis=1)
        if self.mean is None:
            columns = np.ascontiguousarray(flat.T)
            gradient[:, :-1] = sparse_times_dense(self._transposed, columns, self.n_threads).T
        else:
            gradient[:, :-1] = self._sum_blocks(lambda block: flat[:, block] @ self.X[block])
            gradient[:, :-1] += gradient[:, -1:] * self.mean
        return gradient.reshape(1, W, C, -1)

    @cached_property
    def _blocks(self) -> list[slice]:
        n = self.X.shape[0]
        size = max(MIN_BLOCK_ROWS, -(-n // MAX_BLOCKS))
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def _share_blocks(self, work: Callable[[slice], object]) -> None:
        with WorkerThreads(thread_count(self.n_threads)) as workers:
            workers.map(work, self._blocks)

    def _sum_blocks(self, term: Callable[[slice], Array]) -> Array:
        """The sum over blocks of rows, in their order whatever thread finishes first."""
        terms: dict[int, Array] = {}

        def add(block: slice) -> None:
            terms[block.start] = term(block)

        self._share_blocks(add)
        total, *others = (terms[block.start] for block in self._blocks)
        for other in others:
            total += other
        return total

    def _largest_eigenvalues(self, rank: int) -> tuple[Array, Array]:
        if self.mean is None:
            return super()._largest_eigenvalues(rank)
        n, p = self.X.shape

        def product(columns: Array) -> Array:
            """X^T X times columns (p, k), in blocks so that no array of n rows is allocated."""
            return self._sum_blocks(lambda block: self.X[block].T @ (self.X[block] @ columns))

        eigenvalues, U = nystrom_approximation(product, p, min(rank, p), self.dtype)
        # A^T A = X^T X + n m m^T with m = [mean, 1], whose last term may be larger by far.
        root = np.zeros((p + 1, len(eigenvalues) + 1))
        root[:-1, :-1] = U * np.sqrt(eigenvalues)
        root[:, -1] = np.sqrt(n) * np.append(self.mean, 1)
        return _eigenvectors_of_square(root)


@dataclass(frozen=True)
class DiffusedMatrix(_ManyNodes):
    """[r(S) X, 1] at the nodes `rows` (n,), applied as the sparse product X and a diffusion.

    `X` (N, p) are the sparse features of all nodes, and `diffuse` maps columns (N, k) to r(S) times
    them. An iteration diffuses C columns twice; r(S) X itself has p columns. They are padded with
    zeros to a width that products with few columns are fastest for.
    """

    X: sp.csr_array
    diffuse: Callable[[Array], Array]
    rows: npt.NDArray[np.int64]
    n_threads: int | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        return 1, len(self.rows), self.X.shape[1] + 1

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    @cached_property
    def _transposed(self) -> sp.csr_array:
        return sp.csr_array(self.X.T)

    def scores(self, weights: Array) -> Array:
        _, W, C, r = weights.shape
        flat = weights.reshape(W * C, r)
        weights_by_feature = np.zeros((r - 1, padded_width(W * C)), dtype=self.dtype)
        weights_by_feature[:, : W * C] = flat[:, :-1].T
        undiffused = sparse_times_dense(self.X, weights_by_feature, self.n_threads)
        scores = self.diffuse(undiffused)[self.rows, : W * C].T + flat[:, -1:]
        return np.ascontiguousarray(scores).reshape(1, W, C, -1)

    def gradient(self, residuals: Array) -> Array:
        _, W, C, n = residuals.shape
        flat = residuals.reshape(W * C, n)
        columns = np.zeros((self.X.shape[0], padded_width(W * C)), dtype=self.dtype)
        columns[self.rows, : W * C] = flat.T
        gradient = np.empty((W * C, self.shape[2]), dtype=self.dtype)
        diffused = self.diffuse(columns)
        products = sparse_times_dense(self._transposed, diffused, self.n_threads)
        gradient[:, :-1] = products[:, : W * C].T
        gradient[:, -1] = flat.sum(axis=1)
        return gradient.reshape(1, W, C, -1)


@dataclass(frozen=True)
class JoinedMatrix(_ManyNodes):
    """[Z_1 / s_1, ..., Z_k / s_k, 1] for design matrices [Z_c, 1] of the same n nodes."""

    blocks: tuple[DesignMatrix, ...]
    scales: tuple[float, ...]

    @cached_property
    def bounds(self) -> list[int]:
        """The first column of each block, and the column of the bias."""
        return [0, *itertools.accumulate(block.shape[2] - 1 for block in self.blocks)]

    @property
    def shape(self) -> tuple[int, int, int]:
        return 1, self.blocks[0].shape[1], self.bounds[-1] + 1

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.blocks[0].dtype

    def scores(self, weights: Array) -> Array:
        _, W, C, _ = weights.shape
        scores = np.repeat(weights[..., -1:], self.shape[1], axis=-1)
        columns = itertools.pairwise(self.bounds)
        for block, scale, (start, stop) in zip(self.blocks, self.scales, columns, strict=True):
            part = np.zeros((1, W, C, stop - start + 1), dtype=self.dtype)
            part[..., :-1] = weights[..., start:stop]
            part /= self.dtype.type(scale)
            scores += block.scores(part)
        return scores

    def gradient(self, residuals: Array) -> Array:
        _, W, C, _ = residuals.shape
        gradient = np.empty((1, W, C, self.shape[2]), dtype=self.dtype)
        columns = itertools.pairwise(self.bounds)
        for block, scale, (start, stop) in zip(self.blocks, self.scales, columns, strict=True):
            part = block.gradient(residuals)
            gradient[..., start:stop] = part[..., :-1] / self.dtype.type(scale)
            gradient[..., -1] = part[..., -1]
        return gradient


def nystrom_approximation(
    product: Callable[[Array], Array], size: int, rank: int, dtype: np.dtype[Any]
) -> tuple[Array, Array]:
    """Approximate the largest eigenvalues (k,), descending, and eigenvectors (r, k) of a matrix.

    The matrix (r, r) is positive semidefinite and known by its product with columns, which is
    called once (Frangella, Tropp and Udell, Randomized Nystrom Preconditioning, 2023). Eigenvalues
    below the rounding errors of that product are raised to their level.
    """
    random = np.random.default_rng(0)
    test, _ = np.linalg.qr(random.standard_normal((size, rank)))
    sketch = product(test.astype(dtype)).astype(np.float64)
    # A shift of the size of rounding errors keeps the Cholesky factorisation away from zero.
    shift = float(np.finfo(dtype).eps) * np.sqrt(size) * float(np.linalg.norm(sketch)) + 1e-300
    if not np.isfinite(shift):
        raise InputError(OVERFLOW)
    sketch += shift * test
    core = test.T @ sketch
    factor = np.linalg.cholesky((core + core.T) / 2)
    root = scipy.linalg.solve_triangular(factor, sketch.T, lower=True).T
    eigenvalues, U = _eigenvectors_of_square(root)
    return np.maximum(eigenvalues - shift, shift), U


def _eigenvectors_of_square(root: Array) -> tuple[Array, Array]:
    """Eigenvalues (k,), descending, and orthonormal eigenvectors (r, k) of B B^T for B (r, k)."""
    Q, triangle = np.linalg.qr(root)
    vectors, singular_values, _ = np.linalg.svd(triangle)
    return np.square(singular_values), Q @ vectors


OVERFLOW = (
    "features are too large: their squares overflow. Scale them, for example by "
    "feature_scaling='standard'."
)


def append_ones(X: Array) -> Array:
    """[X, 1] in float64, for X (G, n, p)."""
    rows = np.ones((*X.shape[:2], X.shape[2] + 1))
    rows[:, :, :-1] = X
    return rows


def _eigendecomposition(gram: Array, precision: float) -> tuple[Array, Array]:
    """Eigenvalues of Gram matrices, 0 for those below precision, and eigenvectors."""
    if not np.isfinite(gram).all():
        raise InputError(OVERFLOW)
    eigenvalues, vectors = np.linalg.eigh(gram)
    significant = eigenvalues > precision * eigenvalues[:, -1:]
    return np.where(significant, eigenvalues, 0), vectors


def _batched_matmul(a: Array, matrix: Array) -> Array:
    """Multiply (G, W, C, i) by (G, i, j)."""
    G, W, C, i = a.shape
    return (a.reshape(G, W * C, i) @ matrix).reshape(G, W, C, -1)


def _reciprocal_or_zero(values: Array) -> Array:
    """1 / values where they are positive, and 0 elsewhere."""
    reciprocal: Array = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
    return reciprocal


def _transpose(matrices: Array) -> Array:
    return matrices.swapaxes(-1, -2)
