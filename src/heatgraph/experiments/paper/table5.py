"""Table 5: times of preprocessing and training of SGC, DGC and GCN, on Pubmed.

Protocol: *published*. The variants that are timed are those of `times`.
"""

from __future__ import annotations

from collections.abc import Sequence

from heatgraph.experiments.paper.experiment import Experiment
from heatgraph.experiments.paper.settings import AUTHORS
from heatgraph.experiments.paper.times import (
    format_milliseconds,
    gcn_milliseconds,
    stage_and_gcn_trials,
    stage_milliseconds,
    stages_table,
)
from heatgraph.experiments.results import Records
from heatgraph.report.document import Part


def _parts(records: Records) -> Sequence[Part]:
    rows = [
        ("SGC (K = 2)", "SGC", "K=2", 2, "steps"),
        ("DGC (K = 100)", "DGC", "K=100", 100, "steps"),
        ("GCN", "GCN", "", 0, ""),
    ]
    return [stages_table("Table 5", rows, records), *_speedup(records)]


def _speedup(records: Records) -> list[Part]:
    """Ratio of GCN's time to DGC's, both from the same trial."""
    gcn, dgc = (gcn_milliseconds(records, method) for method in ("GCN", "DGC"))
    if gcn is None or dgc is None:
        return []
    setting = AUTHORS["pubmed"]
    text = (
        f"Fitted in alternation, with their authors' settings: GCN {format_milliseconds(gcn)}, "
        f"DGC {format_milliseconds(dgc)} (T = {setting.T}, {setting.K} steps), so that DGC is "
        f"**{gcn / dgc:,.0f} times faster**."
    )
    training = stage_milliseconds(records, 100, "rows", "training")
    if training:
        text += (
            f" Training alone is {gcn / training:,.0f} times faster "
            f"({format_milliseconds(training)} at K = 100)."
        )
    return [f"{text} The paper says more than 100 times."]


TABLE_5 = Experiment(
    "table5",
    "Table 5: time of the stages",
    stage_and_gcn_trials,
    _parts,
    [
        "The paper's times are from an RTX 3090, these from the processor named above: compare "
        "ratios within a machine, not across. The paper takes K literal steps on all features; "
        "*Chebyshev* is the same response as a short series, and *at training nodes* is that "
        "series at the training nodes only, which is what `fit` computes. Each stage is the median "
        "of several rounds, in which all variants are timed one after the other; the total is the "
        "sum of both.",
    ],
)
