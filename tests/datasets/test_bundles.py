"""Bundled data sets: the format, and that they are the published data."""

import dataclasses
import importlib.util
import lzma
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import heatgraph as hg
from heatgraph.datasets import bundles
from heatgraph.datasets.bundles import load_bundle, read_bundle, write_bundle
from heatgraph.datasets.planetoid import read_planetoid
from heatgraph.errors import FileFormatError

ROOT = Path(__file__).parents[2]


def assert_same(first, second):
    assert_array_equal(first.labels, second.labels)
    for part in ("train", "val", "test"):
        assert_array_equal(getattr(first.split, part), getattr(second.split, part))
    for part in ("indptr", "indices"):
        assert_array_equal(getattr(first.graph, part), getattr(second.graph, part))
    assert first.graph.weights is second.graph.weights is None
    X, Y = first.graph.features, second.graph.features
    if Y is None:
        assert X is None
        return
    assert X.shape == Y.shape
    assert X.dtype == Y.dtype
    assert_array_equal(X.indptr, Y.indptr)
    assert_array_equal(X.indices, Y.indices)
    assert_array_equal(X.data, Y.data)


@pytest.mark.parametrize("name", ["citeseer", "pubmed"])
def test_bundles_are_the_same_as_planetoids_files(planetoid_folder, name):
    assert_same(load_bundle(name), read_planetoid(planetoid_folder, name))


def test_karate_club_is_the_same_as_networkxs():
    networkx = pytest.importorskip("networkx")
    club, data = networkx.karate_club_graph(), load_bundle("karate")
    expected = networkx.to_scipy_sparse_array(club, weight=None, format="csr")
    assert_array_equal(data.graph.adjacency.toarray(), expected.toarray())
    assert data.labels.tolist() == [club.nodes[member]["club"] for member in club]
    assert data.graph.features is None


def test_round_trip(tmp_path):
    random = np.random.default_rng(0)
    A = np.triu(random.random((50, 50)) < 0.1)
    X = sp.csr_array(random.random((50, 7)) * (random.random((50, 7)) < 0.5))
    X.data = X.data.astype(np.float32)
    labels = random.integers(-1, 3, size=50)
    split = hg.Split(np.arange(5), np.arange(5, 9), np.arange(20, 50))
    data = hg.Dataset("some", hg.Graph(A | A.T, X.astype(np.float32)), labels, {"public": split})
    path = tmp_path / "some.heatgraph.xz"
    write_bundle(path, data, "made here")
    assert_same(read_bundle(path), data)
    assert read_bundle(path).source == "made here"
    weighted = dataclasses.replace(data, graph=hg.Graph(2.0 * (A | A.T)))
    with pytest.raises(ValueError, match="edges without weights"):
        write_bundle(path, weighted, "")


def test_checksum(tmp_path):
    path = tmp_path / "karate.heatgraph.xz"
    folder = Path(bundles.__file__).parent / "files"
    raw = bytearray(lzma.decompress((folder / path.name).read_bytes()))
    raw[-1] ^= 1
    path.write_bytes(lzma.compress(raw))
    with pytest.raises(FileFormatError, match="checksum"):
        read_bundle(path)


def test_script_reproduces_the_karate_club(tmp_path):
    spec = importlib.util.spec_from_file_location("bundle", ROOT / "scripts/bundle_datasets.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    data, provenance = script.karate()
    rebuilt = tmp_path / "karate.heatgraph.xz"
    write_bundle(rebuilt, data, provenance)
    assert script.is_same(script.FILES / rebuilt.name, rebuilt)
    assert not script.is_same(tmp_path / "none", rebuilt)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "no xz"])
def test_damaged_bundles_are_told_in_words(tmp_path, damage):
    path = next((Path(bundles.__file__).parent / "files").glob("*.xz"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged = {"truncated": content[:-20], "flipped": content, "no xz": b"karate"}[damage]
    (tmp_path / "damaged.xz").write_bytes(bytes(damaged))
    with pytest.raises(FileFormatError, match=r"damaged.xz is incomplete or damaged. .* install"):
        read_bundle(tmp_path / "damaged.xz")
