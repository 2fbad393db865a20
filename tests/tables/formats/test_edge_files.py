"""Edges in every format."""

import gzip
import json

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from heatgraph.errors import FileFormatError, InputError
from heatgraph.tables.from_tables import from_tables, read_tables
from heatgraph.tables.options import TableOptions

NUMBERS = {"id": [10, 20, 30]}
LETTERS = {"id": ["a", "b", "c"]}
WEIGHTED = [[0, 1.5, 0], [1.5, 0, 2], [0, 2, 0]]
PLAIN = (np.array(WEIGHTED) > 0).astype(float).tolist()
TOLD = "the first row is an edge, not a header; columns were read as source, target"


def adjacency(nodes, edges, **options):
    return from_tables(nodes, edges, **options).graph.adjacency.toarray().tolist()


def notes_of(nodes, edges, **options):
    return read_tables(nodes, edges, TableOptions(**options)).notes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 20\n20 30\n", PLAIN),
        ("10\t20\n20\t30\n", PLAIN),
        ("# Nodes: 3 Edges: 2\r\n# FromNodeId\tToNodeId\r\n10\t20\r\n20\t30\r\n", PLAIN),
        ("# one\n\n10 20\n# two\n20 30", PLAIN),
        ("% sym unweighted\n10 20\n20 30\n", PLAIN),
        ("  10   20  \n20 \t 30\n", PLAIN),
        ("10,20\n20,30\n", PLAIN),
        ("# words\n10,20\n20,30\n", PLAIN),
        ("10 20 1.5\n20 30 2\n", WEIGHTED),
        ("10;20;1.5\n20;30;2\n", WEIGHTED),
        ("10 20 {}\n20 30 {}\n", PLAIN),
        ("10 20 {'weight': 1.5}\n20 30 {'colour': 'red', 'weight': 2}\n", WEIGHTED),
        ("node_id\tnode_id\n10\t20\n20\t30\n", PLAIN),
        ("node_id,node_id,weight\n10,20,1.5\n20,30,2\n", WEIGHTED),
        ("source target weight\n10 20 1.5\n20 30 2\n", WEIGHTED),
    ],
)
@pytest.mark.parametrize("suffix", ["txt", "edges", "edgelist.gz"])
def test_lists_of_edges(tmp_path, text, expected, suffix):
    path = tmp_path / f"e.{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    assert adjacency(NUMBERS, path) == expected


def test_what_networkx_writes(tmp_path):
    graph = nx.Graph([("a", "b", {"weight": 1.5}), ("b", "c", {"weight": 2})])
    for name, write in {
        "a": nx.write_edgelist, "b": nx.write_weighted_edgelist, "c": nx.write_graphml,
        "d": nx.write_gexf,
    }.items():  # fmt: skip
        write(graph, tmp_path / name)
        assert adjacency(LETTERS, tmp_path / name) == WEIGHTED, name
    (tmp_path / "e.json").write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    assert adjacency(LETTERS, tmp_path / "e.json") == WEIGHTED


class TestHeaders:
    def test_a_first_row_of_ids_is_an_edge_and_told(self, write_csv):
        path = write_csv("a,b\nb,c\n", "e.csv")
        assert adjacency(LETTERS, path) == PLAIN
        assert notes_of(LETTERS, path) == [f"{path}: {TOLD}"]

    def test_one_known_id_is_enough(self, write_csv):
        path = write_csv("a,ghost\nb,c\n", "e.csv")
        with pytest.raises(InputError, match="e.csv, line 1: 'ghost' in column 'target'"):
            adjacency(LETTERS, path)

    def test_numbers_are_no_header(self, write_csv):
        path = write_csv("1,2\n10,20\n", "e.csv")
        with pytest.raises(InputError, match="e.csv, line 1: 1 in column 'source' is not an id"):
            adjacency(NUMBERS, path)

    def test_names_of_columns_win(self, write_csv):
        nodes = {"id": ["u", "v", "a", "b"]}
        path = write_csv("u,v\na,b\n", "e.csv")
        assert from_tables(nodes, path).graph.num_edges == 1
        assert (
            "the first row was read as the names of columns, although there are nodes 'u'"
            in (notes_of(nodes, path)[0])
        )

    def test_columns_that_the_user_names_are_in_a_header(self, write_csv):
        path = write_csv("a,b\nb,c\n", "e.csv")
        assert from_tables(LETTERS, path, source="a", target="b").graph.num_edges == 1

    def test_other_names(self, write_csv):
        path = write_csv("first,second\na,b\nb,c\n", "e.csv")
        assert adjacency(LETTERS, path) == PLAIN
        assert notes_of(LETTERS, path) == []

    def test_columns_behind_the_weight_are_told(self, write_csv):
        path = write_csv("a b 1.5 x\nb c 2 y\n", "e.txt")
        notes = notes_of(LETTERS, path)
        assert notes == [f"{path}: {TOLD}, weight, column_4", f"{path}: not used: column_4"]

    def test_a_third_column_of_words_is_no_weight(self, write_csv):
        path = write_csv("a,b,likes\nb,c,knows\n", "e.csv")
        assert notes_of(LETTERS, path)[-1] == f"{path}: not used: column_3"


def test_hashtags_are_no_comments(write_csv):
    nodes = {"id": ["#a", "#b", "#c"]}
    assert adjacency(nodes, write_csv("#a,#b\n#b,#c\n", "e.csv")) == PLAIN
    assert adjacency(nodes, write_csv("#a #b\n#b #c\n", "e.txt")) == PLAIN


def test_a_space_within_a_name_separates_nothing(write_csv):
    nodes = {"id": ["New York", "Rome", "San Juan"]}
    assert adjacency(nodes, write_csv("New York,Rome\nRome,San Juan\n", "e.csv")) == PLAIN
    assert (
        adjacency(nodes, write_csv("from\tto\nNew York\tRome\nRome\tSan Juan\n", "e.tsv")) == PLAIN
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# c\n10 20\n20 30 1\n", "line 3 has 3 of 2 columns"),
        ("# c\n10 20\n\n20\n", "line 4 has 1 of 2 columns"),
        ("10 20\n20 \udcff\n", "line 2: byte 0xFF at position 4 is not UTF-8"),
        ("10 20\n20 \0\n", "line 2: there is a NUL byte"),
        ("# c\n# d\n", "is empty"),
        ("10 20 {'weight': 1}\n20 30 {}\n", "line 2 has 2 of 3 columns"),
    ],
)  # fmt: skip
def test_malformed_lists(tmp_path, text, message):
    (tmp_path / "e.txt").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(FileFormatError, match=f"e.txt.* {message}|e.txt, {message}"):
        from_tables(NUMBERS, tmp_path / "e.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# c\n10 20 1\n20 30 nan\n", "line 3: weight nan in column 'weight' is not a finite"),
        ("# c\n10 20 1\n20 30 x\n", "line 3: column 'weight' has 'x' among numbers"),
        ("# c\n10 20\n20 99\n", "line 3: 99 in column 'target' is not an id of nodes"),
        ("# c\n10\n", "needs two columns of node ids"),
    ],
)
def test_bad_values(tmp_path, text, message):
    (tmp_path / "e.txt").write_text(text)
    with pytest.raises(InputError, match=f"e.txt.*{message}"):
        from_tables(NUMBERS, tmp_path / "e.txt")


class TestAdjacencyMatrices:
    @pytest.mark.parametrize(
        ("name", "write"),
        [
            ("a.mtx", lambda path: scipy.io.mmwrite(path, sp.coo_array(WEIGHTED))),
            ("b.mtx", lambda path: scipy.io.mmwrite(path, np.array(WEIGHTED))),
            ("a.npz", lambda path: sp.save_npz(path, sp.csr_array(WEIGHTED))),
            ("b.npz", lambda path: np.savez(path, A=np.array(WEIGHTED))),
            ("a.npy", lambda path: np.save(path, np.array(WEIGHTED))),
        ],
    )
    def test_rows_are_nodes_by_position(self, tmp_path, name, write):
        write(tmp_path / name)
        for nodes in (NUMBERS, LETTERS):
            assert adjacency(nodes, tmp_path / name) == WEIGHTED

    def test_in_memory(self):
        assert adjacency(LETTERS, sp.csr_array(WEIGHTED)) == WEIGHTED
        graph = from_tables(LETTERS, sp.csr_array(PLAIN)).graph
        assert graph.weights is None

    def test_one_triangle_suffices(self, tmp_path):
        path = tmp_path / "a.mtx"
        path.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n2 1\n3 2\n")
        assert adjacency(LETTERS, path) == PLAIN

    def test_another_shape(self, tmp_path):
        path = tmp_path / "a.mtx"
        path.write_text("%%MatrixMarket matrix coordinate pattern general\n4 3 1\n2 1\n")
        expected = r"adjacency matrix of the 3 nodes, of shape \(3, 3\). It has shape \(4, 3\)"
        with pytest.raises(InputError, match=f"a.mtx must be an {expected}"):
            from_tables(LETTERS, path)

    def test_bad_weights(self):
        with pytest.raises(InputError, match=r"edges, entry \(1, 0\) counted from 0: weight -2"):
            from_tables(LETTERS, sp.coo_array(([1.0, -2.0], ([0, 1], [1, 0])), shape=(3, 3)))
