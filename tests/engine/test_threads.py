import os
import threading
import time

import pytest

from heatgraph._engine.threads import WorkerThreads, thread_count
from heatgraph.errors import InputError


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_item_once(threads):
    seen = []
    with WorkerThreads(threads) as crew:
        crew.map(seen.append, range(100))
    assert sorted(seen) == list(range(100))


def test_items_run_side_by_side():
    both_there = threading.Barrier(2, timeout=10)
    with WorkerThreads(2) as crew:
        crew.map(lambda _: both_there.wait(), range(2))


def test_one_item_runs_on_the_calling_thread():
    with WorkerThreads(2) as crew:
        crew.map(lambda _: seen.append(threading.current_thread()), [0])
    assert seen == [threading.current_thread()]


seen: list[threading.Thread] = []


def test_the_first_exception_stops_the_rest():
    done = []

    def work(item):
        if item == 0:
            raise ZeroDivisionError
        time.sleep(0.01)
        done.append(item)

    crew = WorkerThreads(2)
    with pytest.raises(ZeroDivisionError), crew:
        crew.map(work, range(200))
    assert crew.stopping
    assert len(done) < 100


def test_no_thread_is_left_behind():
    before = threading.active_count()
    with WorkerThreads(4) as crew:
        crew.map(time.sleep, [0.01] * 8)
    assert threading.active_count() == before


def test_thread_count():
    assert thread_count(3) == 3
    assert 1 <= thread_count(None) <= os.cpu_count()
    for bad in (0, -1, 1.5, "2", True):
        with pytest.raises(InputError, match="n_threads must be a whole number >= 1"):
            thread_count(bad)


def test_thread_count_where_affinity_is_unknown(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert thread_count(None) == 7
