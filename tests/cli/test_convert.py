"""``heatgraph convert``: graph files, from tables or from edges that exceed memory."""

import json
import re
import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from table_files import assert_error

import heatgraph as hg

TABLES = ("nodes.csv", "edges.csv")


@pytest.fixture
def edge_folder(folder):
    """The edges of the tables as two Parquet files."""
    table = pa.csv.read_csv("edges.csv")
    (folder / "parts").mkdir()
    half = table.num_rows // 2
    pq.write_table(table[:half], "parts/0.parquet")
    pq.write_table(table[half:], "parts/1.parquet")
    return table


def test_tables(folder, run):
    done = run("convert", *TABLES, "-o", "graph.heatgraph")
    assert (done.code, done.err) == (0, "")
    hg.from_tables(*TABLES).graph.save("expected")
    assert (folder / "graph.heatgraph").read_bytes() == (folder / "expected").read_bytes()
    assert "Wrote the graph to graph.heatgraph (" in done.out
    assert run("info", "graph.heatgraph").code == 0


def test_a_data_set(folder, run):
    report = json.loads(run("convert", "karate", "-o", "graph.heatgraph", "--json").out)
    assert hg.Graph.load("graph.heatgraph").num_edges == report["read"]["edges"] == 78
    assert report["wrote"] == {
        "graph": "graph.heatgraph",
        "bytes": (folder / "graph.heatgraph").stat().st_size,
    }


def test_edges_out_of_core(folder, edge_folder, run):
    done = run("convert", "parts", "--nodes", "nodes.csv", "-o", "graph.heatgraph", "--blocks", "3")
    assert (done.code, done.err) == (0, "")
    graph = hg.from_tables(*TABLES, features="").graph
    graph.save("expected")
    assert (folder / "graph.heatgraph").read_bytes() == (folder / "expected").read_bytes()
    assert "nodes 100 ids of nodes.csv" in done.words
    rows = f"edges {graph.num_edges} from {edge_folder.num_rows} rows; source (detected) - target"
    assert rows in done.words
    assert "1 duplicates merged, 1 self-loops, 3 isolated nodes" in done.words
    assert "blocks 3 of rows, sorted in 3 parts" in done.words
    files = ("parts/0.parquet", "parts/1.parquet")
    done = run("convert", *files, "--nodes", "nodes.csv", "-o", "again.heatgraph", "--json")
    assert (folder / "again.heatgraph").read_bytes() == (folder / "expected").read_bytes()
    read = json.loads(done.out)["read"]
    assert read["num_edges"] == graph.num_edges
    assert read["columns"]["source"] == {"column": "source", "guessed": True}


def test_features_and_a_number_of_nodes(folder, run):
    pq.write_table(pa.table({"a": [0, 1, 2], "b": [1, 2, 0]}), "edges.parquet")
    X = np.arange(8.0).reshape(4, 2)
    np.save("X.npy", X)
    more = ("--num-nodes", "4", "--features", "X.npy", "--memory-budget", "4GB")
    done = run("convert", "edges.parquet", *more, "-o", "graph.heatgraph")
    assert (done.code, done.err) == (0, "")
    np.testing.assert_array_equal(hg.Graph.load("graph.heatgraph").features, X)
    assert "features 2" in done.words
    done = run("diffuse", "graph.heatgraph", "--T", "1", "-o", "x_t.npy")
    assert done.code == 0, done.err


def test_progress(folder, edge_folder, run, monkeypatch):
    monkeypatch.setattr("heatgraph.cli.reporter.LINE_INTERVAL", 0.0)
    monkeypatch.setattr("heatgraph.cli.convert.LEAST_TIMED", 0.0)
    done = run("convert", "parts", "--nodes", "nodes.csv", "-o", "graph.heatgraph")
    lines = done.err.splitlines()
    count = edge_folder.num_rows
    for stage in ("reading", "sorting"):
        last = [line for line in lines if line.startswith(stage)][-1]
        pattern = rf"{stage} edges: {count} of {count}, [\d,]+ a second, about 1 s left"
        assert re.fullmatch(pattern, last)
    assert lines[-1] == "writing the file"


WRONG = {
    "several files": (("a", "b", "c"), 2, "several files of edges need --nodes or --num-nodes"),
    "text without nodes": (("parts", "--num-nodes", "3"), 1, "name it with --nodes"),
    "no number of nodes": (("parts", "--blocks", "2"), 1, "--nodes"),
    "both": (("parts", "--nodes", "nodes.csv", "--num-nodes", "3"), 1, "Leave out num_nodes"),
    "columns as features": (
        ("parts", "--nodes", "nodes.csv", "--features", "f0,f1"), 1, "are a NumPy file, X.npy"
    ),
    "labels": (("parts", "--nodes", "nodes.csv", "--label", "y"), 1, "--label needs the tables"),
    "an input": (("parts", "--nodes", "graph"), 1, "graph is named twice"),
    "little memory": (
        ("parts", "--nodes", "nodes.csv", "--memory", "1MB"), 1, "the program itself takes"
    ),
    "a table": (("edges.csv", "--nodes", "nodes.csv"), 1, "edges.csv is not a Parquet file"),
    "no blocks": (("parts", "--blocks", "0"), 2, "--blocks"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_and_input(case, edge_folder, folder, run):
    arguments, code, piece = WRONG[case]
    before = sorted(folder.iterdir())
    done = run("convert", *arguments, "-o", "graph")
    assert done.code == code
    assert piece in " ".join(done.err.split())
    if code == 1:
        assert_error(done, piece)
    assert sorted(folder.iterdir()) == before


@pytest.mark.signals
def test_a_killed_run_leaves_nothing_behind_for_long(folder, start, run):
    random = np.random.default_rng(0)
    ends = random.integers(1000, size=(2, 3_000_000))
    pq.write_table(pa.table({"source": ends[0], "target": ends[1]}), "edges.parquet")
    convert = ("convert", "edges.parquet", "--num-nodes", "1000", "-o", "graph.heatgraph")
    process = start(*convert)
    unfinished = folder / "graph.heatgraph.unfinished"
    while not list(unfinished.glob("*.keys")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list(unfinished.glob("*.keys"))
    assert not (folder / "graph.heatgraph").exists()
    assert run(*convert).code == 0
    assert not unfinished.exists()
    assert [path.name for path in folder.glob(".*")] == []
    hg.Graph.from_edges(*ends, num_nodes=1000, symmetrize="max").save("expected")
    assert (folder / "graph.heatgraph").read_bytes() == (folder / "expected").read_bytes()
