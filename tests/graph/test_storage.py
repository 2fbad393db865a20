import copy
import mmap
import os
import pickle
import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from processes import start
from safetensors.numpy import load_file
from strategies import adjacencies, directed_adjacencies, features

from heatgraph import Graph, diffuse
from heatgraph._io import tensor_file
from heatgraph._io.tensor_file import CACHE_LINE_ALIGNMENT, map_tensors, write_tensors
from heatgraph.errors import FileFormatError, InputError
from heatgraph.graph import _storage

n = 5
PATH = sp.csr_array(np.eye(n, k=1) + np.eye(n, k=-1))
WEIGHTS = np.diag([2.5, 1, 3, 0.25], 1) + np.diag([2.5, 1, 3, 0.25], -1) + np.diag([7, 0, 0, 0, 0])
DENSE = np.arange(2.0 * n).reshape(n, 2)
SPARSE = sp.csr_array(np.arange(3 * n).reshape(n, 3) % 4)
NAMES = ["", "a b", "Übung", "😀", "nul \0 inside"]

GRAPHS = {
    "plain": Graph(PATH),
    "weighted": Graph(WEIGHTS),
    "weighted in float32": Graph(WEIGHTS.astype(np.float32)),
    "one node": Graph(np.zeros((1, 1))),
    "no edges": Graph(np.zeros((n, n)), DENSE),
    "dense": Graph(PATH, DENSE, feature_names=["x", "ÿ"]),
    "dense in float32": Graph(PATH, DENSE.astype(np.float32)),
    "dense in Fortran's order": Graph(PATH, np.asfortranarray(DENSE)),
    "dense with gaps": Graph(PATH, np.arange(6.0 * n).reshape(n, 6)[:, ::2]),
    "dense and big-endian": Graph(PATH, DENSE.astype(">f8")),
    "sparse": Graph(WEIGHTS, SPARSE, feature_names=["x", "y", ""]),
    "sparse in float32": Graph(PATH, SPARSE.astype(np.float32)),
    "sparse without entries": Graph(PATH, sp.csr_array((n, 3))),
    "texts": Graph(PATH, node_ids=NAMES),
    "one empty text": Graph(np.zeros((1, 1)), node_ids=[""]),
    "objects": Graph(PATH, node_ids=np.array([*NAMES[:4], "nul at the end\0"], dtype=object)),
    "half of a pair": Graph(PATH, node_ids=[*NAMES[:4], "\udc80"]),
    "big-endian numbers": Graph(PATH, node_ids=np.arange(n, dtype=">i4")),
    "directed": Graph(np.triu(WEIGHTS > 0), DENSE, directed=True),
    "directed and weighted": Graph(np.triu(WEIGHTS) + WEIGHTS // 2, directed=True),
    "directed without edges": Graph(np.zeros((n, n)), directed=True),
    "duplicates": Graph.from_edges([0, 0, 1], [1, 1, 0], num_nodes=2, symmetrize="max"),
} | {
    kind: Graph(PATH, node_ids=np.iinfo(kind).max - np.arange(n, dtype=kind))
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
}


def assert_same(again, graph):
    assert vars(again).keys() >= {*Graph.__annotations__}
    for name in ("indptr", "indices", "weights"):
        one, other = getattr(again, name), getattr(graph, name)
        assert (one is None) == (other is None)
        if other is not None:
            assert one.dtype == other.dtype
            assert not one.flags.writeable
            np.testing.assert_array_equal(one, other)
    assert (again._directed is None) == (graph._directed is None)
    for one, other in zip(again._directed or (), graph._directed or (), strict=True):
        assert (one is None) == (other is None)
        if other is not None:
            assert one.dtype == other.dtype
            assert not one.flags.writeable
            np.testing.assert_array_equal(one, other)
    assert type(again.features) is type(graph.features)
    if graph.features is not None:
        assert again.features.dtype == graph.features.dtype
        assert again.features.shape == graph.features.shape
        if sp.issparse(graph.features):
            for name in ("indptr", "indices", "data"):
                one, other = getattr(again.features, name), getattr(graph.features, name)
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_array_equal(again.features, graph.features)
    assert (again.node_ids is None) == (graph.node_ids is None)
    if graph.node_ids is not None:
        assert again.node_ids.dtype.kind == graph.node_ids.dtype.kind
        assert again.node_ids.dtype.isnative
        assert again.node_ids.tolist() == graph.node_ids.tolist()
    assert again.names.tolist() == graph.names.tolist()
    assert again.feature_names == graph.feature_names
    assert type(again.num_nodes) is int
    assert again.num_nodes == graph.num_nodes
    assert again.num_duplicates == graph.num_duplicates
    assert repr(again) == repr(graph)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.safetensors"


def full_graph():
    """A graph with everything that a file can hold, apart from dense features and integer ids."""
    return Graph(WEIGHTS, SPARSE, NAMES, feature_names=["x", "y", "z"])


def tampered(path, graph=None, content=(), **tensors):
    """Write a file with changed content or arrays, and with a valid checksum."""
    (graph or full_graph()).save(path)
    old, arrays = map_tensors(path, "graph")
    arrays = {name: array.copy() for name, array in arrays.items()}
    for name, change in tensors.items():
        name = name.replace("__", ".")
        arrays[name] = change(arrays.get(name)) if callable(change) else change
    kept = {name: array for name, array in arrays.items() if array is not None}
    write_tensors(path, "graph", {**old, **dict(content)}, kept, alignment=CACHE_LINE_ALIGNMENT)
    return path


def put(position, value):
    def change(array):
        array[position] = value
        return array

    return change


def as_type(dtype):
    return lambda array: array.astype(dtype)


def shorter(array):
    return array[:-1]


class TestRoundTrip:
    @pytest.mark.parametrize("name", GRAPHS)
    @pytest.mark.parametrize("block", [_storage.BLOCK, 1, 2, 3])
    def test_everything_is_restored(self, path, monkeypatch, name, block):
        monkeypatch.setattr(_storage, "BLOCK", block)
        monkeypatch.setattr(tensor_file, "BLOCK_BYTES", min(block * 8, tensor_file.BLOCK_BYTES))
        GRAPHS[name].save(path)
        assert_same(Graph.load(path), GRAPHS[name])

    @given(adjacencies(), st.data())
    def test_random_graphs(self, tmp_path_factory, A, data):
        X = data.draw(st.none() | features(len(A)))
        texts = st.lists(st.text(), min_size=len(A), max_size=len(A), unique=True)
        numbers = st.integers(-(2**63), 2**63 - 1)
        numbers = st.lists(numbers, min_size=len(A), max_size=len(A), unique=True)
        graph = Graph(sp.csr_array(A), X, data.draw(st.none() | texts | numbers))
        path = tmp_path_factory.mktemp("graph") / "graph"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_storage, "BLOCK", data.draw(st.sampled_from([1, 2, 5, 1 << 16])))
            graph.save(path)
            again = Graph.load(path)
        assert_same(again, graph)
        again.save(path.with_name("again"))
        assert path.with_name("again").read_bytes() == path.read_bytes()

    def test_integer_weights_become_floats(self, path):
        A = sp.csr_array(np.array([[0, 3], [3, 0]]))
        Graph._from_canonical(A).save(path)
        assert Graph.load(path).weights.tolist() == [3.0, 3.0]

    def test_the_safetensors_library_reads_it(self, path):
        graph = Graph(WEIGHTS, SPARSE, NAMES)
        graph.save(path)
        tensors = load_file(path)
        np.testing.assert_array_equal(tensors["indices"], graph.indices)
        np.testing.assert_array_equal(tensors["weights"], graph.weights)
        np.testing.assert_array_equal(tensors["features.data"], graph.features.data)
        assert tensors["node_ids.text"].tobytes().decode() == "".join(NAMES)

    def test_features_in_a_memory_map(self, path):
        for order in ("C", "F"):
            raw = np.memmap(path.with_name("x"), np.float32, "w+", shape=(n, 4), order=order)
            raw[:] = np.arange(4 * n).reshape(n, 4)
            raw.flags.writeable = False
            graph = Graph(PATH, raw)
            graph.save(path)
            assert_same(Graph.load(path), graph)

    @pytest.mark.parametrize(
        ("ids", "message"),
        [
            (
                [b"x", b"y", b"z", b"u", b"v"],
                r"Entry 0 is b'x', of type bytes; .* node_ids=\[str\(name",
            ),
            (["x", "y", 3, "u", "v"], "Entry 2 is 3, of type int"),
            ([0.5, 1.5, 2.5, 3.5, 4.5], "Entry 0 is 0.5, of type float"),
            ([("x", 1), ("x", 2), 1, 2, 3], r"Entry 0 is \('x', 1\), of type tuple"),
        ],
    )
    def test_ids_of_other_types_are_refused(self, path, ids, message):
        with pytest.raises(InputError, match="integers or strings to be saved. " + message):
            Graph(PATH, node_ids=ids).save(path)
        assert not path.exists()


class TestUse:
    @pytest.fixture
    def graphs(self, path):
        graph = Graph(WEIGHTS, DENSE, np.arange(n) + 100, feature_names=["x", "y"])
        graph.save(path)
        return graph, Graph.load(path)

    def test_arrays_are_views_of_the_file(self, path, graphs):
        _, again = graphs
        Graph(PATH, SPARSE).save(path.with_name("sparse"))
        X = Graph.load(path.with_name("sparse")).features
        arrays = [again.indptr, again.indices, again.weights, again.features, again.node_ids]
        for array in [*arrays, X.indptr, X.indices, X.data]:
            assert type(array) is np.ndarray
            assert array.flags.aligned
            assert not array.flags.writeable
            while isinstance(array, np.ndarray):
                array = array.base
            assert isinstance(array, mmap.mmap)

    def test_arrays_start_at_a_cache_line_by_decreasing_item_size(self, path, graphs):
        header, start = tensor_file._read_header(path, path.read_bytes(), "graph")
        assert start % 64 == 0
        places = {name: entry["data_offsets"][0] for name, entry in header.items() if "d" in entry}
        sizes = [4 if name == "indices" else 8 for name in sorted(places, key=places.get)]
        assert sizes == sorted(sizes, reverse=True)

    def test_results_equal_those_of_the_saved_graph(self, path, graphs):
        graph, again = graphs
        expected = diffuse(graph, T=2.0)
        np.testing.assert_array_equal(diffuse(again, T=2.0), expected)
        np.testing.assert_array_equal(diffuse(Graph.load(path), T=2.0), expected)
        np.testing.assert_array_equal(again.components, graph.components)
        assert_same(again.subgraph([3, 1, 2]), graph.subgraph([3, 1, 2]))
        assert_same(again.with_features(SPARSE), graph.with_features(SPARSE))

    @pytest.mark.parametrize(
        "copied", [copy.copy, copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))]
    )
    def test_copies(self, graphs, copied):
        graph, again = graphs
        assert_same(copied(again), graph)

    def test_a_subclass_loads_as_itself(self, path, graphs):
        class Special(Graph):
            pass

        assert type(Special.load(path)) is Special

    @pytest.mark.skipif(os.name != "posix", reason="a mapped file cannot be removed elsewhere")
    def test_the_mapped_file_may_be_deleted_or_replaced(self, path, graphs):
        graph, again = graphs
        again.save(path)
        Graph(PATH).save(path)
        path.unlink()
        assert_same(again, graph)


class TestDamage:
    def test_every_truncation_is_detected(self, path):
        full_graph().save(path)
        whole = path.read_bytes()
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            with pytest.raises(FileFormatError, match="incomplete"):
                Graph.load(path)

    def test_a_flipped_bit_in_any_byte_is_detected(self, path):
        full_graph().save(path)
        whole = path.read_bytes()
        _, start = tensor_file._read_header(path, whole, "graph")
        random = np.random.default_rng(0)
        for position in range(len(whole)):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << int(random.integers(8))
            path.write_bytes(damaged)
            with pytest.raises(FileFormatError, match="checksum" if position >= start else None):
                Graph.load(path)

    def test_trailing_bytes_are_refused(self, path):
        Graph(PATH).save(path)
        path.write_bytes(path.read_bytes() + bytes(8))
        with pytest.raises(FileFormatError, match="incomplete or damaged: its arrays end at"):
            Graph.load(path)

    def test_other_files(self, path):
        path.write_bytes(b"PK\x03\x04 and so on")
        with pytest.raises(FileFormatError, match="not a graph file: it is not in the safetensors"):
            Graph.load(path)
        write_tensors(path, "thing", {}, {})
        with pytest.raises(FileFormatError, match="holds a thing; expected a graph"):
            Graph.load(path)
        with pytest.raises(FileNotFoundError):
            Graph.load(path.with_name("nothing"))

    def test_a_newer_format_is_refused(self, path, monkeypatch):
        monkeypatch.setattr(tensor_file, "FORMAT_VERSION", 2)
        Graph(PATH).save(path)
        monkeypatch.undo()
        with pytest.raises(FileFormatError, match="has format '2'.* Upgrade heatgraph"):
            Graph.load(path)


class TestDirectedEdges:
    """Arrays of a directed path 0 -> 1 -> 2, with a weight of 2 on its second edge."""

    GRAPH = Graph.from_edges([0, 1], [1, 2], [1.0, 2.0], num_nodes=3, directed=True)

    @pytest.mark.parametrize(
        ("tensors", "message"),
        [
            ({"directed__indptr": put(1, 3)}, "directed.indptr must never decrease"),
            ({"directed__indices": put(0, 3)}, r"directed.indices\[0\] is 3, outside 0..2"),
            ({"directed__indices": put(0, 2)}, "directed edge 0 -> 2 is not an edge of the graph"),
            ({"directed__indices": put(1, 1)}, "directed edge 1 -> 1 is not an edge of the graph"),
            ({"directed__weights": put(1, 0.0)}, r"directed.weights\[1\] is 0.0"),
            ({"directed__weights": put(1, np.nan)}, r"directed.weights\[1\] is nan"),
            ({"directed__weights": None}, "'directed.weights' is missing"),
            ({"directed__indices": lambda a: a[:1]}, r"indices must be int32 of shape \(2,\)"),
            ({"directed__indptr": lambda a: a[:3]}, r"directed.indptr must be int64 of shape"),
        ],
    )
    def test_faults(self, path, tensors, message):
        tampered(path, self.GRAPH, **tensors)
        with pytest.raises(FileFormatError, match=message):
            Graph.load(path)

    def test_files_of_earlier_versions_do_not_mention_them(self, path):
        tampered(path)
        content, arrays = map_tensors(path, "graph")
        del content["directed"]
        write_tensors(path, "graph", content, arrays, alignment=CACHE_LINE_ALIGNMENT)
        assert Graph.load(path).directed_adjacency is None
        tampered(path, content={"directed": "both"})
        with pytest.raises(FileFormatError, match="unknown value 'both' for directed"):
            Graph.load(path)

    @given(directed_adjacencies())
    def test_membership_agrees_with_dense_entries(self, A):
        graph, n = Graph(A, directed=True), len(A)
        rows, columns = map(np.ravel, np.indices((n, n)))
        found = _storage._are_edges(graph.indptr, graph.indices, rows, columns)
        np.testing.assert_array_equal(found, graph.adjacency.toarray()[rows, columns] > 0)


INT32 = np.iinfo(np.int32)

# Faults behind a valid checksum: changed arrays ("__" for "."), changed content, the error message.
FAULTS = {
    "indptr from 1": ({"indptr": put(0, 1)}, {}, "indptr must start at 0. Got 1"),
    "indptr below 0": ({"indptr": put(0, -1)}, {}, "indptr must start at 0. Got -1"),
    "indptr falls": ({"indptr": put(2, 1)}, {}, "indptr must never decrease. Got 1 at position 2"),
    "indptr too long": ({"indptr": put(-1, 10)}, {}, r"indices must be int32 of shape \(10,\)"),
    "indptr too short": ({"indptr": put(-1, 8)}, {}, r"indices must be int32 of shape \(8,\)"),
    "indptr far away": ({"indptr": put(-1, 2**62)}, {}, "indices must be int32 of shape"),
    "indptr in int32": ({"indptr": as_type("i4")}, {}, "indptr must be int64 of shape"),
    "indptr in rows": ({"indptr": lambda a: a.reshape(2, 3)}, {}, "indptr must be int64 of shape"),
    "indptr empty": ({"indptr": lambda a: a[:0]}, {}, "it has no nodes"),
    "no nodes": ({"indptr": lambda a: a[:1]}, {}, "it has no nodes"),
    "index too large": ({"indices": put(-1, 5)}, {}, r"indices\[8\] is 5, outside 0..4"),
    "index below 0": ({"indices": put(0, -1)}, {}, r"indices\[0\] is -1, outside 0..4"),
    "largest index": ({"indices": put(4, INT32.max)}, {}, r"indices\[4\] is 2147483647, outside"),
    "indices in int64": ({"indices": as_type("i8")}, {}, "indices must be int32 of"),
    "indices unsigned": ({"indices": as_type("u4")}, {}, "indices must be int32 of"),
    "unsorted": (
        {"indices": put([2, 3], [2, 0]), "weights": put([2, 3], [1, 2.5])},
        {},
        r"indices must increase within each row. indices\[3\] is 0, in row 1",
    ),
    "twice": ({"indices": put([2, 3], [0, 0])}, {}, r"increase within each row. indices\[3\]"),
    "one way": ({"indices": put(3, 3)}, {}, "its edges are not symmetric"),
    "uneven weights": ({"weights": put(3, 1.5)}, {}, "its edges are not symmetric"),
    "hardly uneven": ({"weights": put(3, np.nextafter(1, 2))}, {}, "its edges are not symmetric"),
    "NaN weight": ({"weights": put(0, np.nan)}, {}, r"weights\[0\] is nan"),
    "infinite weight": ({"weights": put(0, np.inf)}, {}, r"weights\[0\] is inf"),
    "no weight": ({"weights": put(0, 0.0)}, {}, r"weights\[0\] is 0.0"),
    "negative weight": ({"weights": put([1, 2], -1.0)}, {}, r"weights\[1\] is -1.0"),
    "huge weights": ({"weights": put([0, 1, 2], 1e308)}, {}, "they add up to infinity"),
    "few weights": ({"weights": shorter}, {}, "weights must be float32 or float64 of"),
    "whole weights": ({"weights": as_type("i8")}, {}, "weights must be float32 or"),
    "NaN feature": ({"features__data": put(2, np.nan)}, {}, "finite. Row 1, column 0 is nan"),
    "infinite feature": ({"features__data": put(0, -np.inf)}, {}, "Row 0, column 1 is -inf"),
    "few features": ({"features__data": shorter}, {}, "features.data must be float32 or"),
    "whole features": ({"features__data": as_type("i8")}, {}, "features.data must be"),
    "feature out of range": ({"features__indices": put(2, 3)}, {}, r"s.indices\[2\] is 3, outside"),
    "feature twice": ({"features__indices": put(1, 0)}, {}, "features.indices must increase"),
    "features fall": ({"features__indptr": put(1, 99)}, {}, "features.indptr must never decrease"),
    "features start": ({"features__indptr": put(0, 1)}, {}, "features.indptr must start at 0"),
    "features end": ({"features__indptr": put(-1, 99)}, {}, "features.indices must be int"),
    "features of two types": (
        {"features__indptr": as_type("i8"), "features__indices": as_type("i4")},
        {},
        "features.indices must be int64",
    ),
    "features unsigned": ({"features__indptr": as_type("u8")}, {}, "features.indptr must"),
    "fewer columns": ({}, {"num_features": 2}, r"features.indices\[\d\] is 2, outside 0..1"),
    "no columns": ({}, {"num_features": 0}, "its features have no columns"),
    "half a column": ({}, {"num_features": 1.5}, "num_features must be an integer. Got 1.5"),
    "endless columns": ({}, {"num_features": 2**63}, "num_features must be an integer"),
    "duplicates of a kind": ({}, {"num_duplicates": True}, "num_duplicates must be an integer"),
    "negative duplicates": ({}, {"num_duplicates": -1}, "num_duplicates must be an integer"),
    "same ids": ({"node_ids__offsets": put(2, 0)}, {}, "node_ids are not distinct"),
    "broken text": ({"node_ids__text": put(3, 255)}, {}, "can't decode byte 0xff"),
    "cut in a character": ({"node_ids__offsets": put(2, 4)}, {}, "can't decode"),
    "ids fall": ({"node_ids__offsets": put(1, 10)}, {}, "node_ids.offsets must never decrease"),
    "ids start": ({"node_ids__offsets": put(0, 1)}, {}, "node_ids.offsets must start at 0"),
    "ids end": ({"node_ids__offsets": put(-1, 99)}, {}, r"node_ids.text must be .* \(99,\)"),
    "few ids": ({"node_ids__offsets": shorter}, {}, r"node_ids.offsets must be .* \(6,\)"),
    "names twice": ({"feature_names__text": put(1, ord("x"))}, {}, "names are not distinct"),
    "few names": ({"feature_names__offsets": put(2, 9)}, {}, "names.offsets must never decrease"),
    "other names": (
        {"feature_names__offsets": shorter},
        {},
        r"feature_names.offsets must be int64 of shape \(4,\)",
    ),
    "no indptr": ({"indptr": None}, {}, "array 'indptr' is missing"),
    "no weights": ({"weights": None}, {}, "array 'weights' is missing"),
    "half of the features": ({"features__indices": None}, {}, "'features.indices' is missing"),
    "one more": ({"more": np.ones(3)}, {}, "array 'more' is unexpected"),
    "unknown features": ({}, {"features": "rugged"}, "unknown value 'rugged' for features"),
    "unknown ids": ({}, {"node_ids": ["texts"]}, r"unknown value \['texts'\] for node_ids"),
    "weights by number": ({}, {"weights": 1}, "unknown value 1 for weights"),
    "names unsaid": ({}, {"feature_names": None}, "unknown value None for feature_names"),
}  # fmt: skip


class TestInvalidContent:
    """Files with a valid checksum that `Graph.save` cannot have written."""

    @pytest.mark.parametrize("block", [_storage.BLOCK, 2])
    @pytest.mark.parametrize("name", FAULTS)
    def test_faults_are_named(self, path, monkeypatch, name, block):
        tensors, content, message = FAULTS[name]
        tampered(path, content=content, **tensors)
        monkeypatch.setattr(_storage, "BLOCK", block)
        with pytest.raises(FileFormatError, match=message) as caught:
            Graph.load(path)
        assert str(caught.value).startswith(f"{path} does not hold a valid graph: ")
        assert str(caught.value).endswith(". Save the graph again.")
        assert ".." not in str(caught.value).replace("outside 0..", "")

    def test_without_a_change_the_file_is_valid(self, path):
        assert_same(Graph.load(tampered(path)), full_graph())

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (put((3, 1), np.nan), "must be finite. Row 3, column 1 is nan"),
            (lambda X: X[:-1], r"features must be float32 or float64 of shape \(5, 2\)"),
            (lambda X: X[:, :1], r"features must be float32 or float64 of shape \(5, 2\)"),
            (lambda X: X.astype(np.float16), "Got float16 of shape"),
        ],
    )
    def test_dense_features(self, path, change, message):
        tampered(path, Graph(PATH, DENSE), features=change)
        with pytest.raises(FileFormatError, match=message):
            Graph.load(path)

    def test_integer_ids(self, path):
        graph = Graph(PATH, node_ids=np.arange(n))
        tampered(path, graph, node_ids=put(4, 0))
        with pytest.raises(FileFormatError, match="node_ids are not distinct"):
            Graph.load(path)
        for change in (lambda ids: ids[1:], lambda ids: ids.astype(float)):
            tampered(path, graph, node_ids=change)
            with pytest.raises(FileFormatError, match="node_ids must be int32 or int64 or"):
                Graph.load(path)

    def test_strings_that_padding_would_make_equal(self, path):
        graph = Graph(PATH, node_ids=np.array(["a", "a\0", "b", "c", "d"], dtype=object))
        graph.save(path)
        assert_same(Graph.load(path), graph)
        tampered(path, graph, content={"node_ids": "texts"})
        with pytest.raises(FileFormatError, match="node_ids are not distinct"):
            Graph.load(path)

    def test_strings_are_compared_where_hashes_collide(self, path, monkeypatch):
        graph = Graph(PATH, node_ids=NAMES)
        graph.save(path)
        monkeypatch.setattr(_storage, "_has_duplicates", lambda numbers: True)
        assert_same(Graph.load(path), graph)

    def test_one_long_string_does_not_widen_all(self, path):
        ids = np.array([*map(str, range(300)), "x" * 3000])
        Graph(sp.csr_array((301, 301)), node_ids=ids).save(path)
        again = Graph.load(path).node_ids
        assert again.dtype == object
        assert again.tolist() == ids.tolist()

    def test_large_weights_with_finite_sums_are_valid(self, path):
        graph = Graph(np.diag([1.5e308, 1e308]))
        graph.save(path)
        assert_same(Graph.load(path), graph)

    def test_feature_names_need_features(self, path):
        tampered(
            path,
            Graph(PATH),
            content={"feature_names": True},
            feature_names__text=np.array([120], dtype=np.uint8),
            feature_names__offsets=np.array([0, 1]),
        )
        with pytest.raises(FileFormatError, match=r"feature_names.offsets must be .* \(1,\)"):
            Graph.load(path)

    @given(adjacencies(), st.data())
    def test_any_asymmetric_entry_is_detected(self, tmp_path_factory, A, data):
        """Drop an entry, add one or change a weight; nothing but the symmetry is violated."""
        i, j = (data.draw(st.integers(0, len(A) - 1)) for _ in range(2))
        if i == j:
            return
        A[i, j] = data.draw(st.sampled_from([0.0, 1.0, np.nextafter(A[i, j], 9)]))
        path = tmp_path_factory.mktemp("graph") / "graph"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_storage, "BLOCK", data.draw(st.sampled_from([1, 3, 1 << 16])))
            Graph._from_canonical(sp.csr_array(A)).save(path)
            if A[i, j] == A[j, i]:
                Graph.load(path)
            else:
                with pytest.raises(FileFormatError, match="its edges are not symmetric"):
                    Graph.load(path)

    def test_a_directed_regular_graph_is_detected(self, path):
        """In-degrees equal out-degrees, and sums of indices agree over rows and columns."""
        ring = sp.csr_array(np.roll(np.eye(64), 1, axis=1))
        for A in (ring, ring + ring @ ring @ ring, sp.block_diag([ring, ring.T]).tocsr()):
            Graph._from_canonical(sp.csr_array(A)).save(path)
            with pytest.raises(FileFormatError, match="its edges are not symmetric"):
                Graph.load(path)


class TestMemory:
    """As traced by tracemalloc, which sees arrays but not memory maps."""

    def peak(self, work):
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def large_graph(self, X):
        weights = np.full(X.shape[0] - 1, 2.5)
        A = sp.diags_array([weights, weights], offsets=[-1, 1]).tocsr()
        return Graph._from_canonical(A, X)

    @pytest.mark.parametrize("kind", ["dense", "wide", "gaps", "sparse", "mapped"])
    def test_a_few_blocks_suffice(self, path, kind):
        if kind == "sparse":
            size, each = 200_000, 30
            indices = np.tile(np.arange(each), size)
            parts = (np.ones(size * each), indices, np.arange(size + 1) * each)
            X = sp.csr_array(parts, shape=(size, each))
        elif kind == "mapped":
            X = np.memmap(path.with_name("x"), np.float32, "w+", shape=(200_000, 50), order="F")
        elif kind == "wide":
            X = np.ones((40, 1_000_000), dtype=np.float32)
        else:
            X = np.ones((200_000, 60), dtype=np.float32)[:, :: 2 if kind == "gaps" else 1]
        graph = self.large_graph(X)
        size = 24 << 20
        assert self.peak(lambda: graph.save(path)) < 5 << 20
        assert path.stat().st_size > size
        assert self.peak(lambda: Graph.load(path)) < 10 << 20

    def test_ids_take_a_few_numbers_per_node(self, path):
        ids = np.array([f"node {number:07}" for number in range(50_000)])
        Graph(sp.csr_array((len(ids),) * 2), node_ids=ids).save(path)
        assert self.peak(lambda: Graph.load(path)) < ids.nbytes + 40 * len(ids) + (10 << 20)


class TestAtomicity:
    def test_an_error_in_any_write_leaves_the_old_file(self, path, monkeypatch):
        monkeypatch.setattr(tensor_file, "BLOCK_BYTES", 64)
        graph = full_graph()
        Graph(PATH).save(path)
        before = path.read_bytes()
        written, capacity, open_file = [], [10**6], type(path).open

        class Full:
            """A file on a disk that is full after a number of writes."""

            def __init__(self, file):
                self.file = file

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.file.close()

            def __getattr__(self, name):
                return getattr(self.file, name)

            def write(self, block):
                written.append(len(block))
                if len(written) > capacity[0]:
                    raise OSError("disk full")
                return self.file.write(block)

        monkeypatch.setattr(
            type(path), "open", lambda *args, **more: Full(open_file(*args, **more))
        )
        graph.save(path.with_name("counted"))
        path.with_name("counted").unlink()
        writes = len(written)
        assert writes > 10
        for count in range(writes):
            written.clear()
            capacity[0] = count
            with pytest.raises(OSError, match="disk full"):
                graph.save(path)
            assert path.read_bytes() == before
            assert os.listdir(path.parent) == [path.name]

    def test_a_file_size_limit_leaves_the_old_file(self, path):
        resource = pytest.importorskip("resource")
        graph = Graph(PATH, np.ones((n, 50_000)))
        Graph(PATH).save(path)
        before = path.read_bytes()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            for size in (0, 100, 1_000, 1_000_000, 2_000_000):
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
                with pytest.raises(OSError, match="File too large"):
                    graph.save(path)
                assert path.read_bytes() == before
                assert os.listdir(path.parent) == [path.name]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)

    @pytest.mark.signals
    @pytest.mark.slow
    @pytest.mark.skipif(os.name != "posix", reason="SIGKILL exists on POSIX only")
    def test_a_killed_process_leaves_a_complete_file(self, path):
        code = (
            "import sys, numpy as np\n"
            "from heatgraph import Graph\n"
            "for i in range(10**6):\n"
            "    graph = Graph(np.zeros((200, 200)), np.full((200, 2000), float(i)))\n"
            "    graph.save(sys.argv[1])\n"
            "    if i == 0: print('ready', flush=True)\n"
        )
        for delay in (0.02, 0.05, 0.11):
            process = start([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
            process.stdout.readline()
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
            X = Graph.load(path).features
            assert np.ptp(X) == 0
