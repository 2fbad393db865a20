"""Table 3: fully supervised on the citation graphs, 60 % of nodes to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.baselines.schemes import features_alone, sgc
from heatgraph.experiments.paper.comparison import accuracy_table
from heatgraph.experiments.paper.experiment import CITATIONS, Experiment, Scope
from heatgraph.experiments.paper.fits import Make, fit_entry
from heatgraph.experiments.paper.networks import supervised_entries
from heatgraph.experiments.paper.published import published
from heatgraph.experiments.paper.settings import LEARNING_RATE, TRAINING
from heatgraph.experiments.results import Entry, Records
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.report.document import Part

# With labels enough, fine steps between candidates change little.
TIMES = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
STEPS = [1, 2, 3, 4, 6]
WEIGHT_DECAYS = np.logspace(-8, -3, 6).tolist()
CHOSEN: dict[str, Any] = TRAINING | {
    "learning_rate": LEARNING_RATE,
    "weight_decay": WEIGHT_DECAYS,
}
METHODS: dict[str, Make] = {
    "Features alone": lambda seed: features_alone(random_state=seed, **CHOSEN),
    "Label Propagation": lambda seed: LabelPropagation(),
    "SGC": lambda seed: sgc(STEPS, random_state=seed, **CHOSEN),
    "DGC": lambda seed: DGCClassifier(T=TIMES, random_state=seed, **CHOSEN),
}


# The scaling of features too, and the head at its optimum; by far the slowest.
DEFAULTS: dict[str, Make] = {
    "DGC": lambda seed: DGCClassifier(T=TIMES, weight_decay=WEIGHT_DECAYS, random_state=seed),
}
PROTOCOLS = {
    "published": "published",
    "validated": "validated",
    "defaults": "validated, scaling too",
}


def _entries(scope: Scope) -> list[Entry]:
    few, fewer = (2, 0) if scope.quick else (scope.seeds, 3)
    return [
        fit_entry(method, name, protocol, make, "fractions", seed)
        for name in CITATIONS
        for protocol, methods, seeds in (("validated", METHODS, few), ("defaults", DEFAULTS, fewer))
        for method, make in methods.items()
        for seed in range(min(scope.seeds, seeds))
    ]


def _parts(records: Records) -> Sequence[Part]:
    listed = [number.method for number in published(source="Table 3")]
    methods = list(dict.fromkeys(["Features alone", "Label Propagation", *listed]))
    title = "Accuracy on the test nodes of random 60/20/20 splits"
    return [accuracy_table(title, records, methods, PROTOCOLS, "Table 3")]


TABLE_3 = Experiment(
    "table3",
    "Table 3: fully supervised, 60/20/20",
    _entries,
    _parts,
    [
        "Every run draws a split of its own: 60 % of nodes to learn from, 20 % to choose T (or "
        "the number of steps) and weight decay by, 20 % to judge by. *Validated* trains as the "
        "paper does, by Adam with a learning rate of 0.2 on features scaled by row; *validated, "
        "scaling too* chooses the scaling and goes to the optimum (L-BFGS). A search learns from "
        "2,000 of the training nodes at most, and what it chooses learns from all. The authors "
        "print no settings for this table, so there is no published protocol.",
        "Where they differ: the paper prints a spread of 0.0 for DGC, which no two random splits "
        "would give, so its runs seem to share a split; it is not published. SGC comes out better "
        "here than printed on Cora and Pubmed, and close to DGC: the paper quotes or tunes it "
        "otherwise. On Citeseer both are lower than printed by about as much, little more than "
        "one spread between splits. On Pubmed DGC is lower, but above what is printed once the "
        "scaling is chosen too. Non-linear methods are run by `heatgraph paper networks`, with "
        "their authors' settings for the public split.",
    ],
    supervised_entries,
)
