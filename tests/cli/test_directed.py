"""``--directed keep``: directions are learned from, and a model asks for them again."""

import json

import pytest
from table_files import read_rows

import heatgraph as hg
from heatgraph.tables.writing import write_dataset

CYCLE = hg.make_block_graph(300, 3000, 3, 4, homophily=1 / 3, directed=True, seed=0)
TABLES = ("nodes.csv", "edges.csv")


@pytest.fixture
def cycle(tmp_path, monkeypatch):
    """A folder with the tables of a directed graph, which is the working directory."""
    write_dataset(CYCLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_info(cycle, run):
    done = run("info", *TABLES, "--directed", "keep", "--json")
    assert json.loads(done.out)["read"]["directed"]
    assert "; directed" in run("info", *TABLES, "--directed", "keep").words
    assert "; directed" not in run("info", *TABLES).out


def test_a_model_reads_directions_again(cycle, run):
    done = run("fit", *TABLES, "--directed", "keep", "--model", "model", "--json")
    assert done.code == 0, done.err
    model = hg.load("model")
    assert model.reads_directions
    expected = model.predict(CYCLE.graph)
    for options in ((), ("--directed", "keep")):
        done = run("predict", "model", *TABLES, *options, "-o", "p.csv")
        assert done.code == 0, done.err
        assert [int(row["prediction"]) for row in read_rows("p.csv")] == expected.tolist()
    done = run("predict", "model", *TABLES, "--directed", "sum", "-o", "q.csv")
    assert done.code == 1
    assert "reads the directions of edges" in done.err
    assert "--directed keep" in done.err
    done = run("explain", "model", *TABLES, "--node", "5")
    assert "links to node" in done.out
