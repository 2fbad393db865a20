"""The table of predictions, with notes and, on request, reasons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heatgraph.cli.output_files import is_stdout, name_in_errors
from heatgraph.cli.reporter import Reporter

if TYPE_CHECKING:
    import pyarrow as pa

    from heatgraph.graph import Graph
    from heatgraph.learning.classifier import DGCClassifier
    from heatgraph.tables.from_tables import ReadResult


def check_explained(result: ReadResult, explain_top: int | None) -> None:
    """Refuse reasons for more nodes than can be explained in reasonable time."""
    from heatgraph.errors import InputError
    from heatgraph.report.predictions import MAX_EXPLAINED

    num_nodes = result.dataset.graph.num_nodes
    if explain_top is not None and num_nodes > MAX_EXPLAINED:
        raise InputError(
            f"--explain-top explains up to {MAX_EXPLAINED:,} nodes, and {result.dataset.name} has "
            f"{num_nodes:,}. Leave it out, and explain single nodes with `heatgraph explain`."
        )


def check_rescaling(task: str) -> None:
    """Refuse to rescale features for a model that has no such method."""
    if task != "classification":
        raise typer.BadParameter(
            f"--rescale-features adapts models of classes, and this one is of {task}. Leave it out."
        )


def rescale(reporter: Reporter, classifier: DGCClassifier, graph: Graph) -> DGCClassifier:
    """The model with features standardised by the statistics of a graph."""
    rescaled = classifier.with_scaling_of(graph)
    reporter.print(
        f"Features are standardised by the means and deviations of these {graph.num_nodes:,} nodes."
    )
    return rescaled


def make_predictions(
    reporter: Reporter,
    classifier: DGCClassifier,
    result: ReadResult,
    learned: Any = None,
    explain_top: int | None = None,
) -> pa.Table:
    """Label every node; `learned` are the nodes whose labels the model has learned, if known."""
    from heatgraph.report.predictions import node_notes, reason_columns
    from heatgraph.tables.writing import predictions_table

    graph, classes = result.dataset.graph, classifier.classes_
    with reporter.progress("predicting") as progress:
        probabilities = classifier.predict_proba(graph)
        more = {"note": node_notes(graph, learned)}
        if explain_top is not None:
            more |= reason_columns(
                classifier,
                probabilities,
                explain_top,
                graph,
                lambda done, total: progress("explaining", done, total),
            )
        return predictions_table(graph, result.id_column, classes, probabilities, more)


def write_predictions(table: pa.Table, path: Path, spreadsheet_safe: bool) -> None:
    """Write a table of predictions; in CSV, tell of formulas, or make text of them."""
    from heatgraph.errors import TableWarning, warn
    from heatgraph.tables.spreadsheet_formulas import find_formulas, guard_formulas
    from heatgraph.tables.writing import table_format, write_table

    with name_in_errors(path):
        is_text = is_stdout(path) or table_format(path)[0] != "parquet"
        if is_text and spreadsheet_safe:
            table = guard_formulas(table)
        elif is_text and (found := find_formulas(table)):
            warn(
                f"{path}: {found.count:,} cells begin like formulas, which a spreadsheet would "
                f"run, such as {found.first!r:.60} in column {found.column!r}. To open the file in "
                "one, write it with --spreadsheet-safe.",
                TableWarning,
            )
        write_table(table, path)
