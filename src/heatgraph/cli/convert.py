"""``heatgraph convert``: write a graph file, from edges that may exceed memory."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatgraph._io.formatting import format_bytes, format_seconds
from heatgraph.cli import options
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_and_report
from heatgraph.cli.output_files import check_outputs, name_in_errors
from heatgraph.cli.reporter import Reporter
from heatgraph.learning.progress import LEAST_TIMED

if TYPE_CHECKING:
    from heatgraph.tables.edge_datasets import Conversion

_OUT_OF_CORE = "Edges that exceed memory"


@options.expand_groups
def convert(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="GRAPH|NODES EDGES|EDGES...",
            help="A graph as in other commands; or, with --nodes, --num-nodes or --blocks, Parquet "
            "files and folders of edges, which need not fit into memory.",
        ),
    ],
    data_folder: options.Data = None,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Graph file to write, such as graph.heatgraph."),
    ],
    nodes: Annotated[
        Path | None,
        typer.Option(
            "--nodes",
            help="Table of nodes, of which the ids are read. Without it, edges have integers.",
            rich_help_panel=_OUT_OF_CORE,
        ),
    ] = None,
    num_nodes: Annotated[
        int | None,
        typer.Option(
            "--num-nodes",
            min=1,
            help="Number of nodes n: edges have integers from 0 to n - 1. By default the rows of "
            "--features, a .npy file.",
            rich_help_panel=_OUT_OF_CORE,
        ),
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            "--blocks",
            min=1,
            help="Blocks of rows that are sorted one at a time; by default what the memory budget "
            "needs.",
            rich_help_panel=_OUT_OF_CORE,
        ),
    ] = None,
    columns: options.ColumnOptions,
    labels: options.LabelOptions,
    memory: options.Memory = None,
    output_options: options.OutputOptions,
) -> None:
    """Write a graph file, which commands and Graph.load map into memory.

    It holds edges, ids and features, and no labels.
    """
    reporter = Reporter(output_options)
    table_options = columns.table_options(memory, **vars(labels), task="auto")
    if (nodes, num_nodes, blocks) != (None, None, None):
        check_outputs([*paths, nodes, columns.features], [output])
        arguments = {
            "nodes": nodes,
            "num_nodes": num_nodes,
            "features": columns.features or None,
            # Features are a file here, and labels are not read.
            "options": replace(table_options, features=None, task="classification"),
            "blocks": blocks,
        }
        report = _convert_edges(reporter, paths, output, arguments)
    else:
        if len(paths) > 2:
            raise typer.BadParameter(
                "several files of edges need --nodes or --num-nodes. For tables, name two: "
                "NODES EDGES."
            )
        edges = Path(paths[1]) if len(paths) == 2 else None
        source = find_graph_argument(paths[0], edges, data_folder)
        check_outputs([*source.files, *columns.feature_parts], [output])
        result, summary = read_and_report(
            reporter, source, table_options, without_features="the file has none"
        )
        with reporter.progress("writing the file"), name_in_errors(output):
            result.dataset.graph.save(output)
        report = {"read": summary}
    size = output.stat().st_size
    reporter.print(f"Wrote the graph to {output} ({format_bytes(size)})")
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(
        report
        | {
            "wrote": {"graph": str(output), "bytes": size},
            "warnings": reporter.warnings,
            "seconds": reporter.seconds,
        }
    )


def _convert_edges(
    reporter: Reporter, paths: list[str], output: Path, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Convert edges out of core, and report what was read."""
    from heatgraph.tables.edge_datasets import convert_edges

    stage, begun = "", reporter.seconds
    with reporter.long_progress("reading edges") as update, name_in_errors(output):

        def progress(now: str, done: int, total: int) -> None:
            nonlocal stage, begun
            if now != stage:
                stage, begun = now, reporter.seconds
            update(_describe(now, done, total, reporter.seconds - begun), done, total)

        conversion = convert_edges(paths, output, **arguments, progress=progress)
    title = f"Read {paths[0]}" + f" and {len(paths) - 1:,} more" * (len(paths) > 1)
    reporter.table(_rows(conversion, arguments["nodes"]), f"{title} in {reporter.seconds:.1f} s")
    summary = asdict(conversion.report) | {
        "num_edges": conversion.report.num_edges,
        "edge_rows": conversion.num_edge_rows,
        "columns": {
            purpose: {"column": choice.name, "guessed": choice.detected}
            for purpose, choice in conversion.columns.items()
            if choice.name is not None
        },
    }
    return {"read": summary}


def _rows(conversion: Conversion, nodes: Path | None) -> list[tuple[str, ...]]:
    report = conversion.report
    ends = " - ".join(
        str(conversion.columns[end].name) + " (detected)" * conversion.columns[end].detected
        for end in ("source", "target")
    )
    weight = conversion.columns["weight"]
    if weight.name is not None:
        ends += f", weight: {weight.name}" + " (detected)" * weight.detected
    return [
        ("nodes", f"{report.num_nodes:,}", f"ids of {nodes}" if nodes else "0, 1, ..."),
        ("edges", f"{report.num_edges:,}", f"from {conversion.num_edge_rows:,} rows; {ends}"),
        (
            "",
            "",
            f"{report.num_duplicates:,} duplicates merged, {report.num_self_loops:,} self-loops, "
            f"{report.num_isolated:,} isolated nodes",
        ),
        ("features", f"{report.num_features:,}", ""),
        ("blocks", f"{report.blocks:,}", f"of rows, sorted in {report.parts:,} parts"),
    ]


def _describe(stage: str, done: int, total: int, seconds: float) -> str:
    """The stage, how far it has come, and the time left of it."""
    if total <= 1:
        return stage
    text = f"{stage}: {done:,} of {total:,}"
    if seconds >= LEAST_TIMED and done:
        left = format_seconds(round(seconds * (total - done) / done) or 1)
        text += f", {done / seconds:,.0f} a second, about {left} left"
    return text
