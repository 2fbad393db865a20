"""``heatgraph predict``: label the nodes of a graph with a model, or new nodes of its graph."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import MAX_CLASSES_LISTED, read_and_report
from heatgraph.cli.output_files import check_outputs, is_stdout
from heatgraph.cli.predictions import (
    check_explained,
    check_rescaling,
    make_predictions,
    rescale,
    write_predictions,
)
from heatgraph.cli.reporter import Reporter

if TYPE_CHECKING:
    import pyarrow as pa

    from heatgraph.learning.classifier import DGCClassifier
    from heatgraph.tables.options import TableOptions


@options.expand_groups
def predict(
    context: typer.Context,
    model: options.Model,
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    data_folder: options.Data = None,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write predictions to: .csv, .parquet, or -."),
    ],
    new: Annotated[
        bool,
        typer.Option(
            "--new",
            help="NODES are new: label them alone, as they join the graph that the model carries "
            "(fit --with-graph). EDGES refer to its ids and to theirs.",
        ),
    ] = False,
    rescale_features: options.RescaleFeatures = False,
    explain_top: options.ExplainTop = None,
    spreadsheet_safe: options.SpreadsheetSafe = False,
    cluster: options.ClusterAddress = None,
    columns: options.ColumnOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Label every node of a graph with a model that `heatgraph fit` wrote.

    The graph may differ from the one the model was fitted on: features are found by name.
    """
    reporter = Reporter(output_options, stdout_taken=is_stdout(output))
    from heatgraph.cluster._connection import open_cluster
    from heatgraph.learning.model_files import load, task_of
    from heatgraph.report.target_summary import interval_half_width
    from heatgraph.tables.target_predictions import target_predictions
    from heatgraph.tables.writing import table_format

    source = find_graph_argument(graph_or_nodes, edges, data_folder)
    check_outputs([model, *source.files, *columns.feature_parts], [output])
    if not is_stdout(output):
        table_format(output)
    if new and rescale_features:
        raise typer.BadParameter(
            "--rescale-features takes statistics of a whole graph, and --new adds nodes to the "
            "fitted one: leave out either."
        )
    if new and explain_top is not None:
        raise typer.BadParameter("--explain-top explains nodes of whole tables: leave out --new.")
    classifier = load(model).set_params(**resources.parameters())
    task = task_of(classifier)
    if rescale_features:
        check_rescaling(task)
    table_options = columns.table_options_for(classifier, resources.memory)
    if explain_top is not None and task != "classification":
        raise typer.BadParameter(
            f"--explain-top explains classes, and this model is of {task}. Leave it out, and "
            "explain single nodes with `heatgraph explain`."
        )
    if new and task != "classification":
        raise typer.BadParameter(
            f"--new labels new nodes by a model of classes, and this one is of {task}. Leave it "
            "out, and give tables of all nodes and edges."
        )
    if new and edges is None:
        raise typer.BadParameter("--new needs two tables: NODES EDGES.")
    classifier.set_params(cluster=context.with_resource(open_cluster(cluster)))
    if new and edges is not None:
        table, summary = _label_new(
            reporter, classifier, model, Path(graph_or_nodes), edges, table_options
        )
    else:
        result, summary = read_and_report(reporter, source, table_options)
        if rescale_features:
            classifier = rescale(reporter, classifier, result.dataset.graph)
        if task == "classification":
            check_explained(result, explain_top)
            table = make_predictions(reporter, classifier, result, explain_top=explain_top)
        else:
            graph = result.dataset.graph
            with reporter.progress("predicting"):
                width = interval_half_width(classifier) if task == "regression" else None
                table = target_predictions(classifier, task, graph, result.id_column, width)
    write_predictions(table, output, spreadsheet_safe)
    counts = Counter(map(str, table["prediction"].to_pylist()))
    if task == "classification":
        listed = [f"{label} ({count:,})" for label, count in counts.most_common(MAX_CLASSES_LISTED)]
        more = [f"... ({len(counts):,} classes)"] if len(counts) > len(listed) else []
        reporter.print(f"Predicted {', '.join(listed + more)}")
    if not is_stdout(output):
        reporter.print(f"Wrote predictions of {len(table):,} nodes to {output}")
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(
        {
            "read": summary,
            "rescaled_features": rescale_features,
            "predicted": dict(counts.most_common()) if task == "classification" else None,
            "wrote": {"predictions": str(output)},
            "warnings": reporter.warnings,
            "seconds": reporter.seconds,
        }
    )


def _label_new(
    reporter: Reporter,
    classifier: DGCClassifier,
    model: Path,
    nodes: Path,
    edges: Path,
    options: TableOptions,
) -> tuple[pa.Table, dict[str, Any]]:
    """Predictions of new nodes, and a summary of their tables."""
    from heatgraph.errors import InputError
    from heatgraph.tables.new_nodes import read_new_node_tables
    from heatgraph.tables.writing import predictions_table

    if not hasattr(classifier, "graph_"):
        raise InputError(
            f"{model} has no graph that new nodes could join. Write it with `heatgraph fit ... "
            "--model FILE --with-graph`, or leave out --new and give tables of all nodes and edges."
        )
    graph, before = classifier.graph_, reporter.seconds
    with reporter.progress(f"reading {nodes.name} and {edges.name}"):
        read = read_new_node_tables(nodes, edges, graph, options)
    summary = {
        "known_nodes": graph.num_nodes,
        "nodes": read.nodes.num_nodes,
        "edges": len(read.edges),
        "edge_rows": read.num_edge_rows,
        "seconds": reporter.seconds - before,
    }
    rows = [
        ("new nodes", f"{summary['nodes']:,}", f"id: {read.id_column}"),
        ("edges", f"{summary['edges']:,}", f"from {summary['edge_rows']:,} rows"),
        ("known nodes", f"{summary['known_nodes']:,}", f"in {model}"),
    ]
    reporter.table(rows, f"Read {nodes} and {edges} in {summary['seconds']:.1f} s")
    for note in read.notes:
        reporter.print(f"  {note}")
    with reporter.progress("predicting"):
        probabilities = classifier.predict_proba_new(**read.arguments(graph))
    table = predictions_table(read.nodes, read.id_column, classifier.classes_, probabilities)
    return table, summary
