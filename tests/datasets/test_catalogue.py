"""Data sets by name: what they hold, where they come from, and what the paper says of them."""

import dataclasses
import importlib.util
import lzma
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import heatgraph as hg
from heatgraph.datasets import bundled as bundles
from heatgraph.datasets import catalogue
from heatgraph.datasets.bundled import bundled, read_bundle, write_bundle
from heatgraph.datasets.catalogue import DATASETS, load_dataset
from heatgraph.datasets.planetoid import read_planetoid
from heatgraph.errors import FileFormatError, InputError

ROOT = Path(__file__).parents[2]
HERE = ["citeseer", "pubmed", "karate", "blocks"]


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("HEATGRAPH_DATA", raising=False)


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
def test_what_is_bundled_is_what_the_raw_files_say(planetoid_folder, name):
    assert_same(bundled(name), read_planetoid(planetoid_folder, name))


@pytest.mark.parametrize("name", HERE)
def test_counts_are_the_catalogues(name):
    data, entry = load_dataset(name), DATASETS[name]
    counted = data.statistics
    assert (counted["nodes"], counted["edges"]) == (entry.nodes, entry.edges)
    assert (counted["features"], counted["classes"]) == (entry.features, entry.classes)
    assert data.name == name
    assert data.licence
    assert data.citation or entry.place == "generated"


@pytest.mark.parametrize("name", ["citeseer", "cora", "pubmed"])
def test_against_the_papers_table_7(planetoid_folder, name):
    data, entry = load_dataset(name, planetoid_folder.parent), DATASETS[name]
    counted = data.statistics
    assert counted["nodes"] == entry.published.nodes
    assert counted["splits"]["public"] == entry.published.split
    # The paper counts citations and not pairs: where that differs, it is said.
    assert counted["edges"] < entry.published.edges
    assert f"{entry.published.edges:,}" in data.notes
    assert f"{counted['edges']:,}" in data.notes


def test_nodes_that_no_file_describes():
    data = load_dataset("citeseer")
    blank = data.labels == -1
    assert blank.sum() == 15
    assert data.graph.features[blank].nnz == 0
    assert data.statistics["labelled"] == 3312


def test_karate_is_zacharys():
    networkx = pytest.importorskip("networkx")
    club, data = networkx.karate_club_graph(), load_dataset("karate")
    theirs = networkx.to_scipy_sparse_array(club, weight=None, format="csr")
    assert_array_equal(data.graph.adjacency.toarray(), theirs.toarray())
    assert data.labels.tolist() == [club.nodes[member]["club"] for member in club]
    assert data.graph.features is None


def test_the_first_split_is_the_usual_one():
    data = load_dataset("citeseer")
    assert data.split is data.splits["public"]
    with pytest.raises(InputError, match="mine comes without a split. heatgraph.random_split"):
        _ = hg.Dataset("mine", data.graph).split
    assert "splits={'public': Split(train=120, val=500, test=1,000)}" in repr(data)
    assert "labelled" not in hg.Dataset("mine", data.graph).statistics


def test_citeseer_can_be_learned():
    data = load_dataset("citeseer")
    clf = hg.DGCClassifier(feature_scaling="rows", weight_decay=[0.01, 0.1])
    clf.fit(data.graph, data.labels, data.split.train, data.split.val)
    assert clf.score(data.graph, data.labels, data.split.test) > 0.7


def test_unknown_names():
    with pytest.raises(InputError, match="name must be one of citeseer, cora, .*Got 'citeseers'"):
        load_dataset("citeseers")


def test_a_folder_that_is_not_there(monkeypatch):
    with pytest.raises(InputError, match="folder must name a folder that exists. Got '/no/such'"):
        load_dataset("cora", "/no/such")
    monkeypatch.setenv("HEATGRAPH_DATA", "/no/such")
    with pytest.raises(InputError, match="HEATGRAPH_DATA must name a folder that exists"):
        load_dataset("cora")


def test_what_is_bundled_needs_no_folder(monkeypatch):
    monkeypatch.setenv("HEATGRAPH_DATA", "/no/such")
    assert load_dataset("karate").graph.num_nodes == 34


def test_the_folder_is_looked_in_first(planetoid_folder, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("nothing needs to be downloaded")

    monkeypatch.setattr(catalogue, "fetch_planetoid", fail)
    monkeypatch.setenv("HEATGRAPH_DATA", str(planetoid_folder.parent))
    assert load_dataset("cora").graph.num_nodes == 2708


def test_without_a_folder_cora_is_fetched(planetoid_folder, tmp_path, monkeypatch):
    calls = []

    def fetch(name, progress):
        calls.append(name)
        return planetoid_folder

    monkeypatch.setattr(catalogue, "fetch_planetoid", fetch)
    assert load_dataset("cora", tmp_path).graph.num_nodes == 2708
    assert calls == ["cora"]


def test_reddit_is_brought_by_hand(tmp_path):
    with pytest.raises(InputError, match="reddit_data.npz.*Then set HEATGRAPH_DATA"):
        load_dataset("reddit")
    with pytest.raises(InputError, match="must hold reddit_data.npz and reddit_graph.npz"):
        load_dataset("reddit", tmp_path)


def test_reddit_like_is_generated(monkeypatch):
    from heatgraph.datasets import synthetic

    small = synthetic.reddit_like(scale=0.002)
    monkeypatch.setattr(synthetic, "reddit_like", lambda: small)
    data = load_dataset("reddit-like")
    assert data.graph is small.graph
    assert "not comparable" in data.notes


def test_every_entry_says_how_to_get_it():
    for entry in DATASETS.values():
        assert entry.place == "bundled" or entry.how
        assert entry.title


def test_a_bundle_loses_nothing(tmp_path):
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


def test_a_bundle_has_a_checksum(tmp_path):
    path = tmp_path / "karate.heatgraph.xz"
    folder = Path(bundles.__file__).parent / "files"
    raw = bytearray(lzma.decompress((folder / path.name).read_bytes()))
    raw[-1] ^= 1
    path.write_bytes(lzma.compress(raw))
    with pytest.raises(FileFormatError, match="checksum"):
        read_bundle(path)


def test_the_script_makes_the_same_karate_club(tmp_path):
    spec = importlib.util.spec_from_file_location("bundle", ROOT / "scripts/bundle_datasets.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    data, provenance = script.karate()
    made = tmp_path / "karate.heatgraph.xz"
    write_bundle(made, data, provenance)
    assert script.same(script.FILES / made.name, made)
    assert not script.same(tmp_path / "none", made)
