"""Nothing that a user's data holds makes a terminal do anything."""

import json
import re
import sys
import unicodedata

import pytest
from terminals import Terminal

from heatgraph.cli.printable import printable, printable_json

# What a terminal obeys, or what hides and reverses text.
HOSTILE = [chr(code) for code in (*range(10), *range(11, 32), *range(127, 160))]
HOSTILE += list("\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
BAD = "\x1b[2J\x9b31m\u202e\r\x07"
posix = pytest.mark.skipif(sys.platform == "win32", reason="such names are not allowed there")


def test_control_characters_become_escapes():
    for mark in HOSTILE:
        shown = printable(f"a{mark}b")
        assert shown.isascii()
        assert shown.isprintable()
        assert (
            json.loads(printable_json(json.dumps(f"a{mark}b", ensure_ascii=False))) == f"a{mark}b"
        )
    assert printable("line\n日本é") == "line\n日本é"


def is_harmless(text):
    kinds = {unicodedata.category(mark) for mark in text if mark != "\n"}
    return not kinds & {"Cc", "Zl", "Zp"} and not set(text) & set(HOSTILE)


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Tables with such characters in labels, ids, and names of columns and files."""
    monkeypatch.chdir(tmp_path)
    names = f"nodes{BAD}.csv", f"edges{BAD}.csv"
    rows = [f'"n{BAD}{at}","{"ab"[at % 2]}{BAD}",{at % 3},5' for at in range(40)]
    header = f'"id","label","x{BAD}","constant{BAD}"'
    edges = [f'"n{BAD}{at}","n{BAD}{(at + 2) % 40}"' for at in range(40)]
    for name, lines in zip(names, ([header, *rows], ["source,target", *edges]), strict=True):
        (tmp_path / name).write_text("\n".join([*lines, ""]), encoding="utf-8", newline="")
    return names


@posix
@pytest.mark.parametrize(
    "arguments",
    [
        ("info", "{}", "{}"),
        ("info", "{}", "{}", "--json"),
        ("fit", "{}", "{}", "--T", "1", "--weight-decay", "1", "-o", f"p{BAD}.csv"),
        ("fit", "{}", "{}", "--label", f"no{BAD}"),
        ("fit", "{}", "{}", "--label", f"no{BAD}", "--debug"),
        ("fit", "{}", f"missing{BAD}.csv"),
        ("info", f"missing{BAD}"),
        ("info", "{}", "{}", f"--un{BAD}known"),
    ],
)
def test_commands_print_them_as_escapes(hostile, run, arguments):
    names = iter(hostile)
    done = run(*(next(names) if one == "{}" else one for one in arguments))
    assert is_harmless(done.out)
    assert is_harmless(done.err)
    assert "\\x1b[2J" in done.out + done.err or "\\u001b[2J" in done.out


@posix
def test_progress_shows_them_as_escapes(hostile, start, tmp_path):
    # Square brackets are markup to the library that draws progress.
    nodes = (tmp_path / hostile[0]).rename(tmp_path / f"[red]{BAD}.csv").name
    terminal = Terminal()
    process = start("info", nodes, hostile[1], **terminal.options)
    shown = terminal.read()
    assert process.wait() == 0
    assert "reading [red]\\x1b[2J" in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


@posix
def test_warnings_show_them_as_escapes(hostile, run, tmp_path):
    content = (tmp_path / hostile[0]).read_bytes()
    (tmp_path / "nodes.csv").write_bytes(content.replace(b'"a', b'"=a'))
    settings = ("--T", "1", "--weight-decay", "1", "-o", f"p{BAD}.csv")
    done = run("fit", "nodes.csv", hostile[1], *settings)
    assert "warning: p\\x1b[2J" in done.err
    assert is_harmless(done.err)


@posix
def test_reports_hold_names_as_text(hostile, run, tmp_path):
    nodes = (tmp_path / hostile[0]).rename(tmp_path / "<img src=x onerror=alert(1)>*.csv").name
    settings = ("--T", "1", "--weight-decay", "1")
    for report in ("report.md", "report.html"):
        assert run("fit", nodes, hostile[1], *settings, "--report", report).code == 0
        text = (tmp_path / report).read_text(encoding="utf-8")
        text = re.sub("`[^`]*`", "", text)  # code holds any text
        assert "<img src=x" not in text.replace("\\<img", "")
        assert is_harmless(text)
