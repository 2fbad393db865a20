"""Running experiments and writing the report: what is done is kept, and not done again.

A folder holds ``results.json`` (see `results`), ``report.html``, ``report.md`` and ``figures``.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from heatgraph.errors import CollapseWarning, DownloadError, MissingExtraError, StabilityWarning
from heatgraph.experiments.paper.catalogue import EXPERIMENTS
from heatgraph.experiments.paper.comparison import LEGEND
from heatgraph.experiments.paper.experiment import Experiment, Materials, Scope
from heatgraph.experiments.results import Entry, Results, circumstances
from heatgraph.report.document import Document, Part, Section
from heatgraph.report.folder import write_document

TITLE = "Decoupled Graph Convolution, reproduced"

# Called with an experiment, what is at work in it, how many entries are done, and of how many.
Progress = Callable[[Experiment, str, int, int], None]


@dataclass
class Outcome:
    """How far a run came: entries known before, run now, and left out."""

    known: int = 0
    done: int = 0
    left_out: list[Entry] = field(default_factory=list)


def run_experiments(
    chosen: list[Experiment],
    scope: Scope,
    results: Results,
    progress: Progress | None = None,
    *,
    again: bool = False,
) -> Outcome:
    """Run every entry that is not in the results yet (or all, `again`), and add it to them.

    An entry that cannot be run, for want of data, a library or memory, is left out, and the
    results remember the reason.
    """
    report = progress or (lambda *_: None)
    materials = Materials(scope.data)
    outcome = Outcome()
    seen: set[str] = set()
    for experiment in chosen:
        entries = experiment.entries(scope)
        for number, entry in enumerate(entries):
            report(experiment, str(entry), number, len(entries))
            if entry.key in seen:
                continue
            seen.add(entry.key)
            if entry in results and not again:
                outcome.known += 1
                continue
            try:
                _run(entry, materials, results)
            except (DownloadError, MissingExtraError, MemoryError) as error:
                results.leave_out(entry, str(error) or "there was not enough memory.")
                outcome.left_out.append(entry)
            else:
                outcome.done += 1
        report(experiment, "", len(entries), len(entries))
    if outcome.left_out:
        results.save()
    return outcome


def _run(entry: Entry, materials: Materials, results: Results) -> None:
    """Run an entry, on the same data as in earlier runs, and add it to the results."""
    name = entry.setting["dataset"]
    results.check_data(name, materials.digest(name))
    started = time.perf_counter()
    with warnings.catch_warnings():
        # What happens then is what some experiments are for.
        warnings.simplefilter("ignore", StabilityWarning)
        warnings.simplefilter("ignore", CollapseWarning)
        found = entry.run(materials)
    results.add(entry, found, time.perf_counter() - started)


def write_report(folder: Path, scope: Scope, results: Results) -> Document:
    """Write what is known within a scope as a page and as Markdown, with its figures."""
    sections, entries = [], []
    for experiment in EXPERIMENTS.values():
        listed = experiment.entries(scope)
        if any(entry in results or results.why_not(entry) for entry in listed):
            sections.append(_section(experiment, listed, scope, results))
            entries += listed
    runs = results.runs_of(entries)
    document = Document(TITLE, [*_preface(scope), circumstances(runs)], sections)
    write_document(document, folder)
    return document


def _section(
    experiment: Experiment, entries: list[Entry], scope: Scope, results: Results
) -> Section:
    """What the report says of an experiment: how to run it, what is missing, what was found."""
    section = experiment.section(results.of([*entries, *experiment.beside(scope)]))
    parts: list[Part] = [f"`{command(experiment.name, scope)}`", *section.parts]
    missing = [entry for entry in entries if entry not in results]
    if missing:
        parts.append(f"**Not run:** {len(missing)} of {len(entries)} entries.")
        for reason, count in reasons(missing, results).items():
            parts.append(f"{count} of them: {reason}")
    return Section(section.name, section.title, parts)


def reasons(entries: list[Entry], results: Results) -> dict[str, int]:
    """Why entries could not be run, and how many for each reason."""
    return dict(Counter(filter(None, map(results.why_not, entries))))


def command(name: str, scope: Scope) -> str:
    """What to type for an experiment."""
    quick = " --quick" if scope.quick else ""
    return f"heatgraph paper {name} --seeds {scope.seeds}{quick}"


def _preface(scope: Scope) -> list[Part]:
    less = "This is a quick run: fewer seeds, splits and points. " if scope.quick else ""
    return [
        "Every table, figure and theorem of *Dissecting the Diffusion Process in Linear Graph "
        "Convolutional Networks* (Wang, Wang, Yang and Lin, NeurIPS 2021) beside what heatgraph "
        "finds. Two protocols, always named: *published* has settings that authors give; in "
        "*validated*, whatever is chosen is chosen on validation nodes or folds, and nothing on "
        "test nodes. Each section says what is chosen. "
        f"{less}Numbers are in `results.json`, each with its setting, seed, versions and machine.",
        LEGEND,
    ]
