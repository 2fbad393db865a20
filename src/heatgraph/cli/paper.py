"""``heatgraph paper``: tables, figures and theorems of the paper, run and compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.console import Voice

if TYPE_CHECKING:
    from heatgraph.paper.experiment import Experiment
    from heatgraph.report.document import Section

SEEDS, QUICK_SEEDS = 10, 3


@options.grouped
def paper(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="table2, splits, table3, table4, table5, table6, table8, table9, table10, "
            "figure1, figure2, figure3, theorem1, theorem2, theorem3, or all.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results, report and figures.")
    ] = Path("heatgraph-paper"),
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", min=1, help="Runs of what is random; by default 10, or 3 if --quick."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Less of everything: minutes instead of an hour.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="Folder with planetoid/ and reddit/; by default $HEATGRAPH_DATA."
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run also what the folder has results of.")
    ] = False,
    *,
    report: options.Report,
) -> None:
    """Reproduce the paper: run an experiment, or all, and write a report of what was found.

    What is done is kept in the folder and not done again, so a run can be stopped and gone on with.
    """
    voice = Voice(report)
    from heatgraph.errors import InputError
    from heatgraph.paper.catalogue import experiments
    from heatgraph.paper.experiment import Scope
    from heatgraph.paper.reproduction import (
        MARKDOWN,
        PAGE,
        command,
        run_experiments,
        write_report,
    )
    from heatgraph.paper.results import FILE, Results

    chosen = experiments(name)
    if output.exists() and not output.is_dir():
        raise InputError(f"--output: {output} is a file. Name a folder.")
    scope = Scope(seeds or (QUICK_SEEDS if quick else SEEDS), quick, data)
    listed = [entry for experiment in chosen for entry in experiment.entries(scope)]
    output.mkdir(parents=True, exist_ok=True)
    results = Results(output, command(name, scope))
    if again:
        results.forget(listed)
    with voice.working("starting") as bar:
        outcome = run_experiments(chosen, scope, results, _progress(voice, chosen, bar))
        document = write_report(output, scope, results, outcome)
    for section in document.sections if len(chosen) == 1 else []:
        if section.name == name:
            _tell(voice, section)
    for reason, entries in outcome.left_out.items():
        voice.say(f"Left out {len(entries)}: {reason}")
    voice.say(
        f"{outcome.done} entries run, {outcome.known} known before. "
        f"The report is {output / PAGE} (and {MARKDOWN}), the numbers are in {FILE} beside it."
    )
    voice.say(f"Done in {voice.seconds:.0f} s")
    voice.json(
        {
            "folder": str(output),
            "run": outcome.done,
            "known": outcome.known,
            "left_out": {reason: len(entries) for reason, entries in outcome.left_out.items()},
            "results": [
                {"setting": record.setting, "result": record.result}
                for record in results.of(listed)
            ],
            "seconds": voice.seconds,
        }
    )


def _progress(
    voice: Voice, chosen: list[Experiment], bar: Callable[[str, int, int], None]
) -> Callable[[Experiment, str, int, int], None]:
    """Show what runs and what remains: on a terminal at any time, else by experiment."""
    places = {experiment.name: place for place, experiment in enumerate(chosen, start=1)}

    def report(experiment: Experiment, what: str, done: int, total: int) -> None:
        place = f"{experiment.name} ({places[experiment.name]} of {len(chosen)})"
        bar(f"{place}: {what}", done, total)
        if done == total:
            voice.say(f"{place}: {total} entries, {voice.seconds:.0f} s")

    return report


def _tell(voice: Voice, section: Section) -> None:
    """Print the tables of a section."""
    from heatgraph.report.document import Table
    from heatgraph.report.markdown import plain

    for part in section.parts:
        if isinstance(part, Table):
            voice.say()
            rows = [tuple(part.head), *(tuple(map(plain, row)) for row in part.rows)]
            voice.table(rows, part.title)
            voice.say()
