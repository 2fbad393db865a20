"""Four rules to select one setting out of hundreds that were validated on few nodes.

All rules see the results of the same search. Test nodes select nothing: over random splits, they
only show which rule to prefer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Job, Outcome, Task
from benchmarks.results import Results
from benchmarks.suite.accuracy import SPLITS, format_spread, random_splits
from benchmarks.workloads import Workload
from heatgraph import DGCClassifier, Graph, Split
from heatgraph.experiments.paper.settings import AUTHORS

AVERAGED = 10
RULES = ("best accuracy", "least log-loss", f"mean of {AVERAGED} best", "middle of plateau")
VALIDATION, CROSS_VALIDATION = "validation nodes", "cross-validation"
# Each of five folds is validated with a classifier trained on the other four.
FOLD_SHARE = 0.8


def compare_rules(job: Job, data: Workload) -> Task:
    """Test accuracy of each rule in percent, on each random split."""

    def run() -> Outcome:
        graph, labels = data.graph(), data.labels
        uses_val = job.peer == VALIDATION
        table = [rule_accuracies(graph, labels, split, uses_val) for split in random_splits(labels)]
        return Outcome(None, facts=dict(zip(RULES, np.transpose(table).tolist(), strict=True)))

    return Task(run)


def rule_accuracies(graph: Graph, labels: np.ndarray, split: Split, uses_val: bool) -> list[float]:
    """Test accuracy of each rule in percent, on one split."""
    # A weight decay selected by cross-validation is scaled to all training nodes.
    scale = 1.0 if uses_val else FOLD_SHARE

    def fit(record: dict[str, Any]) -> DGCClassifier:
        return DGCClassifier(
            T=record["T"],
            weight_decay=record["weight_decay"] * scale,
            feature_scaling=record["feature_scaling"],
            calibrate=False,
        ).fit(graph, labels, split.train)

    val = split.val if uses_val else None
    plateau = DGCClassifier(extensions=None).fit(graph, labels, split.train, val)
    records = [record for record in plateau.search_ if record["head"] == "softmax"]
    ranked = sorted(records, key=lambda r: (-r["accuracy"], r["log_loss"]))
    best = [fit(record) for record in ranked[:AVERAGED]]
    least_loss = fit(min(records, key=lambda r: r["log_loss"]))
    scores = sum(model.decision_function(nodes=split.test) for model in best)
    averaged = (plateau.classes_[scores.argmax(axis=1)] == labels[split.test]).mean()
    first, second, last = (
        model.score(None, labels, split.test) for model in (best[0], least_loss, plateau)
    )
    return [100 * float(accuracy) for accuracy in (first, second, averaged, last)]


def jobs(scale: float) -> list[Job]:
    return [
        Job(name, compare_rules, validation, name, checked=False, timed=False)
        for name in AUTHORS
        for validation in (VALIDATION, CROSS_VALIDATION)
    ]


def text(results: Results) -> str:
    width = len(f"{next(iter(AUTHORS))}, {SPLITS} random splits")
    lines = []
    for name in results.works:
        lines.append(f"{name}, {SPLITS} random splits" + "".join(f"{rule:>19}" for rule in RULES))
        for row in results.rows_of(name):
            cells = (format_spread(row.facts[rule]) for rule in RULES if row.turns)
            lines.append(f"  {row.peer:<{width - 2}}" + "".join(f"{cell:>19}" for cell in cells))
        lines.append("")
    return "\n".join(lines).rstrip()


SELECTION = Benchmark(
    "selection",
    "How to choose among hundreds of settings",
    [],
    jobs,
    page="selection-benchmark",
    text=text,
)
