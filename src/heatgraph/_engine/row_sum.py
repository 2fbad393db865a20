"""Weighted sums of rows, as a plain loop.

With X (n, w), a target (w,), a weight and the edges e in [first, last),

    target  <-  target + weight sum_e values[e] X[indices[e]],

where `values` of None stands for ones. This is the reference for the generated code of
`heatgraph._engine.row_sum_codegen`, which gives the same bits and has the same three functions, and
the fallback where that code cannot be generated.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Block of the two-level summation: blocks of this many rows are summed first, then as many block
# sums, so that rounding grows with 2 SUM_BLOCK and not with the millions of neighbours of a hub.
SUM_BLOCK = 256


@numba.njit
def add_rows(
    target: Array,
    weight: float,
    X: Array,
    indices: Array,
    values: Array | None,
    first: int,
    last: int,
    last_prefetch: int,
) -> None:
    """Add ``weight * values[e] * X[indices[e]]`` for e in [first, last) to `target`.

    `last_prefetch`, the last edge whose row may be prefetched, is for the generated code alone.
    """
    for start in range(first, last, SUM_BLOCK**2):
        stop = min(start + SUM_BLOCK**2, last)
        total = np.zeros_like(target)
        for block in range(start, stop, SUM_BLOCK):
            block_total = np.zeros_like(target)
            for edge in range(block, min(block + SUM_BLOCK, stop)):
                row = X[indices[edge]]
                # Over columns, since numba would allocate an array for the product of values.
                if values is None:
                    for c in range(len(target)):
                        block_total[c] += row[c]
                else:
                    value = values[edge]
                    for c in range(len(target)):
                        block_total[c] += value * row[c]
            for c in range(len(target)):
                total[c] += block_total[c]
        for c in range(len(target)):
            target[c] += weight * total[c]


@numba.njit
def prefetch_indices(indices: Array, edge: int) -> None:
    """Do nothing: a plain loop cannot prefetch."""


@numba.njit
def prefetch_row(panel: Array, row: int) -> None:
    """Do nothing: a plain loop cannot prefetch."""
