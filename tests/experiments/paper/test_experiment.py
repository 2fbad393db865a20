"""Data sets of experiments: loaded once, split, digested; Reddit or its substitute."""

from dataclasses import replace

import numpy as np
import pytest

from heatgraph.errors import DownloadError
from heatgraph.experiments.paper import experiment
from heatgraph.experiments.paper.catalogue import EXPERIMENTS
from heatgraph.experiments.paper.experiment import DatasetCache, RunConfig


@pytest.mark.usefixtures("small_data")
def test_data_sets_are_loaded_once_and_split_by_seed():
    datasets = DatasetCache()
    public = datasets.load("cora")
    assert datasets.load("cora").graph is public.graph
    first, again, other = (datasets.load("cora", "random", seed).split for seed in (0, 0, 1))
    assert np.array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)
    fractions = datasets.load("cora", "fractions").split
    assert [len(part) for part in (fractions.train, fractions.val)] == [180, 60]


def test_a_failed_download_is_not_tried_again(monkeypatch):
    attempts = []

    def load(name, folder):
        attempts.append(name)
        raise DownloadError("no network. Try again.")

    monkeypatch.setattr(experiment, "load_dataset", load)
    datasets = DatasetCache()
    for _ in range(2):
        with pytest.raises(DownloadError, match="no network"):
            datasets.load("cora")
    assert attempts == ["cora"]


def test_digests_differ_for_other_labels_features_and_splits(small_data):
    datasets = DatasetCache()
    digest = datasets.digest("cora")
    assert datasets.digest("cora") == digest == DatasetCache().digest("cora")
    data = small_data["cora"]
    labels = np.array(data.labels)
    labels[0] += 1
    for changed in (
        replace(data, labels=labels),
        replace(data, graph=data.graph.with_features(data.graph.features + 1)),
        replace(data, splits={}),
    ):
        small_data["cora"] = changed
        assert DatasetCache().digest("cora") != digest


def test_reddit_is_used_if_its_files_exist(tmp_path, monkeypatch):
    monkeypatch.delenv("HEATGRAPH_DATA", raising=False)
    assert RunConfig(1).reddit == "reddit-like/10"
    assert RunConfig(1, quick=True).reddit == "reddit-like/50"
    assert RunConfig(1, data=tmp_path).reddit == "reddit-like/10"
    (tmp_path / "reddit").mkdir()
    assert RunConfig(1, data=tmp_path).reddit == "reddit"
    trials = EXPERIMENTS["table4"].trials(RunConfig(1, data=tmp_path))
    assert {trial.setting["dataset"] for trial in trials} == {"reddit"}
