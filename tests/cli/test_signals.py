"""Signals stop a command cleanly at any time."""

import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from processes import start as start_process
from terminals import Terminal

from heatgraph.cli import entry_point

pytestmark = pytest.mark.signals
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")

# Far beyond what any of these takes: it ends a test that hangs.
TIMEOUT = 300
# Candidates of T that take minutes to try.
MANY_CANDIDATES = ",".join(f"{T / 100:.2f}" for T in range(10_000))


@posix
@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (signal.SIGINT, 130, "stopped; no file was left incomplete."),
        (signal.SIGTERM, 143, ""),
    ],
)
def test_a_signal_stops_a_search(folder, start, number, code, message):
    (folder / "p.csv").write_bytes(b"from an earlier run")
    before = sorted(path.name for path in folder.iterdir())
    terminal = Terminal()
    process = start("fit", "nodes.csv", "edges.csv", "--T", MANY_CANDIDATES, "-o", "p.csv",
                    **terminal.options)  # fmt: skip
    terminal.read_until("trying settings")
    process.send_signal(number)
    shown = terminal.read()
    assert process.wait(TIMEOUT) == code
    assert message in shown
    assert "Traceback" not in shown
    assert b"Done in" not in process.stdout.read()
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / "p.csv").read_bytes() == b"from an earlier run"


@posix
@pytest.mark.parametrize(
    "module", ["typer", "numpy", "heatgraph.tables.from_tables", "heatgraph.learning.classifier"]
)
def test_an_interrupt_at_any_time_prints_no_traceback(folder, start, module):
    """While libraries are imported, tables are read and code is compiled."""
    process = start("fit", "nodes.csv", "edges.csv", "--T", "2", "--weight-decay", "1", "-q",
                    "-o", "p.csv", env=os.environ | {"PYTHONPROFILEIMPORTTIME": "1"})  # fmt: skip
    for line in process.stderr:
        if line.rsplit(b"|", 1)[-1].strip() == module.encode():
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=TIMEOUT)
    assert b"Traceback" not in errors
    assert b"KeyboardInterrupt" not in errors
    # The last import may come so late that the command has ended before the signal.
    assert process.returncode in (130, 0, -signal.SIGINT)
    assert not list(folder.glob(".*"))


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lost_in_a_c_callback_is_sent_again(number):
    """Numba's callbacks lose it: Python can only report the exception as unraisable."""
    code = f"""
import ctypes, signal, sys, time
import heatgraph.cli, heatgraph.cli.app
def lose_signal():
    signal.raise_signal({int(number)})
    for _ in range(1000): pass
def run(*_, **__):
    ctypes.CFUNCTYPE(None)(lose_signal)()
    for _ in range(300): time.sleep(0.1)
heatgraph.cli.app.app = run
heatgraph.cli.main()
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start_process([sys.executable, "-c", code], **pipes) as process:
        _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 128 + number, errors
    assert b"Traceback" not in errors


# A minute of compiled code, during which Python raises nothing, and a handler at the end of Python.
BUSY = """
import atexit, hashlib, signal, sys
import heatgraph.cli, heatgraph.cli.app
from heatgraph._io.atomic_files import atomic_write
from heatgraph._io.file_lock import FileLock
from pathlib import Path
atexit.register(print, "interpreter ends", flush=True)
def run(*_, **__):
    with FileLock(Path("folder/lock"), Path("result")), atomic_write("result") as file:
        file.write(b"half")
        print("ready", flush=True)
        {wait}
heatgraph.cli.app.app = run
heatgraph.cli.main()
"""


@posix
@pytest.mark.parametrize("wait", ["hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)", "input()"])
@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, b"stopped; no file was left incomplete."), (signal.SIGTERM, 143, b"")],
)
def test_a_signal_ends_a_command_that_is_busy_in_compiled_code(
    tmp_path, number, code, message, wait
):
    """And no time is spent on freeing memory."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    arguments = [sys.executable, "-c", BUSY.format(wait=wait)]
    with start_process(arguments, cwd=tmp_path, **pipes) as process:
        process.stdout.readline()
        process.send_signal(number)
        try:
            printed, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == code
    assert message in errors
    assert b"Traceback" not in errors
    assert b"interpreter ends" not in printed
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_other_unraisable_errors_are_printed(monkeypatch):
    printed = []
    monkeypatch.setattr("sys.__unraisablehook__", printed.append)
    unraisable = SimpleNamespace(exc_type=ValueError)
    entry_point._resend_lost_signal(unraisable)
    assert printed == [unraisable]


@posix
def test_lost_signals_are_sent_again_from_another_thread(monkeypatch):
    sent, both = [], threading.Barrier(3)

    def interrupt_main(number):
        sent.append(number)
        both.wait(TIMEOUT)

    monkeypatch.setattr("_thread.interrupt_main", interrupt_main)
    for kind in (KeyboardInterrupt, SystemExit):
        entry_point._resend_lost_signal(SimpleNamespace(exc_type=kind))
    both.wait(TIMEOUT)
    assert sorted(sent) == [signal.SIGINT, signal.SIGTERM]
