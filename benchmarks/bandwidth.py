"""Memory bandwidth of this machine, with all cores: ``-m benchmarks.bandwidth`` prints JSON.

A product gathers rows of X along the edges of the graph, and reads the graph and writes its result
in order. Gathering and copying bandwidths are therefore what its own is compared with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp

from heatgraph._engine.kernels import multiply
from heatgraph._engine.recurrence import empty_panel
from heatgraph._engine.threads import thread_count

WIDTH = 64  # columns of float32
LARGE, CACHED = 1 << 29, 1 << 20  # bytes of an array beyond the cache, and of one within it
GATHERED_ROWS = 1 << 20  # by each thread
REPEATS = 5


def _best_seconds(functions: list[Callable[[], object]]) -> float:
    """Run functions concurrently; return the seconds of the fastest repetition."""
    times = []
    with ThreadPoolExecutor(len(functions)) as pool:
        for _ in range(REPEATS):
            start = time.perf_counter()
            for future in [pool.submit(function) for function in functions]:
                future.result()
            times.append(time.perf_counter() - start)
    return min(times)


def copy_bandwidth(threads: int) -> float:
    """Bytes per second, read and written."""
    source = np.ones(LARGE // 4, dtype=np.float32)
    target = np.empty_like(source)
    pairs = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    seconds = _best_seconds([lambda pair=pair: np.copyto(*pair) for pair in pairs])
    return 2 * source.nbytes / seconds


def gather_bandwidth(size: int, threads: int) -> float:
    """Bytes per second of rows of 64 numbers at random places in an array of `size` bytes."""
    X = empty_panel((size // (4 * WIDTH), WIDTH), np.dtype(np.float32))
    X[...] = 1
    random = np.random.default_rng(0)
    gathers = []
    for _ in range(threads):
        indices = random.integers(len(X), size=GATHERED_ROWS, dtype=np.int32)
        # A matrix of a single row: the kernel sums the gathered rows in registers.
        values, indptr = np.ones(GATHERED_ROWS, dtype=np.float32), np.array([0, GATHERED_ROWS])
        row = sp.csr_array((values, indices, indptr.astype(np.int32)), shape=(1, len(X)))
        total = np.empty((1, WIDTH), dtype=np.float32)
        gathers.append(lambda row=row, total=total: multiply(row, X, total, (0, 1)))
    # A place, a value and a row for each.
    return threads * GATHERED_ROWS * 4 * (WIDTH + 2) / _best_seconds(gathers)


def measure_bandwidth() -> dict[str, float]:
    threads = thread_count(None)
    return {
        "copy": copy_bandwidth(threads),
        "gather": gather_bandwidth(LARGE, threads),
        "gather_cached": gather_bandwidth(CACHED, threads),
    }


if __name__ == "__main__":
    print(json.dumps(measure_bandwidth()))
