"""Memory of this process: its peak, what is not file-backed, and a limit on it.

Everything is read from Linux's /proc; elsewhere figures are None and limits do nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

# Written to /proc/self/clear_refs, it resets the peak resident set size.
RESET_PEAK = "5"
# Share of the memory available now that this process may allocate.
AVAILABLE_SHARE = 0.95
# Seconds between two samples of anonymous memory.
INTERVAL = 0.05


def resident_memory() -> int | None:
    """Resident bytes now."""
    return _read_status("VmRSS")


def peak_memory() -> int | None:
    """The most resident bytes since the last reset."""
    return _read_status("VmHWM")


def anonymous_memory() -> int | None:
    """Resident bytes that no file backs; pages of memory maps are not among them."""
    return _read_status("RssAnon")


def _read_status(name: str) -> int | None:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None


def reset_peak_memory() -> bool:
    """Free what is unused and start measuring the peak anew; False where the system cannot."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    except OSError:
        return False
    return True


def limit_memory() -> None:
    """Make allocations beyond the available memory fail, before the system kills a process."""
    with contextlib.suppress(OSError, ImportError, ValueError):
        import resource

        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limit = int(AVAILABLE_SHARE * 1024 * int(line.split()[1]))
                resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def touch_memory(size: int) -> None:
    """Write to this many bytes and free them.

    A virtual machine returns unused memory to its host, and the next process to touch it waits for
    the page faults.
    """
    with contextlib.suppress(MemoryError):
        np.ones(size, dtype=np.int8)


class AnonymousPeak:
    """A context manager that samples anonymous memory in a thread and keeps the maximum."""

    def __init__(self) -> None:
        self.bytes, self._stop = 0, threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def _sample(self) -> None:
        while not self._stop.wait(INTERVAL):
            self.bytes = max(self.bytes, anonymous_memory() or 0)

    def __enter__(self) -> AnonymousPeak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def run_and_measure(command: Sequence[str | Path]) -> tuple[str, int]:
    """Run a command; return what it prints, and its peak resident bytes.

    The system counts the memory of this process, from before the child replaced it, into the
    child's peak: call this from a process smaller than the command.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {printed}")
    return printed, 1024 * usage.ru_maxrss
