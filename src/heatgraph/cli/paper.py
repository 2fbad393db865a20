"""``heatgraph paper``: tables, figures and theorems of the paper, run and compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.console import Voice
from heatgraph.cli.writing import check_folders, tell_tables

if TYPE_CHECKING:
    from heatgraph.experiments.paper.experiment import Experiment

SEEDS, QUICK_SEEDS = 10, 3
# Seconds after which something is said in any case.
PATIENCE = 30


@options.grouped
def paper(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="table2, splits, table3, networks, table4, table5, table6, table8, table9, "
            "table10, figure1, figure2, figure3, theorem1, theorem2, theorem3; or all, but for "
            "networks, which takes hours.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for results, report and figures; by default heatgraph-paper, or "
            "heatgraph-paper-quick.",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            help="Runs of what is random, fewer of what takes long; by default 10, or 3 if "
            "--quick.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Less of everything: minutes instead of an hour.")
    ] = False,
    data: options.Data = None,
    again: options.Again = False,
    *,
    report: options.Report,
) -> None:
    """Reproduce the paper: run an experiment, or all, and write a report of what was found.

    What is done is kept in the folder and not done again, so a run can be stopped and gone on with.
    """
    voice = Voice(report)
    from heatgraph.experiments.paper.catalogue import select_experiments
    from heatgraph.experiments.paper.experiment import RunConfig
    from heatgraph.experiments.paper.reproduction import (
        command_line,
        run_experiments,
        skip_reasons,
        write_report,
    )
    from heatgraph.experiments.results import RESULTS_FILE, ResultStore
    from heatgraph.report.folder import MARKDOWN, PAGE

    chosen = select_experiments(name)
    output = output or Path("heatgraph-paper-quick" if quick else "heatgraph-paper")
    check_folders(data, output)
    config = RunConfig(seeds or (QUICK_SEEDS if quick else SEEDS), quick, data)
    listed = [trial for experiment in chosen for trial in experiment.trials(config)]
    output.mkdir(parents=True, exist_ok=True)
    results = ResultStore(output, "paper", command_line(name, config))
    with voice.working("starting") as bar:
        shown = _progress(voice, chosen, bar)
        status = run_experiments(chosen, config, results, shown, rerun=again)
        bar("writing the report", 0, 1)
        document = write_report(output, config, results)
    for section in document.sections if len(chosen) == 1 else []:
        if section.name == name:
            tell_tables(voice, section)
    left_out = skip_reasons(status.skipped, results)
    for reason, count in left_out.items():
        voice.say(f"Left out {count}: {reason}")
    voice.say(
        f"{status.completed} entries run, {status.stored} known before. "
        f"The report is {output / PAGE} (and {MARKDOWN}), the numbers are in {RESULTS_FILE} "
        "beside it."
    )
    voice.say(f"Done in {voice.seconds:.0f} s")
    voice.json(
        {
            "folder": str(output),
            "run": status.completed,
            "known": status.stored,
            "left_out": left_out,
            "results": [
                {"setting": record.setting, "result": record.result}
                for record in results.records(listed)
            ],
            "seconds": voice.seconds,
        }
    )


def _progress(
    voice: Voice, chosen: list[Experiment], bar: Callable[[str, int, int], None]
) -> Callable[[Experiment, str, int, int], None]:
    """Show what runs and what remains: on a terminal at any time, in a log now and then."""
    places = {experiment.name: place for place, experiment in enumerate(chosen, start=1)}
    last = voice.seconds

    def report(experiment: Experiment, what: str, done: int, total: int) -> None:
        nonlocal last
        place = f"{experiment.name} ({places[experiment.name]} of {len(chosen)})"
        bar(f"{place}, {done} of {total}: {what}", done, total)
        if done == total or voice.seconds - last > PATIENCE:
            last = voice.seconds
            voice.say(f"{place}: {done} of {total} entries, {last:.0f} s")

    return report
