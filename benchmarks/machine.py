"""What this machine's memory can do, with all cores: the measure of what a product makes of it.

A product reads rows of X where the graph's edges lead, which is gathering; what it writes and the
graph itself come in order, which is copying.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from heatgraph._engine.recurrence import empty_panel
from heatgraph._engine.row_sum_codegen import add_rows
from heatgraph._engine.threads import thread_count

WIDTH = 64  # columns of float32 in a row
LARGE, CACHED = 1 << 29, 1 << 20  # bytes of arrays beyond the cache, and within it
GATHERED = 1 << 20  # rows gathered by each thread
REPEATS = 5


@numba.njit(nogil=True, cache=True)
def _gather(X, indices, total):
    """Add rows up in registers: the fastest way that we know."""
    add_rows(total, np.float32(1), X, indices, None, 0, len(indices), len(indices) - 1)


def _best(works: list[Callable[[], object]]) -> float:
    """Seconds of all works side by side, at the best of some tries."""
    times = []
    with ThreadPoolExecutor(len(works)) as pool:
        for _ in range(REPEATS):
            start = time.perf_counter()
            for done in [pool.submit(work) for work in works]:
                done.result()
            times.append(time.perf_counter() - start)
    return min(times)


def copying(threads: int) -> float:
    """Bytes per second, read and written."""
    source = np.ones(LARGE // 4, dtype=np.float32)
    target = np.empty_like(source)
    pairs = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    seconds = _best([lambda pair=pair: np.copyto(*pair) for pair in pairs])
    return 2 * source.nbytes / seconds


def gathering(size: int, threads: int) -> float:
    """Bytes per second of rows of 64 numbers that are read anywhere in an array of this size."""
    X = empty_panel((size // (4 * WIDTH), WIDTH), np.dtype(np.float32))
    X[...] = 1
    random = np.random.default_rng(0)
    works = []
    for _ in range(threads):
        indices = random.integers(len(X), size=GATHERED, dtype=np.int32)
        total = np.zeros(WIDTH, dtype=np.float32)
        _gather(X, indices[:8], total)
        works.append(lambda i=indices, t=total: _gather(X, i, t))
    return threads * GATHERED * 4 * (WIDTH + 1) / _best(works)


def bandwidths() -> dict[str, float]:
    threads = thread_count(None)
    return {
        "copy": copying(threads),
        "gather": gathering(LARGE, threads),
        "gather_cached": gathering(CACHED, threads),
    }
