"""Edges: weights, duplicates and the two directions."""

import numpy as np
import pytest

from heatgraph.errors import InputError, TableWarning
from heatgraph.tables.from_tables import from_tables, read_tables
from heatgraph.tables.options import TableOptions

NONE = {"source": [], "target": []}
PAIR = {"id": ["a", "b"]}


def weights_of(rows, **options):
    """The dense adjacency on nodes a, b, c of edges such as "ab" with their weights."""
    ends, weights = zip(*rows, strict=True)
    edges = {"source": [e[0] for e in ends], "target": [e[1] for e in ends]}
    if weights[0] is not None:
        edges["weight"] = list(weights)
    return from_tables({"id": ["a", "b", "c"]}, edges, **options).graph.adjacency.toarray()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-2", r"line 3: weight -2 in column 'weight' is not a finite number >= 0 \(1 such"),
        ("nan", "line 3: weight nan in column"),
        ("inf", "line 3: weight inf in column"),
        ("", "line 3: column 'weight' is blank"),
        ("x", "line 3: column 'weight' has 'x' among numbers"),
    ],
)
def test_bad_weights(write_csv, text, message):
    edges = write_csv(f"source,target,weight\na,b,1\na,a,{text}\n", "edges.csv")
    with pytest.raises(InputError, match=message):
        from_tables(PAIR, edges)


def test_weights():
    rows = [("ab", 2.5), ("bc", 0.0), ("cc", 3.0)]
    assert weights_of(rows).tolist() == [[0, 2.5, 0], [2.5, 0, 0], [0, 0, 3]]


def test_directions_are_kept_if_asked():
    nodes = {"id": list("abc"), "x": [1.0, 2.0, 3.0]}
    edges = {"source": list("aab"), "target": list("bbc"), "weight": [2.0, 3.0, 1.0]}
    graph = from_tables(nodes, edges, directed="keep", duplicates="sum").graph
    assert graph.directed_adjacency.toarray().tolist() == [[0, 5, 0], [0, 0, 1], [0, 0, 0]]
    assert graph.adjacency.toarray().tolist() == [[0, 5, 0], [5, 0, 1], [0, 1, 0]]
    assert from_tables(nodes, edges, duplicates="sum").graph.directed_adjacency is None


def test_conflicting_duplicates(write_csv):
    edges = write_csv("source,target,weight\na,b,1\nb,a,5\na,b,2\na,b,2\na,b,1\n", "edges.csv")
    with pytest.raises(InputError, match=r"line 4: edge 'a' -> 'b' has weight 2, and had 1 "
                       r"before \(2 such in all\). Drop one"):  # fmt: skip
        from_tables(PAIR, edges)


def test_edges_of_weight_zero():
    edges = {"source": ["a", "b"], "target": ["b", "a"], "weight": [0.0, 0.0]}
    result = read_tables(PAIR, edges, TableOptions())
    assert result.dataset.graph.num_edges == 0
    assert result.notes == ["edges: ignored 2 rows of weight zero"]


def test_duplicates():
    rows = [("ab", 1.0), ("ab", 2.0), ("ab", 2.0)]
    assert weights_of(rows, duplicates="sum")[0, 1] == weights_of(rows, duplicates="sum")[1, 0] == 5
    assert weights_of(rows, duplicates="max")[0, 1] == 2
    assert weights_of(rows[1:])[0, 1] == 2
    assert weights_of([("ab", None)] * 3)[0, 1] == 1
    graph = from_tables(PAIR, {"source": ["a"] * 3, "target": ["b"] * 3}).graph
    assert graph.num_duplicates == 2


def test_two_directions():
    rows = [("ab", 1.0), ("ba", 3.0), ("cc", 2.0)]
    with pytest.warns(TableWarning, match="edges: 1 edges are listed in both directions, 1 of them "
                      "with different weights; the larger one was taken"):  # fmt: skip
        assert weights_of(rows)[0, 1] == weights_of(rows, directed="max")[1, 0] == 3
    assert weights_of(rows, directed="sum")[0, 1] == 4
    assert weights_of(rows, directed="sum")[2, 2] == 2
    with pytest.raises(InputError, match=r"edges: edge 'a' -> 'b' has no counterpart of equal "
                       r"weight \(1 such pairs in all\). List both"):  # fmt: skip
        weights_of(rows, directed="refuse")
    with pytest.raises(InputError, match="edge 'b' -> 'c' has no counterpart|'c' -> 'b'"):
        weights_of([("bc", None)], directed="refuse")


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ([("ab", 2.0), ("ab", 2.0), ("ba", 2.0)], {}),
        ([("ab", 2.0), ("ab", 1.0), ("ba", 2.0)], {"duplicates": "max"}),
        ([("ab", 1.5), ("ab", 0.5), ("ba", 2.0)], {"duplicates": "sum"}),
    ],
)
def test_duplicates_are_merged_before_directions_are_compared(rows, options):
    expected = [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
    assert weights_of(rows, directed="refuse", **options).tolist() == expected
    plain = [(ends, None) for ends, _ in rows]
    assert weights_of(plain, directed="refuse").tolist() == (np.array(expected) / 2).tolist()


def read_pairs(edges, **options):
    return read_tables({"id": ["a", "b", "c"]}, edges, TableOptions(**options))


def test_both_directions_are_counted():
    edges = {"source": ["a", "b", "b"], "target": ["b", "a", "c"]}
    result = read_pairs(edges)
    assert (result.num_edge_rows, result.dataset.graph.num_edges) == (3, 2)
    assert result.directions == (1, 0)
    assert result.notes == []


def test_weights_of_both_directions_are_told():
    edges = {"source": ["a", "b"], "target": ["b", "a"], "weight": [1.0, 3.0]}
    (note,) = read_pairs(edges).notes
    assert note.endswith("1 of them with different weights; the larger one was taken "
                         "(directed='max')")  # fmt: skip
    (note,) = read_pairs(edges, directed="sum").notes
    assert note.endswith("1 of them with different weights; the two were summed")


def test_no_edges(write_csv):
    for edges in (
        NONE,
        write_csv("source,target\n", "e.csv"),
        write_csv("source,target,weight", "f.csv"),
    ):
        graph = from_tables(PAIR, edges).graph
        assert (graph.num_nodes, graph.num_edges, graph.num_isolated) == (2, 0, 2)
