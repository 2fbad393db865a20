"""What the arguments of a command may name."""

import json
import shutil

import pytest
from graph_files import write_geom_gcn, write_twitch
from table_files import assert_error, read_rows

import heatgraph as hg

FIT = ("--T", "2", "--weight-decay", "1e-3", "--extensions", "none")


def test_a_data_set_by_name(folder, run):
    done = run("fit", "karate", *FIT, "-m", "m", "-o", "p.csv")
    assert (done.code, done.err) == (0, "")
    assert "Read the data set karate in" in done.out
    assert "Result on 32 test nodes" in done.out
    assert len(read_rows(folder / "p.csv")) == 34
    done = run("predict", "m", "karate", "-o", "q.csv")
    assert done.code == 0, done.err
    assert read_rows(folder / "q.csv") == read_rows(folder / "p.csv")
    assert "Evaluated 32 labelled nodes" in run("evaluate", "m", "karate", "--part", "test").out
    assert "node 3 as " in run("explain", "m", "karate", "--node", "3").out
    done = run("tune", "karate", "--T", "1,2", "-o", "t.csv", "--plot", "t.png")
    assert done.code == 0, done.err
    assert json.loads(run("info", "karate", "--json").out)["read"]["nodes"] == 34


def test_features_of_another_data_set_are_refused(folder, run):
    assert run("fit", "blocks", *FIT, "-m", "m").code == 0
    assert_error(run("predict", "m", "karate", "-o", "p.csv"), "features")


def test_a_folder_of_tables(folder, run):
    (folder / "graph").mkdir()
    for name in ("nodes.csv", "edges.csv"):
        shutil.copy(name, folder / "graph")
    done = run("fit", "graph", *FIT, "-o", "p.csv", "-m", "m")
    assert done.code == 0, done.err
    assert "Read graph in" in done.out
    assert run("fit", "nodes.csv", "edges.csv", *FIT, "-o", "q.csv").code == 0
    assert read_rows(folder / "p.csv") == read_rows(folder / "q.csv")
    assert run("predict", "m", "graph", "-o", "r.csv").code == 0
    assert_error(run("fit", "graph", "-o", "graph/nodes.csv"), "nodes.csv is named twice")


def test_folders_of_data_sets(folder, run):
    write_geom_gcn(folder / "texas")
    done = run("info", "./texas", "--json")
    assert json.loads(done.out)["read"]["nodes"] == 8
    write_twitch(folder / "DE")
    done = run("info", "DE")
    assert done.code == 0, done.err
    assert "3,170  of DE" in done.out
    done = run("info", "texas", "--data", folder)
    assert "Read the data set texas (for the folder, write ./texas) in" in done.out


@pytest.mark.parametrize("planetoid", ["ind.cora.graph"])
def test_a_file_of_planetoid(planetoid_folder, run, planetoid):
    done = run("info", planetoid_folder / planetoid)
    assert "2,708" in done.out
    assert "ind.cora.*" in done.out


def test_a_folder_that_is_not_recognised(folder, run):
    (folder / "other").mkdir()
    (folder / "other" / "notes.md").touch()
    done = run("info", "other")
    assert_error(done, "other holds no graph", "Looked for tables nodes.*", "Found notes.md.")


@pytest.mark.parametrize("command", ["fit", "info", "tune", "compare"])
@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("citeser", ("'citeser' is not a data set, a file or a folder.", "'citeseer'?", "pubmed")),
        ("nodes.cvs", ("Did you mean 'nodes.csv'?",)),
        ("nowhere/nodes.csv", ("is not a data set, a file or a folder. Data sets",)),
        ("nodes.csv", ("For tables, name both: NODES EDGES.",)),
    ],
)
def test_wrong_names(folder, run, command, name, pieces):
    done = run(command, name)
    assert done.code == 2
    text = " ".join(done.err.replace("│", " ").split())
    for piece in pieces:
        assert piece in text


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain"])
def test_wrong_names_beside_a_model(model, run, command):
    more = {"predict": ("-o", "p.csv"), "explain": ("--node", "n1")}.get(command, ())
    assert run(command, "model", "citeser", *more).code == 2


def test_options_of_tables(folder, run):
    assert_error(run("info", "karate", "--weight", ""), "--weight is about tables, and karate is")
    assert_error(run("fit", "karate", "--data", "nowhere"), "--data must name a folder")


def test_a_data_set_without_labels_for_a_model(model, run):
    assert_error(run("evaluate", "model", "nodes.csv", "edges.csv", "--label", ""), "labels are")


def test_a_saved_graph(folder, model, run):
    hg.from_tables("nodes.csv", "edges.csv").graph.save("graph.heatgraph")
    done = run("info", "graph.heatgraph")
    assert (done.code, done.err) == (0, "")
    assert "Read graph.heatgraph in" in done.out
    assert "features 6 of graph.heatgraph" in done.words
    assert run("predict", "model", "graph.heatgraph", "-o", "p.csv").code == 0
    assert run("predict", "model", "nodes.csv", "edges.csv", "-o", "q.csv").code == 0
    assert read_rows(folder / "p.csv") == read_rows(folder / "q.csv")
    assert_error(run("fit", "graph.heatgraph"), "labels are needed to learn from")
    assert_error(
        run("info", "graph.heatgraph", "--id", "name"), "graph.heatgraph is not read from tables"
    )
    assert_error(run("info", "model"), "model holds a DGCClassifier; expected a graph")
    (folder / "graph.heatgraph").write_bytes((folder / "graph.heatgraph").read_bytes()[:-1])
    assert_error(run("info", "graph.heatgraph"), "graph.heatgraph is incomplete or damaged")
