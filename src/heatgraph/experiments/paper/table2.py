"""Table 2: semi-supervised on the citation graphs, with the public split and with random ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatgraph.baselines.deepwalk import DeepWalkClassifier
from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.baselines.schemes import features_alone, personalized_pagerank, sgc
from heatgraph.baselines.stacked import PairNormClassifier, SIGNClassifier
from heatgraph.experiments.paper.comparison import NOTHING, accuracy_table, measured
from heatgraph.experiments.paper.experiment import CITATIONS, NAMES, Experiment, Scope
from heatgraph.experiments.paper.fits import Make, fit_entry
from heatgraph.experiments.paper.networks import public_entries
from heatgraph.experiments.paper.published import published
from heatgraph.experiments.paper.settings import AUTHORS, authors_sgc
from heatgraph.experiments.results import Entry, Records
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.report.document import Cell, Part, Table

ROWS: dict[str, Any] = {"feature_scaling": "rows"}
# What is open is chosen on validation nodes; features are scaled as in the paper.
VALIDATED: dict[str, Make] = {
    "Features alone": lambda seed: features_alone(**ROWS),
    "Label Propagation": lambda seed: LabelPropagation(),
    "DeepWalk": lambda seed: DeepWalkClassifier(random_state=seed),
    "PageRank": lambda seed: personalized_pagerank(**ROWS),
    "SGC": lambda seed: sgc(**ROWS),
    "SGC-PairNorm": lambda seed: PairNormClassifier(**ROWS),
    "SIGN-linear": lambda seed: SIGNClassifier(**ROWS),
    "DGC": lambda seed: DGCClassifier(**ROWS),
}
# The scaling of features is chosen too.
DEFAULTS: dict[str, Make] = {
    "Features alone": lambda seed: features_alone(),
    "SGC": lambda seed: sgc(),
    "DGC": lambda seed: DGCClassifier(),
}
# Walks are random, and take the most time by far.
RANDOM = ("DeepWalk",)
PROTOCOLS = {
    "published": "published",
    "validated": "validated",
    "defaults": "validated, scaling too",
}


def _entries(scope: Scope) -> list[Entry]:
    entries = []
    for name in CITATIONS:
        for seed in range(scope.seeds):
            ours = AUTHORS[name].classifier
            entries += [fit_entry("DGC", name, "published", ours, "public", seed)]
            entries += [fit_entry("SGC", name, "published", authors_sgc, "public", seed)]
        for method, make in VALIDATED.items():
            seeds = min(scope.seeds, 1 if scope.quick else 3) if method in RANDOM else 1
            entries += [
                fit_entry(method, name, "validated", make, "public", seed) for seed in range(seeds)
            ]
        for method, make in DEFAULTS.items():
            entries += [fit_entry(method, name, "defaults", make, "public", 0)]
    return entries


def _parts(records: Records) -> Sequence[Part]:
    listed = [number.method for number in published(source="Table 2")]
    others = [method for method in ["Features alone", *listed, *VALIDATED] if method != "DGC"]
    title = "Accuracy on the test nodes of the public split"
    methods = [*dict.fromkeys(others), "DGC"]
    return [accuracy_table(title, records, methods, PROTOCOLS, "Table 2")]


def _random_entries(scope: Scope) -> list[Entry]:
    """The same on random splits, where luck with 1,000 test nodes averages out."""
    return [
        fit_entry(method, name, protocol, make, "random", seed)
        for name in CITATIONS
        for protocol, methods in (("validated", VALIDATED), ("defaults", DEFAULTS))
        for method, make in methods.items()
        if method in DEFAULTS
        for seed in range(scope.seeds)
    ]


def _random_parts(records: Records) -> Sequence[Part]:
    title = "Accuracy over random splits"
    rows = [
        [words, *(_advantage(records.where(protocol=protocol, dataset=name)) for name in CITATIONS)]
        for protocol, words in PROTOCOLS.items()
        if protocol != "published"
    ]
    head = ["protocol", *(NAMES[name] for name in CITATIONS)]
    return [
        accuracy_table(title, records, list(DEFAULTS), PROTOCOLS),
        Table("DGC less SGC, in points, on the same splits", head, rows),
    ]


def _advantage(records: Records) -> str | Cell:
    """By how much DGC is better than SGC on each split."""
    accuracy = {(r.setting["method"], r.setting["seed"]): r.result["accuracy"] for r in records}
    differences = [
        accuracy["DGC", seed] - accuracy["SGC", seed]
        for method, seed in accuracy
        if method == "DGC" and ("SGC", seed) in accuracy
    ]
    if not differences:
        return NOTHING
    cell = measured(differences)
    better = f"better in {int(np.sum(np.array(differences) > 0))} of {len(differences)}"
    return Cell(cell.value if isinstance(cell, Cell) else cell, better)


TABLE_2 = Experiment(
    "table2",
    "Table 2: semi-supervised, public split",
    _entries,
    _parts,
    [
        "*Published*: for DGC the settings in its authors' code, trained by 100 epochs of Adam. "
        "That code reads no validation data, so that a choice by test nodes cannot be excluded; "
        "and its learning rates (0.156, 1.39, 0.627) are not the 0.2 that the paper prints. For "
        "SGC two steps, a learning rate of 0.2, and of 60 weight decays the one that is best on "
        "validation nodes, as its authors do it.",
        "*Validated*: T or the number of steps, and weight decay, are chosen on the 500 validation "
        "nodes, and the head goes to its optimum (L-BFGS). Features are scaled by row as in the "
        "paper, or that is chosen on validation nodes too. No test node has a part in it, so it "
        "is the number to expect on data of one's own.",
        "Where they differ: with published settings DGC comes out as printed. With validated ones "
        "it is lower on Cora, by more than SGC is. The peak over T in Figure 3 is narrow, and 500 "
        "validation nodes do not point at it. Random splits, below, tell more than one public "
        "split.",
        "The paper's row of label propagation has Cora and Citeseer exchanged against its source "
        "(Yang et al. 2016: 68.0 and 45.3). Ours gives classes back the mass that they should "
        "have, as Zhu et al. propose for few labels. DeepWalk sees no features; the paper quotes "
        "it, so that its settings are unknown. PairNorm and SIGN are tuned here, which the paper "
        "does not say of its own. Non-linear methods are run by `heatgraph paper networks`.",
    ],
    public_entries,
)
RANDOM_SPLITS = Experiment(
    "splits",
    "Beyond Table 2: random splits",
    _random_entries,
    _random_parts,
    [
        "The public split is one draw. Here are others: 20 nodes per class to learn from, 500 to "
        "choose settings by, 1,000 to judge by, all drawn at random; everything validated. All "
        "methods see the same splits, so that what counts is the difference on each of them. With "
        "settings of both chosen on validation nodes, DGC is ahead of SGC by far less than in the "
        "printed table.",
    ],
)
