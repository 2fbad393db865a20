"""Running experiments, resuming, skipping what cannot be run, and the report."""

import json
import re

import numpy as np
import pytest

from heatgraph.errors import DownloadError, InputError, MissingExtraError
from heatgraph.experiments.paper import experiment as experiment_module
from heatgraph.experiments.paper import reproduction
from heatgraph.experiments.paper.catalogue import EXPERIMENTS
from heatgraph.experiments.paper.experiment import DatasetCache, Experiment
from heatgraph.experiments.paper.reproduction import (
    _headline,
    run_experiments,
    skip_reasons,
    write_report,
)
from heatgraph.experiments.results import RESULTS_FILE, ResultStore, Trial
from heatgraph.report.document import Cell, Section, Table
from heatgraph.report.folder import FIGURES, MARKDOWN, PAGE

pytestmark = pytest.mark.usefixtures("small_data")


def open_store(folder):
    return ResultStore(folder, "paper", "heatgraph paper test")


def counting_experiment(name, count, calls, dataset="citeseer"):
    """An experiment of `count` trials that list their calls and give their number."""

    def trial(number):
        def run(datasets):
            calls.append(number)
            return {"accuracy": float(number)}

        return Trial({"what": name, "dataset": dataset, "seed": number}, run)

    return Experiment(
        name,
        f"{name}: a title",
        lambda config: [trial(number) for number in range(count)],
        lambda records: [Table("", ["sum"], [[str(sum(records.values("accuracy")))]])],
    )


def with_failing_trial(experiment, config, place, error):
    """The experiment with one trial that raises `error`."""

    def run(datasets):
        raise error

    trials = experiment.trials(config)
    trials[place] = Trial(trials[place].setting, run)
    return Experiment(experiment.name, experiment.title, lambda config: trials, experiment.parts)


# All experiments, once, on small graphs


@pytest.mark.slow
def test_all_experiments_run_and_are_reported(tmp_path, config):
    results = open_store(tmp_path)
    reports = []
    experiments = list(EXPERIMENTS.values())
    status = run_experiments(
        experiments,
        config,
        results,
        lambda experiment, trial, done, total: reports.append((experiment.name, done, total)),
    )
    assert status.skipped == []
    keys = {trial.key for experiment in experiments for trial in experiment.trials(config)}
    assert status.completed == len(keys)
    for experiment in experiments:
        own = [(done, total) for name, done, total in reports if name == experiment.name]
        assert own == [(done, len(own) - 1) for done in range(len(own))]
    content = json.loads((tmp_path / RESULTS_FILE).read_text())
    assert {json.dumps(e["setting"], sort_keys=True) for e in content["entries"]} == keys

    document = write_report(tmp_path, config, results)
    assert [section.name for section in document.sections] == list(EXPERIMENTS)
    check_files(tmp_path, document)
    check_table_2(document, results, config)

    again = run_experiments(experiments, config, open_store(tmp_path))
    assert (again.completed, again.stored) == (0, len(keys))


def check_files(folder, document):
    """Every section and chart is in the page, in the Markdown and among the figures."""
    page = (folder / PAGE).read_text(encoding="utf-8")
    text = (folder / MARKDOWN).read_text(encoding="utf-8")
    charts = [chart for section in document.sections for chart in section.charts]
    for section in document.sections:
        assert f'<section id="{section.name}">' in page
        assert f"## {section.title}\n\n`heatgraph paper {section.name} --seeds 1 --quick`" in text
        assert any(not isinstance(part, str) for part in section.parts)
    for chart in charts:
        for suffix in ("png", "svg"):
            assert (folder / FIGURES / f"{chart.name}.{suffix}").stat().st_size > 1000
    for link in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (folder / link).exists()
    assert len(list((folder / FIGURES).iterdir())) == 2 * len(charts)
    assert "Not run" not in text
    assert "**Not comparable with the paper.**" in text


def check_table_2(document, results, config):
    """Cells are means of the results; networks, which are run apart, are shown too."""
    (table,) = (part for part in document.sections[0].parts if isinstance(part, Table))
    (row,) = (row for row in table.rows if row[:2] == ["DGC", "published"])
    records = results.records(EXPERIMENTS["table2"].trials(config)).where(
        method="DGC", dataset="pubmed", protocol="published"
    )
    assert row[4].value == f"{np.mean(records.values('accuracy')):.1f}"
    (row,) = (row for row in table.rows if row[:2] == ["GWNN", "published"])
    (gwnn,) = results.records(EXPERIMENTS["networks"].trials(config)).where(method="GWNN")
    assert row[2].value.startswith(f"{gwnn.result['accuracy']:.1f}")


# Resuming


def test_the_headline_counts_accuracies_that_agree():
    cells = [Cell("80.0", "+0.1, n = 3"), Cell("70.0", "-3.0", marked=True), Cell("1.0", "n = 3")]
    sections = [Section("s", "S", ["Text.", Table("t", ["a", "b", "c", "d"], [["x", *cells]])])]
    assert _headline(sections) == (
        "Of 2 accuracies measured beside a number of the paper, 1 agree with it; the others are "
        "marked ◆."
    )
    assert _headline([]) == "Results of 0 experiments."


def test_stored_results_are_not_computed_again(tmp_path, config):
    calls = []
    first = run_experiments([counting_experiment("x", 3, calls)], config, open_store(tmp_path))
    assert (first.completed, first.stored, calls) == (3, 0, [0, 1, 2])
    second = run_experiments([counting_experiment("x", 5, calls)], config, open_store(tmp_path))
    assert (second.completed, second.stored, calls) == (2, 3, [0, 1, 2, 3, 4])
    content = json.loads((tmp_path / RESULTS_FILE).read_text())
    assert [entry["run"] for entry in content["entries"]] == [0, 0, 0, 1, 1]
    assert len(content["runs"]) == 2


def test_without_new_results_the_file_stays(tmp_path, config):
    experiment = counting_experiment("x", 2, [])
    run_experiments([experiment], config, open_store(tmp_path))
    before = (tmp_path / RESULTS_FILE).read_bytes()
    run_experiments([experiment], config, open_store(tmp_path))
    assert (tmp_path / RESULTS_FILE).read_bytes() == before


def test_an_interrupted_run_is_resumed_at_its_trial(tmp_path, config):
    calls = []
    experiment = counting_experiment("x", 5, calls)
    interrupted = with_failing_trial(experiment, config, 3, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        run_experiments([interrupted], config, open_store(tmp_path))
    assert calls == [0, 1, 2]
    run_experiments([experiment], config, open_store(tmp_path))
    assert calls == [0, 1, 2, 3, 4]


def test_a_rerun_that_is_interrupted_keeps_all_results(tmp_path, config):
    calls = []
    experiment = counting_experiment("x", 3, calls)
    run_experiments([experiment], config, open_store(tmp_path))
    run_experiments([experiment], config, open_store(tmp_path), rerun=True)
    assert calls == [0, 1, 2, 0, 1, 2]
    interrupted = with_failing_trial(experiment, config, 1, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        run_experiments([interrupted], config, open_store(tmp_path), rerun=True)
    assert len(open_store(tmp_path).records(experiment.trials(config))) == 3


def test_experiments_share_trials(tmp_path, config):
    calls = []
    shared = [counting_experiment("x", 2, calls), counting_experiment("x", 2, calls)]
    run_experiments(shared, config, open_store(tmp_path))
    assert calls == [0, 1]


def test_other_data_under_the_same_name_are_refused(tmp_path, config, monkeypatch):
    calls = []
    run_experiments([counting_experiment("x", 1, calls)], config, open_store(tmp_path))
    monkeypatch.setattr(DatasetCache, "digest", lambda self, name: "another")
    with pytest.raises(InputError, match=r"results of other data by the name of citeseer"):
        run_experiments(
            [counting_experiment("x", 2, calls)], config, open_store(tmp_path), rerun=True
        )
    assert calls == [0]


# Skipped trials


def test_trials_without_data_are_skipped_with_the_reason(tmp_path, config, monkeypatch):
    def load(name, folder):
        raise DownloadError("no network. Try again.")

    monkeypatch.setattr(experiment_module, "load_dataset", load)
    calls = []
    experiments = [counting_experiment(name, 2, calls, "cora") for name in ("x", "y")]
    status = run_experiments(experiments, config, open_store(tmp_path))
    assert (status.completed, calls, len(status.skipped)) == (0, [], 4)
    assert skip_reasons(status.skipped, open_store(tmp_path)) == {"no network. Try again.": 4}


def test_trials_without_a_library_are_skipped_and_reported(tmp_path, config, monkeypatch):
    calls = []
    error = MissingExtraError('Install it: pip install "heatgraph[deepwalk]"')
    experiment = with_failing_trial(counting_experiment("x", 3, calls), config, 1, error)
    status = run_experiments([experiment], config, open_store(tmp_path))
    assert (status.completed, calls) == (2, [0, 2])
    monkeypatch.setattr(reproduction, "EXPERIMENTS", {"x": experiment})
    write_report(tmp_path, config, open_store(tmp_path))
    text = (tmp_path / MARKDOWN).read_text(encoding="utf-8")
    assert "**Not run:** 1 of 3 runs." in text
    assert '1 of them: Install it: pip install "heatgraph[deepwalk]"' in text


def test_trials_without_memory_are_skipped(tmp_path, config):
    experiment = with_failing_trial(counting_experiment("x", 1, []), config, 0, MemoryError())
    results = open_store(tmp_path)
    status = run_experiments([experiment], config, results)
    assert skip_reasons(status.skipped, results) == {"there was not enough memory.": 1}


# The report


def test_a_report_without_results_has_no_sections(tmp_path, config):
    assert write_report(tmp_path, config, open_store(tmp_path)).sections == []


def test_a_section_without_results_gives_the_reason(tmp_path, config):
    results = open_store(tmp_path)
    for trial in EXPERIMENTS["table8"].trials(config):
        results.skip(trial, "Cora is not here.")
    document = write_report(tmp_path, config, results)
    assert "table8" in [section.name for section in document.sections]
    text = (tmp_path / MARKDOWN).read_text(encoding="utf-8")
    assert re.search(r"(\d+) of them: Cora is not here.", text)
