"""``heatgraph compare``: methods side by side on one graph."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_classes
from heatgraph.cli.output_files import check_folders
from heatgraph.cli.reporter import Reporter
from heatgraph.cli.typed_command import typed_command

# Seconds between progress lines in the report.
PROGRESS_INTERVAL = 30


@options.expand_groups
def compare(
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            help="Comma-separated names, or linear, gnn, tuned, all; by default dgc, dgc-extended, "
            "sgc, features, label-propagation, gcn, gat, appnp. DGC is always included.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Runs of every randomized method.")
    ] = 5,
    splits: Annotated[
        int | None,
        typer.Option(
            "--splits", min=1, help="Number of random splits; by default the data's own, if any."
        ),
    ] = None,
    noise: Annotated[
        float,
        typer.Option("--noise", min=0.0, help="Standard deviation of noise added to the features."),
    ] = 0.0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for results and report; by default heatgraph-compare-...",
        ),
    ] = None,
    data: options.Data = None,
    again: options.Again = False,
    *,
    columns: options.ColumnOptions,
    labels: options.LabelOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Compare methods on one graph: accuracy, calibration, time, memory, significance.

    Every run has a process of its own. Results are stored in the folder and reused, so that a
    comparison can be stopped and resumed.
    """
    reporter = Reporter(output_options)
    from heatgraph.errors import InputError
    from heatgraph.experiments.compare.methods import DEFAULT_METHODS, METHODS, parse_methods

    try:
        selected = parse_methods(DEFAULT_METHODS if models is None else models)
    except InputError as error:
        raise typer.BadParameter(f"--models: {error}") from error
    check_folders(data, output)
    graph = find_graph_argument(graph_or_nodes, edges, data)
    table_options = columns.table_options(resources.memory, **vars(labels))
    result, _ = read_classes(reporter, graph, table_options, "compare")
    dataset = replace(result.dataset, name=graph.name)
    from heatgraph.experiments.compare.comparison import Comparison, run_comparison
    from heatgraph.experiments.compare.report import CSV_FILE, JSON_FILE, write_comparison
    from heatgraph.experiments.compare.splits import comparison_splits
    from heatgraph.experiments.results import RESULTS_FILE, ResultStore
    from heatgraph.report.folder import PAGE

    runnable = [name for name in selected if METHODS[name].is_installed]
    if dataset.graph.features is None:
        if noise:
            raise InputError("--noise: there are no features to add noise to.")
        need_features = [METHODS[name].title for name in runnable if METHODS[name].needs_features]
        if need_features:
            reporter.print(f"There are no features, so {', '.join(need_features)} are left out.")
        runnable = [name for name in runnable if not METHODS[name].needs_features]
    comparison = Comparison(
        runnable,
        dataset,
        comparison_splits(dataset, splits),
        seeds,
        noise,
        recipe_dataset=graph.dataset,
        threads=resources.threads,
        memory=resources.memory,
    )
    folder = output or Path(f"heatgraph-compare-{_folder_name(dataset.name)}")
    folder.mkdir(parents=True, exist_ok=True)
    results = ResultStore(folder, "compare", typed_command())
    with reporter.progress("starting") as bar:
        status = run_comparison(comparison, results, _progress(reporter, bar), rerun=again)
        bar("writing the report", 0, 1)
        written = write_comparison(folder, comparison, results)
    found = written.rows
    reporter.section_tables(written.document.sections[0])
    for method, why in status.failed.items():
        reporter.print(f"{METHODS[method].title} failed: {why}")
        if "does not read edge weights" in why and edges is not None:
            reporter.print("  To ignore weights: --weight ''")
    missing = _missing(selected)
    for extra, names in missing.items():
        reporter.print(
            f'Not run: {", ".join(names)}. To run them: pip install "heatgraph[{extra}]"'
        )
    reporter.print(
        f"{status.completed} runs, {status.stored} reused. The report is {folder / PAGE}; beside "
        f"it are {CSV_FILE} and {JSON_FILE}, and {RESULTS_FILE} with every run."
    )
    reporter.print(f"Done in {reporter.seconds:.0f} s")
    reporter.json(
        {
            "folder": str(folder),
            "run": status.completed,
            "known": status.stored,
            "not_installed": missing,
            "methods": found,
            "seconds": reporter.seconds,
        }
    )
    if not any(row["runs"] for row in found):
        raise InputError("every method failed; see above for the reasons.")


def _progress(
    reporter: Reporter, bar: Callable[[str, int, int], None]
) -> Callable[[str, str, float, int, int], None]:
    """A callback that updates the progress bar, and prints a line at intervals for logs."""
    last = reporter.seconds

    def update(method: str, stage: str, share: float, done: int, total: int) -> None:
        nonlocal last
        steps = int(1000 * (done + share)), 1000 * total
        bar(f"{method}: {stage} ({done} of {total} runs)", *steps)
        if reporter.seconds - last > PROGRESS_INTERVAL:
            last = reporter.seconds
            reporter.print(f"{done} of {total} runs, {last:.0f} s; {method}")

    return update


def _missing(selected: list[str]) -> dict[str, list[str]]:
    """Methods that are not installed, by the extra that they need."""
    from heatgraph.experiments.compare.methods import METHODS

    found: dict[str, list[str]] = {}
    for name in selected:
        method = METHODS[name]
        if method.extra and not method.is_installed:
            found.setdefault(method.extra, []).append(method.title)
    return found


def _folder_name(name: str) -> str:
    """A name that is valid for a folder on any system."""
    return re.sub(r"[^\w.-]+", "-", name)
