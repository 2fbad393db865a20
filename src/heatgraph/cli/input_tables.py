"""Read the graph of a command, and report what it holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from heatgraph._io.formatting import format_number
from heatgraph.cli.column_uses import column_use_rows
from heatgraph.cli.graph_argument import GraphArgument
from heatgraph.cli.reporter import Reporter

if TYPE_CHECKING:
    from heatgraph.tables.from_tables import ReadResult
    from heatgraph.tables.options import TableOptions

# Classes that are listed with their sizes.
MAX_CLASSES_LISTED = 12
# Columns that are named where the label is missing.
MAX_COLUMNS_SUGGESTED = 5


def read_and_report(
    reporter: Reporter,
    graph: GraphArgument,
    options: TableOptions,
    without_features: str = "labels alone diffuse",
) -> tuple[ReadResult, dict[str, Any]]:
    """Read a graph and print a summary of it, which is returned too.

    `without_features` says what follows if there are none.
    """
    from heatgraph.report.summary import read_summary

    before = reporter.seconds
    with reporter.progress(f"reading {graph.title}"):
        result = graph.read(options)
    summary = read_summary(result) | {"seconds": reporter.seconds - before}
    reporter.table(
        _rows(summary, without_features), f"Read {graph.title} in {summary['seconds']:.1f} s"
    )
    for note in result.notes:
        reporter.print(f"  {note}")
    return result, summary


def read_labelled(
    reporter: Reporter,
    graph: GraphArgument,
    options: TableOptions,
    purpose: str = "learn from",
) -> tuple[ReadResult, dict[str, Any]]:
    """Read a graph, and refuse it without labels; `purpose` says what these are needed to."""
    from heatgraph.errors import InputError

    result, summary = read_and_report(reporter, graph, options)
    if result.dataset.labels is None:
        raise InputError(
            f"labels are needed to {purpose}, and no column of {result.dataset.name} was detected "
            f"or named for them. Name it with --label.{_suggest_labels(result)}"
        )
    return result, summary


def read_classes(
    reporter: Reporter, graph: GraphArgument, options: TableOptions, command: str
) -> tuple[ReadResult, dict[str, Any]]:
    """Read a graph for a command that needs one label per node, and refuse other targets."""
    from heatgraph.errors import InputError

    result, summary = read_labelled(reporter, graph, replace(options, task="auto"))
    data = result.dataset
    if data.task != "classification":
        found = {"regression": "numbers", "multilabel": "lists of labels"}[data.task]
        raise InputError(
            f"`heatgraph {command}` is for one class per node, and column "
            f"{result.columns['label'].name!r} of {data.name} has {found}. Name another with "
            f"--label; `heatgraph fit` predicts {found}."
        )
    return result, summary


def _suggest_labels(result: ReadResult) -> str:
    """A sentence with the columns of few values, of which the label may be one."""
    found = [
        use
        for use in result.uses
        if use.use == "category" or use.description == "yes or no" or use.use == "bag"
    ]
    found.sort(key=lambda use: use.num_features)
    names = ", ".join(use.column for use in found[:MAX_COLUMNS_SUGGESTED])
    return f" Columns of few values are: {names}." if names else ""


def _rows(summary: dict[str, Any], without_features: str) -> list[tuple[str, ...]]:
    columns = {
        purpose: entry["column"] + " (detected)" * entry["guessed"]
        for purpose, entry in summary["columns"].items()
    }
    weight = f", weight: {columns['weight']}" if "weight" in columns else ""
    if summary["directed"]:
        weight += "; directed"
    origin = ""
    if summary["edge_rows"] is not None:
        ends = f"{columns['source']} - {columns['target']}"
        origin = f"from {summary['edge_rows']:,} rows; {ends}{weight}"
    both = summary["both_directions"]
    counts = f"{both:,} edges in both directions, " if both else ""
    counts = f"{summary['duplicates']:,} duplicates merged, {counts}"
    rows: list[tuple[str, ...]] = [
        ("nodes", f"{summary['nodes']:,}", f"id: {columns['id']}" if "id" in columns else ""),
        ("edges", f"{summary['edges']:,}", origin),
        (
            "",
            "",
            f"{counts}{summary['self_loops']:,} self-loops, {summary['isolated']:,} isolated nodes",
        ),
        (
            "features",
            f"{summary['features']:,}",
            summary["features_from"] or f"none: {without_features}",
        ),
        *column_use_rows(summary["column_uses"]),
    ]
    if "classes" in summary:
        classes = sorted(summary["classes"].items(), key=lambda item: -item[1])
        listed = ", ".join(f"{label} ({count:,})" for label, count in classes[:MAX_CLASSES_LISTED])
        more = ", ..." if len(classes) > MAX_CLASSES_LISTED else ""
        label = f"label: {columns['label']}; " if "label" in columns else ""
        rows.append(("classes", f"{len(classes):,}", f"{label}{listed}{more}"))
        rows.append(("unlabelled", f"{summary['unlabelled']:,}", "nodes"))
    if "task" in summary:
        rows += _target_rows(summary, columns["label"])
    if "split" in summary:
        parts = ", ".join(f"{part} {count:,}" for part, count in summary["split"].items())
        rows.append(("split", "", f"{columns.get('split', summary['split_name'])}; {parts}"))
    return rows


def _target_rows(summary: dict[str, Any], column: str) -> list[tuple[str, ...]]:
    """What a column of numbers, or of several labels per node, holds."""
    rows: list[tuple[str, ...]] = []
    if "labels" in summary:
        labels = list(summary["labels"].items())
        listed = ", ".join(f"{label} ({count:,})" for label, count in labels[:MAX_CLASSES_LISTED])
        more = ", ..." if len(labels) > MAX_CLASSES_LISTED else ""
        rows.append(("labels", f"{len(labels):,}", f"label: {column}; {listed}{more}"))
    elif "numbers" in summary:
        found = summary["numbers"]
        low, median, high = (
            format_number(found[key], digits=6) for key in ("smallest", "median", "largest")
        )
        rows.append(
            (
                "numbers",
                f"{found['distinct']:,}",
                f"distinct ones; label: {column}; from {low} to {high}, median {median}",
            )
        )
    rows.append(("unlabelled", f"{summary['unlabelled']:,}", "nodes"))
    return rows
