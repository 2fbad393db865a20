"""The child process of a run: it receives a job, sends the result, and dies with its parent.

This module imports little, so that the child watches its parent before imports that take seconds.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heatgraph.experiments.compare.measures import Job
    from heatgraph.learning.progress import FitProgress, Progress

# Seconds between two progress messages.
PROGRESS_INTERVAL = 0.2
# Linux: the signal to send to a process when its parent dies (prctl(2)).
PR_SET_PDEATHSIG = 1


def run_child(connection: Connection) -> None:
    """Receive a job, run it, and send the result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this one
    die_with_parent()
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

    connection.send(run_job(connection.recv, report))
    connection.close()


def run_job(receive: Callable[[], Job], report: Progress) -> tuple[str, Any]:
    """("result", measures), or ("failed", message) if any exception is raised."""
    from heatgraph.errors import HeatgraphError
    from heatgraph.experiments.compare.measures import measure

    try:
        return "result", measure(receive(), report)
    except HeatgraphError as error:
        return "failed", str(error)
    except MemoryError as error:
        return "failed", f"there was not enough memory. {error}".strip()
    except Exception as error:
        short = "can't allocate memory" in str(error)  # how torch reports it
        return "failed", f"{'not enough memory: ' * short}{type(error).__name__}: {error}"


def die_with_parent() -> None:
    """End this process when its parent ends, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    # Everywhere, by a pipe that the parent holds open, once a thread gets to run.
    threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent.pid:  # it died before that
            os._exit(1)


def _exit_after(parent: Any) -> None:
    parent.join()
    os._exit(1)
