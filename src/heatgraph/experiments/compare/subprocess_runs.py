"""Runs in subprocesses, so that a crash of one method does not end the comparison.

Every run starts a fresh interpreter (spawn), which receives its job through a pipe and sends back
progress and the result. It exits when its parent does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from heatgraph.errors import HeatgraphError
from heatgraph.experiments.compare.measures import Job, measure
from heatgraph.learning.progress import FitProgress, Progress

# Seconds between two progress messages.
PROGRESS_INTERVAL = 0.2
# Exit code after SIGKILL, which is how the system frees memory.
SIGKILL_EXIT_CODE = -9


class SubprocessRunError(HeatgraphError):
    """A run in a subprocess gave no result; the message says why."""


def run_in_subprocess(job: Job, report: Progress) -> dict[str, Any]:
    """Run `measure` in a subprocess; raise `SubprocessRunError` if it fails in any way."""
    context = multiprocessing.get_context("spawn")
    parent_end, child_end = context.Pipe()
    process = context.Process(target=_child_main, args=(child_end,), daemon=True)
    try:
        process.start()
        child_end.close()
        with contextlib.suppress(ConnectionError):  # reported below, with the exit code
            parent_end.send(job)
        return _receive_result(parent_end, process, report)
    finally:
        # Without a pid, a signal interrupted the start; the child then ends when its pipe closes.
        if process.pid is not None:
            process.kill()
            process.join()
        parent_end.close()


def _receive_result(connection: Connection, process: Any, report: Progress) -> dict[str, Any]:
    while True:
        try:
            kind, content = connection.recv()
        except (EOFError, ConnectionError):
            process.join()
            raise SubprocessRunError(_describe_exit_code(process.exitcode)) from None
        if kind == "progress":
            report(content)
        elif kind == "failed":
            raise SubprocessRunError(content)
        else:
            result: dict[str, Any] = content
            return result


def _describe_exit_code(code: int | None) -> str:
    if code == SIGKILL_EXIT_CODE:
        return "the process was killed, most likely since the machine ran out of memory."
    if code is not None and code < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"the process crashed ({names.get(-code, f'signal {-code}')})."
    return f"the process ended without a result (exit code {code})."


def _child_main(connection: Connection) -> None:
    """Receive a job, run it, and send the result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this one
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    with contextlib.suppress(OSError):  # standard error may be closed
        os.dup2(2, 1)  # keep what libraries print out of the command's standard output
    warnings.simplefilter("ignore")
    last = 0.0

    def report(progress: FitProgress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > PROGRESS_INTERVAL:
            last = now
            connection.send(("progress", progress))

    connection.send(_run_job(connection.recv, report))
    connection.close()


def _run_job(receive: Callable[[], Job], report: Progress) -> tuple[str, Any]:
    """("result", measures), or ("failed", message) if any exception is raised."""
    try:
        return "result", measure(receive(), report)
    except HeatgraphError as error:
        return "failed", str(error)
    except MemoryError as error:
        return "failed", f"there was not enough memory. {error}".strip()
    except Exception as error:
        short = "can't allocate memory" in str(error)  # how torch reports it
        return "failed", f"{'not enough memory: ' * short}{type(error).__name__}: {error}"


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
