"""Runs experiments and writes their report; stored results are not computed again.

The folder holds ``results.json`` (see `heatgraph.experiments.results`), ``report.html``,
``report.md`` and ``figures``.
"""

from __future__ import annotations

import re
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from heatgraph.errors import CollapseWarning, DownloadError, MissingExtraError, StabilityWarning
from heatgraph.experiments.paper.accuracy_tables import LEGEND
from heatgraph.experiments.paper.catalogue import EXPERIMENTS
from heatgraph.experiments.paper.experiment import DatasetCache, Experiment, RunConfig
from heatgraph.experiments.results import ResultStore, Trial, runs_table
from heatgraph.report.document import Cell, Document, Part, Section, Table
from heatgraph.report.folder import write_document
from heatgraph.report.markdown import MARK

TITLE = "Decoupled Graph Convolution, reproduced"

# Called with an experiment, its current trial, and its finished and total trials.
ExperimentProgress = Callable[[Experiment, str, int, int], None]


@dataclass
class ReproductionStatus:
    """Number of trials stored before and completed now, and the trials that could not be run."""

    stored: int = 0
    completed: int = 0
    skipped: list[Trial] = field(default_factory=list)


def run_experiments(
    experiments: list[Experiment],
    config: RunConfig,
    results: ResultStore,
    progress: ExperimentProgress | None = None,
    *,
    rerun: bool = False,
) -> ReproductionStatus:
    """Run every trial without a stored result (all of them if `rerun`), and store the results.

    A trial that lacks data, a library or memory is skipped, and the reason is stored.
    """
    report = progress or (lambda *_: None)
    datasets = DatasetCache(config.data)
    status = ReproductionStatus()
    seen: set[str] = set()
    for experiment in experiments:
        trials = experiment.trials(config)
        for number, trial in enumerate(trials):
            report(experiment, str(trial), number, len(trials))
            if trial.key in seen:
                continue
            seen.add(trial.key)
            if trial in results and not rerun:
                status.stored += 1
                continue
            try:
                _run_trial(trial, datasets, results)
            except (DownloadError, MissingExtraError, MemoryError) as error:
                results.skip(trial, str(error) or "there was not enough memory.")
                status.skipped.append(trial)
            else:
                status.completed += 1
        report(experiment, "", len(trials), len(trials))
    if status.skipped:
        results.save()
    return status


def _run_trial(trial: Trial, datasets: DatasetCache, results: ResultStore) -> None:
    """Check that the data are those of earlier runs, run the trial and store its result."""
    name = trial.setting["dataset"]
    results.check_data(name, datasets.digest(name))
    started = time.perf_counter()
    with warnings.catch_warnings():
        # Some experiments show instability and over-smoothing on purpose.
        warnings.simplefilter("ignore", StabilityWarning)
        warnings.simplefilter("ignore", CollapseWarning)
        result = trial.run(datasets)
    results.add(trial, result, time.perf_counter() - started)


def write_report(folder: Path, config: RunConfig, results: ResultStore) -> Document:
    """Write a report of all results within `config` as HTML and Markdown, with its figures."""
    sections, trials = [], []
    for experiment in EXPERIMENTS.values():
        own = experiment.trials(config)
        if any(trial in results or results.skip_reason(trial) for trial in own):
            sections.append(_section(experiment, own, config, results))
            trials += own
    runs = results.runs_of(trials)
    preface = [*_preface(config), runs_table(runs)]
    document = Document(TITLE, preface, sections, _headline(sections))
    write_document(document, folder)
    return document


def _section(
    experiment: Experiment, trials: list[Trial], config: RunConfig, results: ResultStore
) -> Section:
    """An experiment's section: the command to run it, its results, and what is missing."""
    section = experiment.section(results.records([*trials, *experiment.related_trials(config)]))
    parts: list[Part] = [f"`{command_line(experiment.name, config)}`", *section.parts]
    missing = [trial for trial in trials if trial not in results]
    if missing:
        parts.append(f"**Not run:** {len(missing)} of {len(trials)} runs.")
        for reason, count in skip_reasons(missing, results).items():
            parts.append(f"{count} of them: {reason}")
    return Section(section.name, section.title, parts)


def _headline(sections: list[Section]) -> str:
    """How many of the paper's accuracies were measured, and how many agree."""
    cells = [
        cell
        for section in sections
        for table in section.parts
        if isinstance(table, Table)
        for row in table.rows
        for cell in row
        if isinstance(cell, Cell) and re.match(r"[+-]\d", cell.remark)
    ]
    agreeing = sum(not cell.marked for cell in cells)
    if not cells:
        return f"Results of {len(sections)} experiments."
    return (
        f"Of {len(cells)} accuracies measured beside a number of the paper, {agreeing} agree with "
        f"it; the others are marked {MARK}."
    )


def skip_reasons(trials: list[Trial], results: ResultStore) -> dict[str, int]:
    """Reasons why trials could not be run, with the number of trials for each."""
    return dict(Counter(filter(None, map(results.skip_reason, trials))))


def command_line(name: str, config: RunConfig) -> str:
    """The command that runs an experiment."""
    quick = " --quick" if config.quick else ""
    return f"heatgraph paper {name} --seeds {config.seeds}{quick}"


def _preface(config: RunConfig) -> list[Part]:
    quick = "This is a quick run: fewer seeds, splits and points. " if config.quick else ""
    return [
        "Every table, figure and theorem of *Dissecting the Diffusion Process in Linear Graph "
        "Convolutional Networks* (Wang, Wang, Yang and Lin, NeurIPS 2021) beside the results of "
        "heatgraph. Two protocols, always named: *published* has the authors' settings; in "
        "*validated*, all settings are chosen on validation nodes or folds, and none on test "
        "nodes. Each section says which settings are chosen. "
        f"{quick}Numbers are in `results.json`, each with its setting, seed, versions and machine.",
        LEGEND,
    ]
