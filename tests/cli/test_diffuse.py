"""``heatgraph diffuse``: diffused features as a NumPy file."""

import json
import os
import re
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from table_files import assert_error, read_rows
from terminals import Terminal

import heatgraph as hg
from heatgraph._engine.checkpoint import Checkpoint
from heatgraph._io.formatting import format_bytes

TABLES = ("nodes.csv", "edges.csv")


def read_graph():
    return hg.from_tables(*TABLES).graph


@pytest.fixture
def graph_file(folder):
    """The graph of the tables as a file, and the least budget, which makes several panels."""
    path = folder / "graph.heatgraph"
    read_graph().save(path)
    graph = hg.Graph.load(path)
    budget = next(budget for budget in range(100, 10**6, 100) if fits(graph, budget))
    assert len(plan(graph, budget).panels) > 2
    return path, graph, budget


def plan(graph, budget):
    return hg.plan(graph, T=2.0, out="x_t.npy", memory_budget=budget)


def fits(graph, budget):
    try:
        plan(graph, budget)
    except hg.errors.MemoryBudgetError:
        return False
    return True


def test_tables(folder, run):
    done = run("diffuse", *TABLES, "--T", "2", "-o", "x_t.npy")
    assert (done.code, done.err) == (0, "")
    graph = read_graph()
    X_T = np.load("x_t.npy")
    np.testing.assert_array_equal(X_T, hg.diffuse(graph, T=2.0))
    assert [row["id"] for row in read_rows(folder / "x_t.ids.csv")] == graph.node_ids.tolist()
    expected = hg.plan(graph, T=2.0, out="x_t.npy")
    assert "features 6 f0, f1, f2, f3, ... (detected)" in done.words
    assert f"products {expected.products} Chebyshev degree {expected.degree}" in done.words
    assert f"error at most {expected.error_bound:.1e}" in done.words
    assert "Wrote X_T, 100 x 6 of float32 (2.5 kB), to x_t.npy in " in done.words
    assert "Wrote the ids of its rows to x_t.ids.csv" in done.out


def test_options_reach_the_engine(folder, run):
    done = run("diffuse", *TABLES, "--T", "2", "--K", "40", "--scheme", "rk4", "--no-self-loops",
               "--dtype", "float64", "--tol", "1e-10", "--threads", "1", "-o", "x_t.npy",
               "--ids", "rows.parquet", "--json")  # fmt: skip
    assert done.code == 0, done.err
    graph = read_graph()
    settings = {"T": 2.0, "K": 40, "scheme": "rk4", "self_loops": False, "tol": 1e-10,
                "dtype": np.float64}  # fmt: skip
    np.testing.assert_array_equal(np.load("x_t.npy"), hg.diffuse(graph, **settings))
    assert pq.read_table("rows.parquet")["id"].to_pylist() == graph.node_ids.tolist()
    report = json.loads(done.out)
    expected = hg.plan(graph, **settings, out="x_t.npy")
    assert report["plan"]["scheme"] == "RungeKutta4(T=2.0, K=40)"
    assert report["plan"]["threads"] == 1
    diffused = report["diffused"]
    assert diffused["shape"] == [100, 6]
    assert diffused["dtype"] == "float64"
    assert diffused["bytes"] == (folder / "x_t.npy").stat().st_size
    assert diffused["products"] == expected.products * len(expected.panels)
    assert diffused["error_bound"] == expected.error_bound <= 1e-10
    assert report["wrote"] == {"diffused": "x_t.npy", "ids": "rows.parquet"}
    assert report["warnings"] == []


def test_rows(folder, run):
    (folder / "rows.txt").write_text("n7\nn3\nn99\n", encoding="utf-8")
    done = run("diffuse", *TABLES, "--T", "2", "--rows", "rows.txt", "-o", "x_t.npy")
    assert done.code == 0, done.err
    expected = hg.diffuse(read_graph(), T=2.0, rows=[7, 3, 99])
    np.testing.assert_allclose(np.load("x_t.npy"), expected, atol=1e-6)
    assert [row["id"] for row in read_rows(folder / "x_t.ids.csv")] == ["n7", "n3", "n99"]


def test_a_data_set_without_features_gives_the_kernel(folder, run):
    done = run("diffuse", "karate", "--T", "2", "-o", "x_t.npy")
    assert done.code == 0, done.err
    assert "none: X_T is the kernel, nodes by nodes" in done.out
    np.testing.assert_array_equal(
        np.load("x_t.npy"), hg.diffuse(hg.load_dataset("karate").graph, T=2.0)
    )
    assert not (folder / "x_t.ids.csv").exists()
    run("diffuse", "karate", "--T", "2", "-o", "x_t.npy", "--ids", "rows.csv")
    assert [row["id"] for row in read_rows(folder / "rows.csv")] == [str(at) for at in range(34)]


def test_the_plan_alone_computes_nothing(folder, run, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the diffusion was run")

    monkeypatch.setattr("heatgraph.diffusion.diffuse", refuse)
    before = sorted(folder.iterdir())
    done = run("diffuse", *TABLES, "--T", "2", "--plan")
    assert done.code == 0, done.err
    assert "Plan: Heat(T=2.0)\n  products" in done.out
    assert run("diffuse", *TABLES, "--T", "2", "--plan", "-o", "x_t.npy").code == 0
    assert sorted(folder.iterdir()) == before


def test_an_unfinished_run_is_resumed(graph_file, run, monkeypatch):
    path, graph, budget = graph_file
    arguments = ("diffuse", path, "--T", "2", "--memory-budget", budget, "-o", "x_t.npy")
    panels = len(plan(graph, budget).panels)
    with monkeypatch.context() as patch:

        def fail(*_):
            raise OSError(28, "No space left on device")

        patch.setattr(Checkpoint, "finish", fail)
        assert_error(run(*arguments), "x_t.npy: No space left on device. No file was left incomple")
    (one, *others) = sorted((path.parent / "x_t.npy.unfinished").glob("*.safetensors"))
    assert len(others) == panels - 1
    one.unlink()
    refused = run(*arguments, "--tol", "1e-3")
    assert_error(refused, "x_t.npy.unfinished has panels of another diffusion")
    done = run(*arguments)
    assert done.code == 0, done.err
    assert f"Resuming: {panels - 1} of {panels} panels are there.\n" in done.out
    expected = hg.diffuse(graph, T=2.0, memory_budget=budget, out=path.parent / "other.npy")
    np.testing.assert_array_equal(np.load("x_t.npy"), expected)
    again = run(*arguments)
    assert "Resuming" not in again.out


def test_progress_counts_panels_and_products(graph_file, run, monkeypatch):
    monkeypatch.setattr("heatgraph.cli.reporter.LINE_INTERVAL", 0.0)
    monkeypatch.setattr("heatgraph.cli.diffuse.LEAST_TIMED", 0.0)
    path, graph, budget = graph_file
    arguments = ("diffuse", path, "--T", "2", "--memory-budget", budget, "-o", "x_t.npy")
    lines = run(*arguments).err.splitlines()
    expected = plan(graph, budget)
    panels, total = len(expected.panels), expected.products * len(expected.panels)
    assert len(lines) == total
    for at, line in enumerate(lines, 1):
        start = f"diffusing: {at // expected.products} of {panels} panels, {at} of {total} products"
        assert re.fullmatch(rf"{start}, [\d.,e+]+ a second, about .+ left", line)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
def test_a_terminal_shows_progress(folder, start):
    terminal = Terminal()
    process = start("diffuse", *TABLES, "--T", "2", "-o", "x_t.npy", **terminal.options)
    assert "diffusing" in terminal.read()
    assert process.wait() == 0


WRONG = {
    "another node": (("--rows", "nodes.txt"), "line 2: nodes.csv has no node 'n100'. Did you mean"),
    "no rows": (("--rows", "empty.txt"), "empty.txt is empty. Expected one node id per line."),
    "a missing file": (("--rows", "nowhere.txt"), "nowhere.txt"),
    "tolerance": (("--tol", "2"), "tol must be a number in"),
    "an input": (("--ids", "nodes.csv"), "nodes.csv is named twice"),
    "no folder": (("-o", "nowhere/x.npy"), "there is no folder nowhere"),
    "format of ids": (("--ids", "rows.npy"), "rows.npy"),
}


@pytest.mark.parametrize("case", WRONG)
def test_unusable_input(case, folder, run):
    (folder / "nodes.txt").write_text("n1\nn100\n", encoding="utf-8")
    (folder / "empty.txt").touch()
    before = sorted(folder.iterdir())
    more, piece = WRONG[case]
    assert_error(run("diffuse", *TABLES, "--T", "2", "-o", "x_t.npy", *more), piece)
    assert sorted(folder.iterdir()) == before


def test_too_little_memory_is_refused(graph_file, run):
    path, _, _ = graph_file
    done = run("diffuse", path, "--T", "2", "--memory", "1000", "-o", "x_t.npy")
    assert_error(done, "needs ", "budget 1.0 kB")


def test_t_of_zero_copies_the_features(folder, run):
    assert run("diffuse", *TABLES, "--T", "0", "-o", "x_t.npy").code == 0
    np.testing.assert_allclose(np.load("x_t.npy"), read_graph().features, rtol=1e-6)


@pytest.fixture
def scheduler(client):
    """The address of a scheduler with two workers."""
    return client.scheduler.address


@pytest.mark.parametrize("mode", ["columns", "blocks"])
def test_a_cluster_has_the_same_bits(folder, run, scheduler, mode):
    done = run("diffuse", *TABLES, "--T", "2", "-o", "x_t.npy", "--cluster", scheduler,
               "--cluster-mode", mode)  # fmt: skip
    assert done.code == 0, done.err
    np.testing.assert_array_equal(np.load("x_t.npy"), hg.diffuse(read_graph(), T=2.0))
    assert f"mode {mode} on 2 workers of 1 threads" in done.words


def test_the_plan_on_a_cluster(folder, run, scheduler, client):
    arguments = ("diffuse", *TABLES, "--T", "2", "--plan", "--cluster", scheduler)
    expected = hg.plan(read_graph(), T=2.0, cluster=client, out="x_t.npy")
    found = json.loads(run(*arguments, "--json").out)["plan"]
    for name in ("mode", "workers", "blocks", "memory", "worker_limit", "wire_bytes"):
        assert found[name] == getattr(expected, name)
    assert f"per worker, with mapped files; the limit is {format_bytes(expected.worker_limit)}" in (
        run(*arguments).words
    )


@pytest.mark.parametrize("mode", ["columns", "blocks"])
def test_an_unfinished_run_on_a_cluster_is_resumed(
    graph_file, run, scheduler, client, monkeypatch, mode
):
    path, graph, _ = graph_file
    wide = np.random.default_rng(0).normal(size=(100, 40))
    graph.with_features(wide).save(path)
    arguments = ("diffuse", path, "--T", "2", "-o", "x_t.npy", "--cluster", scheduler,
                 "--cluster-mode", mode, "--memory", "25000")  # fmt: skip
    with monkeypatch.context() as patch:

        def fail(*_):
            raise OSError(28, "No space left on device")

        patch.setattr(Checkpoint, "finish", fail)
        assert_error(run(*arguments), "No space left on device")
    one = min((path.parent / "x_t.npy.unfinished").glob("*.safetensors"))
    one.unlink()
    done = run(*arguments, "--json")
    diffused = json.loads(done.out)["diffused"]
    assert diffused["panels_resumed"] == diffused["panels"] - 1 > 0
    np.testing.assert_array_equal(np.load("x_t.npy"), hg.diffuse(hg.Graph.load(path), T=2.0))


def test_a_cluster_without_its_extra_is_refused_before_tables_are_read(folder, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    (folder / "nodes.csv").write_text("not a table", encoding="utf-8")
    done = run("diffuse", *TABLES, "--T", "2", "-o", "x_t.npy", "--cluster", "local:2")
    assert_error(done, "pip install 'heatgraph[cluster]'")


def test_a_cluster_mode_needs_a_cluster(folder, run):
    done = run("diffuse", *TABLES, "--T", "2", "-o", "x_t.npy", "--cluster-mode", "blocks")
    assert done.code == 2
    assert "--cluster-mode needs --cluster" in done.err
