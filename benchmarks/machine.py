"""What this machine's memory can do, with all cores: the measure of what a product makes of it.

A product reads rows of X where the graph's edges lead, which is gathering; what it writes and the
graph itself come in order, which is copying.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

WIDTH = 64  # columns of float32 in a row
LARGE, CACHED = 1 << 29, 1 << 20  # bytes of arrays beyond the cache, and within it
GATHERED = 1 << 20  # rows gathered by each thread
REPEATS = 5
TOGETHER = 8  # rows that are added at once, so that as many can be waited for


@numba.njit(nogil=True, fastmath=True, cache=True)
def _add_rows(X, indices, total):  # pragma: no cover
    for e in range(0, len(indices), 8):
        a, b, c, d = X[indices[e]], X[indices[e + 1]], X[indices[e + 2]], X[indices[e + 3]]
        f, g, h, i = X[indices[e + 4]], X[indices[e + 5]], X[indices[e + 6]], X[indices[e + 7]]
        for k in range(total.shape[0]):
            total[k] += ((a[k] + b[k]) + (c[k] + d[k])) + ((f[k] + g[k]) + (h[k] + i[k]))


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
    X = np.ones((size // (4 * WIDTH), WIDTH), dtype=np.float32)
    random = np.random.default_rng(0)
    works = []
    for _ in range(threads):
        indices = random.integers(len(X), size=GATHERED, dtype=np.int32)
        total = np.zeros(WIDTH, dtype=np.float32)
        _add_rows(X, indices[:TOGETHER], total)
        works.append(lambda i=indices, t=total: _add_rows(X, i, t))
    return threads * GATHERED * 4 * (WIDTH + 1) / _best(works)


def bandwidths() -> dict[str, float]:
    threads = os.cpu_count() or 1
    return {
        "copy": copying(threads),
        "gather": gathering(LARGE, threads),
        "gather_cached": gathering(CACHED, threads),
    }
