"""Beyond Table 2: the same methods on random splits, with 20 training nodes per class.

Protocol: *validated*. Over many splits, chance in the choice of 1,000 test nodes averages out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatgraph.experiments.paper.accuracy_tables import accuracy_table, measured_cell
from heatgraph.experiments.paper.experiment import (
    CITATION_GRAPHS,
    DATASET_TITLES,
    Experiment,
    RunConfig,
)
from heatgraph.experiments.paper.fitting import fit_trial
from heatgraph.experiments.paper.table2 import DEFAULTS, PROTOCOLS, VALIDATED
from heatgraph.experiments.results import Records, Trial
from heatgraph.report.document import MISSING, Cell, Part, Table


def _trials(config: RunConfig) -> list[Trial]:
    return [
        fit_trial(method, name, protocol, make, "random", seed)
        for name in CITATION_GRAPHS
        for protocol, methods in (("validated", VALIDATED), ("defaults", DEFAULTS))
        for method, make in methods.items()
        if method in DEFAULTS
        for seed in range(config.seeds)
    ]


def _parts(records: Records) -> Sequence[Part]:
    rows = [
        [
            title,
            *(
                _advantage_cell(records.where(protocol=protocol, dataset=name))
                for name in CITATION_GRAPHS
            ),
        ]
        for protocol, title in PROTOCOLS.items()
        if protocol != "published"
    ]
    head = ["protocol", *(DATASET_TITLES[name] for name in CITATION_GRAPHS)]
    return [
        accuracy_table("Accuracy over random splits", records, list(DEFAULTS), PROTOCOLS),
        Table("DGC minus SGC, in points, on the same splits", head, rows),
    ]


def _advantage_cell(records: Records) -> str | Cell:
    """Mean difference between DGC and SGC, paired by split."""
    accuracy = {(r.setting["method"], r.setting["seed"]): r.result["accuracy"] for r in records}
    differences = [
        accuracy["DGC", seed] - accuracy["SGC", seed]
        for method, seed in accuracy
        if method == "DGC" and ("SGC", seed) in accuracy
    ]
    if not differences:
        return MISSING
    cell = measured_cell(differences)
    better = f"better in {int(np.sum(np.array(differences) > 0))} of {len(differences)}"
    return Cell(cell.value if isinstance(cell, Cell) else cell, better)


RANDOM_SPLITS = Experiment(
    "splits",
    "Beyond Table 2: random splits",
    _trials,
    _parts,
    [
        "The public split is one draw. These are others: 20 training nodes per class, 500 "
        "validation and 1,000 test nodes, drawn at random; all settings are validated. All methods "
        "have the same splits, so the paired differences are what to compare.",
    ],
)
