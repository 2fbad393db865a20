"""JSON lines, and lists of objects."""

import gzip
import json

import pytest

from heatgraph.errors import FileFormatError, MemoryBudgetError
from heatgraph.tables.from_tables import from_tables

NODES = [
    {"id": "a", "label": "u", "x": 1, "v": [0.5, 1]},
    {"id": "007", "x": 2.5, "v": [1, 2]},
    {"id": 7, "label": "w", "x": 3, "v": [2, 3]},
]
EDGES = [{"source": "a", "target": "007", "weight": 2}, {"source": "7", "target": "a", "weight": 1}]


def lines(records):
    return "\n\n".join(json.dumps(record) for record in records) + "\n"


def check(data):
    assert data.graph.node_ids.tolist() == ["a", "007", "7"]
    assert data.labels.tolist() == ["u", None, "w"]
    assert data.graph.feature_names == ["x", "v[0]", "v[1]"]
    assert data.graph.features.tolist() == [[1, 0.5, 1], [2.5, 1, 2], [3, 2, 3]]
    assert data.graph.adjacency.toarray().tolist() == [[0, 2, 1], [2, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "txt"])
def test_lines(tmp_path, suffix):
    nodes, edges = tmp_path / f"nodes.{suffix}", tmp_path / f"edges.{suffix}"
    nodes.write_text(lines(NODES))
    edges.write_text("\ufeff" + lines(EDGES), encoding="utf-8")
    check(from_tables(nodes, edges))


def test_compressed(tmp_path):
    (tmp_path / "nodes.jsonl.gz").write_bytes(gzip.compress(lines(NODES).encode()))
    (tmp_path / "edges.jsonl").write_text(lines(EDGES))
    check(from_tables(tmp_path / "nodes.jsonl.gz", tmp_path / "edges.jsonl"))


def test_lists_of_objects(tmp_path):
    (tmp_path / "nodes.json").write_text(json.dumps(NODES, indent=1))
    (tmp_path / "edges.json").write_text(json.dumps(EDGES))
    check(from_tables(tmp_path / "nodes.json", tmp_path / "edges.json"))


def test_long_integers_are_exact(tmp_path):
    ids = [12345678901234567890123, 12345678901234567890124]
    (tmp_path / "n.jsonl").write_text(lines([{"id": at} for at in ids]))
    (tmp_path / "e.jsonl").write_text(lines([{"source": ids[0], "target": ids[1]}]))
    graph = from_tables(tmp_path / "n.jsonl", tmp_path / "e.jsonl").graph
    assert graph.node_ids.tolist() == list(map(str, ids))


def test_a_table_of_features(tmp_path):
    rows = [{"node": "a", "feature": "w1", "value": 2}, {"node": "b", "feature": "w2", "value": 1}]
    (tmp_path / "f.jsonl").write_text(lines(rows))
    nodes, edges = {"id": ["a", "b"]}, {"source": ["a"], "target": ["b"]}
    graph = from_tables(nodes, edges, features=tmp_path / "f.jsonl").graph
    assert graph.features.toarray().tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id": "a"}\n{"id": "b"', r'line 2 is not a JSON object: .* is the file complete\?'),
        (b'{"id": "a"}\n[1, 2]\n', "line 2 is a list, where an object such as"),
        (b'{"id": "a"}\n{"id": "\xff"}\n', "line 2: byte 0xFF at position 9 is not UTF-8"),
        (b'{"id": "a", "x": 1}\n\n{"id": "b", "x": "y"}\n{"id": "c", "x": true}',
         "line 4: 'x' is a boolean, where the first is a number"),
        (b'{"id": "a", "x": [1]}\n{"id": "b", "x": 1}\n', "line 1: 'x' is a list"),
        (b'{"id": "a", "id": "b"}\n', "line 1 .*it has the name 'id' twice"),
        (b'{"id": "a"}\n' + b"[" * 100_000, "line 2 is not a JSON object"),
        (b"", "empty"),
        (b"\n \n", "empty"),
    ],
)  # fmt: skip
def test_malformed_lines(tmp_path, content, message):
    path = tmp_path / "nodes.jsonl"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=f"nodes.jsonl.*{message}"):
        from_tables(path, {"source": [], "target": []})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"id": "a"},\n{"id": ', r"line 2: this is not JSON \(Expecting value"),
        (b'[{"id": "a"},\n{"id": "\xff"}]', "line 2: byte 0xFF is not UTF-8"),
        (b'[{"id": "a"}, 5]', r"item 1 \(counted from 0\) is a number"),
        (b'[\n{"id": "a", "id": "b"}]', "cannot be read as JSON: it has the name 'id' twice"),
    ],
)
def test_malformed_documents(tmp_path, content, message):
    path = tmp_path / "nodes.json"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=f"nodes.json.*{message}"):
        from_tables(path, {"source": [], "target": []})


def test_the_memory_budget(tmp_path):
    path = tmp_path / "nodes.jsonl"
    path.write_text(lines([{"id": at} for at in range(100)]))
    with pytest.raises(MemoryBudgetError, match=r"nodes.jsonl holds more than .* Raise the budget"):
        from_tables(path, {"source": [], "target": []}, memory_budget=1000)
