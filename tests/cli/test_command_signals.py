"""The command and its surroundings: start-up, terminals, pipes and signals."""

import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import heatgraph.cli

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has neither signals nor terminals")


@posix
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, b"heatgraph: stopped; nothing was left half written.\n"),
        (signal.SIGTERM, 143, b""),
    ],
)
def test_a_signal_stops_a_search_at_once(large, tmp_path, start, number, code, said):
    (tmp_path / "p.csv").write_bytes(b"what was there before")
    process = start("fit", large / "nodes.csv", large / "edges.csv", "-o", "p.csv", cwd=tmp_path)
    for line in process.stdout:
        if line.startswith(b"  unlabelled"):
            break
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(number)
    began = time.perf_counter()
    _, err = process.communicate(timeout=20)
    assert time.perf_counter() - began < 2
    assert process.returncode == code
    assert err == said
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]
    assert (tmp_path / "p.csv").read_bytes() == b"what was there before"


@posix
@pytest.mark.parametrize("delay", [0.15, 0.4, 0.8, 1.2])
def test_a_signal_at_any_time_shows_no_traceback(folder, start, delay):
    """While it imports, compiles or writes; the last few may come when all is done."""
    process = start("fit", "nodes.csv", "edges.csv", "--T", "2", "--weight-decay", "1", "-q",
                    "-o", "p.csv")  # fmt: skip
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert b"Traceback" not in err
    assert b"KeyboardInterrupt" not in err
    assert process.returncode in (130, 0, -signal.SIGINT)
    assert not list(folder.glob(".*"))


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_is_lost_in_a_call_from_c_comes_again(number):
    """Numba's callbacks lose it: Python can only report that it was raised in vain."""
    code = f"""
import ctypes, signal, sys, time, typer
import heatgraph.cli, heatgraph.cli.app
def lost():
    signal.raise_signal({int(number)})
    for _ in range(1000): pass
def run(*_, **__):
    ctypes.CFUNCTYPE(None)(lost)()
    for _ in range(200): time.sleep(0.1)
heatgraph.cli.app.app = run
heatgraph.cli.main()
"""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=15)
    assert done.returncode == 128 + number, done.stderr
    assert b"Traceback" not in done.stderr
    assert time.perf_counter() - began < 10


def test_other_complaints_of_the_kind_are_shown(monkeypatch):
    shown = []
    monkeypatch.setattr("sys.__unraisablehook__", shown.append)
    complaint = SimpleNamespace(exc_type=ValueError)
    heatgraph.cli._raised_in_vain(complaint)
    assert shown == [complaint]


@posix
def test_lost_signals_are_sent_again_from_another_thread(monkeypatch):
    sent = []
    monkeypatch.setattr("_thread.interrupt_main", sent.append)
    for kind in (KeyboardInterrupt, SystemExit):
        heatgraph.cli._raised_in_vain(SimpleNamespace(exc_type=kind))
    time.sleep(0.3)
    assert sorted(sent) == [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "heatgraph: stopped; nothing was left half written.\n"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_what_stops_a_command_has_its_exit_code(run, monkeypatch, raised, code, said):
    def stop(*_):
        raise raised

    monkeypatch.setattr("heatgraph.cli.console.Voice.say", stop)
    done = run("version")
    assert (done.code, done.out, done.err) == (code, "", said)


def test_a_prompt_that_is_refused_counts_as_ctrl_c(run, monkeypatch):
    import typer

    def stop(*_):
        raise typer.Abort

    monkeypatch.setattr("heatgraph.cli.console.Voice.say", stop)
    assert run("version").code == 130


def test_termination_in_this_process(run, monkeypatch):
    monkeypatch.setattr(
        "heatgraph.cli.console.Voice.say", lambda *_: signal.raise_signal(signal.SIGTERM)
    )
    done = run("version")
    assert (done.code, done.out, done.err) == (143, "", "")


def test_output_that_cannot_be_flushed_is_dropped(run, monkeypatch, tmp_path):
    def full():
        raise OSError(28, "No space left on device")

    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", file)
        monkeypatch.setattr(heatgraph.cli, "_run", lambda _: 1)
        monkeypatch.setattr(heatgraph.cli, "_is_written", lambda: False)
        assert run("version").code == 1
        file.write("lost")
    assert (tmp_path / "out").read_text(encoding="utf-8") == ""
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=full))
    assert not heatgraph.cli._is_written()


@posix
@pytest.mark.parametrize("arguments", [("datasets",), ("datasets", "--json"), ("--help",)])
def test_a_closed_pipe_ends_it_quietly(start, arguments):
    reader, writer = os.pipe()
    process = start(*arguments, stdout=writer)
    os.close(writer)
    os.close(reader)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 141
    assert err == b""


@posix
def test_predictions_that_nobody_reads_end_it_quietly(model, run, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        done = run("predict", "model", "nodes.csv", "edges.csv", "-o", "-", "-q")
    assert (done.code, done.err) == (141, "")


def test_missing_streams_are_made_up_for(run, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    done = run("version")
    sys.stdout.close()
    assert (done.code, done.out, done.err) == (0, "", "")


@posix
@pytest.mark.parametrize("closed", ["1", "2"])
def test_closed_streams_do_no_harm(script, closed):
    line = f'"{script}" version {closed}>&-'
    done = subprocess.run(["sh", "-c", line], capture_output=True, encoding="utf-8")
    assert done.returncode == 0
    assert done.stderr == ""
    assert ("numpy" in done.stdout) == (closed == "2")


@pytest.mark.parametrize("arguments", [("--help",), ("fit", "--help"), ("version",)])
def test_help_and_version_come_at_once(command, arguments):
    began = time.perf_counter()
    done = command(*arguments)
    assert time.perf_counter() - began < 2  # a third of a second when the machine is idle
    assert done.code == 0
    assert done.err == ""
    code = f"import sys; sys.argv[1:] = {list(arguments)}; from heatgraph.cli import main\n" + (
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    modules = set(found.stderr.split())
    assert "heatgraph.cli.app" in modules
    assert not modules & {"numpy", "scipy", "sklearn", "pyarrow", "matplotlib", "numba"}


def at_a_terminal(start, *arguments):
    """What a command shows on a terminal that takes its standard error."""
    import pty

    ours, theirs = pty.openpty()
    process = start(*arguments, stderr=theirs, env=os.environ | {"TERM": "xterm", "COLUMNS": "99"})
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 4096):
            shown += block
    except OSError:  # Linux's way to say that the other side is closed
        pass
    os.close(ours)
    out = process.stdout.read()
    assert process.wait() == 0
    return out.decode(), shown.decode()


@posix
def test_a_terminal_shows_progress(folder, start):
    out, shown = at_a_terminal(start, "fit", "nodes.csv", "edges.csv", "--weight-decay", "1e-3")
    assert "reading nodes.csv and edges.csv" in shown
    assert "trying settings" in shown
    assert re.search("━{10}", shown)
    assert "━" not in out
    assert "Done in" in out


@posix
def test_a_terminal_shows_nothing_if_that_is_wanted(folder, start):
    assert at_a_terminal(start, "info", "nodes.csv", "edges.csv", "-q") == ("", "")


def test_progress_is_shown_in_this_process_too(folder, run, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    done = run("fit", "nodes.csv", "edges.csv", "--weight-decay", "1e-3", "--T", "1,2")
    assert done.code == 0
    assert "fitting" in done.err
