"""Edges in Parquet files: the bytes of a graph that is built in memory."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from heatgraph import Graph, from_tables
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError
from heatgraph.tables import edge_datasets
from heatgraph.tables.edge_datasets import convert_edges
from heatgraph.tables.options import TableOptions

n, m = 30, 200


@pytest.fixture
def edges():
    """Ends and weights; the second direction of an edge has the same weight."""
    random = np.random.default_rng(0)
    src, dst = random.integers(n, size=(2, m))
    return src, dst, (src * dst % 5 + 0.25)


def write_parts(folder, columns, parts=3):
    """Write rows as several files of a folder, in order."""
    folder.mkdir()
    for part, rows in enumerate(np.array_split(np.arange(m), parts)):
        table = pa.table({name: pa.array(values).take(rows) for name, values in columns.items()})
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=17)
    return folder


@pytest.fixture(autouse=True)
def few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr("heatgraph.graph._out_of_core.MAX_BATCH", 7)


@pytest.mark.parametrize("weight", [None, "i4", "f4", "f8", "?"])
@pytest.mark.parametrize("ends", ["i4", "i8", "u2"])
def test_integers(tmp_path, edges, ends, weight):
    src, dst, w = edges
    columns = {"source": src.astype(ends), "target": dst.astype(ends)}
    if weight is not None:
        columns["weight"] = w = w.astype(weight)
    folder = write_parts(tmp_path / "edges", columns)
    done = convert_edges([folder], tmp_path / "graph", num_nodes=n, blocks=3)
    graph = Graph.from_edges(src, dst, None if weight is None else w, n, symmetrize="max")
    graph.save(tmp_path / "expected")
    assert (tmp_path / "graph").read_bytes() == (tmp_path / "expected").read_bytes()
    assert done.num_edge_rows == m
    assert done.report.num_edges == graph.num_edges
    assert done.columns["source"].detected


@pytest.mark.parametrize("kind", ["integers", "texts", "mixed"])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_ids_of_a_node_table(tmp_path, edges, kind, format):
    src, dst, w = edges
    ids = np.random.default_rng(1).permutation(10 * np.arange(n))
    names = ids if kind == "integers" else [f"n{name}" for name in ids] if kind == "texts" else ids
    text = [str(name) for name in names]
    nodes = pa.table({"age": np.arange(n), "id": text if kind == "mixed" else names})
    path = tmp_path / f"nodes.{format}"
    (pq.write_table if format == "parquet" else pyarrow.csv.write_csv)(nodes, path)
    ends = {"source": np.take(names, src), "target": np.take(names, dst), "w": w}
    folder = write_parts(tmp_path / "edges", ends)
    convert_edges([folder], tmp_path / "graph", nodes=path)
    whole = pq.read_table(folder)
    from_tables(path, whole, features="").graph.save(tmp_path / "expected")
    assert (tmp_path / "graph").read_bytes() == (tmp_path / "expected").read_bytes()


def test_columns_options_and_features(tmp_path, edges):
    src, dst, w = edges
    folder = write_parts(tmp_path / "edges", {"a": w, "b": dst, "c": src, "x": w})
    X = np.random.default_rng(0).random((n, 3))
    np.save(tmp_path / "X.npy", X)
    options = TableOptions(source="c", target="b", weight="x", directed="sum", duplicates="max")
    files = sorted(folder.iterdir())
    convert_edges(files, tmp_path / "graph", features=tmp_path / "X.npy", options=options)
    graph = Graph.from_edges(src, dst, w, features=X, symmetrize="sum", duplicates="max")
    graph.save(tmp_path / "expected")
    assert (tmp_path / "graph").read_bytes() == (tmp_path / "expected").read_bytes()


def test_directions_can_be_refused(tmp_path, edges):
    src, dst, _ = edges
    folder = write_parts(tmp_path / "edges", {"source": src, "target": dst})
    options = TableOptions(directed="refuse")
    with pytest.raises(InputError, match="go one way only"):
        convert_edges([folder], tmp_path / "graph", num_nodes=n, options=options)
    with pytest.raises(InputError, match="directed='keep' needs the edges in memory"):
        convert_edges([folder], tmp_path / "graph", options=TableOptions(directed="keep"))


def test_unusable_files(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    for name, error, piece in (
        ("empty", InputError, "holds no Parquet files"),
        ("nothing", InputError, "there is no such file"),
        ("edges.csv", InputError, "is not a Parquet file"),
        ("damaged.parquet", FileFormatError, "damaged.parquet is not a complete Parquet file"),
    ):
        with pytest.raises(error, match=piece):
            convert_edges([tmp_path / name], tmp_path / "graph", num_nodes=3)
    assert not (tmp_path / "graph").exists()


def test_damage_inside_a_file(tmp_path, edges):
    src, dst, _ = edges
    folder = write_parts(tmp_path / "edges", {"source": src, "target": dst})
    file = folder / "part-1.parquet"
    raw = bytearray(file.read_bytes())
    raw[4 : len(raw) // 2] = bytes(len(raw) // 2 - 4)
    file.write_bytes(raw)
    with pytest.raises(FileFormatError, match=r"part-1\.parquet is not a complete Parquet file"):
        convert_edges([folder], tmp_path / "graph", num_nodes=n)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges"]


COLUMNS = {
    "texts without a table": ({"source": ["a", "b"], "target": ["b", "a"]}, "name it with --nodes"),
    "fractions": ({"source": [0.0, 1.0], "target": [1, 0]}, "column 'source' has type double"),
    "a blank": ({"source": [0, None], "target": [1, 0]}, "row 1 .*'source' is blank"),
    "a blank weight": (
        {"source": [0, 1], "target": [1, 0], "weight": [1.0, None]},
        "row 1 .*'weight' is blank",
    ),
    "weights of text": (
        {"source": [0, 1], "target": [1, 0], "weight": ["1", "2"]},
        "weights must be numbers",
    ),
    "one column": ({"source": [0, 1]}, "needs two columns"),
    "a node out of range": ({"source": [0, 1], "target": [1, 9]}, "edge 1: node 9 is outside 0..2"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_unusable_columns(tmp_path, case):
    columns, piece = COLUMNS[case]
    pq.write_table(pa.table(columns), tmp_path / "edges.parquet")
    with pytest.raises(InputError, match=piece):
        convert_edges([tmp_path / "edges.parquet"], tmp_path / "graph", num_nodes=3)


def test_files_that_differ(tmp_path):
    for name, columns in (
        ("a", {"source": [0], "target": [1], "weight": pa.array([1.0], pa.float32())}),
        ("b", {"source": [0], "target": [1], "weight": [1.0]}),
        ("c", {"source": [0], "to": [1], "weight": [1.0]}),
    ):
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    a, b, c = (tmp_path / f"{name}.parquet" for name in "abc")
    with pytest.raises(InputError, match=r"float32 in .*a\.parquet, float64 in .*b\.parquet"):
        convert_edges([a, b], tmp_path / "graph", num_nodes=3)
    with pytest.raises(InputError, match=r"c\.parquet has no column 'target'"):
        convert_edges([b, c], tmp_path / "graph", num_nodes=3)


def test_unknown_and_repeated_ids(tmp_path):
    edges = tmp_path / "edges.parquet"
    pq.write_table(pa.table({"source": [4, 5, 4], "target": [5, 4, 6]}), edges)
    for ids in ([4, 5], ["4", "5", "x"]):
        pq.write_table(pa.table({"id": ids}), tmp_path / "nodes.parquet")
        with pytest.raises(InputError, match=r"row 2 .*: 6 in column 'target' is not an id of .*n"):
            convert_edges([edges], tmp_path / "graph", nodes=tmp_path / "nodes.parquet")
    pq.write_table(pa.table({"id": [4, 5, 6, 4]}), tmp_path / "nodes.parquet")
    with pytest.raises(InputError, match="row 3 .*: id 4 occurs again"):
        convert_edges([edges], tmp_path / "graph", nodes=tmp_path / "nodes.parquet")


def test_arguments(tmp_path, edges):
    src, dst, _ = edges
    folder = write_parts(tmp_path / "edges", {"source": src, "target": dst})
    pq.write_table(pa.table({"id": np.arange(n)}), tmp_path / "nodes.parquet")
    for arguments, piece in (
        ({}, "the number of nodes is unknown"),
        ({"nodes": tmp_path / "nodes.parquet", "num_nodes": 3}, "Leave out num_nodes"),
        ({"features": "X.csv"}, "features out of core are a NumPy file"),
        ({"features": tmp_path / "X.npy"}, "there is no such file"),
        ({"options": TableOptions(missing="mean")}, "--missing needs the tables in memory"),
        ({"options": TableOptions(unknown_edges="drop")}, "--unknown-edges needs the tables"),
    ):
        with pytest.raises(InputError, match=piece):
            convert_edges([folder], tmp_path / "graph", **arguments)


def test_too_little_memory(tmp_path, edges, monkeypatch):
    src, dst, _ = edges
    folder = write_parts(tmp_path / "edges", {"source": src, "target": dst})
    pq.write_table(pa.table({"id": np.arange(n)}), tmp_path / "nodes.parquet")
    options = TableOptions(memory_budget=1000)
    with pytest.raises(MemoryBudgetError, match="the program itself takes .*, budget 1.0 kB"):
        convert_edges([folder], tmp_path / "graph", num_nodes=n, options=options)
    with pytest.raises(MemoryBudgetError, match="30 ids of .* need 1.2 kB, budget 1.0 kB"):
        convert_edges(
            [folder], tmp_path / "graph", nodes=tmp_path / "nodes.parquet", options=options
        )
    assert edge_datasets.INTEGER_ID_BYTES * n == 1200


MEASURE = """
import sys
from heatgraph._io.memory import peak_memory
from heatgraph.tables.edge_datasets import convert_edges
from heatgraph.tables.options import TableOptions
options = TableOptions(memory_budget=int(sys.argv[3]), duplicates="sum")
done = convert_edges(sys.argv[1:2], sys.argv[2], num_nodes=1_000_000, options=options)
print(peak_memory(), done.report.parts)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is known on Linux")
def test_the_process_stays_within_its_budget(tmp_path):
    """In one row group, and with more edges than the budget holds."""
    random = np.random.default_rng(0)
    num_edges, budget = 5_000_000, 240_000_000
    ends = random.integers(1_000_000, size=(2, num_edges))
    table = pa.table({"source": ends[0], "target": ends[1], "weight": random.random(num_edges)})
    pq.write_table(table, tmp_path / "edges.parquet", row_group_size=num_edges)
    assert 2 * table.nbytes + num_edges * 8 > budget
    arguments = [tmp_path / "edges.parquet", tmp_path / "graph", budget]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, arguments)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    peak, parts = map(int, done.stdout.split())
    assert peak <= budget
    assert parts > 3
