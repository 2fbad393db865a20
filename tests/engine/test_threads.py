import os
import threading
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest

from heatgraph import Graph, plan
from heatgraph._engine.threads import (
    SingleBlasThread,
    WorkerThreads,
    _blas_libraries,
    thread_count,
)
from heatgraph.errors import InputError


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_item_once(threads):
    seen = []
    with WorkerThreads(threads) as workers:
        workers.map(seen.append, range(100))
    assert sorted(seen) == list(range(100))


def test_items_run_in_parallel():
    barrier = threading.Barrier(2, timeout=10)
    with WorkerThreads(2) as workers:
        workers.map(lambda _: barrier.wait(), range(2))


def test_one_item_runs_on_the_calling_thread():
    seen = []
    with WorkerThreads(2) as workers:
        workers.map(lambda _: seen.append(threading.current_thread()), [0])
    assert seen == [threading.current_thread()]


def test_the_first_exception_stops_the_rest():
    done = []

    def work(item):
        if item == 0:
            raise ZeroDivisionError
        time.sleep(0.01)
        done.append(item)

    workers = WorkerThreads(2)
    with pytest.raises(ZeroDivisionError), workers:
        workers.map(work, range(200))
    assert workers.stopping
    assert len(done) < 100


def test_the_cause_is_raised_and_not_a_cancellation_that_follows_from_it():
    workers = WorkerThreads(2)
    calling = threading.current_thread()
    started = threading.Barrier(2, timeout=10)

    def work(_):
        started.wait()
        if threading.current_thread() is not calling:
            raise ZeroDivisionError
        while not workers.stopping:
            time.sleep(0.001)
        raise CancelledError

    with pytest.raises(ZeroDivisionError), workers:
        workers.map(work, range(2))


def test_threads_end_with_the_task():
    before = threading.active_count()
    with WorkerThreads(4) as workers:
        workers.map(time.sleep, [0.01] * 8)
    assert threading.active_count() == before


def blas_threads():
    """Threads of the libraries that NumPy and SciPy use; torch may have loaded others since."""
    libraries = _blas_libraries().info()
    return [library["num_threads"] for library in libraries if library["user_api"] == "blas"]


def test_blas_is_limited_until_the_last_thread_exits():
    before = blas_threads()
    first, second = SingleBlasThread(), SingleBlasThread()
    first.__enter__()
    with second:
        assert set(blas_threads()) == {1}
        first.__exit__()
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_thread_count_is_validated():
    assert thread_count(3) == 3
    for invalid in (0, -1, 1.5, "2", True):
        with pytest.raises(InputError, match="n_threads must be an integer >= 1"):
            thread_count(invalid)


def test_thread_count_is_limited_by_the_environment(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert thread_count(None) == 1
    graph = Graph(np.ones((3, 3)), np.eye(3))
    assert plan(graph, 1.0).threads == 1
    assert plan(graph, 1.0, n_threads=5).threads == 5


def test_thread_count_is_limited_by_affinity(monkeypatch):
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3}, raising=False)
    assert thread_count(None) <= 2


def test_thread_count_is_all_cpus_where_nothing_limits_them(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "100")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(7)), raising=False)
    monkeypatch.setattr(os.path, "exists", lambda path: False)  # no cgroup
    assert thread_count(None) == 7
