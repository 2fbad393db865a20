"""Child processes: messages of exceptions, and their end."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from processes import start

from heatgraph._io.memory import require_memory
from heatgraph.experiments.compare.child_process import run_job


def silent(*_):
    pass


def raising(error):
    """Receives no job but an error."""

    def receive():
        raise error

    return receive


@pytest.mark.parametrize(
    ("receive", "message"),
    [
        (raising(MemoryError()), r"there was not enough memory\.$"),
        (lambda: np.empty(1 << 50), "there was not enough memory. Unable to allocate 8.00 PiB"),
        (lambda: require_memory("it", 1e18), "it needs .*, and this machine has"),
        (lambda: int("x"), "ValueError: invalid literal"),
        (raising(RuntimeError("can't allocate memory")), "not enough memory: RuntimeError: can't"),
    ],
)
def test_exceptions_become_messages(receive, message):
    kind, text = run_job(receive, silent)
    assert kind == "failed"
    assert re.match(message, text)


PARENT = """
import ctypes, multiprocessing, os
from heatgraph.experiments.compare.child_process import die_with_parent
def busy():
    die_with_parent()
    print(os.getpid(), flush=True)
    ctypes.PyDLL(None).sleep(120)  # with the GIL, so that no other thread gets to run
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=busy, daemon=True)
    process.start()
    process.join()
"""


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # dead, but not yet waited for


@pytest.mark.slow
@pytest.mark.signals
@pytest.mark.skipif(sys.platform != "linux", reason="the signal of a parent's death is Linux's")
def test_a_busy_child_dies_with_its_killed_parent(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    arguments = [sys.executable, tmp_path / "parent.py"]
    with start(arguments, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child)


def test_the_child_watches_its_parent_before_it_imports_much():
    code = "import sys, heatgraph.experiments.compare.child_process as _; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "heatgraph.experiments.compare.child_process" in loaded.split()
    assert not {"numpy", "scipy", "sklearn"} & set(loaded.split())
