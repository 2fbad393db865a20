"""Diffused features of a search's nodes, in the smaller of two forms.

A linear model with L training nodes needs no more of its features than inner products with those of
the training nodes. With the diffused features Z (R, p) of R nodes, the first L for training, the
two forms are

    rows    Z                                  (R, p)      if p < L
    Gram    Z Z[:L]^T                          (R, L)      else,

for each of M schemes. If features X (N, p) of all N nodes are sparse, the Gram matrix is often
cheaper to get without Z. With one unit column E (N, L) per training node and the symmetric kernel
r(S),

    Z Z[:L]^T = r(S)[rows] X X^T r(S) E,

two diffusions of L columns with two sparse products between them, for any number R of rows. Without
features, X X^T = I, and r(S)^2 is one diffusion by a scheme of the same family.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph._engine.plan import COMBINE_COST, DENSE_COST, SPARSE_COST
from heatgraph._engine.ranges import is_worth_sharing, product_work
from heatgraph._engine.sparse_products import sparse_times_dense
from heatgraph._engine.threads import WorkerThreads, thread_count
from heatgraph.diffusion import diffuse, diffuse_many
from heatgraph.graph import Graph
from heatgraph.learning._design_matrices import OrthogonalMatrix
from heatgraph.learning._folds import Folds
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Tolerance of Gram matrices without features.
KERNEL_GRAM_TOL = 1e-12
# Bytes of a block of columns over all nodes, and its least width.
BLOCK_BYTES, MIN_BLOCK_COLUMNS = 128 << 20, 64


class LabelledFeatures(ABC):
    """Diffused features of the nodes of `Folds`, for M schemes.

    `mean_squares` (M,) are the mean squared norms of the features of training nodes.
    """

    mean_squares: Array

    @abstractmethod
    def select(self, schemes: Indices) -> LabelledFeatures:
        """The features of some schemes."""

    @abstractmethod
    def design(self, folds: Folds, fold: int) -> OrthogonalMatrix:
        """The design matrix of a fold's training part."""

    @abstractmethod
    def scores(self, folds: Folds, fold: int, design: OrthogonalMatrix, weights: Array) -> Array:
        """Scores (M, W, m, C) of a fold's held-out part with weights (M, W, C, r)."""


@dataclass(frozen=True)
class FoldCentres:
    """What centring features by the mean of a fold's training part subtracts from them.

    Standardised features have the mean of all training nodes subtracted, including those that a
    fold holds out. With few nodes that leaks their labels: of two nodes, one is the other's
    negative. So each fold subtracts the mean s of its own training part, which diffuses too:
    r(S) (X - 1 s^T) = r(S) X - (r(S) 1) s^T.

    `diffused_ones` (M, R) is r(S) 1, and `means` (F, p) are the s of F folds.
    """

    diffused_ones: Array
    means: Array


@dataclass(frozen=True)
class RowFeatures(LabelledFeatures):
    """Z (M, R, p), and what each fold subtracts from it."""

    Z: Array
    mean_squares: Array
    centres: FoldCentres | None

    def select(self, schemes: Indices) -> RowFeatures:
        centres = self.centres
        if centres is not None:
            centres = FoldCentres(centres.diffused_ones[schemes], centres.means)
        return RowFeatures(self.Z[schemes], self.mean_squares[schemes], centres)

    def design(self, folds: Folds, fold: int) -> OrthogonalMatrix:
        return OrthogonalMatrix.from_rows(self.rows(fold, folds.folds[fold][0]))

    def scores(self, folds: Folds, fold: int, design: OrthogonalMatrix, weights: Array) -> Array:
        Theta = design.to_basis(weights)
        scores = _multiply(self.rows(fold, folds.folds[fold][1]), Theta[..., :-1])
        return scores + Theta[:, :, np.newaxis, :, -1]

    def rows(self, fold: int, positions: Indices) -> Array:
        """Features of some nodes as a fold sees them."""
        Z = self.Z[:, positions]
        if self.centres is None:
            return Z
        ones = self.centres.diffused_ones[:, positions, np.newaxis]
        return np.asarray(Z - ones * self.centres.means[fold])


@dataclass(frozen=True)
class GramFeatures(LabelledFeatures):
    """Gram matrices K (M, R, L), and what each fold's centring changes in them.

    `projections` (M, R, F) are Z s for the means s of the folds. `relative_error` bounds the error
    of K relative to its norm.
    """

    K: Array
    mean_squares: Array
    relative_error: float
    centres: FoldCentres | None = None
    projections: Array | None = None

    def select(self, schemes: Indices) -> GramFeatures:
        centres, projections = self.centres, self.projections
        if centres is not None and projections is not None:
            centres = FoldCentres(centres.diffused_ones[schemes], centres.means)
            projections = projections[schemes]
        return GramFeatures(
            self.K[schemes], self.mean_squares[schemes], self.relative_error, centres, projections
        )

    def design(self, folds: Folds, fold: int) -> OrthogonalMatrix:
        train, _ = folds.folds[fold]
        size = np.sqrt(np.square(self.K[:, train[:, np.newaxis], train], dtype=np.float64).sum())
        gram = self._gram(fold, train, train)
        return OrthogonalMatrix.from_gram(gram, self.K.dtype, self.relative_error * float(size))

    def scores(self, folds: Folds, fold: int, design: OrthogonalMatrix, weights: Array) -> Array:
        train, held_out = folds.folds[fold]
        return _multiply(self._gram(fold, held_out, train), design.to_basis(weights))

    def _gram(self, fold: int, rows: Indices, columns: Indices) -> Array:
        """Inner products of [z, 1] between two sets of nodes, with a fold's centring."""
        K = self.K[:, rows[:, np.newaxis], columns]
        if self.centres is not None and self.projections is not None:
            ones, s = self.centres.diffused_ones, self.centres.means[fold]
            Zs = self.projections[..., fold]
            K -= Zs[:, rows, np.newaxis] * ones[:, np.newaxis, columns]
            shifted = Zs[:, np.newaxis, columns] - (s @ s) * ones[:, np.newaxis, columns]
            K -= ones[:, rows, np.newaxis] * shifted
        K += 1
        return K


def _multiply(rows: Array, weights: Array) -> Array:
    """Rows (M, m, r) times weights (M, W, C, r): scores (M, W, m, C)."""
    M, W, C, r = weights.shape
    flat = weights.reshape(M, W * C, r).astype(rows.dtype, copy=False)
    scores = rows @ flat.swapaxes(1, 2)
    return np.asarray(scores.reshape(M, -1, W, C).swapaxes(1, 2))


def labelled_features(
    graph: Graph,
    schemes: Sequence[Scheme],
    folds: Folds,
    self_loops: bool,
    engine: dict[str, Any],
    *,
    is_centred: bool = False,
    as_rows: bool = False,
    report: Callable[[float], None] = lambda share: None,
) -> LabelledFeatures:
    """Diffuse the features of a graph at the nodes of a search, in the cheapest way.

    `is_centred` says that the mean of the training nodes was subtracted from the features, and
    `as_rows` that the features themselves are needed. `report` is called with the share that is
    done, from any thread.
    """
    rows, L = folds.nodes, folds.num_train_nodes
    options = engine | {"self_loops": self_loops}
    if not as_rows and uses_kernel_gram(graph, schemes, L):
        K, error = kernel_gram(graph, schemes, rows, L, options)
    elif not as_rows and is_gram_cheaper(graph, schemes, folds, engine["tol"]):
        K = _diffused_gram(graph, schemes, rows, L, options, report)
        # The same polynomial is on both sides, so truncating its series leaves a Gram matrix.
        error = 8 * float(np.finfo(K.dtype).eps)
    else:
        Z = diffuse_many(
            graph, schemes, rows=rows, progress=lambda k, total: report(k / total), **options
        )
        centres = None
        if is_centred and len(folds.folds) > 1:
            centres = fold_centres(graph, schemes, folds, options)
        return features_from_rows(Z, folds, centres, engine["n_threads"], as_rows=as_rows)
    squares = np.einsum("mii->m", K[:, :L], dtype=np.float64) / L
    return GramFeatures(K, np.maximum(squares, 0), error)


def features_from_rows(
    Z: Array,
    folds: Folds,
    centres: FoldCentres | None,
    n_threads: int | None,
    *,
    as_rows: bool = False,
) -> RowFeatures | GramFeatures:
    """The smaller form of diffused features Z (M, R, p) that are known."""
    L = folds.num_train_nodes
    squares = np.einsum("mlp,mlp->m", Z[:, :L], Z[:, :L]).astype(np.float64) / L
    if as_rows or Z.shape[2] < L:
        return RowFeatures(Z, squares, centres)
    K = np.empty((*Z.shape[:2], L), dtype=Z.dtype)
    with WorkerThreads(thread_count(n_threads)) as workers:
        workers.map(lambda m: np.matmul(Z[m], Z[m, :L].T, out=K[m]), range(len(Z)))
    projections = None if centres is None else Z @ centres.means.T
    return GramFeatures(K, squares, 0.0, centres, projections)


def bytes_per_scheme(graph: Graph, folds: Folds, dtype: np.dtype[Any]) -> int:
    """Memory for the features of a scheme: rows, Gram matrix and design matrices, as applicable."""
    R, L = len(folds.nodes), folds.num_train_nodes
    columns = graph.num_features or graph.num_nodes
    smaller = min(columns, L)
    rows = R * columns if columns < L or not sp.issparse(graph.features) else L * columns
    gram = 0 if columns < L else R * L
    designs = len(folds.folds) * folds.num_fold_train * smaller
    itemsize = 8 if graph.features is None else dtype.itemsize
    return itemsize * (rows + gram + designs) + 8 * len(folds.folds) * smaller**2


def uses_kernel_gram(graph: Graph, schemes: Sequence[Scheme], num_train: int) -> bool:
    """Whether nodes have no features, and r(S)^2 at L of them is smaller than r(S)."""
    return (
        graph.features is None
        and num_train < graph.num_nodes
        and all(scheme.squared() is not None for scheme in schemes)
    )


def kernel_gram(
    graph: Graph, schemes: Sequence[Scheme], rows: Indices, L: int, options: dict[str, Any]
) -> tuple[Array, float]:
    """r(S)^2 (M, R, L) between `rows` and the first L of them: Gram matrices without features.

    Also returns a bound on the relative error. For a large T the classes differ in the smallest
    eigenvalues only, so both are as precise as float64 allows.
    """
    units = sp.csr_array(
        (np.ones(L, dtype=np.float32), (rows[:L], np.arange(L))), shape=(graph.num_nodes, L)
    )
    squares = [squared for scheme in schemes if (squared := scheme.squared())]
    tol = min(options["tol"], KERNEL_GRAM_TOL)
    precise = options | {"dtype": np.float64, "tol": tol}
    return diffuse_many(graph._with_features(units), squares, rows=rows, **precise), 10 * tol


def _diffused_gram(
    graph: Graph,
    schemes: Sequence[Scheme],
    rows: Indices,
    L: int,
    options: dict[str, Any],
    report: Callable[[float], None],
) -> Array:
    """r(S)[rows] X X^T r(S) E, (M, R, L)."""
    Z = diffuse_many(
        graph,
        schemes,
        rows=rows[:L],
        progress=lambda done, total: report(done / total / 2),
        **options,
    )
    finished = itertools.count(1)
    X = graph.features.astype(Z.dtype, copy=False)
    K = np.empty((len(schemes), len(rows), L), dtype=Z.dtype)
    threads = thread_count(options["n_threads"])
    # Threads share each product if that is worth it, and the schemes otherwise.
    is_large = is_worth_sharing(L * product_work(graph.num_nodes, len(graph.indices)))
    inner, outer = (threads, 1) if is_large else (1, threads)

    # X Z^T has a row for every node of the graph, so it is made in blocks of columns.
    width = max(MIN_BLOCK_COLUMNS, BLOCK_BYTES // (Z.itemsize * graph.num_nodes))

    def diffuse_again(place: int) -> None:
        for start in range(0, L, width):
            block = slice(start, start + width)
            columns = sparse_times_dense(X, Z[place, block].T, inner)
            K[place, :, block] = diffuse(
                graph._with_features(columns),
                scheme=schemes[place],
                rows=rows,
                **options | {"n_threads": inner},
            )
        report((1 + next(finished) / len(schemes)) / 2)

    with WorkerThreads(outer) as workers:
        workers.map(diffuse_again, range(len(schemes)))
    return K


def is_gram_cheaper(
    graph: Graph,
    schemes: Sequence[Scheme],
    folds: Folds,
    tol: float,
    *,
    rows_have_use: bool = False,
) -> bool:
    """Whether inner products of sparse features take fewer multiply-adds without diffused rows.

    If `rows_have_use`, rows of the training nodes would have to be diffused beside them.
    """
    X, R, L = graph.features, len(folds.nodes), folds.num_train_nodes
    if not sp.issparse(X) or X.shape[1] <= L:
        return False
    M, N, p = len(schemes), graph.num_nodes, X.shape[1]
    degrees = [len(chebyshev_series(scheme, tol)[0]) - 1 for scheme in schemes]
    longest = max(degrees)
    work = product_work(N, len(graph.indices))
    accumulating = 2 * M * longest * N
    contracting = M * SPARSE_COST * X.nnz
    training_rows = L * (longest * work + accumulating + contracting)
    by_gram = (1 + rows_have_use) * training_rows + L * (contracting + sum(degrees) * work)
    from_features = p * longest * work + COMBINE_COST * M * (longest + 1) * R * p
    from_rows = R * (longest * work + accumulating + contracting)
    by_rows = min(from_features, from_rows) + 2 * DENSE_COST * M * R * p * L
    return bool(by_gram < by_rows)


def fold_centres(
    graph: Graph, schemes: Sequence[Scheme], folds: Folds, options: dict[str, Any]
) -> FoldCentres:
    undiffused = np.asarray(graph.features[folds.nodes], dtype=np.float64)
    means = np.stack([undiffused[train].mean(axis=0) for train, _ in folds.folds])
    ones = graph._with_features(np.ones((graph.num_nodes, 1), dtype=np.float32))
    diffused = diffuse_many(ones, schemes, rows=folds.nodes, **options)[:, :, 0]
    return FoldCentres(diffused, means.astype(diffused.dtype))
