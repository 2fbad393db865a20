"""Table 8: SIGN with a hidden layer beside the methods that the paper prints."""

import pytest

from heatgraph.experiments.paper.experiment import DatasetCache, RunConfig
from heatgraph.experiments.paper.table8 import NETWORK_DECAYS, NETWORK_TITLE, TABLE_8, TIMES
from heatgraph.experiments.results import Record, Records
from heatgraph.report.document import Chart, Table


def network_trials(config):
    trials = TABLE_8.trials(config)
    return [trial for trial in trials if trial.setting["method"] == NETWORK_TITLE]


def test_the_hidden_layer_is_tried_at_every_whole_time():
    trials = network_trials(RunConfig(seeds=10))
    assert {trial.setting["T"] for trial in trials} == {T for T in TIMES if int(T) == T}
    assert {trial.setting["seed"] for trial in trials} == {0, 1, 2}
    for trial in trials:
        recipes = trial.details["recipes"]
        assert {recipe["options"]["steps"] for recipe in recipes} == {trial.setting["T"]}
        assert [recipe["weight_decay"] for recipe in recipes] == list(NETWORK_DECAYS)
    assert len(network_trials(RunConfig(seeds=10, quick=True))) == 6


def test_the_hidden_layer_has_a_row_without_a_printed_one():
    setting = {"what": "SIGN appendix", "method": NETWORK_TITLE, "protocol": "validated", "T": 3.0}
    records = [Record(setting | {"seed": n}, {"accuracy": 80.0 + n}) for n in range(2)]
    parts = TABLE_8.section(Records(records)).parts
    (table,) = (part for part in parts if isinstance(part, Table))
    (row,) = (row for row in table.rows if row[0] == NETWORK_TITLE)
    assert row[1] == "validated"
    assert row[2 + TIMES.index(3.0)].value.startswith("80.5")
    (chart,) = (part for part in parts if isinstance(part, Chart))
    (line,) = (line for line in chart.panels[0].content if NETWORK_TITLE in line.name)
    assert line.y == [80.5]


def test_the_hidden_layer_is_fitted(small_data):
    (trial, *_) = network_trials(RunConfig(seeds=1, quick=True))
    assert trial.run(DatasetCache())["accuracy"] == pytest.approx(50, abs=50)
