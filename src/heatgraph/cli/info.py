"""``heatgraph info``: statistics of a graph, and whether diffusion is likely to help."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from heatgraph.cli import options
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_and_report
from heatgraph.cli.reporter import Reporter

if TYPE_CHECKING:
    from heatgraph.learning.description import Statistics


@options.expand_groups
def info(
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    data_folder: options.Data = None,
    memory: options.Memory = None,
    *,
    columns: options.ColumnOptions,
    labels: options.LabelOptions,
    output_options: options.OutputOptions,
) -> None:
    """Print statistics of a graph, and whether diffusion is likely to help on it."""
    reporter = Reporter(output_options)
    from heatgraph.learning.description import describe

    graph = find_graph_argument(graph_or_nodes, edges, data_folder)
    table_options = columns.table_options(memory, **vars(labels), task="auto")
    result, summary = read_and_report(reporter, graph, table_options)
    data = result.dataset
    with reporter.progress("measuring the graph"):
        # Homophily is a statistic of classes.
        classes = data.labels if data.task == "classification" else None
        statistics = describe(data.graph, classes)
    reporter.table(_rows(statistics), "The graph")
    if data.task == "classification":
        reporter.print(f"Diffusion is {_VERDICTS[statistics.verdict]}: {statistics.reason}")
    else:
        reporter.print(
            "Whether diffusion is likely to help is told for classes alone; `heatgraph fit` "
            "compares with features alone."
        )
    if statistics.neighbours is not None:
        reporter.print(f"{statistics.neighbours.finding} {statistics.neighbours.consequence}")
    reporter.json(
        {"read": summary, "graph": dataclasses.asdict(statistics), "seconds": reporter.seconds}
    )


_VERDICTS = {
    "likely": "likely to help",
    "unlikely": "unlikely to help",
    "unclear": "not certain to help",
}


def _rows(statistics: Statistics) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("components", f"{statistics.components:,}",
         f"the largest with {statistics.largest_component:,} nodes"),
        ("neighbours", f"{statistics.mean_degree:.1f}",
         f"on average; median {statistics.median_degree:g}, at most {statistics.largest_degree:,}"),
    ]  # fmt: skip
    if statistics.spectrum is not None and math.isfinite(statistics.spectrum.gap):
        ends = f"smallest eigenvalue of L above 0; the largest is {statistics.spectrum.largest:.3f}"
        rows.append(("spectral gap", f"{statistics.spectrum.gap:.3g}", ends))
    # None if labelled edges are too few, which the verdict then says.
    if statistics.neighbours is not None:
        rows += _label_rows(statistics)
    if statistics.agreement is not None:
        rows.append(
            ("agreement", f"{statistics.agreement:.2f}", "correlation of features across edges")
        )
    return rows


def _label_rows(statistics: Statistics) -> list[tuple[str, ...]]:
    """Adjusted homophily and label informativeness."""
    homophily, informativeness = statistics.homophily, statistics.informativeness
    assert homophily is not None
    assert informativeness is not None
    agree = f"adjusted: 0 by chance, 1 if neighbours agree; error {homophily.error:.2f}"
    tell = f"of labels: 1 if a neighbour's tells a node's; {informativeness.chance:.2f} by chance"
    return [
        ("homophily", f"{homophily.value:.2f}", agree),
        ("informativeness", f"{informativeness.value:.2f}", tell),
    ]
