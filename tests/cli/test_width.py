"""Reports and help fit a terminal of 80 columns, with long names too."""

import re

import numpy as np
import pytest

CLASSES = (
    "Department of Long Names and Internal Affairs",
    "Ministry of Quite Another Matter Altogether",
    "red",
)
TABLES = ("nodes.csv", "edges.csv")
COMMANDS = ("fit", "predict", "evaluate", "tune", "explain", "explore", "diffuse", "convert",
            "info", "datasets", "demo", "compare", "paper", "version")  # fmt: skip


@pytest.fixture
def long_names(tmp_path, monkeypatch):
    """Tables whose classes, features and nodes have long names."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 5))
    X[np.arange(120), y] += 1
    parts = rng.choice(["train", "val", "test"], 120)
    names = [f"the_name_of_feature_number_{at}" for at in range(5)]
    rows = [",".join(["identifier", "label", "split", *names])]
    rows += [
        ",".join([f"the-node-{at}", CLASSES[y[at]], parts[at], *(f"{x:.3f}" for x in X[at])])
        for at in range(120)
    ]
    src = rng.integers(0, 120, 400)
    dst = np.where(rng.random(400) < 0.8, 3 * rng.integers(0, 40, 400) + y[src], src[::-1])
    ends = [f"the-node-{v},the-node-{w}" for v, w in zip(src, dst, strict=True)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "nodes.csv").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *ends]), encoding="utf-8")
    return tmp_path


def assert_narrow(done, width=80):
    assert done.code == 0, done.err
    wide = [line for line in done.out.splitlines() if len(line) > width]
    assert not wide


def test_reports(long_names, run):
    assert_narrow(run("fit", *TABLES, "-o", "p.csv", "-m", "model"))
    assert_narrow(run("tune", *TABLES))
    assert_narrow(run("info", *TABLES))
    assert_narrow(run("evaluate", "model", *TABLES))
    assert_narrow(run("predict", "model", *TABLES, "-o", "q.csv"))
    assert_narrow(run("explain", "model", *TABLES, "--node", "the-node-3"))
    assert_narrow(run("diffuse", *TABLES, "--T", "2", "-o", "x_t.npy"))
    assert_narrow(run("convert", *TABLES, "-o", "graph.heatgraph"))
    assert_narrow(run("datasets"))
    assert_narrow(run("datasets", "karate"))
    assert_narrow(run("version"))


def test_classes_with_long_names_have_numbers_in_the_confusion_matrix(long_names, run):
    done = run("fit", *TABLES, "--T", "2", "--weight-decay", "1e-3")
    assert re.search(r"\n +1 +2 +3\n  1 Department of Long Names", done.out)


def test_a_narrow_terminal(long_names, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert_narrow(run("info", *TABLES), 60)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help(name, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*filter(None, [name, "--help"]))
    assert_narrow(done)
    assert "<bool>" not in done.out
    assert "\x1b[" not in done.out
