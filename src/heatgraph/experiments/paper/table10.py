"""Table 10: time of preprocessing over the number of steps, of DGC and SIGN, on Pubmed.

Protocol: *published*. The variants that are timed are those of `times`.
"""

from __future__ import annotations

from collections.abc import Sequence

from heatgraph.experiments.paper.experiment import Experiment
from heatgraph.experiments.paper.published import published_numbers
from heatgraph.experiments.paper.times import (
    VARIANTS,
    format_milliseconds,
    stage_milliseconds,
    stage_times_trials,
)
from heatgraph.experiments.results import Records
from heatgraph.report.document import MISSING, Chart, Panel, Part, Series, Table

STEPS = (2, 10, 20, 50, 100)


def _parts(records: Records) -> Sequence[Part]:
    rows: list[list[str]] = []
    for method, letter in (("DGC", "K"), ("SIGN", "r")):
        numbers = [
            published_numbers(source="Table 10", method=method, setting=f"{letter}={K}")[0]
            for K in STEPS
        ]
        rows.append([method, "the paper, GPU", *(format_milliseconds(n.value) for n in numbers)])
    lines = []
    for variant, title in VARIANTS.items():
        values = [stage_milliseconds(records, K, variant, "preprocessing") for K in STEPS]
        method, _, how = title.partition(",")
        rows.append([method, f"here,{how}", *map(format_milliseconds, values)])
        points = [(K, value) for K, value in zip(STEPS, values, strict=True) if value is not None]
        if points:
            lines.append(Series.through(title, points))
    for variant in ("steps", "Chebyshev"):
        own = [records.where(K=K) for K in STEPS]
        counts = [str(r[0].result["products"][variant]) if r else MISSING for r in own]
        how = VARIANTS[variant].partition(",")[2]
        rows.append(["DGC", f"products with S:{how}", *counts])
    head = ["method", "where", *(f"{K} steps" for K in STEPS)]
    parts: list[Part] = [
        Table("Preprocessing on Pubmed, after the paper's Table 10", head, rows, 2)
    ]
    if lines:
        panel = Panel("Pubmed", lines, "steps K or r", "preprocessing (ms)", "xy")
        caption = "Time of preprocessing over the number of steps."
        parts.append(Chart("table10", caption, [panel], 1))
    return parts


TABLE_10 = Experiment(
    "table10",
    "Table 10: time of preprocessing over the number of steps",
    lambda config: stage_times_trials(config, STEPS),
    _parts,
    [
        "A Chebyshev series of the same response needs no more than about a dozen products, "
        "whatever the number of steps.",
    ],
)
