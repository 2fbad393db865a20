"""One graph in every format, from files to predictions."""

import gzip
import json

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from table_files import assert_error, read_predictions, read_rows

FIT = ("--T", "2", "--weight-decay", "1e-3", "--extensions", "none")


@pytest.fixture
def expected(folder, run):
    """Predictions from the CSV files."""
    assert run("fit", "nodes.csv", "edges.csv", *FIT, "-o", "expected.csv").code == 0
    return read_predictions(folder / "expected.csv")


def edges_of(folder):
    return [(row["source"], row["target"]) for row in read_rows(folder / "edges.csv")]


def features_of(folder):
    names = [f"f{at}" for at in range(6)]
    return np.array(
        [[float(row[name]) for name in names] for row in read_rows(folder / "nodes.csv")]
    )


def adjacency_of(folder):
    position = {row["id"]: at for at, row in enumerate(read_rows(folder / "nodes.csv"))}
    A = np.zeros((100, 100))
    for source, target in edges_of(folder):
        A[position[source], position[target]] = 1
    return A


def write_lines(path, rows):
    path.write_text("".join(f"{row}\n" for row in rows))


def write_graph(folder, write, name):
    graph = nx.Graph()
    for row in read_rows(folder / "nodes.csv"):
        values = {key: float(row[key]) for key in row if key.startswith("f")}
        graph.add_node(row["id"], **values, **({"class": row["label"]} if row["label"] else {}))
    graph.add_edges_from(edges_of(folder))
    write(graph, folder / name)


def write_node_link(graph, path):
    path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))


EDGE_FILES = {
    "snap.txt": lambda folder, path: write_lines(
        path, ["# Nodes: 100", "# From\tTo", *(f"{v}\t{w}" for v, w in edges_of(folder))]
    ),
    "blanks.edgelist": lambda folder, path: write_lines(
        path, (f"{v} {w} {{}}" for v, w in edges_of(folder))
    ),
    "bare.csv": lambda folder, path: write_lines(path, (f"{v},{w}" for v, w in edges_of(folder))),
    "same.tsv": lambda folder, path: write_lines(
        path, ["node_id\tnode_id", *(f"{v}\t{w}" for v, w in edges_of(folder))]
    ),
    "lines.jsonl": lambda folder, path: write_lines(
        path, (json.dumps({"source": v, "target": w}) for v, w in edges_of(folder))
    ),
    "matrix.mtx": lambda folder, path: scipy.io.mmwrite(path, sp.coo_array(adjacency_of(folder))),
    "matrix.npz": lambda folder, path: sp.save_npz(path, sp.csr_array(adjacency_of(folder))),
    "edges.graphml": lambda folder, path: write_graph(folder, nx.write_graphml, path.name),
    "edges.gexf": lambda folder, path: write_graph(folder, nx.write_gexf, path.name),
    "edges.json": lambda folder, path: write_graph(folder, write_node_link, path.name),
}


@pytest.mark.parametrize("name", EDGE_FILES)
def test_edges(folder, run, expected, name):
    EDGE_FILES[name](folder, folder / name)
    done = run("fit", "nodes.csv", name, *FIT, "-o", "p.csv")
    assert done.code == 0, done.err
    assert_same(read_predictions(folder / "p.csv"), expected)


FEATURE_FILES = {
    "x.npy": lambda X, path: np.save(path, X),
    "x.npz": lambda X, path: np.savez(path, X),
    "y.npz": lambda X, path: sp.save_npz(path, sp.csr_array(X)),
    "x.mtx": lambda X, path: scipy.io.mmwrite(path, X),
    "x.svm": lambda X, path: dump_svmlight_file(X, np.zeros(len(X)), str(path)),
}


@pytest.mark.parametrize("name", FEATURE_FILES)
def test_features_and_a_model_of_them(folder, run, expected, name):
    FEATURE_FILES[name](features_of(folder), folder / name)
    arguments = ("nodes.csv", "edges.csv", "--features", name)
    done = run("fit", *arguments, *FIT, "-o", "p.csv", "-m", "m")
    assert done.code == 0, done.err
    assert_same(read_predictions(folder / "p.csv"), expected)
    assert ("the labels in it are ignored" in done.out) == (name == "x.svm")
    assert run("predict", "m", *arguments, "-o", "q.csv").code == 0
    assert_same(read_predictions(folder / "q.csv"), read_predictions(folder / "p.csv"))


@pytest.mark.parametrize("name", ["g.graphml", "g.gexf", "g.json"])
def test_one_file_is_the_whole_graph(folder, run, expected, name):
    write = {"g.graphml": nx.write_graphml, "g.gexf": nx.write_gexf, "g.json": write_node_link}
    write_graph(folder, write[name], name)
    done = run("fit", name, *FIT, "-o", "p.csv")
    assert done.code == 0, done.err
    assert f"Read {name} in" in done.out
    assert_same(read_predictions(folder / "p.csv"), expected)


def test_a_compressed_list(folder, run, expected):
    lines = "".join(f"{v} {w}\n" for v, w in edges_of(folder))
    (folder / "e.txt.gz").write_bytes(gzip.compress(lines.encode()))
    assert run("fit", "nodes.csv", "e.txt.gz", *FIT, "-o", "p.csv").code == 0
    assert_same(read_predictions(folder / "p.csv"), expected)


def test_nodes_in_json_lines(folder, run, expected):
    table = pa.csv.read_csv(folder / "nodes.csv")
    write_lines(folder / "nodes.jsonl", map(json.dumps, table.to_pylist()))
    done = run("fit", "nodes.jsonl", "edges.csv", *FIT, "--unlabelled", "", "-o", "p.csv")
    assert done.code == 0
    assert "id: id (detected)" in done.out


def test_no_label_and_unknown_edges(folder, run):
    text = (folder / "nodes.csv").read_text()
    (folder / "marked.csv").write_text(text.replace(",,", ",?,"))
    with (folder / "edges.csv").open("a") as file:
        file.write("n1,ghost\n")
    arguments = ("info", "marked.csv", "edges.csv")
    assert_error(run(*arguments), "'ghost' in column 'target' is not an id", "--unknown-edges")
    done = run(*arguments, "--unknown-edges", "drop", "--unlabelled", "?,unknown")
    assert done.code == 0
    assert "dropped 1 rows with 1 ids that marked.csv lacks ('ghost')" in done.out
    assert "marked.csv: read as no label: ? (" in done.out
    assert "marked.csv: no label is 'unknown'" in done.out
    done = run(*arguments, "--unknown-edges", "add", "--json")
    assert json.loads(done.out)["read"]["nodes"] == 101
    assert "'?' (" in json.loads(done.out)["read"]["remarks"][0]


def test_directions_are_told(folder, run):
    (folder / "n.csv").write_text("id\na\nb\nc\n")
    (folder / "e.csv").write_text("source,target,weight\na,b,1\nb,a,3\nb,c,1\n")
    done = run("info", "n.csv", "e.csv")
    assert "from 3 rows" in done.out
    assert "0 duplicates merged, 1 edges in both directions, 0 self-loops" in done.out
    assert "1 of them with different weights; the larger one was taken" in done.words
    read = json.loads(run("info", "n.csv", "e.csv", "--json").out)["read"]
    assert (read["both_directions"], read["unequal_directions"]) == (1, 1)


# Name of the file, its content, the option it is given by, and parts of the message.
BAD_FILES = {
    "a truncated matrix": ("x.mtx", b"%%MatrixMarket matrix coordinate real general\n100 6 9\n",
                           "--features", "x.mtx declares 9 entries"),
    "a damaged archive": ("x.npz", b"PK\x03\x04 and so on", "--features", "x.npz is incomplete"),
    "an array without data": ("x.npy", b"\x93NUMPY\x01\0v\0{'descr'", "--features", "x.npy"),
    "a matrix of another height": ("x.svm", b"1 1:1\n", "--features",
                                   "x.svm has 1 rows, and nodes.csv has 100."),
    "an index below zero": ("x.svm", b"1 -1:1\n", "--features", "x.svm, line 1: '-1:1' is not an"),
    "JSON cut short": ("e.json", b'{"nodes": [', None, "e.json, line 1: this is not JSON"),
    "a line that is no object": ("e.jsonl", b'{"source": "n1", "target": "n2"}\n5\n', None,
                                 "e.jsonl, line 2 is a number"),
    "an edge without target": ("e.jsonl", b'{"source": "n1", "target": "n2"}\n{"source": "n1"}\n',
                               None, "e.jsonl, line 2: column 'target' is blank"),
    "a weight that is no number": ("e.txt", b"n1 n2 1\nn1 n3 nan\n", None, "e.txt, line 2: weight"),
    "a ragged list": ("e.txt", b"# c\nn1 n2\nn1 n3 4\n", None, "e.txt, line 3 has 3 of 2"),
    "XML cut short": ("e.graphml", b"<graphml>\n<graph", None, "e.graphml, line 2: this is not"),
    "a matrix that is no square": ("e.mtx",
                                   b"%%MatrixMarket matrix coordinate pattern general\n3 2 0\n",
                                   None, "e.mtx must be an adjacency matrix of the 100 nodes"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(folder, run, case):
    name, content, option, message = BAD_FILES[case]
    (folder / name).write_bytes(content)
    tables = ("nodes.csv", "edges.csv", option, name) if option else ("nodes.csv", name)
    assert_error(run("info", *tables), message)


def assert_same(found, expected):
    assert found[:2] == expected[:2]
    assert np.abs(found[2] - expected[2]).max() < 1e-4
