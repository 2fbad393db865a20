"""Cutting rows into ranges: units of work for threads, and bounds on how long Ctrl-C waits.

The rows of a product do not depend on each other, so each product is cut into ranges of about equal
work. A kernel runs to the end of its range, and between two ranges the work can be stopped.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

# Multiply-adds in one call of a kernel: some 50 ms, which Ctrl-C may have to wait for.
RANGE_WORK = 200_000_000
# Multiply-adds in a product below which waking a second thread costs more than it saves.
WORTH_SHARING = 30_000_000
# Besides its edges, a row costs about this many accesses, to its own vector and the next; and two
# for each accumulator.
ACCESSES_PER_ROW = 3
# Rows of dense features that are converted to another precision, or checked, at a time.
BLOCK_ROWS = 1 << 14


def product_work(num_nodes: int, num_edges: int) -> int:
    """Multiply-adds of one product of S with one column."""
    return num_edges + ACCESSES_PER_ROW * num_nodes


def is_worth_sharing(work: int) -> bool:
    """Whether a product of this many multiply-adds is worth more than one thread."""
    return work >= WORTH_SHARING


def row_ranges(
    indptr: npt.NDArray[np.integer[Any]], width: int, accumulators: int, threads: int
) -> list[tuple[int, int]]:
    """Cut the rows of a product with `width` columns into ranges of about equal work."""
    n = len(indptr) - 1
    cumulative = indptr + (ACCESSES_PER_ROW + 2 * accumulators) * np.arange(n + 1)
    work = int(cumulative[-1]) * width
    sharing = threads if is_worth_sharing(work) else 1
    pieces = sharing * -(-work // (sharing * RANGE_WORK))
    cuts = np.searchsorted(cumulative, np.linspace(0, cumulative[-1], pieces + 1)).tolist()
    return [(start, stop) for start, stop in pairwise(cuts) if start < stop]


def even_ranges(rows: int, row_work: int) -> list[tuple[int, int]]:
    """Cut rows of equal work into ranges."""
    step = max(1, RANGE_WORK // max(1, row_work))
    return [(start, min(start + step, rows)) for start in range(0, rows, step)]


def tile_ends(num_nodes: int, tile: int) -> npt.NDArray[np.int64]:
    """Ends of tiles of `tile` nodes each: the last nodes that a tile's edges lead to, plus one."""
    return np.minimum(np.arange(tile, num_nodes + tile, tile, dtype=np.int64), num_nodes)


def row_blocks(rows: int) -> list[tuple[int, int]]:
    """Cut rows into blocks of `BLOCK_ROWS`."""
    return [(start, min(start + BLOCK_ROWS, rows)) for start in range(0, rows, BLOCK_ROWS)]
