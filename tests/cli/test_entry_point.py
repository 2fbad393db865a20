"""Exit codes, errors, streams and start-up of the command."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from heatgraph.cli import entry_point

FIT = ("fit", "nodes.csv", "edges.csv", "--T", "2", "--weight-decay", "1e-3")
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")


def test_debug_prints_the_traceback(folder, run):
    done = run(*FIT, "--label", "lable", "--debug")
    assert done.code == 1
    assert done.err.startswith("Traceback")
    assert "columns.py" in done.err
    assert done.err.splitlines()[-1].startswith("heatgraph: nodes.csv has no column 'lable'.")


def test_internal_errors_ask_for_a_report(folder, run, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr("heatgraph.tables.from_tables.read_tables", broken)
    done = run(*FIT)
    assert done.code == 70
    assert done.err == (
        "heatgraph: internal error, ZeroDivisionError: by nought. Run the command again "
        "with --debug and report what it prints.\n"
    )
    done = run(*FIT, "--debug")
    assert done.code == 70
    assert done.err.startswith("Traceback")


def test_out_of_memory(folder, run, monkeypatch):
    def greedy(*_):
        raise MemoryError

    monkeypatch.setattr("heatgraph.tables.from_tables.read_tables", greedy)
    done = run(*FIT)
    assert done.code == 1
    assert done.err.startswith("heatgraph: there is not enough memory.")


def test_without_a_command_there_is_help(run):
    done = run()
    assert done.code in (0, 2)  # versions of typer differ
    assert "Commands" in done.out + done.err


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "heatgraph: stopped; no file was left incomplete.\n"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_exit_codes_of_interruptions(run, monkeypatch, raised, code, message):
    def stop(*_):
        raise raised

    monkeypatch.setattr("heatgraph.cli.reporter.Reporter.print", stop)
    done = run("version")
    assert (done.code, done.out, done.err) == (code, "", message)


def test_an_aborted_prompt_counts_as_ctrl_c(run, monkeypatch):
    import typer

    def stop(*_):
        raise typer.Abort

    monkeypatch.setattr("heatgraph.cli.reporter.Reporter.print", stop)
    assert run("version").code == 130


def test_termination_in_this_process(run, monkeypatch):
    monkeypatch.setattr(
        "heatgraph.cli.reporter.Reporter.print", lambda *_: signal.raise_signal(signal.SIGTERM)
    )
    done = run("version")
    assert (done.code, done.out, done.err) == (143, "", "")


def test_output_that_cannot_be_flushed_is_dropped(run, monkeypatch, tmp_path):
    def full():
        raise OSError(28, "No space left on device")

    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", file)
        monkeypatch.setattr(entry_point, "_run", lambda _: 1)
        monkeypatch.setattr(entry_point, "_flush_stdout", lambda: False)
        assert run("version").code == 1
        file.write("lost")
    assert (tmp_path / "out").read_text(encoding="utf-8") == ""
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=full))
    assert not entry_point._flush_stdout()


@posix
@pytest.mark.parametrize("arguments", [("datasets",), ("datasets", "--json"), ("--help",)])
def test_a_closed_pipe_ends_the_command_quietly(start, arguments):
    reader, writer = os.pipe()
    process = start(*arguments, stdout=writer)
    os.close(writer)
    os.close(reader)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 141
    assert err == b""


@posix
def test_predictions_into_a_closed_pipe_end_the_command_quietly(model, run, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        done = run("predict", "model", "nodes.csv", "edges.csv", "-o", "-", "-q")
    assert (done.code, done.err) == (141, "")


def test_missing_streams_are_replaced(run, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    done = run("version")
    sys.stdout.close()
    assert (done.code, done.out, done.err) == (0, "", "")


@posix
@pytest.mark.parametrize("closed", ["1", "2"])
def test_closed_streams_are_no_error(script, closed):
    line = f'"{script}" version {closed}>&-'
    done = subprocess.run(["sh", "-c", line], capture_output=True, encoding="utf-8")
    assert done.returncode == 0
    assert done.stderr == ""
    assert ("numpy" in done.stdout) == (closed == "2")


@pytest.mark.parametrize("arguments", [("--help",), ("fit", "--help"), ("version",)])
def test_help_and_version_import_nothing_heavy(arguments):
    code = f"import sys; sys.argv[1:] = {list(arguments)}; from heatgraph.cli import main\n" + (
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert done.returncode == 0
    assert done.stdout
    (modules,) = (set(line.split()) for line in done.stderr.splitlines())
    assert "heatgraph.cli.app" in modules
    assert not modules & {"numpy", "scipy", "sklearn", "pyarrow", "matplotlib", "numba"}


@posix
def test_too_little_address_space_is_told_first(folder, command):
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))

    done = command("info", "nodes.csv", "edges.csv", preexec_fn=limit)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("heatgraph: a process of heatgraph needs 3.2 GB of address space")
    assert done.err.endswith("and may have 1.1 GB. Raise the limit (ulimit -v 3145728).\n")
