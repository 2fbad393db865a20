"""What commands print: text, JSON, progress, and nothing with --quiet."""

import io
import json
import os
import re
import sys

import pytest
from terminals import Terminal

from heatgraph.cli.options import OutputOptions
from heatgraph.cli.reporter import Reporter

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
TABLES = ("nodes.csv", "edges.csv")
FIXED = ("--T", "2", "--weight-decay", "1e-3")


def test_quiet_commands_print_nothing(model, folder, run):
    for arguments in (
        ("fit", *TABLES, *FIXED, "-o", "p.csv"),
        ("predict", "model", *TABLES, "-o", "p.csv"),
        ("tune", *TABLES, "--T", "1,2", "--weight-decay", "1"),
        ("explain", "model", *TABLES, "--node", "n1"),
        ("diffuse", *TABLES, "--T", "2", "-o", "x_t.npy"),
        ("convert", *TABLES, "-o", "graph.heatgraph"),
        ("info", *TABLES),
        ("datasets",),
        ("datasets", "karate"),
    ):
        done = run(*arguments, "--quiet")
        assert (done.code, done.out, done.err) == (0, "", "")


def test_characters_that_the_encoding_lacks_are_escaped(folder, run, monkeypatch):
    text = (folder / "nodes.csv").read_text(encoding="utf-8")
    (folder / "nodes.csv").write_text(text.replace(",red,", ",Übung,"), encoding="utf-8")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    done = run("info", *TABLES)
    assert (done.code, done.err) == (0, "")
    assert rb"\xdcbung (" in written.getvalue()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_json_survives_any_encoding(run, monkeypatch, encoding):
    monkeypatch.setattr("heatgraph.cli.version.LIBRARIES", ())
    monkeypatch.setattr("heatgraph.__version__", "Übung 日本")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    assert run("version", "--json").code == 0
    assert json.loads(written.getvalue().decode(encoding))["heatgraph"] == "Übung 日本"


def test_nan_and_infinity_are_null_in_json(capsys):
    Reporter(OutputOptions(as_json=True)).json({"list": [float("nan"), 1.5, (float("inf"),)]})
    assert json.loads(capsys.readouterr().out) == {"list": [None, 1.5, [None]]}


def run_in_terminal(start, *arguments):
    """Standard output of a command, and what the terminal behind its standard error shows."""
    terminal = Terminal()
    process = start(*arguments, **terminal.options)
    shown = terminal.read()
    out = process.stdout.read()
    assert process.wait() == 0
    return out.decode(), shown


@posix
def test_a_terminal_shows_progress(folder, start):
    out, shown = run_in_terminal(start, "fit", "nodes.csv", "edges.csv", "--T", "1,2")
    assert "reading nodes.csv and edges.csv" in shown
    assert "trying settings" in shown
    assert re.search("━{10}", shown)
    assert "━" not in out
    assert "Done in" in out


@posix
def test_quiet_shows_no_progress(folder, start):
    assert run_in_terminal(start, "info", "nodes.csv", "edges.csv", "-q") == ("", "")


def test_progress_is_shown_in_this_process_too(folder, run, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    done = run("fit", "nodes.csv", "edges.csv", "--weight-decay", "1e-3", "--T", "1,2")
    assert done.code == 0
    assert "fitting" in done.err


def test_lines_of_progress_stay_out_of_json(folder, run, monkeypatch):
    monkeypatch.setattr("heatgraph.cli.reporter.LINE_INTERVAL", 0.0)
    tune = ("tune", *TABLES, "--T", "1,2", "--weight-decay", "1")
    assert run(*tune).err
    assert json.loads(run(*tune, "-o", "-", "--json").err)["result"]
