"""Read the tables of a command, and report what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from heatgraph.cli.reporter import Reporter

if TYPE_CHECKING:
    from heatgraph.tables.from_tables import ReadResult
    from heatgraph.tables.options import TableOptions

# Classes that are listed with their sizes.
MAX_CLASSES_LISTED = 12


def read_and_report(
    reporter: Reporter, nodes: Path, edges: Path, options: TableOptions
) -> tuple[ReadResult, dict[str, Any]]:
    """Read two tables and print a summary of them, which is returned too."""
    from heatgraph.report.summary import read_summary
    from heatgraph.tables.from_tables import read_tables

    before = reporter.seconds
    with reporter.progress(f"reading {nodes.name} and {edges.name}"):
        result = read_tables(nodes, edges, options)
    summary = read_summary(result) | {"seconds": reporter.seconds - before}
    reporter.table(_rows(summary), f"Read {nodes} and {edges} in {summary['seconds']:.1f} s")
    for note in result.notes:
        reporter.print(f"  {note}")
    return result, summary


def read_labelled(
    reporter: Reporter,
    nodes: Path,
    edges: Path,
    options: TableOptions,
    purpose: str = "learn from",
) -> tuple[ReadResult, dict[str, Any]]:
    """Read two tables, and refuse them without labels; `purpose` says what these are needed to."""
    from heatgraph.errors import InputError

    result, summary = read_and_report(reporter, nodes, edges, options)
    if result.dataset.labels is None:
        raise InputError(
            f"labels are needed to {purpose}, and no column of {nodes} was detected or named for "
            "them. Name it with --label."
        )
    return result, summary


def _rows(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    columns = {
        purpose: entry["column"] + " (detected)" * entry["guessed"]
        for purpose, entry in summary["columns"].items()
    }
    ends = f"{columns['source']} - {columns['target']}"
    weight = f", weight: {columns['weight']}" if "weight" in columns else ""
    if summary["directed"]:
        weight += "; directed"
    rows: list[tuple[str, ...]] = [
        ("nodes", f"{summary['nodes']:,}", f"id: {columns['id']}"),
        ("edges", f"{summary['edges']:,}", f"from {summary['edge_rows']:,} rows; {ends}{weight}"),
        (
            "",
            "",
            f"{summary['duplicates']:,} duplicates merged, {summary['self_loops']:,} self-loops, "
            f"{summary['isolated']:,} isolated nodes",
        ),
        (
            "features",
            f"{summary['features']:,}",
            summary["features_from"] or "none: labels alone diffuse",
        ),
    ]
    if "classes" in summary:
        classes = sorted(summary["classes"].items(), key=lambda item: -item[1])
        listed = ", ".join(f"{label} ({count:,})" for label, count in classes[:MAX_CLASSES_LISTED])
        more = ", ..." if len(classes) > MAX_CLASSES_LISTED else ""
        rows.append(("classes", f"{len(classes):,}", f"label: {columns['label']}; {listed}{more}"))
        rows.append(("unlabelled", f"{summary['unlabelled']:,}", "nodes"))
    if "split" in summary:
        parts = ", ".join(f"{part} {count:,}" for part, count in summary["split"].items())
        rows.append(("split", "", f"{columns['split']}; {parts}"))
    return rows
