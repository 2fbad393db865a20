import os
import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from heatgraph.datasets import planetoid
from heatgraph.datasets.planetoid import read_planetoid
from heatgraph.errors import FileFormatError

PARTS = ["x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"]
RANDOM = np.random.default_rng(0)

# A citation graph in miniature: 2 labelled nodes, 508 known ones, 3 test nodes out of order, and
# node 509, which no file describes, as some of Citeseer's.
KNOWN, ORDER, NODES, CLASSES = 508, np.array([511, 508, 510]), 512, 2
WORDS = (RANDOM.random((KNOWN + 3, 6)) < 0.4).astype(np.float32)
ALLX, TX = sp.csr_array(WORDS[:KNOWN]), sp.csr_array(WORDS[KNOWN:])
ALLY = np.eye(CLASSES, dtype=np.int32)[RANDOM.integers(CLASSES, size=KNOWN)]
TY = np.eye(CLASSES, dtype=np.int32)[[0, 1, 1]]
NEIGHBOURS = {v: [(v + 1) % NODES, (v + 1) % NODES, v // 2] for v in range(NODES)}


class OldMatrix:
    """Pickles like the csr_matrix of old versions of SciPy."""

    def __init__(self, matrix):
        self.format = "csr"
        self._shape = matrix.shape
        self.data, self.indices, self.indptr = matrix.data, matrix.indices, matrix.indptr


def old_pickle(value):
    """A pickle with the names of types in Python 2 and in old versions of NumPy and SciPy."""
    content = pickle.dumps(value, protocol=3)
    for new, old in [
        (f"c{__name__}\nOldMatrix", "cscipy.sparse.csr\ncsr_matrix"),
        ("cnumpy._core.multiarray\n", "cnumpy.core.multiarray\n"),
        ("cbuiltins\nlist", "c__builtin__\nlist"),
    ]:
        content = content.replace(new.encode(), old.encode())
    return content


@pytest.fixture
def small(tmp_path):
    parts = {
        "x": OldMatrix(ALLX[:2]), "allx": OldMatrix(ALLX), "tx": OldMatrix(TX),
        "y": ALLY[:2], "ally": ALLY, "ty": TY, "graph": NEIGHBOURS,
    }  # fmt: skip
    for name, value in parts.items():
        (tmp_path / f"ind.small.{name}").write_bytes(old_pickle(value))
    (tmp_path / "ind.small.test.index").write_text("\n".join(map(str, ORDER)) + "\n")
    return tmp_path


def test_order_of_nodes(small):
    data = read_planetoid(small, "small")
    X = data.graph.features.toarray()
    assert_array_equal(X[:KNOWN], ALLX.toarray())
    assert_array_equal(X[ORDER], TX.toarray())
    assert_array_equal(data.labels[:KNOWN], ALLY.argmax(axis=1))
    assert_array_equal(data.labels[ORDER], [0, 1, 1])
    assert data.labels[509] == -1
    assert not X[509].any()
    A = data.graph.adjacency.toarray()
    for node, others in NEIGHBOURS.items():
        assert A[node, others].all()
        assert A[others, node].all()
    assert A.sum() == len({frozenset((v, w)) for v in NEIGHBOURS for w in NEIGHBOURS[v]}) * 2 - 1
    assert_array_equal(data.split.train, [0, 1])
    assert_array_equal(data.split.val, np.arange(2, 502))
    assert_array_equal(data.split.test, [508, 510, 511])


class Evil:
    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize("part", ["allx", "graph", "ally"])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_code_in_a_pickle_never_runs(small, part, protocol, monkeypatch):
    monkeypatch.chdir(small)
    (small / f"ind.small.{part}").write_bytes(pickle.dumps(Evil(), protocol=protocol))
    reason = "names (posix|nt).system" if protocol == 2 else "opcode [A-Z_]+, which no array needs"
    with pytest.raises(FileFormatError, match=rf"ind\.small\.{part}: .*{reason}"):
        read_planetoid(small, "small")
    assert not (small / "ran").exists()


OBJECT_POINTERS = (
    b"\x80\x03cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
    b"(K\x01K\x01K\x07\x86cnumpy\ndtype\nX\x02\x00\x00\x00O8K\x00K\x01\x87R"
    b"(K\x03X\x01\x00\x00\x00|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89C8"
    + b"A" * 56
    + b"tb."
)


@pytest.mark.parametrize("part", ["ally", "graph"])
@pytest.mark.parametrize(
    "trick",
    [
        b"\x80\x03cnumpy\nndarray\n(K\x01K\x07\x86X\x01\x00\x00\x00OC8" + b"A" * 56 + b"tR.",
        OBJECT_POINTERS,
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cnumpy\nload\n.",
        b"Pelsewhere\n.",
        b"\x80\x02]q\x00.",
        b"\x80\x02Nq\x00.",
        b"",
    ],
)
def test_malicious_pickles(small, part, trick):
    (small / f"ind.small.{part}").write_bytes(trick)
    with pytest.raises(FileFormatError):
        read_planetoid(small, "small")


DEEP = 200_000
BOMBS = {
    # Hashing nested tuples recurses in C, without a limit.
    "nested tuples as a key": (b"}" + b")" + b"\x85" * DEEP + b"Ns.", "too many tuples"),
    "nested tuples of two": (b"}" + b")" + b"K\x01\x86" * DEEP + b"Ns.", "too many tuples"),
    "a large index of the memo": (b"Nr\xff\xff\xff\x7f.", "memo has a gap"),
    "many small steps of the memo": (b"Nr\x00\x10\x00\x00" * 9 + b".", "memo has a gap"),
    "many opcodes": (b"]" * 300_000 + b".", "more than 300,000 opcodes"),
    "many objects": (b"}" * 101 + b".", "too many tuples and objects"),
    "a long text": (b"I" + b"9" * 100_000 + b"\n.", "opcode|digits"),
    "duplicates": (b"N" + b"2" * 1000 + b".", "opcode DUP"),
}


@pytest.mark.parametrize("part", ["ally", "graph", "allx"])
@pytest.mark.parametrize("bomb", BOMBS)
def test_pickles_that_would_take_all_memory_or_stack(small, part, bomb, monkeypatch):
    monkeypatch.setattr(planetoid, "MAX_OPCODES", 300_000)
    opcodes, message = BOMBS[bomb]
    (small / f"ind.small.{part}").write_bytes(b"\x80\x02" + opcodes)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=rf"ind\.small\.{part}: .*({message})"):
            read_planetoid(small, "small")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "opcodes",
    [
        # A chain of lists, each of which holds the next: too deep for repr.
        b"]q\x00" + b"]a" * 10 + b"]" * 5000 + b"a" * 5000 + b".",
        b"}K\x01" + b"]" * 5000 + b"a" * 4999 + b"s.",
    ],
)
def test_nested_lists(small, opcodes):
    (small / "ind.small.graph").write_bytes(b"\x80\x02" + opcodes)
    with pytest.raises(FileFormatError, match="Get them again"):
        read_planetoid(small, "small")


@pytest.mark.parametrize("shape", [(1 << 40, 6), (KNOWN, 1 << 40), (KNOWN + 1, 6), (KNOWN,), None])
def test_shapes_that_do_not_fit_the_arrays(small, shape):
    matrix = OldMatrix(ALLX)
    matrix._shape = shape
    (small / "ind.small.allx").write_bytes(old_pickle(matrix))
    with pytest.raises(FileFormatError, match="Get them again"):
        read_planetoid(small, "small")


def test_large_files_are_refused(small, monkeypatch):
    monkeypatch.setattr(planetoid, "MAX_BYTES", 1000)
    with pytest.raises(FileFormatError, match="ind.small.* more than 1.0 kB"):
        read_planetoid(small, "small")


def test_files_cannot_modify_the_unpickler(small):
    path = small / "ind.small.allx"
    good = path.read_bytes()
    for state in (b"}X\x04\x00\x00\x00readK\x07s", b"N}X\x04\x00\x00\x00readK\x07s\x86"):
        path.write_bytes(b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n" + state + b"b.")
        with pytest.raises(FileFormatError):
            read_planetoid(small, "small")
    path.write_bytes(good)
    read_planetoid(small, "small")


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("test.index", b"511 508 511"),
        ("test.index", b"511 508 7"),
        ("test.index", b"511 508 999"),
        ("test.index", b"511 508 " + b"9" * 30),
        ("y", old_pickle(ALLY[:100])),
        ("graph", old_pickle({v: [0.5] for v in range(NODES)})),
        ("graph", old_pickle({v: [NODES] for v in range(NODES)})),
        ("ty", old_pickle(TY[:2])),
    ],
)
def test_inconsistent_files(small, part, content):
    (small / f"ind.small.{part}").write_bytes(content)
    with pytest.raises(FileFormatError, match="do not fit together"):
        read_planetoid(small, "small")


@pytest.mark.parametrize("part", [part for part in PARTS if part != "x"])
def test_truncated_files(small, part):
    path = small / f"ind.small.{part}"
    content = path.read_bytes()
    for length in (0, 5, len(content) // 2, len(content) - 4):
        path.write_bytes(content[:length])
        with pytest.raises(FileFormatError, match="Get (it|them) again"):
            read_planetoid(small, "small")


def test_index_out_of_range(small):
    bad = ALLX.copy()
    bad.indices[3] = 10**6
    (small / "ind.small.allx").write_bytes(old_pickle(OldMatrix(bad)))
    with pytest.raises(FileFormatError, match="index 1000000 is outside 0..5"):
        read_planetoid(small, "small")


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_planetoid(tmp_path, "cora")


@pytest.mark.parametrize(
    ("name", "nodes", "features", "classes", "train", "unlabelled"),
    [
        ("cora", 2708, 1433, 7, 140, 0),
        ("citeseer", 3327, 3703, 6, 120, 15),
        ("pubmed", 19717, 500, 3, 60, 0),
    ],
)
def test_real_files(planetoid_folder, name, nodes, features, classes, train, unlabelled):
    data = read_planetoid(planetoid_folder, name)
    assert data.graph.num_nodes == len(data.labels) == nodes
    assert data.graph.num_features == features
    assert_array_equal(np.unique(data.labels[data.labels >= 0]), np.arange(classes))
    assert (len(data.split.train), len(data.split.val), len(data.split.test)) == (train, 500, 1000)
    assert np.count_nonzero(data.labels == -1) == unlabelled
    split = np.concatenate([data.split.train, data.split.val, data.split.test])
    assert len(np.unique(split)) == len(split)
    assert (data.labels[split] >= 0).all()
    assert_array_equal(np.bincount(data.labels[data.split.train]), np.full(classes, 20))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_real_files_agree_with_pickle(planetoid_folder):
    """Their checksums are known, so that unpickling them is safe."""
    data = read_planetoid(planetoid_folder, "citeseer")
    with (planetoid_folder / "ind.citeseer.tx").open("rb") as file:
        tx = pickle.load(file, encoding="latin1")
    order = np.loadtxt(planetoid_folder / "ind.citeseer.test.index", dtype=int)
    assert_array_equal(data.graph.features[order].toarray(), tx.toarray())
