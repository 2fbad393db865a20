"""``heatgraph paper``: reproduce the tables, figures and theorems of the paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.output_files import check_folders
from heatgraph.cli.reporter import Reporter

if TYPE_CHECKING:
    from heatgraph.experiments.paper.experiment import Experiment

SEEDS, QUICK_SEEDS = 10, 3
# Seconds between progress lines in the report.
PROGRESS_INTERVAL = 30


@options.expand_groups
def paper(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="table2, splits, table3, networks, table4, table5, table6, table8, table9, "
            "table10, figure1, figure2, figure3, theorem1, theorem2, theorem3; or all, which is "
            "everything except networks, which takes hours.",
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
            help="Runs of every randomized method, fewer of slow ones; by default 10, or 3 with "
            "--quick.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer runs and settings: minutes instead of an hour.")
    ] = False,
    data: options.Data = None,
    again: options.Again = False,
    *,
    output_options: options.OutputOptions,
) -> None:
    """Reproduce the paper: run an experiment, or all, and write a report of the results.

    Results are stored in the folder and reused, so that a run can be stopped and resumed.
    """
    reporter = Reporter(output_options)
    from heatgraph.errors import InputError
    from heatgraph.experiments.paper.catalogue import ALL, EXPERIMENTS, select_experiments
    from heatgraph.experiments.paper.experiment import RunConfig
    from heatgraph.experiments.paper.reproduction import (
        command_line,
        run_experiments,
        skip_reasons,
        write_report,
    )
    from heatgraph.experiments.results import RESULTS_FILE, ResultStore
    from heatgraph.report.folder import MARKDOWN, PAGE
    from heatgraph.tables.columns import did_you_mean

    if name not in (*EXPERIMENTS, ALL):
        raise typer.BadParameter(
            f"there is no experiment {name!r}.{did_you_mean(name, [*EXPERIMENTS, ALL])} There are "
            f"{', '.join(EXPERIMENTS)}; or {ALL}."
        )
    chosen = select_experiments(name)
    output = output or Path("heatgraph-paper-quick" if quick else "heatgraph-paper")
    check_folders(data, output)
    config = RunConfig(seeds or (QUICK_SEEDS if quick else SEEDS), quick, data)
    trials = [trial for experiment in chosen for trial in experiment.trials(config)]
    output.mkdir(parents=True, exist_ok=True)
    results = ResultStore(output, "paper", command_line(name, config))
    with reporter.progress("starting") as bar:
        progress = _progress(reporter, chosen, bar)
        status = run_experiments(chosen, config, results, progress, rerun=again)
        bar("writing the report", 0, 1)
        document = write_report(output, config, results)
    for section in document.sections if len(chosen) == 1 else []:
        if section.name == name:
            reporter.section_tables(section)
    left_out = skip_reasons(status.skipped, results)
    if not results.records(trials):
        reasons = " ".join(left_out) or "there is nothing to run."
        raise InputError(f"no run of {name} has a result, so there is nothing to report: {reasons}")
    for reason, count in left_out.items():
        reporter.print(f"Left out {count}: {reason}")
    reporter.print(
        f"{status.completed} runs, {status.stored} reused. "
        f"The report is {output / PAGE} (and {MARKDOWN}), the numbers are in {RESULTS_FILE} beside "
        "it."
    )
    reporter.print(f"Done in {reporter.seconds:.0f} s")
    reporter.json(
        {
            "folder": str(output),
            "run": status.completed,
            "known": status.stored,
            "left_out": left_out,
            "results": [
                {"setting": record.setting, "result": record.result}
                for record in results.records(trials)
            ],
            "seconds": reporter.seconds,
        }
    )


def _progress(
    reporter: Reporter, chosen: list[Experiment], bar: Callable[[str, int, int], None]
) -> Callable[[Experiment, str, int, int], None]:
    """A callback that updates the progress bar, and prints a line at intervals for logs."""
    positions = {experiment.name: at for at, experiment in enumerate(chosen, start=1)}
    last = reporter.seconds

    def update(experiment: Experiment, trial: str, done: int, total: int) -> None:
        nonlocal last
        title = f"{experiment.name} ({positions[experiment.name]} of {len(chosen)})"
        bar(f"{title}, {done} of {total}: {trial}", done, total)
        if done == total or reporter.seconds - last > PROGRESS_INTERVAL:
            last = reporter.seconds
            reporter.print(f"{title}: {done} of {total} runs, {last:.0f} s")

    return update
