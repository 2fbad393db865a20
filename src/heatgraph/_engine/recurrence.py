"""The two ways to apply r(S) to a panel of columns, knowing nothing of what r is called.

`chebyshev` sums a series, with the recurrence T_0 = X, T_1 = S X, T_{k+1} = 2 S T_k - T_{k-1}.
`stepwise` takes the literal steps of a scheme. Both see S only through a `PanelOperator`, which
spreads each product over threads and holds P = R^(-1) S R: r(S) X = R r(P) R^(-1) X, so panels are
divided by R on the way in and multiplied by it on the way out.

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

from heatgraph._engine.ranges import even_ranges, feature_blocks
from heatgraph._engine.threads import WorkerThreads
from heatgraph.graph._normalized_operator import NormalizedOperator
from heatgraph.schemes import SteppedScheme

Array = npt.NDArray[Any]
Progress = Callable[[int, int], object]

CACHE_LINE = 64


@dataclass(frozen=True)
class Accumulators:
    """What products add up to: `values` (M, n, w).

    The first product begins with its `own` (M,) times the vector that it multiplies, each adds its
    `coefficients` (M,) times what it makes, and the last one has a `scale` (n,) to multiply by.
    """

    own: Array
    coefficients: Array
    values: Array
    scale: Array | None


@dataclass
class PanelOperator:
    """Products of P with panels. Between two of its calls to a kernel, work can be stopped.

    `root` is R, or None where R is 1 or where nothing is multiplied. Neighbours are visited `tile`
    nodes at a time, in `ranges` of rows. `crew` does the whole diffusion; `sharing` is the same
    crew when its threads share the rows of one panel, and a crew of one when each has panels of its
    own.
    """

    P: NormalizedOperator
    root: Array | None
    tile: int
    crew: WorkerThreads
    sharing: WorkerThreads
    ranges: list[tuple[int, int]]
    total: int
    progress: Progress | None
    done: int = 0
    lock: Any = field(default_factory=threading.Lock)

    def recur(
        self,
        alpha: float,
        beta: float,
        current: Array,
        out: Array,
        sums: Accumulators | None = None,
    ) -> None:
        """Do ``out <- alpha P current + beta out`` and sum (`heatgraph._engine.kernels`)."""
        from heatgraph._engine.kernels import recur

        if sums is None:
            nothing = np.empty(0, dtype=out.dtype)
            sums = Accumulators(nothing, nothing, out[np.newaxis], None)
        self.run_ranges(
            lambda start, stop: recur(
                self.P,
                start,
                stop,
                self.tile,
                alpha,
                beta,
                current,
                out,
                sums.own,
                sums.coefficients,
                sums.values,
                sums.scale,
            ),
            self.ranges,
        )
        if self.progress is not None:
            with self.lock:
                self.done += 1
                self.progress(self.done, self.total)

    def multiply_by_root(self, results: Array, keep: Array | None) -> None:
        """Multiply results (M, n, w), or (M, R, w) at the rows `keep`, by R."""
        if self.root is not None:
            results *= (self.root if keep is None else self.root[keep])[:, np.newaxis]

    def combine(self, coefficients: Array, vectors: Array, out: Array) -> None:
        """Sum ``coefficients[m, k] vectors[k]`` over k."""
        from heatgraph._engine.kernels import combine

        _, rows, width = vectors.shape
        self.run_ranges(
            lambda start, stop: combine(start, stop, coefficients, vectors, out),
            even_ranges(rows, coefficients.size * width),
        )

    def contract(self, kernel_columns: Array, X: Any) -> Array:
        """Multiply (n, w)^T by the features (n, d), in the precision of the former."""
        if X is None:
            return kernel_columns.T
        n, width = kernel_columns.shape
        product = np.zeros((width, X.shape[1]), dtype=kernel_columns.dtype)
        for start, stop in feature_blocks(X, width):
            self._check()
            part = X if stop - start == n else X[start:stop]
            part = part.astype(product.dtype, copy=False)
            product += (part.T @ kernel_columns[start:stop]).T
        return product

    def run_ranges(
        self, work: Callable[[int, int], None], ranges: Sequence[tuple[int, int]]
    ) -> None:
        """Do some work on ranges of rows, by the threads that share them."""

        def one(rows: tuple[int, int]) -> None:
            self._check()
            with np.errstate(over="ignore", invalid="ignore"):
                work(*rows)

        self.sharing.map(one, ranges)

    def _check(self) -> None:
        if self.crew.stopping:
            raise CancelledError


def empty_panel(shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """A panel whose rows begin where cache lines do, if they are whole lines wide.

    NumPy's own begin 16 bytes later, so that each number of lines is spread over one more.
    """
    size = shape[0] * shape[1] * dtype.itemsize
    raw = np.empty(size + CACHE_LINE, dtype=np.uint8)
    start = -raw.ctypes.data % CACHE_LINE
    return raw[start : start + size].view(dtype).reshape(shape)


def chebyshev(
    operator: PanelOperator, X: Array, coefficients: Array, keep: Array | None, sums: Array
) -> None:
    """Fill `sums` with c_mk T_k(S) X summed over k, for each m, at the rows `keep` or all.

    `X` (n, w) is used up. All rows are summed as the vectors come. At a few rows it is cheaper to
    keep the vectors there and to sum them at the end.
    """
    by_term = np.ascontiguousarray(coefficients.T)
    last = len(by_term) - 1
    if keep is not None:
        vectors = np.empty((len(by_term), len(keep), X.shape[1]), dtype=X.dtype)
        X.take(keep, axis=0, out=vectors[0], mode="clip")
    elif last == 0:
        np.multiply(by_term[0][:, np.newaxis, np.newaxis], X, out=sums)
    if keep is None and (last == 0 or coefficients.shape == (1, 2)):
        # A single product is of no use but for its sum.
        current, other = X, sums[0]
    else:
        current, other = X, empty_panel(X.shape, X.dtype)
    for k in range(1, last + 1):
        alpha, beta = (1, 0) if k == 1 else (2, -1)
        if keep is None:
            ending = operator.root if k == last else None
            operator.recur(
                alpha, beta, current, other, Accumulators(by_term[0], by_term[k], sums, ending)
            )
        else:
            operator.recur(alpha, beta, current, other)
            other.take(keep, axis=0, out=vectors[k], mode="clip")
        current, other = other, current
    if keep is not None:
        operator.combine(coefficients, vectors, sums)
        operator.multiply_by_root(sums, keep)


def stepwise(
    operator: PanelOperator,
    X: Array,
    schemes: Sequence[SteppedScheme],
    keep: Array | None,
    results: Array,
) -> None:
    """Fill `results` by the literal steps of each scheme from `X` (n, w), at `keep` or all rows.

    `X` is used up.
    """

    def product(Y: Array) -> Array:
        SY = empty_panel(Y.shape, Y.dtype)
        operator.recur(1, 0, Y, SY)
        return SY

    for scheme, result in zip(schemes, results, strict=True):
        Y = X
        for _ in range(scheme.K):
            Y = scheme.step(product, Y)
        result[...] = Y if keep is None else Y[keep]
    operator.multiply_by_root(results, keep)
