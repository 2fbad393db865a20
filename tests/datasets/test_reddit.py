import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from heatgraph import DGCClassifier
from heatgraph.datasets.reddit import read_reddit
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError

RANDOM = np.random.default_rng(0)
NODES, FEATURES = 40, 6
X = RANDOM.standard_normal((NODES, FEATURES)).astype(np.float32)
LABELS = RANDOM.integers(0, 4, NODES)
TYPES = np.repeat([1, 2, 3], [24, 6, 10])
TYPES = TYPES[RANDOM.permutation(NODES)]
ONE_WAY = np.triu(RANDOM.random((NODES, NODES)) < 0.2, 1)
BOTH_WAYS = ONE_WAY | ONE_WAY.T


def dgl_arrays():
    return {
        "feature": X, "label": LABELS, "node_types": TYPES,
        "node_ids": np.arange(NODES).astype(str),
    }  # fmt: skip


def sgc_arrays():
    """Arrays like SGC's; two nodes are in no part."""
    nodes = RANDOM.permutation(NODES)
    parts = dict(zip(("train", "val", "test"), np.split(nodes[:-2], [20, 28]), strict=True))
    arrays = {"feats": X.astype(np.float64)}
    for name, part in parts.items():
        arrays |= {f"{name}_index": part, f"y_{name}": LABELS[part].astype(np.int32)}
    return arrays


def write_dgl(folder, adjacency=None, compressed=True, **changes):
    arrays = dgl_arrays() | changes
    save = np.savez_compressed if compressed else np.savez
    save(
        folder / "reddit_data.npz",
        **{name: array for name, array in arrays.items() if array is not None},
    )
    if adjacency is None:
        adjacency = sp.coo_array(BOTH_WAYS.astype(np.float64))
    sp.save_npz(folder / "reddit_graph.npz", adjacency, compressed=compressed)


def write_sgc(folder, adjacency=None, compressed=True, **changes):
    arrays = sgc_arrays() | changes
    save = np.savez_compressed if compressed else np.savez
    save(
        folder / "reddit.npz",
        **{name: array for name, array in arrays.items() if array is not None},
    )
    if adjacency is None:
        adjacency = sp.csr_array(ONE_WAY.astype(np.float64))
    sp.save_npz(folder / "reddit_adj.npz", adjacency, compressed=compressed)
    return arrays


@pytest.mark.parametrize("compressed", [True, False])
def test_dgl_files(tmp_path, compressed):
    write_dgl(tmp_path, compressed=compressed)
    data = read_reddit(tmp_path)
    assert data.name == "reddit"
    assert_array_equal(data.graph.adjacency.toarray(), BOTH_WAYS)
    assert data.graph.weights is None
    assert data.graph.num_duplicates == 0
    assert data.graph.features.dtype == np.float32
    assert data.graph.features.tobytes() == X.tobytes()
    assert_array_equal(data.labels, LABELS)
    for kind, part in enumerate(("train", "val", "test"), start=1):
        assert_array_equal(getattr(data.splits["public"], part), np.flatnonzero(kind == TYPES))


@pytest.mark.parametrize("compressed", [True, False])
def test_sgc_files(tmp_path, compressed):
    arrays = write_sgc(tmp_path, compressed=compressed)
    data = read_reddit(tmp_path)
    assert_array_equal(data.graph.adjacency.toarray(), BOTH_WAYS)
    assert data.graph.weights is None
    assert_array_equal(data.graph.features, X)
    labelled = np.concatenate([arrays[f"{part}_index"] for part in ("train", "val", "test")])
    assert_array_equal(data.labels[labelled], LABELS[labelled])
    assert np.count_nonzero(data.labels == -1) == 2
    for part in ("train", "val", "test"):
        assert_array_equal(getattr(data.split, part), np.sort(arrays[f"{part}_index"]))


def test_dgl_files_are_preferred(tmp_path):
    write_sgc(tmp_path)
    write_dgl(tmp_path)
    assert "DGL's files" in read_reddit(tmp_path).notes


def test_notes(tmp_path):
    write_sgc(tmp_path)
    data = read_reddit(tmp_path)
    assert "graph.subgraph(split.train)" in data.notes
    assert "233K nodes, 11.6M edges and 152K/24K/55K" in data.notes
    assert "152,410/23,699/55,334" in data.notes
    assert "Hamilton" in data.citation
    assert data.licence == "not stated by its authors"


def test_inductive_fit(tmp_path):
    write_dgl(tmp_path)
    data = read_reddit(tmp_path)
    train = data.graph.subgraph(data.split.train)
    model = DGCClassifier(T=1.0, K=5).fit(train, data.labels[data.split.train])
    assert len(model.predict(data.graph)) == NODES


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("edges", [ONE_WAY, ONE_WAY.T, BOTH_WAYS])
@pytest.mark.parametrize("write", [write_dgl, write_sgc])
def test_formats_and_directions(tmp_path, kind, edges, write):
    write(tmp_path, sp.coo_array(edges.astype(np.float32) * 2.5).asformat(kind))
    graph = read_reddit(tmp_path).graph
    assert_array_equal(graph.adjacency.toarray(), BOTH_WAYS)
    assert graph.weights is None
    starts = np.zeros(len(graph.indices), dtype=bool)
    starts[graph.indptr[:-1][np.diff(graph.indptr) > 0]] = True
    assert ((np.diff(graph.indices) > 0) | starts[1:]).all()


@pytest.mark.parametrize("times", [2, 256])
def test_duplicate_edges_count_once(tmp_path, times):
    row, col = np.nonzero(BOTH_WAYS)
    row, col = np.tile(row, times), np.tile(col, times)
    write_dgl(tmp_path, sp.coo_array((np.ones(len(row)), (row, col)), shape=(NODES, NODES)))
    graph = read_reddit(tmp_path).graph
    assert_array_equal(graph.adjacency.toarray(), BOTH_WAYS)
    assert graph.num_duplicates == (times - 1) * BOTH_WAYS.sum()


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_unsorted_rows(tmp_path, kind):
    write_sgc(tmp_path)
    A = sp.csr_array(ONE_WAY)
    twice = np.concatenate([np.tile(A.indices[s:e][::-1], 2) for s, e in pairwise(A.indptr)])
    np.savez(
        tmp_path / "reddit_adj.npz",
        format=kind, shape=A.shape, data=np.ones(len(twice)), indices=twice, indptr=2 * A.indptr,
    )  # fmt: skip
    graph = read_reddit(tmp_path).graph
    assert_array_equal(graph.adjacency.toarray(), BOTH_WAYS)
    assert len(graph.indices) == BOTH_WAYS.sum()
    assert graph.num_duplicates == A.nnz


def test_self_loops_are_kept_and_zeros_dropped(tmp_path):
    A = BOTH_WAYS.astype(np.int64)
    A[3, 3] = 1
    stored = sp.coo_array(A)
    stored.data[::2] = 0
    kept = stored.toarray() > 0
    write_dgl(tmp_path, stored)
    assert_array_equal(read_reddit(tmp_path).graph.adjacency.toarray(), kept | kept.T)


def test_no_edges(tmp_path):
    write_dgl(tmp_path, sp.coo_array((NODES, NODES)))
    assert read_reddit(tmp_path).graph.num_edges == 0


@pytest.mark.parametrize(
    ("present", "found"),
    [
        ((), "none"),
        (("reddit_data.npz",), "reddit_data.npz"),
        (("reddit_data.npz", "reddit_adj.npz"), "reddit_data.npz and reddit_adj.npz"),
    ],
)
def test_missing_files(tmp_path, present, found):
    for name in present:
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=f"must hold reddit_data.npz and .* it has {found}."):
        read_reddit(tmp_path)


def changed(array, position, value, dtype=None):
    array = array.astype(dtype or array.dtype)
    array[position] = value
    return array


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": LABELS[1:]}, "node_types must have one entry per label, 39. Got 40"),
        ({"label": LABELS[:, None]}, r"label must be a list of integers. Got shape \(40, 1\)"),
        ({"label": LABELS.astype(str)}, "label must be a list of integers"),
        ({"label": changed(LABELS, 7, 1.5, float)}, r"Entry 7 is 1.5 \(1 such in all\)"),
        ({"label": changed(LABELS, 7, np.nan, float)}, "Entry 7 is nan"),
        ({"label": changed(LABELS, 7, -1)}, "label must be integers >= 0. Entry 7 is -1"),
        ({"label": changed(LABELS, 7, 2**63, np.uint64)}, "Entry 7 is 9223372036854775808"),
        ({"node_types": changed(TYPES, [4, 5], [4, 0])}, r"Entry 4 is 4 \(2 such in all\)"),
        ({"node_types": TYPES[1:]}, "node_types must have one entry per label, 40. Got 39"),
        ({"feature": X[1:]}, "features must have one row per node, 40. Got 39 rows"),
        ({"feature": X[0]}, "features must be two-dimensional"),
        ({"feature": changed(X, (3, 2), np.inf)}, "Row 3, column 2 is inf"),
        ({"feature": X.astype(str)}, "features must be real numbers"),
        ({"feature": X.astype(object)}, "'feature' holds Python objects"),
        ({"feature": None}, "has no array 'feature'"),
        ({"label": None}, "has no array 'label'"),
        ({"node_types": None}, "has no array 'node_types'"),
    ],
)
def test_invalid_arrays_of_dgl(tmp_path, changes, message):
    write_dgl(tmp_path, **changes)
    with pytest.raises(FileFormatError, match=rf"reddit_data\.npz.*{message}"):
        read_reddit(tmp_path)


PARTS = np.split(np.arange(NODES), [20, 28])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_index": changed(PARTS[0], 4, NODES)}, r"train_index\[4\]: node 40 is outside"),
        ({"val_index": changed(PARTS[1], 0, -3)}, "val_index must be integers >= 0"),
        ({"test_index": changed(PARTS[2], 1, PARTS[2][0])}, "test_index must name each node once"),
        ({"test_index": changed(PARTS[2], 1, 2)}, "train and test overlap in 1 nodes"),
        ({"val_index": changed(PARTS[1], 1, 2)}, "train and val overlap in 1 nodes"),
        ({"y_train": LABELS[:19]}, "y_train must have one entry per node in train_index, 20. Got"),
        ({"y_val": LABELS[20:28] + 0.5}, "y_val must be integers"),
        ({"feats": X[1:]}, "features must have one row per node"),
        ({"feats": None}, "has no array 'feats'"),
        ({"y_test": None}, "has no array 'y_test'"),
        ({"train_index": None}, "has no array 'train_index'"),
    ],
)
def test_invalid_arrays_of_sgc(tmp_path, changes, message):
    arrays = {}
    for name, part in zip(("train", "val", "test"), PARTS, strict=True):
        arrays |= {f"{name}_index": part, f"y_{name}": LABELS[part]}
    write_sgc(tmp_path, **(arrays | changes))
    with pytest.raises(FileFormatError, match=rf"reddit\.npz.*{message}"):
        read_reddit(tmp_path)


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        (sp.coo_array((NODES, NODES + 1)), "40 by 40, as the labels. Got 40 by 41"),
        (sp.coo_array((NODES + 1, NODES + 1)), "40 by 40, as the labels. Got 41 by 41"),
        (sp.coo_array((2**40, 2**40)), "40 by 40, as the labels"),
        (sp.coo_array(changed(BOTH_WAYS, (3, 4), -1.0, float)), "finite and not negative. Entry"),
        (sp.coo_array(changed(BOTH_WAYS, (3, 4), np.nan, float)), "finite and not negative"),
        (sp.dia_array(BOTH_WAYS), "must hold a csr, csc or coo matrix"),
    ],
)
def test_invalid_adjacency(tmp_path, adjacency, message):
    write_dgl(tmp_path, adjacency)
    with pytest.raises(FileFormatError, match=rf"reddit_graph\.npz.*{message}"):
        read_reddit(tmp_path)


def test_index_out_of_range(tmp_path):
    write_dgl(tmp_path)
    path = tmp_path / "reddit_graph.npz"
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **(arrays | {"col": changed(arrays["col"], 9, 10**6)}))
    with pytest.raises(
        FileFormatError, match="reddit_graph.npz: 'col' entry 9: 1000000 is outside"
    ):
        read_reddit(tmp_path)


@pytest.mark.parametrize("shape", [(NODES, NODES + 1), (0, 0)])
def test_sgc_needs_a_square_adjacency(tmp_path, shape):
    write_sgc(tmp_path)
    index = np.empty(0, dtype=np.int32)
    np.savez(
        tmp_path / "reddit_adj.npz",
        format="coo", shape=shape, data=np.empty(0), row=index, col=index,
    )  # fmt: skip
    with pytest.raises(
        FileFormatError,
        match="reddit_adj.npz: the adjacency must be square, with at least one node",
    ):
        read_reddit(tmp_path)


@pytest.mark.parametrize("name", ["reddit_data.npz", "reddit_graph.npz"])
def test_truncated_files(tmp_path, name):
    write_dgl(tmp_path)
    whole = (tmp_path / name).read_bytes()
    for length in (0, 5, len(whole) // 2, len(whole) - 4):
        (tmp_path / name).write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match=f"{name} is incomplete or damaged.*Get it again"):
            read_reddit(tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reddit")
    write_dgl(folder, compressed=False)
    return folder


@given(st.data())
def test_mutated_arrays_are_refused_or_read_correctly(folder, data):
    numbers = st.integers(-3, 45)
    arrays = {
        "format": b"coo",
        "shape": [NODES, NODES],
        "data": np.ones(5),
        "row": np.array(data.draw(st.lists(numbers, min_size=4, max_size=6)), dtype=np.int64),
        "col": np.array(data.draw(st.lists(numbers, min_size=4, max_size=6)), dtype=np.int64),
    }
    np.savez(folder / "reddit_graph.npz", **arrays)
    row, col = arrays["row"], arrays["col"]
    right = len(row) == len(col) == 5 and all(
        part.min() >= 0 and part.max() < NODES for part in (row, col)
    )
    try:
        graph = read_reddit(folder).graph
    except FileFormatError:
        assert not right
        return
    assert right
    expected = np.zeros((NODES, NODES))
    expected[row, col] = expected[col, row] = 1
    assert_array_equal(graph.adjacency.toarray(), expected)


@given(st.data())
def test_mutated_files_are_refused_or_read_correctly(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("mutation")
    write_dgl(path)
    name = data.draw(st.sampled_from(["reddit_data.npz", "reddit_graph.npz"]))
    altered = bytearray((path / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        altered[data.draw(st.integers(0, len(altered) - 1))] = data.draw(st.integers(0, 255))
    (path / name).write_bytes(altered)
    try:
        read = read_reddit(path)
    except (FileFormatError, InputError, MemoryBudgetError):
        return
    assert_array_equal(read.graph.adjacency.toarray(), BOTH_WAYS)
    assert_array_equal(read.graph.features, X)
    assert_array_equal(read.labels, LABELS)


@pytest.mark.parametrize("symmetric", [True, False])
def test_peak_memory_is_near_the_size_of_the_arrays(tmp_path, symmetric):
    n, edges = 3000, 500_000
    row, col = RANDOM.integers(0, n, (2, edges), dtype=np.int32)
    if symmetric:
        row, col = np.concatenate([row, col]), np.concatenate([col, row])
    adjacency = sp.coo_array((np.ones(len(row)), (row, col)), shape=(n, n))
    np.savez(
        tmp_path / "reddit_data.npz",
        feature=np.ones((n, 100), dtype=np.float32),
        label=np.zeros(n, dtype=np.int64),
        node_types=np.ones(n, dtype=np.int64),
    )
    sp.save_npz(tmp_path / "reddit_graph.npz", adjacency, compressed=False)
    size = sum((tmp_path / name).stat().st_size for name in ("reddit_data.npz", "reddit_graph.npz"))
    del adjacency, row, col
    read_reddit(tmp_path)  # imports what it needs
    tracemalloc.start()
    read_reddit(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (1.2 if symmetric else 1.6) * size
