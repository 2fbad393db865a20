"""A few threads for one piece of work.

The kernels release the interpreter's lock, so plain Python threads run them side by side. They live
as long as the piece of work: nothing lingers that a later fork could trip over, and any number of
callers can work at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from heatgraph._arguments import positive_integer

Item = TypeVar("Item")


class WorkerThreads:
    """Threads that all stop at the first exception, or at Ctrl-C."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.stopping = False
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> WorkerThreads:
        if self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="heatgraph")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stopping = True
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[[Item], Any], items: Sequence[Item]) -> None:
        """Call `function` on each item; on the calling thread when there is but one of either."""
        if self._pool is None or len(items) == 1:
            for item in items:
                function(item)
            return
        pending: Iterable[Future[Any]] = [self._pool.submit(function, item) for item in items]
        while pending:
            # With a timeout, because an endless wait on Windows would not notice Ctrl-C.
            done, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()


class SingleBlasThread:
    """Keeps matrix products to one thread each, while any caller in the process is inside.

    The limit is the whole process's, so that the first to come sets it and the last to go lifts it.
    """

    _lock = threading.Lock()
    _inside = 0
    _limits: Any = None

    def __enter__(self) -> None:
        cls = SingleBlasThread
        with cls._lock:
            if cls._inside == 0:
                cls._limits = threadpool_limits(1, user_api="blas")
            cls._inside += 1

    def __exit__(self, *_: object) -> None:
        cls = SingleBlasThread
        with cls._lock:
            cls._inside -= 1
            if cls._inside == 0:
                cls._limits.restore_original_limits()


def thread_count(n_threads: int | None) -> int:
    """Read `n_threads`: None means every core that this process may use."""
    if n_threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    return positive_integer(n_threads, "n_threads")
