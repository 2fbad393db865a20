import os
import pickle
import shutil
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from heatgraph.datasets.planetoid import read_planetoid
from heatgraph.errors import FileFormatError

PARTS = ["x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"]


@pytest.mark.parametrize(
    ("name", "nodes", "features", "classes", "train", "unlabelled"),
    [
        ("cora", 2708, 1433, 7, 140, 0),
        ("citeseer", 3327, 3703, 6, 120, 15),
        ("pubmed", 19717, 500, 3, 60, 0),
    ],
)
def test_sizes(planetoid_folder, name, nodes, features, classes, train, unlabelled):
    data = read_planetoid(planetoid_folder, name)
    assert data.graph.num_nodes == len(data.labels) == nodes
    assert data.graph.num_features == features
    assert_array_equal(np.unique(data.labels[data.labels >= 0]), np.arange(classes))
    assert (len(data.train), len(data.val), len(data.test)) == (train, 500, 1000)
    assert np.count_nonzero(data.labels == -1) == unlabelled
    split = np.concatenate([data.train, data.val, data.test])
    assert len(np.unique(split)) == len(split)
    assert (data.labels[split] >= 0).all()
    assert_array_equal(np.bincount(data.labels[data.train]), np.full(classes, 20))


def test_against_a_plain_reading(planetoid_folder):
    """The files are known to be good, so here they may be unpickled the ordinary way."""
    data = read_planetoid(planetoid_folder, "citeseer")

    def load(part):
        return plain_unpickle(planetoid_folder / f"ind.citeseer.{part}")

    tx, order = load("tx"), np.loadtxt(planetoid_folder / "ind.citeseer.test.index", dtype=int)
    for row, node in enumerate(order[:50]):
        assert_array_equal(data.graph.features[[node]].toarray(), tx[row].toarray())
    neighbours = load("graph")
    A = data.graph.adjacency
    for node in range(0, 3327, 100):
        for other in neighbours[node]:
            assert A[node, other] == A[other, node] == 1


def plain_unpickle(path):
    with warnings.catch_warnings(), path.open("rb") as file:
        warnings.simplefilter("ignore")
        return pickle.load(file, encoding="latin1")


@pytest.fixture
def copy(planetoid_folder, tmp_path):
    for part in PARTS:
        shutil.copy(planetoid_folder / f"ind.cora.{part}", tmp_path)
        os.chmod(tmp_path / f"ind.cora.{part}", 0o600)
    return tmp_path


class Evil:
    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_code_in_a_pickle_never_runs(copy, protocol, monkeypatch):
    monkeypatch.chdir(copy)
    (copy / "ind.cora.allx").write_bytes(pickle.dumps(Evil(), protocol=protocol))
    with pytest.raises(FileFormatError, match=r"ind\.cora\.allx: .*names (posix|nt)\.system"):
        read_planetoid(copy, "cora")
    assert not (copy / "ran").exists()


def test_other_tricks_are_refused(copy):
    for trick in (b"cbuiltins\neval\n(S'1'\ntR.", b"(S'x'\nP1\n.", b"\x80\x02]q\x00.", b""):
        (copy / "ind.cora.graph").write_bytes(trick)
        with pytest.raises(FileFormatError):
            read_planetoid(copy, "cora")


@pytest.mark.parametrize("part", PARTS)
def test_truncated_files_are_refused(copy, part):
    path = copy / f"ind.cora.{part}"
    content = path.read_bytes()
    for length in (0, 10, len(content) // 2, len(content) - 7):
        path.write_bytes(content[:length])
        if part == "x":  # repeated in allx, and not read
            read_planetoid(copy, "cora")
            continue
        with pytest.raises(FileFormatError):
            read_planetoid(copy, "cora")


def test_an_index_out_of_range_is_refused(copy):
    path = copy / "ind.cora.allx"
    allx = sp.csr_matrix(plain_unpickle(path))
    state = {"data": allx.data, "indices": allx.indices, "indptr": allx.indptr}
    state["indices"][3] = 10**6
    path.write_bytes(legacy_pickle({**state, "_shape": allx.shape}))
    with pytest.raises(FileFormatError, match="index 1000000 is outside"):
        read_planetoid(copy, "cora")


def legacy_pickle(state):
    """A csr_matrix as SciPy used to pickle it, by the class's old name."""
    inner = pickle.dumps(state, protocol=3)[2:-1].replace(
        b"numpy._core.multiarray", b"numpy.core.multiarray"
    )
    return b"\x80\x03cscipy.sparse.csr\ncsr_matrix\n)\x81" + inner + b"b."


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_planetoid(tmp_path, "cora")
