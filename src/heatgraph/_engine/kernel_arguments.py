"""Arguments of the fused kernel, as named tuples: numba compiles those, and they import nothing.

Shapes: n nodes, panels of w columns, M accumulators.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

Array = npt.NDArray[Any]


class OperatorArrays(NamedTuple):
    """P as the kernel reads it: ``P[i, j] = row_scale[i] values[e]``, plus ``diagonal[i]``.

    `indptr` (n + 1,) and `indices` are those of a CSR matrix; `values` of None stands for ones.
    """

    indptr: Array
    indices: Array
    values: Array | None
    row_scale: Array
    diagonal: Array


class Step(NamedTuple):
    """One step of a recurrence on panels (n, w): ``out <- alpha P current + beta out``.

    With beta = 0, `out` may be uninitialised. Row i of `out` is row ``offset + i`` of `current`,
    which holds rows of other blocks beside those of `out` if P is a block of rows.
    """

    alpha: float
    beta: float
    current: Array
    out: Array
    offset: int = 0


class Accumulators(NamedTuple):
    """Weighted sums of the vectors of a recurrence: `sums` (M, n, w).

    Each step adds ``coefficients[m] out`` to ``sums[m]``. The first one, which has beta = 0,
    overwrites ``sums[m]`` with ``initial[m] current`` before. A step with a `scale` (n,) multiplies
    the sums by it at the end; an empty one stands for ones. `initial` and `coefficients` are (M,).
    """

    initial: Array
    coefficients: Array
    sums: Array
    scale: Array


class NearestLists(NamedTuple):
    """The k nearest of n nodes so far, by decreasing similarity.

    ``nodes`` (n, k) in int64 are -1 and ``similarity`` (n, k) in float32 is 0 in places that are
    free. ``smallest`` is what a list accepts: the last similarity of a full one, and the smallest
    positive number of others. It is longer than n, by infinities, so that vectors can be read.
    """

    nodes: Array
    similarity: Array
    smallest: Array
