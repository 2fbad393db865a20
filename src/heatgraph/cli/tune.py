"""``heatgraph tune``: search the settings, with a table and a plot of every setting tried."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.fit_report import print_result, print_settings
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_classes
from heatgraph.cli.output_files import check_outputs, is_stdout, name_in_errors
from heatgraph.cli.reporter import Reporter
from heatgraph.cli.terminal_chart import bar_chart


@options.expand_groups
def tune(
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Table of all settings tried: .csv, .parquet, or -."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Plot of accuracy over T: .png, .svg or .pdf.")
    ] = None,
    data_folder: options.Data = None,
    *,
    columns: options.ColumnOptions,
    labels: options.LabelOptions,
    settings: options.SearchOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Try settings on validation data, and show how accuracy depends on T.

    The test nodes of a split are not used. The model is plain DGC unless --extensions are given.
    """
    reporter = Reporter(output_options, stdout_taken=is_stdout(output))
    import pyarrow as pa

    from heatgraph.report.plots import accuracy_over_time, check_plot_name, plot_search
    from heatgraph.report.summary import fit_summary
    from heatgraph.tables.writing import table_format, write_table

    graph = find_graph_argument(graph_or_nodes, edges, data_folder)
    check_outputs([*graph.files, *columns.feature_parts], [output, plot])
    if output is not None and not is_stdout(output):
        table_format(output)
    if plot is not None:
        check_plot_name(plot)
    parameters = settings.parameters() | resources.parameters()
    _check_search(parameters, plot)
    table_options = columns.table_options(resources.memory, **vars(labels))
    result, summary = read_classes(reporter, graph, table_options, "tune")
    # A slow import, which an error in the tables should not wait for.
    from heatgraph.learning.classifier import DGCClassifier
    from heatgraph.report.fit_result import evaluate_fit

    classifier = DGCClassifier(**parameters)
    data = result.dataset
    train, val, _ = data.partition()
    before = reporter.seconds
    with reporter.fit_progress() as progress:
        classifier.fit(data.graph, data.labels, train, val, progress=progress)
        seconds = reporter.seconds - before
        outcome = evaluate_fit(classifier, data, use_test=False, progress=progress)
    chosen = fit_summary(classifier, data) | {"seconds": seconds}
    print_settings(reporter, chosen)
    curve = accuracy_over_time(classifier.search_)
    _print_curve(reporter, curve, classifier.T_)
    print_result(reporter, outcome)
    if output is not None:
        with name_in_errors(output):
            write_table(pa.Table.from_pylist(classifier.search_), output)
        if not is_stdout(output):
            reporter.print(f"Wrote {len(classifier.search_):,} settings to {output}")
    if plot is not None:
        with name_in_errors(plot):
            plot_search(
                classifier.search_,
                classifier.T_,
                plot,
                graph.files[0].name if len(graph.files) == 2 else graph.name,
            )
        reporter.print(f"Wrote the plot to {plot}")
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(
        {
            "read": summary,
            "chosen": chosen,
            "curve": [{"T": T, "accuracy": accuracy} for T, accuracy in curve],
            "result": None if outcome is None else outcome.to_json(),
            "seconds": reporter.seconds,
        }
    )


def _print_curve(
    reporter: Reporter, curve: list[tuple[float, float]], chosen: float | None
) -> None:
    """Print accuracy over T as a chart."""
    if len(curve) < 2:
        return
    reporter.print("Accuracy of the best setting at each T, on held-out nodes", "bold")
    for line in bar_chart(curve, reporter.width, chosen, unicode=reporter.prints_unicode):
        reporter.verbatim(line)


def _check_search(parameters: dict[str, Any], plot: Path | None) -> None:
    """Refuse options that leave nothing to search, or nothing to plot."""
    fixed = [isinstance(parameters[key], float) for key in ("T", "weight_decay")]
    if all(fixed):
        raise typer.BadParameter(
            "there is nothing to search: --T and --weight-decay have one value each. Leave one "
            "out, or give comma-separated candidates."
        )
    if fixed[0] and plot is not None:
        raise typer.BadParameter(
            "there is nothing to plot: --T has one value. Leave it out, or give comma-separated "
            "candidates."
        )
