"""A run in a process of its own, so that a crash is no more than a reason for having no result.

The process is started afresh, gets its job through a pipe, and sends back progress and its result.
It ends with whoever started it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any

from heatgraph.errors import HeatgraphError
from heatgraph.experiments.compare.measures import Job, measure
from heatgraph.learning._search import Progress

# Seconds between two reports of progress.
PAUSE = 0.2
# Exit codes of a process that the system killed, where memory is the likely reason.
KILLED = -9


class RunFailed(HeatgraphError):
    """A run came to no result; the message says why."""


def isolated(job: Job, report: Progress) -> dict[str, Any]:
    """Measure in a process of its own; raise `RunFailed` if it fails, however it does so."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(there,), daemon=True)
    try:
        process.start()
        there.close()
        with contextlib.suppress(ConnectionError):  # told below, by the exit code
            here.send(job)
        return _listen(here, process, report)
    finally:
        if process.is_alive():
            process.kill()
        process.join()
        here.close()


def _listen(here: Connection, process: Any, report: Progress) -> dict[str, Any]:
    while True:
        try:
            kind, content = here.recv()
        except (EOFError, ConnectionError):
            process.join()
            raise RunFailed(_told(process.exitcode)) from None
        if kind == "progress":
            report(*content)
        elif kind == "failed":
            raise RunFailed(content)
        else:
            result: dict[str, Any] = content
            return result


def _told(code: int | None) -> str:
    """What an exit code says."""
    if code == KILLED:
        return "the process was killed, most likely since the machine ran out of memory."
    if code is not None and code < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"the process crashed ({names.get(-code, f'signal {-code}')})."
    return f"the process ended without a result (exit code {code})."


def _work(there: Connection) -> None:
    """What the process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this one is told, and ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(OSError):  # there may be no standard error
        os.dup2(2, 1)  # what a library prints is no part of a report
    warnings.simplefilter("ignore")
    last = 0.0

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > PAUSE:
            last = now
            there.send(("progress", (stage, done, total)))

    answer: tuple[str, Any]
    try:
        answer = ("result", measure(there.recv(), report))
    except HeatgraphError as error:
        answer = ("failed", str(error))
    except MemoryError as error:
        answer = ("failed", f"there was not enough memory. {error}".strip())
    except Exception as error:
        short = "can't allocate memory" in str(error)  # torch's word for it
        answer = ("failed", f"{'not enough memory: ' * short}{type(error).__name__}: {error}")
    there.send(answer)
    there.close()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
