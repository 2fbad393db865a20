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
from processes import start as start_process

import heatgraph as hg
from heatgraph.cli import main

COMMAND = Path(sys.executable).with_name("heatgraph.exe" if os.name == "nt" else "heatgraph")
COLOURS = np.array(["red", "green", "blue"])


@dataclass
class Result:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def words(self):
        """What was printed to standard output, on one line with single spaces."""
        return " ".join(self.out.split())


def block_graph(n, d, seed=0):
    """Labels, features, sources and targets of a graph of three blocks."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d))
    X[np.arange(n), y] += 1.0
    src = rng.integers(0, n - 3, 4 * n)
    near = 3 * rng.integers(0, n // 3, 4 * n) + y[src]
    dst = np.where(rng.random(4 * n) < 0.8, near, rng.integers(0, n - 3, 4 * n))
    return COLOURS[y], X, src, dst


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """Tables of 100 nodes: three are isolated, one edge is repeated, one is a self-loop."""
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


def _write(path, header, rows):
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")


@pytest.fixture
def folder(tables, tmp_path, monkeypatch):
    """A copy of the tables, which is the working directory."""
    for path in tables.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch, capfd):
    """Run a command in this process, and restore its signal handlers."""

    def call(*arguments):
        numbers = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.getsignal(number) for number in numbers}
        hook = sys.unraisablehook
        monkeypatch.setattr(sys, "argv", ["heatgraph", *map(str, arguments)])
        monkeypatch.setattr("heatgraph.cli.entry_point.exit_now", sys.exit)
        try:
            with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
                main()
        finally:
            sys.unraisablehook = hook
            for number, handler in handlers.items():
                signal.signal(number, handler)
        return Result(stop.value.code, *capfd.readouterr())

    return call


@pytest.fixture
def script():
    """Path of the installed command."""
    return COMMAND


@pytest.fixture
def command():
    """Run the installed command in a process of its own."""

    def call(*arguments, **options):
        done = subprocess.run(
            [COMMAND, *map(str, arguments)], capture_output=True, encoding="utf-8", **options
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def start():
    """Start the installed command; it is killed if it outlives the test."""
    started = []

    def call(*arguments, **options):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        started.append(start_process([COMMAND, *map(str, arguments)], **pipes))
        return started[-1]

    yield call
    for process in started:
        with process:
            process.kill()


@pytest.fixture(scope="session")
def fitted_model(tables, tmp_path_factory):
    """A model of the tables with fixed settings."""
    data = hg.from_tables(tables / "nodes.csv", tables / "edges.csv")
    path = tmp_path_factory.mktemp("model") / "model"
    model = hg.DGCClassifier(T=2.0, weight_decay=1e-3, random_state=0)
    model.fit(data.graph, data.labels).save(path)
    return path


@pytest.fixture
def model(fitted_model, folder):
    """A copy of the fitted model, beside the tables."""
    return shutil.copy(fitted_model, folder / "model")
