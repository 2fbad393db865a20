"""Accuracy under both protocols, and calibration, on the citation graphs.

*Published*: the settings that the authors print; their code reads no validation data.
*Validated*: every setting is chosen on validation nodes, none on test nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Job, Outcome, Task
from benchmarks.results import Results
from benchmarks.workloads import Workload
from heatgraph import SGC, DGCClassifier, Graph, Split, expected_calibration_error, random_split
from heatgraph.experiments.paper.published import published_number
from heatgraph.experiments.paper.settings import AUTHORS

SEEDS, SPLITS = 10, 20
PUBLISHED = "published settings"
METHODS: dict[str, dict[str, Any]] = {
    "DGC": {},
    "DGC, rows only": {"feature_scaling": "rows"},
    "SGC": {"scheme": [SGC(k) for k in range(1, 21)]},
    "SGC, rows only": {"scheme": [SGC(k) for k in range(1, 21)], "feature_scaling": "rows"},
    "no graph": {"T": 0.0},
}
CALIBRATED = {"calibrated on validation nodes": True, "calibrated on folds": False}


def random_splits(labels: np.ndarray) -> list[Split]:
    """Splits with 20 training nodes per class, 500 validation and 1,000 test nodes."""
    return [random_split(labels, seed=seed) for seed in range(SPLITS)]


def published_accuracies(job: Job, data: Workload) -> Task:
    """Test accuracy in percent with the authors' settings, for each seed."""

    def run() -> Outcome:
        graph, labels, split = data.graph(), data.labels, data.split
        models = (
            AUTHORS[job.data].classifier(seed).fit(graph, labels, split.train)
            for seed in range(SEEDS)
        )
        accuracies = [100 * model.score(None, labels, split.test) for model in models]
        return Outcome(None, facts={"accuracies": accuracies})

    return Task(run)


def validated_accuracies(job: Job, data: Workload) -> Task:
    """Test accuracy of a method in percent, on the public split and on random ones."""

    def run() -> Outcome:
        graph, labels, parameters = data.graph(), data.labels, METHODS[job.peer]
        public = _validated_accuracy(graph, labels, data.split, parameters)
        random = [
            _validated_accuracy(graph, labels, split, parameters) for split in random_splits(labels)
        ]
        return Outcome(None, facts={"public": public, "random": random})

    return Task(run)


def _validated_accuracy(
    graph: Graph, labels: np.ndarray, split: Split, parameters: dict[str, Any]
) -> float:
    model = DGCClassifier(**parameters).fit(graph, labels, split.train, split.val)
    return 100 * model.score(None, labels, split.test)


def calibration_errors(job: Job, data: Workload) -> Task:
    """Expected calibration error on test nodes, before and after temperature scaling."""

    def run() -> Outcome:
        labels, split = data.labels, data.split
        val = split.val if CALIBRATED[job.peer] else None
        model = DGCClassifier().fit(data.graph(), labels, split.train, val)
        codes = np.searchsorted(model.classes_, labels[split.test])
        after = model.predict_proba(nodes=split.test)
        model.temperature_ = 1.0
        before = model.predict_proba(nodes=split.test)
        errors = {
            name: 100 * float(expected_calibration_error(probabilities, codes))
            for name, probabilities in (("before", before), ("after", after))
        }
        return Outcome(None, facts=errors)

    return Task(run)


def jobs(scale: float) -> list[Job]:
    tasks = {PUBLISHED: published_accuracies}
    tasks |= dict.fromkeys(METHODS, validated_accuracies)
    tasks |= dict.fromkeys(CALIBRATED, calibration_errors)
    return [
        Job(name, task, peer, name, checked=False, timed=False)
        for name in AUTHORS
        for peer, task in tasks.items()
    ]


def format_spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    return f"{np.mean(values):.2f} +- {np.std(values):.2f}"


def text(results: Results) -> str:
    lines = []
    for name in results.works:
        facts = {row.peer: row.facts for row in results.rows_of(name) if row.turns}
        lines.append(name)
        if PUBLISHED in facts:
            spread = format_spread(facts[PUBLISHED]["accuracies"])
            number = published_number(source="Table 2", method="DGC", dataset=name)
            lines.append(f"  {PUBLISHED}, {SEEDS} seeds: {spread} (the paper says {number.value})")
        lines.append(
            f"  {'validated settings':<20}{'public split':>14}{f'{SPLITS} random splits':>20}"
        )
        for method in METHODS:
            if method in facts:
                public, random = facts[method]["public"], format_spread(facts[method]["random"])
                lines.append(f"  {method:<20}{public:>14.1f}{random:>20}")
        for label in CALIBRATED:
            if label in facts:
                source = label.removeprefix("calibrated on ")
                lines.append(
                    f"  calibration error, with settings and temperature from {source}: "
                    "{before:.1f} % before, {after:.1f} % after".format(**facts[label])
                )
        lines.append("")
    return "\n".join(lines).rstrip()


ACCURACY = Benchmark(
    "accuracy",
    "Accuracy and calibration on the citation graphs",
    [],
    jobs,
    page="accuracy-benchmark",
    text=text,
)
