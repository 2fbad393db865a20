"""Every experiment of the catalogue: its trials, and its section without and with results."""

import json
import re

import pytest

from heatgraph.errors import InputError
from heatgraph.experiments.paper.catalogue import EXPERIMENTS, select_experiments
from heatgraph.experiments.paper.experiment import RunConfig
from heatgraph.experiments.paper.published import published_numbers
from heatgraph.experiments.results import Records
from heatgraph.report.document import Document, Section
from heatgraph.report.pages import to_html

# Table 1 is notation and Table 7 is statistics of data sets: they print no results.
WITHOUT_RESULTS = {"Table 1", "Table 7"}


def test_every_table_with_results_has_an_experiment():
    sources = {number.source for number in published_numbers()} - WITHOUT_RESULTS
    tables = {source for source in sources if re.fullmatch(r"Table \d+", source)}
    assert tables == {f"Table {name[5:]}" for name in EXPERIMENTS if name.startswith("table")}


def test_names_are_keys_of_their_experiments():
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        if match := re.fullmatch(r"(table|figure|theorem)(\d+)", name):
            assert experiment.title.startswith(f"{match[1].capitalize()} {match[2]}: ")


def test_selection():
    assert select_experiments("figure3") == [EXPERIMENTS["figure3"]]
    assert select_experiments("networks") == [EXPERIMENTS["networks"]]
    every = select_experiments("all")
    assert EXPERIMENTS["networks"] not in every
    assert len(every) == len(EXPERIMENTS) - 1
    with pytest.raises(InputError, match=r"no experiment 'table1'. There are table2, .*, all\."):
        select_experiments("table1")


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_trials_are_distinct_and_stored_as_json(name, quick):
    trials = EXPERIMENTS[name].trials(RunConfig(2, quick))
    keys = [trial.key for trial in trials]
    assert len(set(keys)) == len(keys) > 0
    for trial in trials:
        assert json.loads(trial.key) == trial.setting
        assert "dataset" in trial.setting
        assert trial.details
        json.dumps(trial.details, allow_nan=False)


def test_the_same_setting_means_the_same_trial_in_all_experiments():
    details = {}
    for experiment in EXPERIMENTS.values():
        for trial in [*experiment.trials(RunConfig(2)), *experiment.related_trials(RunConfig(2))]:
            assert details.setdefault(trial.key, trial.details) == trial.details, trial


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_dgc_is_the_papers_without_extensions(name):
    for trial in EXPERIMENTS[name].trials(RunConfig(2)):
        given = trial.details
        if given.get("extensions") is not None:
            # "auto" extends nothing if T or the scheme is given, or with Adam.
            assert given["extensions"] == "auto"
            assert given["T"] != "auto" or given["scheme"] or given["solver"] == "adam"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_quick_run_has_no_more_trials(name):
    quick, full = (len(EXPERIMENTS[name].trials(RunConfig(3, quick))) for quick in (True, False))
    assert quick <= full


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_sections_without_results(name):
    section = EXPERIMENTS[name].section(Records())
    assert section.title == EXPERIMENTS[name].title
    assert section.charts == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_markup_of_remarks_is_balanced(name):
    section = Section("s", "s", EXPERIMENTS[name].remarks)
    page = to_html(Document("d", [], [section]))
    text = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert "*" not in text
    assert "`" not in text
