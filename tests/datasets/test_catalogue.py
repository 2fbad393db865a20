"""The catalogue: sizes, sources, and the counts in the paper."""

import numpy as np
import pytest
from graph_files import (
    FACEBOOK_LABELS,
    GEOM_LABELS,
    GEOM_X,
    TWITCH_LABELS,
    geom_masks,
    write_geom_gcn,
    write_musae,
    write_twitch,
)

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


GEOM_GCN = ["texas", "cornell", "wisconsin", "chameleon", "squirrel", "actor"]
TWITCH = {"de": "DE", "engb": "ENGB", "es": "ES", "fr": "FR", "pt": "PTBR", "ru": "RU"}


@pytest.mark.parametrize("name", GEOM_GCN)
@pytest.mark.parametrize("place", ["geom-gcn", "geom-gcn/new_data", "new_data", "."])
def test_geom_gcns_files(tmp_path, monkeypatch, name, place):
    write_geom_gcn(tmp_path / place / name, indices=name == "actor")
    monkeypatch.setenv("HEATGRAPH_DATA", str(tmp_path))
    data = load_dataset(name)
    assert data.name == name
    assert data.graph.features.toarray().tolist() == GEOM_X.tolist()
    assert data.labels.tolist() == GEOM_LABELS.tolist()
    assert "Pei" in data.citation
    assert ("Platonov" in data.notes) == (name in ("chameleon", "squirrel"))
    assert "These files have 8 nodes, 6 edges, 4 features, 3 classes, where " in data.notes
    assert f"{DATASETS[name].nodes:,}, {DATASETS[name].edges:,}, " in data.notes


@pytest.mark.parametrize("folder", ["actor", "film"])
def test_actor_may_be_called_film(tmp_path, folder):
    """As it is in Geom-GCN's repository, splits included."""
    write_geom_gcn(tmp_path / "geom-gcn" / "new_data" / folder, indices=True)
    (tmp_path / "geom-gcn" / "splits").mkdir()
    np.savez(tmp_path / "geom-gcn" / "splits" / "film_split_0.6_0.2_0.npz", **geom_masks(0))
    data = load_dataset("actor", tmp_path)
    assert data.graph.num_features == 4
    assert list(data.splits) == ["geom-gcn 0"]


@pytest.mark.parametrize("suffix", TWITCH)
@pytest.mark.parametrize("place", ["musae/twitch", "twitch"])
def test_twitchs_files(tmp_path, suffix, place):
    language = TWITCH[suffix]
    write_twitch(tmp_path / place / language, language)
    data = load_dataset(f"twitch-{suffix}", tmp_path)
    assert data.labels.tolist() == TWITCH_LABELS
    assert data.graph.num_features == DATASETS[f"twitch-{suffix}"].features
    assert "These files have 6 nodes, 5 edges, where " in data.notes


@pytest.mark.parametrize("place", ["musae/facebook_large", "facebook_large"])
def test_facebooks_files(tmp_path, place):
    write_musae(tmp_path / place)
    data = load_dataset("facebook-pages", tmp_path)
    assert data.labels.tolist() == FACEBOOK_LABELS
    assert "Rozemberczki" in data.citation


def test_the_folder_of_a_data_set_itself(tmp_path):
    write_geom_gcn(tmp_path / "texas")
    write_twitch(tmp_path / "RU")
    assert load_dataset("texas", tmp_path / "texas").graph.num_nodes == 8
    assert load_dataset("twitch-ru", tmp_path / "RU").graph.num_nodes == 6
    with pytest.raises(InputError, match="cornell must hold out1_node_feature_label.txt"):
        load_dataset("cornell", tmp_path / "texas")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("texas", "geom-gcn/texas"), ("actor", "geom-gcn/actor"),
        ("facebook-pages", "musae/facebook_large"), ("twitch-pt", "musae/twitch/PTBR"),
    ],
)  # fmt: skip
def test_provided_files_are_missing(tmp_path, name, place):
    with pytest.raises(InputError, match=f"into a folder {place}. Then set HEATGRAPH_DATA"):
        load_dataset(name)
    with pytest.raises(InputError, match=f"{place} must hold "):
        load_dataset(name, tmp_path)
    assert f"$HEATGRAPH_DATA/{place}" in DATASETS[name].how


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
