import os
import shutil
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from heatgraph.cli import main

COMMAND = Path(sys.executable).with_name("heatgraph.exe" if os.name == "nt" else "heatgraph")
COLOURS = np.array(["red", "green", "blue"])


@dataclass
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


def block_graph(n, d, seed=0):
    """Three groups of nodes, most edges inside; their features, and the ends of their edges."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d))
    X[np.arange(n), y] += 1.0
    src = rng.integers(0, n - 3, 4 * n)
    near = 3 * rng.integers(0, n // 3, 4 * n) + y[src]
    dst = np.where(rng.random(4 * n) < 0.8, near, rng.integers(0, n - 3, 4 * n))
    return COLOURS[y], X, src, dst


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Tables of 100 nodes. The last three have no edge, one edge is there twice, one is a loop."""
    folder = tmp_path_factory.mktemp("tables")
    y, X, src, dst = block_graph(100, 6)
    known = np.random.default_rng(1).random(100) < 0.6
    rows = [
        f"n{at},{y[at] if known[at] else ''},{','.join(f'{value:.4f}' for value in X[at])}"
        for at in range(100)
    ]
    pairs = dict.fromkeys((min(e), max(e)) for e in zip(src, dst, strict=True) if e[0] != e[1])
    pairs = [pair for pair in pairs if pair != (5, 8)]
    lines = [f"n{v},n{w}" for v, w in [*pairs, (5, 8), (5, 8), (7, 7)] if max(v, w) < 97]
    _write(folder / "nodes.csv", "id,label,f0,f1,f2,f3,f4,f5", rows)
    _write(folder / "edges.csv", "source,target", lines)
    return folder


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """Tables whose search takes ten seconds or so."""
    folder = tmp_path_factory.mktemp("large")
    y, X, src, dst = block_graph(6_000, 60)
    rows = [f"{at},{y[at]},{','.join(f'{value:.2f}' for value in X[at])}" for at in range(6_000)]
    edges = [f"{v},{w}" for v, w in zip(src, dst, strict=True)]
    _write(folder / "nodes.csv", ",".join(["id", "label", *(f"f{at}" for at in range(60))]), rows)
    _write(folder / "edges.csv", "source,target", edges)
    return folder


def _write(path, header, rows):
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of the tables, and the place where commands run."""
    for path in made.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch, capfd):
    """Run a command in this process, and leave no trace in it."""

    def call(*arguments):
        numbers = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.getsignal(number) for number in numbers}
        hook = sys.unraisablehook
        monkeypatch.setattr(sys, "argv", ["heatgraph", *map(str, arguments)])
        try:
            with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
                main()
        finally:
            sys.unraisablehook = hook
            for number, handler in handlers.items():
                signal.signal(number, handler)
        return Done(stop.value.code, *capfd.readouterr())

    return call


@pytest.fixture
def script():
    """Where the installed command is."""
    return COMMAND


@pytest.fixture
def command():
    """Run the installed command in a process of its own."""

    def call(*arguments, **options):
        done = subprocess.run(
            [COMMAND, *map(str, arguments)], capture_output=True, encoding="utf-8", **options
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def start():
    """Start the installed command, and see to it that it does not outlive the test."""
    started = []

    def call(*arguments, **options):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        started.append(subprocess.Popen([COMMAND, *map(str, arguments)], **pipes))
        return started[-1]

    yield call
    for process in started:
        with process:
            process.kill()


@pytest.fixture
def model(folder, run):
    """A model of the tables, with settings that were not searched for."""
    done = run("fit", "nodes.csv", "edges.csv", "--T", 2, "--weight-decay", 1e-3, "-m", "model",
               "-q")  # fmt: skip
    assert done == Done(0, "", "")
    return folder / "model"
