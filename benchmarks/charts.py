"""The chart that timing benchmarks share."""

from __future__ import annotations

from benchmarks.results import Results
from heatgraph.report.document import Bars, Chart, Panel


def time_bars(results: Results) -> list[Chart]:
    """Seconds of each peer, a panel for each work; no chart if nothing can be compared."""
    panels = []
    for work in results.works:
        rows = sorted((row for row in results.rows_of(work) if row.turns), key=lambda r: r.seconds)
        if len(rows) > 1:
            names = [row.peer + " (extrapolated)" * bool(row.note) for row in rows]
            bars = Bars(names, [row.seconds for row in rows])
            panels.append(Panel(work.partition(": ")[2], bars, "seconds", log="x"))
    caption = "Seconds, on a logarithmic axis."
    return [Chart(results.benchmark, caption, panels, 2)] if panels else []
