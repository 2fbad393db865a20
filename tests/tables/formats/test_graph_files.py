"""Files that hold a whole graph."""

import json
import sys

import networkx as nx
import pytest

from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError, MissingExtraError
from heatgraph.tables.from_tables import from_tables


def make_graph(kind=nx.Graph):
    graph = kind()
    graph.add_node("a", kind="u", size=1.5)
    graph.add_node("b", kind="v", size=2.5)
    graph.add_node("c", size=0.5)
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "c", weight=3.0)
    return graph


def check(path):
    # By name, since GEXF also has the names of nodes, a category of so few.
    data = from_tables(path, path, label="kind", features="size")
    assert data.graph.node_ids.tolist() == ["a", "b", "c"]
    assert data.labels.tolist() == ["u", "v", None]
    assert data.graph.features.tolist() == [[1.5], [2.5], [0.5]]
    assert data.graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 3], [0, 3, 0]]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph])
@pytest.mark.parametrize("write", [nx.write_graphml, nx.write_gexf])
def test_xml(tmp_path, kind, write):
    write(make_graph(kind), tmp_path / "graph.xml")
    check(tmp_path / "graph.xml")


@pytest.mark.parametrize("key", ["links", "edges"])
def test_links(tmp_path, key):
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(nx.node_link_data(make_graph(), edges=key)))
    check(path)
    path.write_text(json.dumps(nx.node_link_data(make_graph(), edges=key), indent=2))
    check(path)


def test_lists_of_neighbours(tmp_path):
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(nx.adjacency_data(make_graph())))
    check(path)


def test_a_label_of_gexf_is_a_name(tmp_path):
    nx.write_gexf(make_graph(), tmp_path / "graph.gexf")
    assert from_tables(tmp_path / "graph.gexf", tmp_path / "graph.gexf").labels is None


def test_integers(tmp_path):
    graph = nx.path_graph(3)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    for name in ("g.graphml", "g.json"):
        path = tmp_path / name
        assert from_tables(path, path).graph.node_ids.tolist() == [0, 1, 2]


def test_no_edges(tmp_path):
    path = tmp_path / "g.json"
    path.write_text('{"nodes": [{"id": 1}], "links": []}')
    assert from_tables(path, path).graph.num_edges == 0


def test_without_networkx(tmp_path, monkeypatch):
    nx.write_graphml(make_graph(), tmp_path / "g.graphml")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match=r"g.graphml is GraphML, which .* pip install netw"):
        from_tables(tmp_path / "g.graphml", {"source": [], "target": []})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<graphml><graph", "line 1: this is not XML at position"),
        ('<graphml xmlns="http://graphml.graphdrawing.org/xmlns"></graphml>', "cannot be read as"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><graphml/>", "defines XML entities"),
        ('{"nodes": [1], "links": []}', r"node 0 \(counted from 0\) has no id"),
        ('{"nodes": [{"id": 1}]}', "has no list of links"),
        (
            '{"nodes": [{"id": 1}], "links": [{"source": 1}]}',
            "edge 0 .* lacks a source or a target",
        ),
        ('{"nodes": [{"id": 1}], "adjacency": []}', "1 nodes, and 0 lists of neighbours"),
        (
            '{"nodes": [{"id": 1}], "adjacency": [[5]]}',
            "'adjacency' of node 0 .* a list of objects",
        ),
        ('{"nodes": [{"id": 1}], "adjacency": [5]}', "'adjacency' of node 0 .* a list of objects"),
        ('{\n"vertices": []}', "is not a graph in JSON. Expected a list of objects, or a graph"),
        ('{"nodes": [{"id": 1}],\n "links": [', "line 2: this is not JSON"),
    ],
)
def test_malformed(tmp_path, text, message):
    path = tmp_path / "graph.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=f"graph.json.*{message}"):
        from_tables(path, path)


def test_ids_that_are_missing_or_repeated(tmp_path):
    path = tmp_path / "g.json"
    path.write_text('{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}')
    with pytest.raises(InputError, match=r"g.json, edge 0 .*: 2 in column 'target' is not an id"):
        from_tables(path, path)
    path.write_text('{"nodes": [{"id": 1}, {"id": 1}], "links": []}')
    with pytest.raises(InputError, match=r"g.json, node 1 .*: id 1 occurs again"):
        from_tables(path, path)


def test_the_memory_budget(tmp_path):
    nx.write_graphml(make_graph(), tmp_path / "g.graphml")
    with pytest.raises(MemoryBudgetError, match="g.graphml holds more than"):
        from_tables(tmp_path / "g.graphml", tmp_path / "g.graphml", memory_budget="4KB")
