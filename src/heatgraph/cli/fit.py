"""``heatgraph fit``: fit a model to a graph, and label every node."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.exit_codes import NOT_CONVERGED
from heatgraph.cli.fit_files import FitFiles, write_report_file
from heatgraph.cli.fit_report import print_neighbours, print_result, print_settings
from heatgraph.cli.fit_targets import fit_targets
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_labelled
from heatgraph.cli.output_files import check_outputs, is_stdout, name_in_errors
from heatgraph.cli.predictions import check_explained, make_predictions, write_predictions
from heatgraph.cli.reporter import Reporter


@options.expand_groups
def fit(
    context: typer.Context,
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="File to write the model to (.safetensors)."),
    ] = None,
    with_graph: Annotated[
        bool,
        typer.Option(
            "--with-graph",
            help="Write the graph into the model too, for `heatgraph predict --new`.",
        ),
    ] = False,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions",
            "-o",
            "-p",
            help="File to write predictions to: .csv, .tsv, .parquet, or -.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="File to write a report of the fit to: .html or .md."),
    ] = None,
    explain_top: options.ExplainTop = None,
    spreadsheet_safe: options.SpreadsheetSafe = False,
    final_fit: Annotated[
        str | None,
        typer.Option(
            "--final-fit",
            help="Nodes that the last fit learns from; by default also those that settings were "
            "chosen on.",
            rich_help_panel=options.SETTINGS,
            **options.choice(("train", "train+val")),
        ),
    ] = None,
    data_folder: options.Data = None,
    task: options.Task = None,
    strict: options.Strict = False,
    cluster: options.ClusterAddress = None,
    *,
    columns: options.ColumnOptions,
    labels: options.LabelOptions,
    settings: options.ModelOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Learn from the labelled nodes, choose T from the data, and label every node.

    Settings are chosen on the validation nodes of the split, or by cross-validation. The last fit
    then learns from validation nodes too.
    """
    reporter = Reporter(output_options, stdout_taken=is_stdout(predictions))
    from heatgraph._io.formatting import format_bytes
    from heatgraph.cluster._connection import open_cluster
    from heatgraph.report.report_names import check_report_name
    from heatgraph.report.summary import fit_summary, neighbours_summary
    from heatgraph.tables.writing import table_format

    graph = find_graph_argument(graph_or_nodes, edges, data_folder)
    check_outputs([*graph.files, *columns.feature_parts], [model, predictions, report])
    if is_stdout(model):
        raise typer.BadParameter("a model cannot be printed: --model must name a file.")
    if with_graph and model is None:
        raise typer.BadParameter("--with-graph needs --model, the file to write it into.")
    if model is not None and model.suffix not in ("", ".safetensors"):
        raise typer.BadParameter(
            f"--model writes a .safetensors file. Got '{model}': name it "
            f"'{model.with_suffix('.safetensors')}'."
        )
    if predictions is not None and not is_stdout(predictions):
        table_format(predictions)
    if report is not None:
        check_report_name(report)
    if explain_top is not None and predictions is None:
        raise typer.BadParameter("--explain-top adds columns to a table: give --predictions too.")
    parameters = settings.parameters() | resources.parameters()
    parameters["cluster"] = context.with_resource(open_cluster(cluster))
    table_options = columns.table_options(resources.memory, **vars(labels), task=task or "auto")
    result, summary = read_labelled(reporter, graph, table_options)
    if result.dataset.task != "classification":
        other_options = {
            "--final-fit": final_fit is not None,
            "--with-graph": with_graph,
            "--explain-top": explain_top is not None,
        }
        files = FitFiles(model, predictions, report)
        fit_targets(
            reporter, result, summary, parameters, other_options, files, strict, spreadsheet_safe
        )
        return
    check_explained(result, explain_top)
    neighbours = neighbours_summary(result.dataset)
    if neighbours is not None:
        print_neighbours(reporter, neighbours, searched=parameters["T"] == "auto")
    # A slow import, which an error in the tables should not wait for.
    from heatgraph.learning.classifier import DGCClassifier
    from heatgraph.report.fit_result import evaluate_fit
    from heatgraph.report.held_out import learned_nodes

    data = result.dataset
    train, val, _ = data.partition()
    parameters["final_fit"] = final_fit or ("train" if val is None else "train+val")
    classifier = DGCClassifier(**parameters)
    before = reporter.seconds
    with reporter.fit_progress() as progress:
        classifier.fit(data.graph, data.labels, train, val, progress=progress)
        seconds = reporter.seconds - before
        outcome = evaluate_fit(classifier, data, progress=progress)
    chosen = fit_summary(classifier, data) | {"seconds": seconds}
    print_settings(reporter, chosen)
    print_result(reporter, outcome)
    if predictions is not None:
        learned = learned_nodes(classifier, data)
        table = make_predictions(reporter, classifier, result, learned, explain_top)
        write_predictions(table, predictions, spreadsheet_safe)
    if model is not None:
        with name_in_errors(model):
            classifier.save(model, graph=with_graph)
    if report is not None:
        write_report_file(reporter, report, classifier, data, outcome, summary, seconds)
    files = FitFiles(model, predictions, report)
    size = f" with its graph, {format_bytes(model.stat().st_size)}" if with_graph and model else ""
    files.print(reporter, model_size=size)
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(
        {
            "read": summary,
            "neighbours": neighbours,
            "chosen": chosen,
            "result": None if outcome is None else outcome.to_json(),
            "wrote": files.to_json(),
            "seconds": reporter.seconds,
        }
    )
    if strict and not classifier.converged_:
        raise typer.Exit(NOT_CONVERGED)
