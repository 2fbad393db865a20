"""One turn of one peer, in a process of its own: ``-m benchmarks.worker JOB WORKLOAD SAMPLE``.

Sets up, runs the work once, or quick work for half a second, and prints one line of JSON. Before
that, a tiny graph goes through the same work, so that imports and compilation are in nobody's time.
Past its limit the process ends itself by an alarm, which its parent can tell from a crash.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from benchmarks.jobs import Job

if TYPE_CHECKING:
    from benchmarks.workloads import Workload

# Seconds that a turn lasts at least: quick work is repeated.
SHORT = 0.5
# Work that stops by itself near its limit may overrun it so many times, having begun.
PATIENCE = 5
# Share of the memory that is free now which a process may take before allocations fail.
MOST_MEMORY = 0.95
# Memory that is touched before the work, in arrays of the features' size, and at most in bytes.
TOUCHED, MOST_TOUCHED = 8, 4 << 30
# Written to Linux' clear_refs, it forgets the peak so far.
FORGET_PEAK = "5"


def status(name: str) -> int | None:
    """A figure of this process's memory, in bytes, where the system tells it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None


def forget_peak() -> bool:
    """Start measuring the peak anew; False where that cannot be done."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text(FORGET_PEAK)
    except OSError:
        return False
    return True


def limit_memory() -> None:
    """Let an allocation fail rather than have the system choose a process to kill."""
    with contextlib.suppress(OSError, ImportError, ValueError):
        import resource

        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                most = int(MOST_MEMORY * 1024 * int(line.split()[1]))
                resource.setrlimit(resource.RLIMIT_DATA, (most, most))


class Private:
    """The most memory that was this process's own, and not a mapped file's, by looking often."""

    def __init__(self) -> None:
        self.most, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            self.most = max(self.most, status("RssAnon") or 0)

    def __enter__(self) -> Private:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def settle_memory(size: int) -> None:
    """Touch so many bytes of memory and give them back.

    On a virtual machine, memory that nobody has used of late is lent to others, and the first to
    touch it again waits for it, whoever that is.
    """
    with contextlib.suppress(MemoryError):
        np.ones(size, dtype=np.int8)


def find_task(job: Job) -> Callable[[Job, Any], Any]:
    """The function that sets a job up: "module:function", or a kind that `work` lists."""
    module, _, name = job.kind.rpartition(":")
    if module:
        return getattr(import_module(module), name)
    from benchmarks.work import WORK

    return WORK[job.kind]


def warm_up(job: Job, like: Workload | None) -> None:
    """Run the task untimed, so that imports and compilation are in nobody's time.

    A task on a workload gets a tiny graph; one that brings its own data runs once as a whole.
    """
    task = find_task(job)
    if like is None:
        task(job, None).run()
        return
    from benchmarks.workloads import Workload, write
    from heatgraph import make_block_graph

    small = make_block_graph(60, 200, 3, 8)
    if like.is_sparse:
        words = sp.csr_array(np.abs(small.graph.features))
        small = replace(small, graph=small.graph.with_features(words))
    with tempfile.TemporaryDirectory() as folder:
        write(small, Path(folder))
        task(job, Workload(Path(folder))).run()


def measure(job: Job, data: Workload | None, sample: Path | None) -> dict[str, Any]:
    warm_up(job, data)
    start = time.perf_counter()
    work = find_task(job)(job, data)
    setup = time.perf_counter() - start
    if data is not None:
        settle_memory(min(MOST_TOUCHED, TOUCHED * data.about["feature_bytes"]))
    fresh = forget_peak()
    before, own_before = status("VmRSS"), status("RssAnon")
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, job.limit * (PATIENCE if work.patient else 1))
    seconds: list[float] = []
    outcome = None
    with Private() as private:
        while outcome is None or (sum(seconds) < SHORT and outcome.seconds is None):
            outcome = None
            start = time.perf_counter()
            outcome = work.run()
            seconds.append(time.perf_counter() - start)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    peak = status("VmHWM")
    share = outcome.facts.pop("share", 1.0)
    if outcome.seconds is not None:
        seconds = [outcome.seconds]
    if sample is not None and work.sample is not None and outcome.value is not None:
        np.save(sample, work.sample(outcome.value))
    known = fresh and share == 1.0 and None not in (peak, before)
    return {
        "seconds": [spent / share for spent in seconds],
        "setup_seconds": setup,
        "memory_before": before,
        "memory": peak - before if known and work.sets_up_before else None,
        "private_memory": max(0, private.most - own_before) if own_before else None,
        "planned_memory": work.planned_memory,
        "products": work.products,
        "moved": work.moved,
        "note": outcome.note,
        "facts": outcome.facts,
    }


def open_workload(folder: str) -> Workload | None:
    if not folder:
        return None
    from benchmarks.workloads import Workload

    return Workload(Path(folder))


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no part of the answer
    warnings.simplefilter("ignore")
    limit_memory()
    job, sample = Job.from_json(sys.argv[1]), sys.argv[3]
    answer: dict[str, Any]
    try:
        if job.kind == "machine":
            from benchmarks.machine import bandwidths

            answer = bandwidths()
        else:
            answer = measure(job, open_workload(sys.argv[2]), Path(sample) if sample else None)
    except ImportError as error:
        answer = {"failed": f"not installed ({error.name or error})"}
    except MemoryError:
        answer = {"failed": "out of memory"}
    except Exception as error:
        short = any(word in str(error) for word in ("allocate memory", "not enough memory"))
        line = str(error).strip().partition("\n")[0]
        answer = {"failed": "out of memory" if short else f"{type(error).__name__}: {line}"}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    # Some libraries crash when they are unloaded, with the work long done.
    os._exit(0)


if __name__ == "__main__":
    main()
