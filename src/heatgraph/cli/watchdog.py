"""End an interrupted command within a second, whatever its main thread is doing.

Python raises KeyboardInterrupt between two instructions of the main thread. Compiled code and joins
of worker threads delay it, and so does the end of the interpreter, which frees all memory. So a
thread is woken by the signal itself, gives the main thread a moment to end in order, and ends the
process if it has not.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable

# Seconds for the main thread to end in order, after a signal.
GRACE = 0.4
STOP = 0  # no signal has this number


class Watchdog:
    """Calls `end` with the number of a signal that the main thread does not obey in time."""

    def __init__(self, end: Callable[[int], None]) -> None:
        self.received: int | None = None
        self._end, self._finished = end, threading.Event()
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def finish(self) -> bool:
        """Stop watching; return whether a signal came."""
        self._finished.set()
        signal.set_wakeup_fd(self._before)
        self._writer.send(bytes([STOP]))
        self._thread.join()
        self._reader.close()
        self._writer.close()
        return self.received is not None

    def _watch(self) -> None:
        while (number := self._reader.recv(1)[0]) != STOP:
            if number in (signal.SIGINT, signal.SIGTERM):
                self.received = number
                if not self._finished.wait(GRACE):
                    self._end(number)


def clean_up() -> None:
    """Delete temporary files, end locks and kill child processes, as the main thread would."""
    # What was never imported has nothing to clean up.
    for name, function in (
        ("heatgraph._io.atomic_files", "delete_open_files"),
        ("heatgraph._io.file_lock", "release_all"),
    ):
        if name in sys.modules:
            getattr(sys.modules[name], function)()
    if "multiprocessing" in sys.modules:
        for child in sys.modules["multiprocessing"].active_children():
            child.kill()


def exit_now(code: int) -> None:
    """End the process without freeing its memory, which takes up to seconds on a busy machine."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # closed
            continue
    os._exit(code)
