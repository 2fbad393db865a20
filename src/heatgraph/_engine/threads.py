"""Worker threads for one task, and the number of threads to use.

The kernels release the GIL, so plain Python threads run them in parallel. Threads end with the task
that started them: none is left for a later fork to break, and tasks of several callers can run at
the same time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from types import TracebackType
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from heatgraph._arguments import positive_integer

Item = TypeVar("Item")

# A wait without a timeout would not be interrupted by Ctrl-C on Windows.
_POLL_SECONDS = 0.2


class WorkerThreads:
    """A context manager of threads that stop at the first exception, or at Ctrl-C.

    The calling thread is one of them. It takes items like the others, so that a short list is done
    before a second thread has woken up.

    At an exception, and when the context is left, `stopping` is set, which running calls should
    check now and then; the threads are joined.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.stopping = False
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> WorkerThreads:
        if self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="heatgraph")
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
        """Call `function` on each item, on all threads."""
        if self._pool is None or len(items) == 1:
            for item in items:
                function(item)
            return
        remaining = deque(items)
        failures: list[BaseException] = []

        def work() -> None:
            try:
                while True:
                    try:
                        item = remaining.popleft()
                    except IndexError:
                        return
                    function(item)
            except BaseException as failure:
                failures.append(failure)
                self.stopping = True
                remaining.clear()

        helpers = [self._pool.submit(work) for _ in range(min(self.threads, len(items)) - 1)]
        work()
        while wait(helpers, timeout=_POLL_SECONDS).not_done:
            pass
        if failures:
            # The first one is the cause: others may have been cancelled because of it.
            raise failures[0]


class SingleBlasThread:
    """A context manager that limits BLAS to one thread while any thread of the process is inside.

    The limit belongs to the process: the first thread to enter sets it, the last to exit lifts it.
    """

    _lock = threading.Lock()
    _entered = 0
    _limits: Any = None

    def __enter__(self) -> None:
        cls = SingleBlasThread
        with cls._lock:
            if cls._entered == 0:
                cls._limits = _blas_libraries().limit(limits=1, user_api="blas")
            cls._entered += 1

    def __exit__(self, *_: object) -> None:
        cls = SingleBlasThread
        with cls._lock:
            cls._entered -= 1
            if cls._entered == 0:
                cls._limits.restore_original_limits()


@cache
def _blas_libraries() -> ThreadpoolController:
    """The BLAS libraries of this process; finding them takes milliseconds."""
    import scipy.linalg  # noqa: F401  # may bring a library beside NumPy's

    return ThreadpoolController()


def thread_count(n_threads: int | None) -> int:
    """Read `n_threads`; None means all CPUs that this process may use.

    Those are limited by CPU affinity, the CPU quota of a container and LOKY_MAX_CPU_COUNT.
    """
    if n_threads is not None:
        return positive_integer(n_threads, "n_threads")
    import joblib

    return int(joblib.cpu_count())
