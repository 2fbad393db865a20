"""Nodes in lists without a header, as public collections publish them."""

import gzip

import pytest

from heatgraph.errors import FileFormatError
from heatgraph.tables.from_tables import read_tables
from heatgraph.tables.options import TableOptions

EDGES = {"source": [10], "target": [20]}
TOLD = "the first row is a node, not a header; columns were read as"


def read(path, **options):
    result = read_tables(path, EDGES, TableOptions(**options))
    return result.dataset, " ".join(result.notes)


@pytest.mark.parametrize(
    "text",
    [
        "10 3\n20 4\n",
        "10\t3\n20\t4",
        "# Node\tDepartment\n10 3\n20 4\n",
        "% bip\r\n\r\n10 3\r\n20 4\r\n",
        "  10   3 \n20 \t 4\n",
        "\ufeff10 3\n20 4\n",
    ],
)
def test_ids_and_labels(write_csv, text):
    data, notes = read(write_csv(text, "labels.txt"))
    assert data.graph.node_ids.tolist() == [10, 20]
    assert data.labels.tolist() == [3, 4]
    assert f"{TOLD} id, label" in notes


def test_labels_of_several_words_between_tabs(write_csv):
    data, _ = read(write_csv("10\tMachine Learning\n20\tDatabases\n"))
    assert data.labels.tolist() == ["Machine Learning", "Databases"]


def test_a_compressed_list(tmp_path):
    path = tmp_path / "labels.txt.gz"
    path.write_bytes(gzip.compress(b"# Node Label\n10 3\n20 4\n"))
    assert read(path)[0].labels.tolist() == [3, 4]


def test_ids_features_and_labels(write_csv):
    data, notes = read(write_csv("10\t0\t1\t1\t0.5\tTheory\n20\t1\t0\t1\t0\tAI\n", "cora.content"))
    assert data.labels.tolist() == ["Theory", "AI"]
    assert data.graph.feature_names == ["f0", "f1", "f3"]  # f2 is constant
    assert f"{TOLD} id, f0, ..., f3, label" in notes


def test_blanks_below_a_header(write_csv):
    data, notes = read(write_csv("node label size\n10 a 1\n20 b 2\n"), label="label")
    assert data.labels.tolist() == ["a", "b"]
    assert data.graph.feature_names == ["size"]
    assert not notes


@pytest.mark.parametrize("text", ["node id\n10\n20\n", "node id\n", "id\tlabel\n10\ta\n20\tb\n"])
def test_tables_stay_tables(write_csv, text):
    if text == "node id\n":
        with pytest.raises(ValueError, match="has no rows"):
            read(write_csv(text))
    else:
        data, notes = read(write_csv(text))
        assert data.graph.node_ids.tolist() == [10, 20]
        assert not notes


def test_a_short_row_is_located(write_csv):
    with pytest.raises(FileFormatError, match="line 3 has 1 of 2 columns: '20'"):
        read(write_csv("# comment\n10 3\n20\n30 1\n"))


def test_numbers_between_commas_need_a_header(write_csv):
    with pytest.raises(FileFormatError, match=r"such as id,label or source,target\."):
        read(write_csv("10,3\n20,4\n"))
