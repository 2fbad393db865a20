"""Tables read for a command, and told about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from heatgraph.cli.console import Voice
from heatgraph.cli.options import Labels, Tables

if TYPE_CHECKING:
    from heatgraph.tables.graphs import Options, Reading

# Classes that are listed one by one.
MOST_CLASSES = 12


def read(
    voice: Voice, nodes: Path, edges: Path, options: Options
) -> tuple[Reading, dict[str, Any]]:
    """Read a pair of tables and report what is in them."""
    from heatgraph.report.summary import read_summary
    from heatgraph.tables.graphs import read_tables

    before = voice.seconds
    with voice.working(f"reading {nodes.name} and {edges.name}"):
        reading = read_tables(nodes, edges, options)
    summary = read_summary(reading) | {"seconds": voice.seconds - before}
    voice.table(_rows(summary), f"Read {nodes} and {edges} in {summary['seconds']:.1f} s")
    for remark in reading.remarks:
        voice.say(f"  {remark}")
    return reading, summary


def read_to_learn(
    voice: Voice, nodes: Path, edges: Path, tables: Tables, labels: Labels, memory: str | None
) -> tuple[Reading, dict[str, Any]]:
    """The same, and refuse tables without labels."""
    from heatgraph.errors import InputError

    how = tables.reading(memory, label=labels.label, split=labels.split)
    reading, summary = read(voice, nodes, edges, how)
    if reading.data.labels is None:
        raise InputError(
            f"labels are needed to learn from, and no column of {nodes} was found or named for "
            "them. Name it with --label."
        )
    return reading, summary


def _rows(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    columns = {
        key: entry["column"] + " (guessed)" * entry["guessed"]
        for key, entry in summary["columns"].items()
    }
    ends = f"{columns['source']} - {columns['target']}"
    weight = f", weight: {columns['weight']}" if "weight" in columns else ""
    rows: list[tuple[str, ...]] = [
        ("nodes", f"{summary['nodes']:,}", f"id: {columns['id']}"),
        ("edges", f"{summary['edges']:,}", f"from {summary['edge_rows']:,} rows; {ends}{weight}"),
        (
            "",
            "",
            ", ".join(_count(summary, key) for key in ("duplicates", "self_loops", "isolated")),
        ),
        (
            "features",
            f"{summary['features']:,}",
            summary["features_from"] or "none: labels alone diffuse",
        ),
    ]
    if "classes" in summary:
        classes = sorted(summary["classes"].items(), key=lambda item: -item[1])
        listed = ", ".join(f"{label} ({count:,})" for label, count in classes[:MOST_CLASSES])
        more = ", ..." if len(classes) > MOST_CLASSES else ""
        rows.append(("classes", f"{len(classes):,}", f"label: {columns['label']}; {listed}{more}"))
        rows.append(("unlabelled", f"{summary['unlabelled']:,}", "nodes"))
    if "split" in summary:
        parts = ", ".join(f"{part} {count:,}" for part, count in summary["split"].items())
        rows.append(("split", "", f"{columns['split']}; {parts}"))
    return rows


def _count(summary: dict[str, Any], key: str) -> str:
    words = {
        "duplicates": "duplicates merged",
        "self_loops": "self-loops",
        "isolated": "isolated nodes",
    }
    return f"{summary[key]:,} {words[key]}"
