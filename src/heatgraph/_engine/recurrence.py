"""Apply r(S) to a panel of columns, by a Chebyshev series or by the literal steps of a scheme.

`chebyshev` sums a series with the recurrence T_0 = X, T_1 = S X, T_{k+1} = 2 S T_k - T_{k-1}, and
`stepwise` takes the steps of a scheme. Both see S only as a `PanelOperator`, which distributes each
product over threads and multiplies by P = R^(-1) S R. Since r(S) X = R r(P) R^(-1) X, the caller
divides panels by R beforehand, and both functions multiply their results by R.

Shapes: X is (n, w), P is (n, n); M schemes give (M, n, w) or, at R rows, (M, R, w).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.kernel_arguments import Accumulators, Step
from heatgraph._engine.ranges import even_ranges, row_blocks, row_ranges
from heatgraph._engine.threads import WorkerThreads
from heatgraph.graph._normalized_operator import NormalizedOperator
from heatgraph.schemes import SteppedScheme

Array = npt.NDArray[Any]
Progress = Callable[[int, int], object]

CACHE_LINE = 64


@dataclass
class PanelOperator:
    """Products of P with panels, on several threads; stopping the threads cancels them.

    Attributes
    ----------
    P : NormalizedOperator
    root : array of shape (n,) or None
        The diagonal of R; None if R is the identity or there are no products.
    tile_ends : array
        Ends of the tiles of nodes whose rows are gathered together (`ranges.tile_ends`).
    workers : WorkerThreads
        The threads of the whole diffusion. Their `stopping` cancels products.
    row_workers : WorkerThreads
        The threads that share the rows of one panel: `workers`, or a single one if each of those
        has a panel of its own.
    row_ranges : list of (start, stop)
        Blocks of rows, of about equal work.
    total_products : int
        Products of all panels, the total that `progress` reports.
    progress : callable, optional
    """

    P: NormalizedOperator
    root: Array | None
    tile_ends: Array
    workers: WorkerThreads
    row_workers: WorkerThreads
    row_ranges: list[tuple[int, int]]
    total_products: int
    progress: Progress | None
    _products_done: int = field(default=0, init=False)
    _progress_lock: Any = field(default_factory=threading.Lock, init=False)

    def recur(self, step: Step, accumulators: Accumulators | None = None) -> None:
        """Compute ``out <- alpha P current + beta out`` and add `out` to the accumulators."""
        from heatgraph._engine.kernels import no_accumulators, recur

        targets = no_accumulators(self.P, step.out) if accumulators is None else accumulators
        self.run_ranges(
            lambda start, stop: recur(self.P, step, targets, (start, stop), self.tile_ends),
            self.row_ranges,
        )
        if self.progress is not None:
            with self._progress_lock:
                self._products_done += 1
                self.progress(self._products_done, self.total_products)

    def multiply_by_root(self, results: Array, rows: Array | None) -> None:
        """Multiply results (M, n, w), or (M, R, w) at `rows`, by R in place."""
        if self.root is not None:
            results *= (self.root if rows is None else self.root[rows])[:, np.newaxis]

    def combine(self, coefficients: Array, vectors: Array, out: Array) -> None:
        """Compute ``out[m] <- sum_k coefficients[m, k] vectors[k]``."""
        from heatgraph._engine.kernels import combine

        _, rows, width = vectors.shape
        self.run_ranges(
            lambda start, stop: combine(coefficients, vectors, out, (start, stop)),
            even_ranges(rows, coefficients.size * width),
        )

    def contract(self, kernel_columns: Array, X: Any) -> Array:
        """Multiply the transpose of columns (n, w) by features (n, d), in the columns' precision.

        Sparse X are given by column; X of None is the identity.
        """
        if X is None:
            return kernel_columns.T
        n, width = kernel_columns.shape
        if sp.issparse(X):
            return self._contract_sparse(kernel_columns, X)
        product = np.zeros((width, X.shape[1]), dtype=kernel_columns.dtype)
        for start, stop in row_blocks(n):
            self._raise_if_stopping()
            block = X if stop - start == n else X[start:stop]
            block = block.astype(product.dtype, copy=False)
            product += (block.T @ kernel_columns[start:stop]).T
        return product

    def _contract_sparse(self, kernel_columns: Array, X: sp.csc_array) -> Array:
        from heatgraph._engine.kernels import multiply

        width = kernel_columns.shape[1]
        transposed = X.T  # by row, and a view
        product = np.empty((X.shape[1], width), dtype=kernel_columns.dtype)
        ranges = row_ranges(transposed.indptr, width, 0, self.row_workers.threads)
        columns = np.ascontiguousarray(kernel_columns)
        self.run_ranges(
            lambda start, stop: multiply(transposed, columns, product, (start, stop)), ranges
        )
        return product.T

    def run_ranges(
        self, work: Callable[[int, int], None], ranges: Sequence[tuple[int, int]]
    ) -> None:
        """Call ``work(start, stop)`` for each range of rows, on the threads that share a panel."""

        def run(rows: tuple[int, int]) -> None:
            self._raise_if_stopping()
            with np.errstate(over="ignore", invalid="ignore"):
                work(*rows)

        self.row_workers.map(run, ranges)

    def _raise_if_stopping(self) -> None:
        if self.workers.stopping:
            raise CancelledError


def empty_panel(shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """An uninitialised panel that is aligned to cache lines.

    NumPy aligns to 16 bytes, so that a row of k cache lines would touch k + 1.
    """
    size = shape[0] * shape[1] * dtype.itemsize
    buffer = np.empty(size + CACHE_LINE, dtype=np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    return buffer[start : start + size].view(dtype).reshape(shape)


def chebyshev(
    operator: PanelOperator, X: Array, coefficients: Array, rows: Array | None, out: Array
) -> None:
    """Compute ``out[m] <- R sum_k coefficients[m, k] T_k(P) X``, at all rows or at some.

    Parameters
    ----------
    operator : PanelOperator
    X : array of shape (n, w)
        Overwritten.
    coefficients : array of shape (M, degree + 1)
    rows : array of shape (R,) or None
        Rows of the result; None means all.
    out : array of shape (M, n, w) or (M, R, w)
    """
    M = len(coefficients)
    if rows is None:
        _sum_all_rows(operator, X, coefficients, out)
    elif accumulates_all_rows(len(X), M, len(rows)):
        sums = np.empty((M, *X.shape), dtype=X.dtype)
        _sum_all_rows(operator, X, coefficients, sums)
        sums.take(rows, axis=1, out=out, mode="clip")
    else:
        _sum_some_rows(operator, X, coefficients, rows, out)


def accumulates_all_rows(num_nodes: int, num_schemes: int, num_rows: int) -> bool:
    """Whether sums at all nodes are preferred where `num_rows` are asked for.

    Each product then reads and writes M n sums instead of copying R rows, which are read again at
    the end. It is no slower while M n <= 3 R, and saves the memory for degree + 1 vectors.
    """
    return num_schemes * num_nodes <= 3 * num_rows


def _sum_all_rows(operator: PanelOperator, X: Array, coefficients: Array, out: Array) -> None:
    """Accumulate the series while its vectors are computed."""
    by_degree = np.ascontiguousarray(coefficients.T)
    degree = len(by_degree) - 1
    if degree == 0:
        np.multiply(by_degree[0][:, np.newaxis, np.newaxis], X, out=out)
        return
    # With one product and one scheme, the output doubles as the accumulator.
    current, other = X, out[0] if coefficients.shape == (1, 2) else empty_panel(X.shape, X.dtype)
    no_scale = operator.P.row_scale[:0]
    for k in range(1, degree + 1):
        scale = operator.root if k == degree and operator.root is not None else no_scale
        step = _chebyshev_step(k, current, other)
        operator.recur(step, Accumulators(by_degree[0], by_degree[k], out, scale))
        current, other = other, current


def _sum_some_rows(
    operator: PanelOperator, X: Array, coefficients: Array, rows: Array, out: Array
) -> None:
    """Keep the vectors at `rows` and sum them at the end: M (degree + 1) R w multiply-adds."""
    terms = coefficients.shape[1]
    vectors = np.empty((terms, len(rows), X.shape[1]), dtype=X.dtype)
    X.take(rows, axis=0, out=vectors[0], mode="clip")
    current, other = X, empty_panel(X.shape, X.dtype)
    for k in range(1, terms):
        operator.recur(_chebyshev_step(k, current, other))
        other.take(rows, axis=0, out=vectors[k], mode="clip")
        current, other = other, current
    operator.combine(coefficients, vectors, out)
    operator.multiply_by_root(out, rows)


def _chebyshev_step(k: int, current: Array, out: Array) -> Step:
    """The step from T_{k-1}, in `current`, and T_{k-2}, in `out`, to T_k."""
    return Step(1, 0, current, out) if k == 1 else Step(2, -1, current, out)


def stepwise(
    operator: PanelOperator,
    X: Array,
    schemes: Sequence[SteppedScheme],
    rows: Array | None,
    out: Array,
) -> None:
    """Compute each scheme's literal steps from `X` (n, w), at all rows or at some.

    `rows` and `out` are those of `chebyshev`. `X` is not written to.
    """

    def product(Y: Array) -> Array:
        PY = empty_panel(Y.shape, Y.dtype)
        operator.recur(Step(1, 0, Y, PY))
        return PY

    for scheme, result in zip(schemes, out, strict=True):
        Y = X
        for _ in range(scheme.K):
            Y = scheme.step(product, Y)
        result[...] = Y if rows is None else Y[rows]
    operator.multiply_by_root(out, rows)
