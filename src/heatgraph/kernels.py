"""The only compiled code: a fused pass over rows of S, and weighted sums of what passes leave.

With w columns, M accumulators and rows i in [start, stop), `recur` does

    out[i]  <-  alpha (S current)[i] + beta out[i]          (w,)
    acc[m, i]  <-  acc[m, i] + coefficients[m] out[i]       (w,)   for m = 0, ..., M - 1

in place. This is the three-term recurrence of the Chebyshev polynomials (alpha = 2, beta = -1, and
`out` holding the last vector but one); with beta = 0 it is the plain product. A caller runs ranges
of rows on as many threads as it likes: rows do not depend on each other, and no floating-point
operation is reordered, so every split into ranges gives the same bits.

With vectors kept at R rows, `combine` does for rows i in [start, stop)

    out[m, i]  <-  sum_k coefficients[m, k] vectors[k, i]   (w,)

which is a matrix product, but one that leaves the other threads alone: BLAS would start its own.

No options and no checks here. Each kernel has a twin, `recur_scipy` and `combine_numpy`, that says
the same plainly, and the tests compare them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from heatgraph.graph import Operator

Array = npt.NDArray[Any]


def _recur(
    indptr: Array,
    indices: Array,
    values: Array | None,
    scale: Array,
    diagonal: Array,
    start: int,
    stop: int,
    alpha: float,
    beta: float,
    current: Array,
    out: Array,
    coefficients: Array,
    accumulators: Array,
) -> None:
    width = current.shape[1]
    for i in range(start, stop):
        own = alpha * diagonal[i]
        outgoing = alpha * scale[i] if values is None else alpha
        target = out[i]
        source = current[i]
        for c in range(width):
            target[c] = own * source[c] + beta * target[c]
        edge = indptr[i]
        end = indptr[i + 1]
        # Four neighbours at a time: `target` is read and written a quarter as often.
        while edge + 4 <= end:
            j0, j1, j2, j3 = indices[edge], indices[edge + 1], indices[edge + 2], indices[edge + 3]
            if values is None:
                w0, w1, w2, w3 = scale[j0], scale[j1], scale[j2], scale[j3]
            else:
                w0, w1, w2, w3 = values[edge], values[edge + 1], values[edge + 2], values[edge + 3]
            w0, w1, w2, w3 = outgoing * w0, outgoing * w1, outgoing * w2, outgoing * w3
            x0, x1, x2, x3 = current[j0], current[j1], current[j2], current[j3]
            for c in range(width):
                target[c] += w0 * x0[c] + w1 * x1[c] + w2 * x2[c] + w3 * x3[c]
            edge += 4
        while edge < end:
            j = indices[edge]
            weight = outgoing * (scale[j] if values is None else values[edge])
            x = current[j]
            for c in range(width):
                target[c] += weight * x[c]
            edge += 1
        for m in range(len(coefficients)):
            coefficient = coefficients[m]
            accumulator = accumulators[m, i]
            for c in range(width):
                accumulator[c] += coefficient * target[c]


def _combine(start: int, stop: int, coefficients: Array, vectors: Array, out: Array) -> None:
    schemes, terms = coefficients.shape
    width = vectors.shape[2]
    for i in range(start, stop):
        for m in range(schemes):
            target = out[m, i]
            for c in range(width):
                target[c] = 0
            for k in range(terms):
                coefficient = coefficients[m, k]
                vector = vectors[k, i]
                for c in range(width):
                    target[c] += coefficient * vector[c]


def _compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Compile on first use and keep the machine code on disk, where there is a place to keep it."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)


_recur_compiled = _compiled(_recur)
combine = _compiled(_combine)


def recur(
    S: Operator,
    start: int,
    stop: int,
    alpha: float,
    beta: float,
    current: Array,
    out: Array,
    coefficients: Array,
    accumulators: Array,
) -> None:
    """Do one fused pass over the rows [start, stop); the GIL is released meanwhile."""
    number = S.dtype.type
    _recur_compiled(
        S.indptr,
        S.indices,
        S.values,
        # Never read beside values, but the compiler wants an array.
        S.diagonal if S.scale is None else S.scale,
        S.diagonal,
        start,
        stop,
        number(alpha),
        number(beta),
        current,
        out,
        coefficients,
        accumulators,
    )


def compile_for(S: Operator) -> None:
    """Compile the kernels for this kind of operator, so that threads find them ready."""
    panel = np.zeros((0, 0), dtype=S.dtype)
    panels = panel[np.newaxis]
    for kernel, arguments in (
        (recur, (S, 0, 0, 1.0, 0.0, panel, panel, panel.ravel(), panels)),
        (combine, (0, 0, panel, panels, panels)),
    ):
        try:
            kernel(*arguments)
        except OSError:
            # The machine code is made but could not be kept, say on a full disk. Now it is there.
            kernel(*arguments)


def recur_scipy(
    S: Operator,
    start: int,
    stop: int,
    alpha: float,
    beta: float,
    current: Array,
    out: Array,
    coefficients: Array,
    accumulators: Array,
) -> None:
    """Do what `recur` does, plainly."""
    rows = slice(start, stop)
    out[rows] = alpha * (S.to_scipy() @ current)[rows] + beta * out[rows]
    accumulators[:, rows] += np.multiply.outer(coefficients, out[rows])


def combine_numpy(start: int, stop: int, coefficients: Array, vectors: Array, out: Array) -> None:
    """Do what `combine` does, plainly."""
    out[:, start:stop] = np.tensordot(coefficients, vectors[:, start:stop], axes=1)
