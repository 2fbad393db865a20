"""Protocols: which nodes a fit may use."""

import numpy as np
import pytest

from heatgraph.experiments.paper import fitting
from heatgraph.experiments.paper.catalogue import EXPERIMENTS
from heatgraph.experiments.paper.experiment import DatasetCache, RunConfig
from heatgraph.experiments.paper.fitting import accuracy_series
from heatgraph.experiments.results import Record, Records


def trials_of(experiment, config, **setting):
    return [
        trial
        for trial in EXPERIMENTS[experiment].trials(config)
        if setting.items() <= trial.setting.items()
    ]


def test_dgc_with_published_settings_reads_no_validation_labels(small_data):
    (trial,) = trials_of(
        "table2", RunConfig(1), method="DGC", protocol="published", dataset="pubmed"
    )
    first = trial.run(DatasetCache())
    data = small_data["pubmed"]
    data.labels[data.split.val] = 0
    assert trial.run(DatasetCache()) == first


@pytest.mark.slow
def test_no_fit_reads_test_labels(small_data, monkeypatch):
    """With the labels of test nodes permuted, predictions are the same."""
    predictions = []

    def keep_predictions(model, data):
        predictions.append(model.predict())
        return {"accuracy": 0.0}

    monkeypatch.setattr(fitting, "evaluate", keep_predictions)
    trials = trials_of("table2", RunConfig(1), dataset="pubmed")
    trials += trials_of("table3", RunConfig(1, quick=True), dataset="pubmed")
    for trial in trials:
        trial.run(DatasetCache())
        data = small_data["pubmed"]
        before = data.labels.copy()
        split = DatasetCache().load("pubmed", trial.setting["split"], trial.setting["seed"]).split
        data.labels[split.test] = np.random.default_rng(0).permutation(data.labels[split.test])
        trial.run(DatasetCache())
        assert np.array_equal(predictions.pop(), predictions.pop()), trial
        data.labels[:] = before


def test_accuracy_series_has_mean_and_deviation_of_each_group():
    one, two = (
        Records(Record({}, {"accuracy": value}) for value in values)
        for values in ([80.0], [70.0, 74.0])
    )
    (series,) = accuracy_series("DGC", [(1, one), (2, two), (3, Records())])
    assert (series.x, series.y) == ([1, 2], [80.0, 72.0])
    np.testing.assert_allclose(series.spread, [0, np.sqrt(8)])
    assert accuracy_series("DGC", [(1, Records())]) == []
