"""Graph files from edges in batches: the bytes, and the errors, of `Graph.from_edges`."""

import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heatgraph import Graph
from heatgraph._io.file_lock import FileLock
from heatgraph.errors import FileInUseError, InputError, MemoryBudgetError
from heatgraph.graph import _out_of_core
from heatgraph.graph._out_of_core import (
    ENTRY_BYTES,
    FIXED_BYTES,
    EdgeBatch,
    EdgeSource,
    write_graph_from_edges,
)

# A budget that holds a few dozen entries.
TINY = FIXED_BYTES + 5_000
DTYPES = [None, "?", "u1", "i4", "f2", "f4", "f8"]


def edge_source(src, dst, weight=None):
    """Edges that are read in batches from arrays."""

    def read(size):
        for start in range(0, len(src), size):
            part = slice(start, start + size)
            yield EdgeBatch(src[part], dst[part], None if weight is None else weight[part])

    return EdgeSource(len(src), None if weight is None else weight.dtype, read)


@st.composite
def edge_lists(draw):
    """Number of nodes, ends, weights: with hubs, self-loops, duplicates, zeros, both directions."""
    n = draw(st.integers(1, 12))
    m = draw(st.integers(0, 120))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    skew = draw(st.sampled_from([1, 4]))
    src, dst = (n * random.random((2, m)) ** skew).astype(draw(st.sampled_from(["i8", "i4", "u2"])))
    if draw(st.booleans()):
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    dtype = draw(st.sampled_from(DTYPES))
    weight = None
    if dtype is not None:
        choices = draw(st.sampled_from([[1], [0, 1], [1, 2, 3], [0.1, 0.2, 0.7, 1e-3]]))
        weight = random.choice(choices, len(src)).astype(dtype)
    return n, src, dst, weight


def outcome(write, path):
    """The bytes that a function writes, or its error."""
    path.unlink(missing_ok=True)
    try:
        with np.errstate(over="ignore"):
            write(path)
    except InputError as error:
        assert not path.exists()
        return str(error)
    return path.read_bytes()


def assert_same(tmp_path, n, src, dst, weight, more, **limits):
    def in_memory(path):
        Graph.from_edges(src, dst, weight, n, **more).save(path)

    def out_of_core(path):
        write_graph_from_edges(path, edge_source(src, dst, weight), n, **more, **limits)

    expected = outcome(in_memory, tmp_path / "expected")
    assert outcome(out_of_core, tmp_path / "graph") == expected
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == []
    return expected


SYMMETRIZE = st.sampled_from([None, "max", "sum"])
DUPLICATES = st.sampled_from(["error", "max", "sum"])
LIMITS = st.fixed_dictionaries(
    {
        "blocks": st.sampled_from([None, *range(1, 8)]),
        "memory_budget": st.sampled_from([TINY, 2 * TINY]),
    }
)


@given(edge_lists(), SYMMETRIZE, DUPLICATES, LIMITS, st.booleans())
def test_the_bytes_and_errors_of_graph(
    tmp_path_factory, edges, symmetrize, duplicates, limits, long
):
    n, src, dst, weight = edges
    keys = np.concatenate([src * n + dst, dst * n + src])
    capacity = (limits["memory_budget"] - FIXED_BYTES) // ENTRY_BYTES[weight is not None]
    assume(np.bincount(keys, minlength=1).max() <= capacity)
    more = {"symmetrize": symmetrize, "duplicates": duplicates}
    with patch("heatgraph._arguments.INDEX_LIMIT", 5 if long else 2**31 - 1):
        assert_same(tmp_path_factory.mktemp("graph"), *edges, more, **limits)


@pytest.mark.parametrize("symmetrize", ["max", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("blocks", [None, 1, 3, 7])
def test_many_edges(tmp_path, blocks, weighted, symmetrize):
    """A hub, whose row is split by columns, and rows long enough for an unstable sort to show."""
    random = np.random.default_rng(0)
    n, m = 1000, 20_000
    src, dst = random.integers(n, size=(2, m))
    src[: m // 3] = 7
    dst[m // 3 : m // 2] %= 10
    weight = random.random(m) if weighted else None
    more = {"symmetrize": symmetrize, "duplicates": "sum"}
    budget = FIXED_BYTES + 100_000
    written = assert_same(tmp_path, n, src, dst, weight, more, blocks=blocks, memory_budget=budget)
    assert isinstance(written, bytes)


BAD = {
    "a source out of range": ([0, 5, 1, -1], [1, 1, 7, 1], None),
    "a target out of range": ([0, 1, 2], [1, 9, -3], None),
    "an unsigned source": (np.array([0, 2**64 - 1], dtype="u8"), [1, 1], None),
    "a negative weight": ([2, 1, 0, 1], [1, 2, 1, 1], [1, -2.0, 3, -4.0]),
    "weights that are NaN": ([2, 1, 0, 0], [1, 2, 2, 1], [np.nan, 1, np.inf, np.nan]),
    "range before weights": ([2, 4], [1, 2], [np.nan, 1.0]),
    "one way": ([0, 1, 2, 2], [1, 0, 1, 0], None),
    "unequal weights": ([0, 1, 2, 1, 2], [1, 0, 2, 2, 1], [1.0, 1.0, 1.0, 2.0, 3.0]),
    "conflicts": ([2, 1, 2, 1], [1, 2, 1, 2], [1.0, 2.0, 3.0, 5.0]),
    "overflow of a sum": ([0, 1], [1, 0], [1e308, 1.2e308]),
    "overflow of a degree": ([0, 0, 1, 2], [1, 2, 0, 0], [1e308, 1e308, 1e308, 1e308]),
    "overflow of a self-loop": ([1, 0, 1, 1], [1, 1, 0, 2], [1.5e308, 1, 1, 1]),
}


@pytest.mark.parametrize("symmetrize", [None, "max", "sum"])
@pytest.mark.parametrize("case", BAD)
def test_errors(tmp_path, case, symmetrize):
    src, dst, weight = BAD[case]
    weight = None if weight is None else np.array(weight)
    edges = (3, np.array(src), np.array(dst), weight)
    with patch.object(_out_of_core, "MAX_BATCH", 2):
        for blocks in (None, 1, 2, 3):
            found = assert_same(tmp_path, *edges, {"symmetrize": symmetrize}, blocks=blocks)
    if symmetrize is None:
        assert isinstance(found, str)


def test_features_and_ids(tmp_path):
    src, dst = np.array([0, 1]), np.array([1, 2])
    names = ["a", "b", "ç"]
    for dtype in ("f4", "f8", ">f8", "f2", "i4", "?"):
        X = (10 * np.random.default_rng(0).random((3, 4))).astype(dtype)
        np.save(tmp_path / "X.npy", X)
        graph = Graph.from_edges(src, dst, features=X, node_ids=names, symmetrize="max")
        graph.save(tmp_path / "expected")
        report = write_graph_from_edges(
            tmp_path / "graph", edge_source(src, dst), features=tmp_path / "X.npy", node_ids=names,
            symmetrize="max",
        )  # fmt: skip
        assert (tmp_path / "graph").read_bytes() == (tmp_path / "expected").read_bytes()
        assert report.num_features == 4


def test_the_report(tmp_path):
    src, dst = np.array([0, 0, 1, 3, 1]), np.array([1, 1, 0, 3, 4])
    report = write_graph_from_edges(
        tmp_path / "graph", edge_source(src, dst), 7, symmetrize="max", blocks=3
    )
    graph = Graph.load(tmp_path / "graph")
    for name in ("num_nodes", "num_edges", "num_self_loops", "num_isolated", "num_duplicates"):
        assert getattr(report, name) == getattr(graph, name), name
    assert not report.weighted
    assert report.num_entries == len(graph.indices)
    assert report.blocks == report.parts == 3


@pytest.mark.parametrize(
    ("arguments", "piece"),
    [
        ({"num_nodes": 0}, "at least one node"),
        ({"num_nodes": None}, "the number of nodes is unknown"),
        ({"num_nodes": -1}, "num_nodes must be an integer >= 0"),
        ({"symmetrize": "mean"}, "symmetrize must be one of"),
        ({"duplicates": "mean"}, "duplicates must be one of"),
        ({"blocks": 0}, "blocks must be an integer >= 1"),
        ({"memory_budget": "lots"}, "memory_budget must be"),
        ({"node_ids": [1, 2]}, "node_ids must have one entry per node"),
    ],
)
def test_arguments(tmp_path, arguments, piece):
    given = {"num_nodes": 3} | arguments
    with pytest.raises(InputError, match=piece):
        write_graph_from_edges(tmp_path / "g", edge_source(*np.zeros((2, 1), dtype=int)), **given)
    assert list(tmp_path.iterdir()) == []


def test_paths(tmp_path):
    edges = edge_source(*np.zeros((2, 1), dtype=int))
    with pytest.raises(InputError, match="is a folder"):
        write_graph_from_edges(tmp_path, edges, 3)
    with pytest.raises(InputError, match="there is no folder"):
        write_graph_from_edges(tmp_path / "no" / "graph", edges, 3)


def test_too_little_memory(tmp_path):
    src = np.zeros(1000, dtype=int)
    with pytest.raises(MemoryBudgetError, match=r"needs 3\.1 MB, budget 1\.0 kB"):
        write_graph_from_edges(tmp_path / "g", edge_source(src, src), 3, memory_budget=1000)
    with pytest.raises(MemoryBudgetError, match="edge 0 - 0 is listed 2,000 times, too often"):
        write_graph_from_edges(tmp_path / "g", edge_source(src, src), 3, memory_budget=TINY)
    assert list(tmp_path.iterdir()) == []


def test_what_a_kill_left_is_deleted(tmp_path):
    """The folder of temporary files belongs to one process, and is deleted by the next."""
    path, folder = tmp_path / "graph", tmp_path / "graph.unfinished"
    edges = edge_source(np.array([0]), np.array([1]))
    folder.mkdir()
    (folder / "0.keys").write_bytes(np.arange(100).tobytes())
    (folder / "lock").touch()
    write_graph_from_edges(path, edges, 2, symmetrize="max")
    assert Graph.load(path).num_edges == 1
    assert not folder.exists()
    with FileLock(folder / "lock", path), pytest.raises(FileInUseError):
        write_graph_from_edges(path, edges, 2, symmetrize="max")


def test_an_error_leaves_the_old_file(tmp_path):
    (tmp_path / "graph").write_bytes(b"old")
    edges = edge_source(np.array([0]), np.array([1]))
    with pytest.raises(InputError, match="must be symmetric"):
        write_graph_from_edges(tmp_path / "graph", edges, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]
    assert (tmp_path / "graph").read_bytes() == b"old"


@pytest.mark.parametrize("symmetrize", ["max", "sum"])
@pytest.mark.parametrize("dtype", [None, np.float32, np.float64])
@pytest.mark.parametrize("blocks", [None, 1])
def test_memory_stays_within_the_budget(tmp_path, dtype, symmetrize, blocks):
    """As traced by tracemalloc, which sees all arrays; edges come from a generator."""
    budget, n, batches = 8_000_000, 50_000, 20

    def read(size):
        random = np.random.default_rng(0)
        for _ in range(batches):
            src, dst = random.integers(n, size=(2, size))
            yield EdgeBatch(src, dst, None if dtype is None else random.random(size).astype(dtype))

    size = int((budget - FIXED_BYTES) / _out_of_core.EDGE_BYTES[dtype is not None])
    edges = EdgeSource(batches * size, None if dtype is None else np.dtype(dtype), read)
    tracemalloc.start()
    try:
        write_graph_from_edges(
            tmp_path / "graph", edges, n, symmetrize=symmetrize, duplicates="sum",
            memory_budget=budget, blocks=blocks,
        )  # fmt: skip
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= budget
    assert peak >= budget / 4  # the budget is used, which keeps parts few


def test_progress(tmp_path):
    calls = []
    src, dst = np.random.default_rng(0).integers(20, size=(2, 300))
    write_graph_from_edges(
        tmp_path / "g", edge_source(src, dst), 20, symmetrize="max", memory_budget=TINY,
        progress=lambda *call: calls.append(call),
    )  # fmt: skip
    for stage in ("reading edges", "sorting edges"):
        done = [call[1] for call in calls if call[0] == stage]
        assert len(done) > 3
        assert done == sorted(done)
        assert done[-1] == 300
    assert calls[-1][0] == "writing the file"
