"""``heatgraph info``: what a graph is like, and whether diffusion will help."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from heatgraph.cli import options
from heatgraph.cli.console import Voice
from heatgraph.cli.reading import read

if TYPE_CHECKING:
    from heatgraph.learning.description import Statistics


@options.grouped
def info(
    nodes: options.Nodes,
    edges: options.Edges,
    memory: options.Memory = None,
    *,
    tables: options.Tables,
    labels: options.Labels,
    report: options.Report,
) -> None:
    """Tell what a graph is like, and whether diffusion is likely to help on it."""
    voice = Voice(report)
    from heatgraph.learning.description import describe

    how = tables.reading(memory, label=labels.label, split=labels.split)
    reading, summary = read(voice, nodes, edges, how)
    with voice.working("measuring the graph"):
        found = describe(reading.data.graph, reading.data.labels)
    voice.table(_rows(found), "The graph")
    voice.say(f"Diffusion is {_WORDS[found.verdict]}: {found.reason}")
    voice.json({"read": summary, "graph": dataclasses.asdict(found), "seconds": voice.seconds})


_WORDS = {
    "likely": "likely to help",
    "unlikely": "unlikely to help",
    "unclear": "not certain to help",
}


def _rows(found: Statistics) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("components", f"{found.components:,}",
         f"the largest with {found.largest_component:,} nodes"),
        ("neighbours", f"{found.mean_degree:.1f}",
         f"on average; median {found.median_degree:g}, at most {found.largest_degree:,}"),
    ]  # fmt: skip
    if found.spectrum is not None and math.isfinite(found.spectrum.gap):
        ends = f"smallest eigenvalue of L above 0; the largest is {found.spectrum.largest:.3f}"
        rows.append(("spectral gap", f"{found.spectrum.gap:.3g}", ends))
    if found.homophily is not None:
        rows.append(
            ("homophily", f"{found.homophily.value:.2f}",
             f"0 by chance, 1 if all edges join the same label; error {found.homophily.error:.2f}")
        )  # fmt: skip
    if found.agreement is not None:
        rows.append(("agreement", f"{found.agreement:.2f}", "correlation of features across edges"))
    return rows
