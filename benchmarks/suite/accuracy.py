"""Accuracy under both protocols, and calibration, on the citation graphs.

*Published*: the settings that the authors print; their code reads no validation data.
*Validated*: every setting is chosen on validation nodes, none on test nodes. Protocols with other
labels than 20 per class, or that also learn from the labels of validation nodes, have their own
headings (`PROTOCOLS`).

Methods are compared with plain DGC split by split: splits differ more than methods do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Job, Outcome, Task
from benchmarks.results import Results, Row
from benchmarks.workloads import Workload
from heatgraph import (
    SGC,
    DGCClassifier,
    Graph,
    Split,
    expected_calibration_error,
    fraction_split,
    random_split,
)
from heatgraph.experiments.paper.published import published_number
from heatgraph.experiments.paper.settings import AUTHORS

SEEDS, SPLITS = 10, 20
PUBLISHED = "published settings"
BASELINE = "DGC"
METHODS: dict[str, dict[str, Any]] = {
    BASELINE: {"extensions": None},
    "DGC, extended": {},
    "DGC, similar edges": {"extensions": ["similar-edges"]},
    "DGC, self-training": {"extensions": ["self-training"]},
    "DGC, class offsets": {"extensions": ["class-offsets"]},
    "DGC, rows only": {"feature_scaling": "rows", "extensions": None},
    "SGC": {"scheme": [SGC(k) for k in range(1, 21)]},
    "SGC, rows only": {"scheme": [SGC(k) for k in range(1, 21)], "feature_scaling": "rows"},
    "no graph": {"T": 0.0},
}
# These learn from the labels of validation nodes, and are never listed with those that do not.
VALIDATION_LABEL_METHODS: dict[str, dict[str, Any]] = {
    "DGC, learned from validation nodes too": {"final_fit": "train+val"},
}
CALIBRATED = {"calibrated on validation nodes": True, "calibrated on folds": False}


LEGEND = f"""\
Test accuracy in percent; settings are chosen on validation nodes or folds, never on test nodes.
  random splits: mean +- standard deviation
  minus {BASELINE}: mean difference on the same random splits +- its standard error
  worst: the smallest difference of a split
"DGC" is the paper's method, "DGC, extended" is DGCClassifier() with its default extensions; the
three lines below it have one extension each.
"""
# Width of a method's name, and of the columns after it.
NAME, COLUMNS = 40, (14, 20, 18, 8)


@dataclass(frozen=True)
class Protocol:
    """How methods are evaluated: which nodes are labelled, and what their labels are used for.

    Parameters
    ----------
    heading : str
        What the page calls it.
    methods : dict
        Parameters of `DGCClassifier` by name.
    split : callable
        The split of labels and a seed.
    seeds : int
        Number of splits.
    uses_public : bool
        Whether the data set's own split is evaluated as well.
    baseline : str
        Name of the protocol, with the same splits, whose DGC the methods are compared with; empty
        for this one.
    """

    heading: str
    methods: dict[str, dict[str, Any]]
    split: Callable[[np.ndarray, int], Split]
    seeds: int
    uses_public: bool = False
    baseline: str = ""


def _methods(*names: str) -> dict[str, dict[str, Any]]:
    return {name: METHODS[name] for name in names}


def _twenty_per_class(labels: np.ndarray, seed: int) -> Split:
    return random_split(labels, seed=seed)


def _five_per_class(labels: np.ndarray, seed: int) -> Split:
    return random_split(labels, per_class=5, val=0, seed=seed)


def _fractions(labels: np.ndarray, seed: int) -> Split:
    return fraction_split(labels, (0.6, 0.2, 0.2), seed=seed)


VALIDATED = "20 labels per class"
PROTOCOLS: dict[str, Protocol] = {
    VALIDATED: Protocol(
        "validated settings: 20 labels per class, 500 validation nodes",
        METHODS,
        _twenty_per_class,
        SPLITS,
        uses_public=True,
    ),
    "validation labels": Protocol(
        "validation labels learned too: validated settings, then a fit to both kinds of nodes",
        VALIDATION_LABEL_METHODS,
        _twenty_per_class,
        seeds=10,
        uses_public=True,
        baseline=VALIDATED,
    ),
    "5 labels per class": Protocol(
        "few labels: 5 per class and no validation nodes, settings from folds",
        _methods(BASELINE, "DGC, extended"),
        _five_per_class,
        seeds=10,
    ),
    "60/20/20": Protocol(
        "many labels: 60 % training nodes, 20 % validation nodes",
        _methods(BASELINE, "DGC, extended", "no graph"),
        _fractions,
        seeds=10,
    ),
}


def random_splits(labels: np.ndarray) -> list[Split]:
    """Splits with 20 training nodes per class, 500 validation and 1,000 test nodes."""
    return [_twenty_per_class(labels, seed) for seed in range(SPLITS)]


def peer_name(protocol: str, method: str) -> str:
    """The peer of a job, with its protocol unless it is the usual one."""
    return method if protocol == VALIDATED else f"{method} ({protocol})"


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
    """Test accuracy of a method in percent, on random splits and perhaps on the public one."""
    protocol = PROTOCOLS[job.settings["protocol"]]
    parameters = protocol.methods[job.settings["method"]]

    def run() -> Outcome:
        graph, labels = data.graph(), data.labels
        splits = [protocol.split(labels, seed) for seed in range(protocol.seeds)]
        facts = {"random": [_test_accuracy(graph, labels, split, parameters) for split in splits]}
        if protocol.uses_public:
            facts["public"] = _test_accuracy(graph, labels, data.split, parameters)
        return Outcome(None, facts=facts)

    return Task(run)


def _test_accuracy(
    graph: Graph, labels: np.ndarray, split: Split, parameters: dict[str, Any]
) -> float:
    val = split.val if len(split.val) else None
    model = DGCClassifier(**parameters).fit(graph, labels, split.train, val)
    return 100 * float(model.score(None, labels, split.test))


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
    return [job for name in AUTHORS for job in _jobs_of(name)]


def _jobs_of(name: str) -> list[Job]:
    """Published settings, the methods of every protocol, and calibration, on one graph."""

    def job(task: Callable[..., Task], peer: str, **settings: str) -> Job:
        return Job(name, task, peer, name, settings, checked=False, timed=False)

    return [
        job(published_accuracies, PUBLISHED),
        *(
            job(validated_accuracies, peer_name(key, method), protocol=key, method=method)
            for key, protocol in PROTOCOLS.items()
            for method in protocol.methods
        ),
        *(job(calibration_errors, peer) for peer in CALIBRATED),
    ]


def format_spread(values: Sequence[float]) -> str:
    """Mean and standard deviation."""
    return f"{np.mean(values):.2f} +- {np.std(values):.2f}"


def format_paired(values: Sequence[float], baseline: Sequence[float]) -> tuple[str, str]:
    """Mean difference with its standard error, and the smallest, over splits that both have."""
    common = min(len(values), len(baseline))
    differences = np.subtract(values[:common], baseline[:common])
    error = differences.std(ddof=1) / np.sqrt(common)
    return f"{differences.mean():+.2f} +- {error:.2f}", f"{differences.min():+.1f}"


def _line(name: str, *cells: str) -> str:
    padded = "".join(f"{cell:>{width}}" for cell, width in zip(cells, COLUMNS, strict=False))
    return f"  {name:<{NAME}}{padded}".rstrip()


def _protocol_table(key: str, rows: dict[str, Row]) -> list[str]:
    """The methods of a protocol, one a line; nothing if none was run. `rows` are by peer."""
    protocol = PROTOCOLS[key]
    found = {name: rows.get(peer_name(key, name)) for name in protocol.methods}
    if not any(found.values()):
        return []
    baseline = rows.get(peer_name(protocol.baseline or key, BASELINE))
    public = "public split" if protocol.uses_public else ""
    lines = [
        f"  {protocol.heading}",
        _line("", public, f"{protocol.seeds} random splits", f"minus {BASELINE}", "worst"),
    ]
    for name, row in found.items():
        if row is None:
            continue
        if not row.turns:
            lines.append(_line(name, "", "not run"))
            continue
        cells = [
            f"{row.facts['public']:.1f}" if protocol.uses_public else "",
            format_spread(row.facts["random"]),
        ]
        if baseline is not None and baseline.turns and baseline is not row:
            cells += format_paired(row.facts["random"], baseline.facts["random"])
        lines.append(_line(name, *cells))
    return lines


def text(results: Results) -> str:
    lines = []
    for name in results.works:
        rows = {row.peer: row for row in results.rows_of(name)}
        facts = {peer: row.facts for peer, row in rows.items() if row.turns}
        lines.append(name)
        if PUBLISHED in facts:
            spread = format_spread(facts[PUBLISHED]["accuracies"])
            number = published_number(source="Table 2", method="DGC", dataset=name)
            lines.append(f"  {PUBLISHED}, {SEEDS} seeds: {spread} (the paper says {number.value})")
        for key in PROTOCOLS:
            lines += _protocol_table(key, rows)
        for label in CALIBRATED:
            if label in facts:
                source = label.removeprefix("calibrated on ")
                lines.append(
                    f"  calibration error, with settings and temperature from {source}: "
                    "{before:.1f} % before, {after:.1f} % after".format(**facts[label])
                )
        lines.append("")
    return "\n".join([LEGEND, *lines]).rstrip()


ACCURACY = Benchmark(
    "accuracy",
    "Accuracy and calibration on the citation graphs",
    [],
    jobs,
    page="accuracy-benchmark",
    text=text,
)
