"""One run of one job in a process of its own: ``-m benchmarks.worker JOB WORKLOAD SAMPLE``.

Warms up, sets up, times the task (a quick one repeatedly, for half a second) and prints one line of
JSON. Past its limit the process ends by SIGALRM, which the harness can tell from a crash.

Modules of heatgraph are imported where they are needed: `Job.checkout` may be another version, of
which only the public API is certain.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.benchmark import Job, Outcome, Task
from benchmarks.memory import (
    AnonymousPeak,
    anonymous_memory,
    limit_memory,
    peak_memory,
    reset_peak_memory,
    resident_memory,
    touch_memory,
)

if TYPE_CHECKING:
    from benchmarks.workloads import Workload

# Quick tasks are repeated for this many seconds.
MIN_SECONDS = 0.5
# A self-limiting task is stopped after this many times its limit.
GRACE = 5
# Memory touched before the task runs: in arrays of the features' size, and at most in bytes.
TOUCHED_ARRAYS, MAX_TOUCHED = 8, 4 << 30


def warm_up(job: Job, data: Workload | None) -> None:
    """Run the task once untimed, so that imports and compilation are not measured.

    A task on a workload gets a tiny one of the same kind; one that loads its own data runs in full.
    """
    if data is None:
        job.task(job, None).run()
        return
    with tempfile.TemporaryDirectory() as folder:
        job.task(job, data.tiny(Path(folder))).run()


def measure(job: Job, data: Workload | None, sample: Path | None) -> dict[str, Any]:
    """Set up and run a job; return its times, memory and facts, as JSON has them."""
    if job.timed:
        warm_up(job, data)
    start = time.perf_counter()
    task = job.task(job, data)
    setup_seconds = time.perf_counter() - start
    if data is not None:
        touch_memory(min(MAX_TOUCHED, TOUCHED_ARRAYS * data.about["feature_bytes"]))
    is_reset = reset_peak_memory()
    before, anonymous_before = resident_memory(), anonymous_memory()
    if job.timed and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, job.limit * (GRACE if task.self_limiting else 1))
    with AnonymousPeak() as anonymous:
        seconds, outcome = _repeat(task, MIN_SECONDS if job.timed else 0.0)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    peak = peak_memory()
    share = outcome.facts.pop("share", 1.0)
    if sample is not None and task.sample is not None and outcome.value is not None:
        np.save(sample, task.sample(outcome.value))
    # A part of the columns takes a part of the memory.
    has_memory = is_reset and share == 1.0 and None not in (peak, before) and task.measures_memory
    return {
        "seconds": [spent / share for spent in seconds],
        "setup_seconds": setup_seconds,
        "memory_before": before,
        "memory": peak - before if has_memory else None,
        "private_memory": max(0, anonymous.bytes - anonymous_before) if anonymous_before else None,
        "planned_memory": task.planned_memory,
        "products": task.products,
        "moved": task.moved,
        "note": outcome.note,
        "facts": outcome.facts,
    }


def _repeat(task: Task, min_seconds: float) -> tuple[list[float], Outcome]:
    """Run a task until this many seconds have passed; an estimate is made once."""
    seconds: list[float] = []
    outcome, total = None, 0.0
    while outcome is None or total < min_seconds:
        outcome = None  # frees the last value before the next one is allocated
        start = time.perf_counter()
        outcome = task.run()
        seconds.append(time.perf_counter() - start)
        total += seconds[-1]
        if outcome.seconds is not None:
            return [outcome.seconds], outcome
    return seconds, outcome


def _open_workload(folder: str) -> Workload | None:
    if not folder:
        return None
    from benchmarks.workloads import Workload

    return Workload(Path(folder))


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answer
    warnings.simplefilter("ignore")
    limit_memory()
    sample = sys.argv[3]
    answer: dict[str, Any]
    try:
        job = Job.from_json(sys.argv[1])
        answer = measure(job, _open_workload(sys.argv[2]), Path(sample) if sample else None)
    except ImportError as error:
        answer = {"failed": f"not installed ({error.name or error})"}
    except MemoryError:
        answer = {"failed": "out of memory"}
    except Exception as error:
        is_allocation = any(
            words in str(error) for words in ("allocate memory", "not enough memory")
        )
        line = str(error).strip().partition("\n")[0]
        answer = {"failed": "out of memory" if is_allocation else f"{type(error).__name__}: {line}"}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    # Some libraries crash while they are unloaded, with the answer already written.
    os._exit(0)


if __name__ == "__main__":
    main()
