"""``heatgraph predict``: label the nodes of two tables with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.input_tables import read_and_report
from heatgraph.cli.output_files import check_outputs, is_stdout, name_in_errors
from heatgraph.cli.reporter import Reporter


@options.expand_groups
def predict(
    model: options.Model,
    nodes: options.Nodes,
    edges: options.Edges,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write predictions to: .csv, .parquet, or -."),
    ],
    *,
    columns: options.ColumnOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Label every node of a graph with a model that `heatgraph fit` wrote.

    The graph may differ from the one the model was fitted on: features are found by name.
    """
    reporter = Reporter(output_options, stdout_taken=is_stdout(output))
    from heatgraph.learning.classifier import load
    from heatgraph.tables.writing import predictions_table, table_format, write_table

    check_outputs([model, nodes, edges, columns.features], [output])
    if not is_stdout(output):
        table_format(output)
    classifier = load(model).set_params(**resources.parameters())
    result, summary = read_and_report(
        reporter, nodes, edges, columns.table_options_for(classifier, resources.memory)
    )
    graph = result.dataset.graph
    with reporter.progress("predicting"):
        probabilities = classifier.predict_proba(graph)
        classes = classifier.classes_
        table = predictions_table(graph, result.id_column, classes, probabilities)
        with name_in_errors(output):
            write_table(table, output)
    if not is_stdout(output):
        reporter.print(f"Wrote predictions of {graph.num_nodes:,} nodes to {output}")
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(
        {"read": summary, "wrote": {"predictions": str(output)}, "seconds": reporter.seconds}
    )
