"""Table 9: times of preprocessing and training, with SIGN, on Pubmed.

Protocol: *published*. The variants that are timed are those of `times`.
"""

from __future__ import annotations

from collections.abc import Sequence

from heatgraph.experiments.paper.experiment import Experiment
from heatgraph.experiments.paper.times import stage_and_gcn_trials, stages_table
from heatgraph.experiments.results import Records
from heatgraph.report.document import Part


def _parts(records: Records) -> Sequence[Part]:
    rows = [
        ("SGC / DGC (K = 2)", "SGC", "K=2", 2, "steps"),
        ("SIGN (r = 2)", "SIGN", "r=2", 2, "SIGN"),
        ("DGC (K = 100)", "DGC", "K=100", 100, "steps"),
        ("SIGN (r = 100)", "SIGN", "r=100", 100, "SIGN"),
        ("GCN", "GCN", "", 0, ""),
    ]
    return [stages_table("Table 9", rows, records)]


TABLE_9 = Experiment(
    "table9",
    "Table 9: time of the stages, with SIGN",
    stage_and_gcn_trials,
    _parts,
    [
        "SIGN with r = 100 keeps 101 copies of all features. It is left out where they would take "
        "more than half of the machine's memory.",
    ],
)
