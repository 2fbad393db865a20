"""The catalogue: sizes, sources, and the counts in the paper."""

import pytest

import heatgraph as hg
from heatgraph.datasets import catalogue
from heatgraph.datasets.catalogue import DATASETS, load_dataset
from heatgraph.errors import InputError

AVAILABLE_OFFLINE = ["citeseer", "pubmed", "karate", "blocks"]


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("HEATGRAPH_DATA", raising=False)


@pytest.mark.parametrize("name", AVAILABLE_OFFLINE)
def test_counts_agree_with_the_catalogue(name):
    data, entry = load_dataset(name), DATASETS[name]
    counted = data.statistics
    assert (counted["nodes"], counted["edges"]) == (entry.nodes, entry.edges)
    assert (counted["features"], counted["classes"]) == (entry.features, entry.classes)
    assert data.name == name
    assert data.licence
    assert data.citation or entry.place == "generated"


@pytest.mark.parametrize("name", ["citeseer", "cora", "pubmed"])
def test_counts_of_the_papers_table_7(planetoid_folder, name):
    data, entry = load_dataset(name, planetoid_folder.parent), DATASETS[name]
    counted = data.statistics
    assert counted["nodes"] == entry.published.nodes
    assert counted["splits"]["public"] == entry.published.split
    # The paper counts citations and not pairs; the notes explain the difference.
    assert counted["edges"] < entry.published.edges
    assert f"{entry.published.edges:,}" in data.notes
    assert f"{counted['edges']:,}" in data.notes


def test_citeseers_undescribed_nodes():
    data = load_dataset("citeseer")
    blank = data.labels == -1
    assert blank.sum() == 15
    assert data.graph.features[blank].nnz == 0
    assert data.statistics["labelled"] == 3312


def test_citeseer_accuracy():
    data = load_dataset("citeseer")
    clf = hg.DGCClassifier(feature_scaling="rows", weight_decay=[0.01, 0.1])
    clf.fit(data.graph, data.labels, data.split.train, data.split.val)
    assert clf.score(data.graph, data.labels, data.split.test) > 0.7


def test_unknown_names():
    with pytest.raises(InputError, match="name must be one of citeseer, cora, .*Got 'citeseers'"):
        load_dataset("citeseers")


def test_missing_folder(monkeypatch):
    with pytest.raises(InputError, match="folder must name a folder that exists. Got '/no/such'"):
        load_dataset("cora", "/no/such")
    monkeypatch.setenv("HEATGRAPH_DATA", "/no/such")
    with pytest.raises(InputError, match="HEATGRAPH_DATA must name a folder that exists"):
        load_dataset("cora")


def test_bundles_need_no_folder(monkeypatch):
    monkeypatch.setenv("HEATGRAPH_DATA", "/no/such")
    assert load_dataset("karate").graph.num_nodes == 34


def test_local_files_are_preferred_to_a_download(planetoid_folder, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("nothing needs to be downloaded")

    monkeypatch.setattr(catalogue, "fetch_planetoid", fail)
    monkeypatch.setenv("HEATGRAPH_DATA", str(planetoid_folder.parent))
    assert load_dataset("cora").graph.num_nodes == 2708


def test_cora_is_downloaded_without_local_files(planetoid_folder, tmp_path, monkeypatch):
    calls = []

    def fetch(name, progress):
        calls.append(name)
        return planetoid_folder

    monkeypatch.setattr(catalogue, "fetch_planetoid", fetch)
    assert load_dataset("cora", tmp_path).graph.num_nodes == 2708
    assert calls == ["cora"]


def test_reddit_needs_local_files(tmp_path):
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


def test_every_entry_has_a_title_and_instructions():
    for entry in DATASETS.values():
        assert entry.place == "bundled" or entry.how
        assert entry.title
