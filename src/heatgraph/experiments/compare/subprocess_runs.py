"""Runs in subprocesses, so that a crash of one method does not end the comparison.

Every run starts a fresh interpreter (spawn), which receives its job through a pipe and sends back
progress and the result (`heatgraph.experiments.compare.child_process`). It exits when its parent
does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from multiprocessing.connection import Connection
from typing import Any

from heatgraph.errors import HeatgraphError
from heatgraph.experiments.compare.child_process import run_child
from heatgraph.experiments.compare.measures import Job
from heatgraph.learning.progress import Progress

# Exit code after SIGKILL, which is how the system frees memory.
SIGKILL_EXIT_CODE = -9


class SubprocessRunError(HeatgraphError):
    """A run in a subprocess gave no result; the message says why."""


def run_in_subprocess(job: Job, report: Progress) -> dict[str, Any]:
    """Run `measure` in a subprocess; raise `SubprocessRunError` if it fails in any way."""
    context = multiprocessing.get_context("spawn")
    parent_end, child_end = context.Pipe()
    process = context.Process(target=run_child, args=(child_end,), daemon=True)
    try:
        process.start()
        child_end.close()
        with contextlib.suppress(ConnectionError):  # reported below, with the exit code
            parent_end.send(job)
        return _receive_result(parent_end, process, report)
    finally:
        # Without a pid, a signal interrupted the start; the child then ends with this process.
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
