"""Accuracy where neighbours agree, differ, or do both, on synthetic graphs.

On some graphs features alone are enough, on others the adjacency alone; the default fit is to find
out which, and to be no worse than the best. Every setting is chosen on validation nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.benchmark import Benchmark, Figure, Job, Outcome, Task
from benchmarks.mixed_blocks import MixedBlocks, agreeing, cycle, joined, ring
from benchmarks.results import Results
from benchmarks.suite.accuracy import format_paired
from heatgraph import DGCClassifier, Graph, Split

SEEDS = 10
# Inverse penalties of logistic regression.
PENALTIES = np.logspace(-4, 2, 7)
# How far the default may be behind the best of the others, in points.
MAX_GAP = 1.0

# One class that agrees with its neighbours, and two that link to each other.
AGREE, CROSSED = np.eye(1), ring(2, 0.9)
GRAPHS = (
    MixedBlocks("agreeing, 80 %", agreeing(4, 0.8), 1000, 8, 1.0),
    MixedBlocks("agreeing, 60 %", agreeing(6, 0.6), 3000, 6, 0.5),
    MixedBlocks("agreeing, 50 %", agreeing(4, 0.5), 1000, 8, 1.0),
    MixedBlocks("agreeing, no signal", agreeing(4, 0.7), 1500, 20, 0.0),
    MixedBlocks("differing, 300 labels", agreeing(3, 0.02), 500, 8, 1.0),
    MixedBlocks("differing, two classes", agreeing(2, 0.05), 1000, 6, 0.6),
    MixedBlocks("ring of classes", ring(5, 0.9), 2000, 10, 1.0),
    MixedBlocks("ring, no signal, hubs", ring(4, 0.8), 2000, 30, 0.0, exponent=2.2),
    MixedBlocks("random edges", agreeing(4, 0.25), 1000, 10, 3.0),
    MixedBlocks("random edges, many", agreeing(5, 0.2), 2000, 20, 1.5),
    MixedBlocks(
        "mixed, half and half", joined(*[AGREE] * 2, CROSSED, share=0.7), 2000, 8, 0.7,
        is_mixed=True,
    ),
    MixedBlocks(
        "mixed, 300 labels", joined(*[AGREE] * 2, CROSSED, share=0.8), 500, 8, 1.0,
        is_mixed=True,
    ),
    MixedBlocks(
        "mixed, three agree", joined(*[AGREE] * 3, CROSSED, share=0.85), 2000, 6, 0.7,
        is_mixed=True,
    ),
    MixedBlocks(
        "mixed, two at random", joined(*[AGREE] * 2, CROSSED, ring(2, 0.0), share=0.9),
        3000, 12, 1.0, is_mixed=True,
    ),
    MixedBlocks(
        "mixed, features tell pairs", joined(*[AGREE] * 2, CROSSED, share=0.6), 2000, 8, 2.0,
        groups=(0, 1, 0, 1), is_mixed=True,
    ),
    MixedBlocks("directed cycle", cycle(3, 0.7), 1000, 8, 0.5, directed=True),
    MixedBlocks(
        "directed, mixed", joined(*[AGREE] * 2, cycle(3, 0.9), share=0.7), 2000, 8, 0.7,
        is_mixed=True, directed=True,
    ),
    MixedBlocks(
        "mixed, 4,800 labels", joined(*[AGREE] * 2, CROSSED, share=0.6), 8000, 6, 0.7,
        is_mixed=True,
    ),
)  # fmt: skip


def default_fit(graph: Graph, labels: np.ndarray, split: Split) -> np.ndarray:
    return _fit_dgc(graph, labels, split)


def plain_fit(graph: Graph, labels: np.ndarray, split: Split) -> np.ndarray:
    return _fit_dgc(graph, labels, split, extensions=None)


def _fit_dgc(graph: Graph, labels: np.ndarray, split: Split, **parameters: Any) -> np.ndarray:
    model = DGCClassifier(n_threads=1, **parameters)
    return model.fit(graph, labels, split.train, split.val).predict(nodes=split.test)


def features_alone(graph: Graph, labels: np.ndarray, split: Split) -> np.ndarray:
    scaler = StandardScaler().fit(graph.features[split.train])
    return _validated_regression(scaler.transform(graph.features), labels, split)


def adjacency_alone(graph: Graph, labels: np.ndarray, split: Split) -> np.ndarray:
    rows = graph.adjacency.astype(np.float64)
    if graph.directed_adjacency is not None:
        out = graph.directed_adjacency.astype(np.float64)
        rows = sp.hstack([out, out.T], format="csr")
    return _validated_regression(rows, labels, split)


def _validated_regression(rows: Any, labels: np.ndarray, split: Split) -> np.ndarray:
    """Predictions at test nodes by the penalty that is most accurate on validation nodes."""
    models = [
        LogisticRegression(C=C, max_iter=1000).fit(rows[split.train], labels[split.train])
        for C in PENALTIES
    ]
    accuracies = [model.score(rows[split.val], labels[split.val]) for model in models]
    return models[int(np.argmax(accuracies))].predict(rows[split.test])


Method = Callable[[Graph, np.ndarray, Split], np.ndarray]
DEFAULT = "default"
METHODS: dict[str, Method] = {
    DEFAULT: default_fit,
    "DGC": plain_fit,
    "features": features_alone,
    "adjacency": adjacency_alone,
}

LEGEND = f"""\
Test accuracy in percent, the mean over {SEEDS} graphs with 60 % training, 20 % validation and 20 %
test nodes. Every setting is chosen on validation nodes.
  default: DGCClassifier()
  DGC: DGCClassifier(extensions=None), the paper's method
  features, adjacency: logistic regression on features alone, and on rows of the adjacency alone
    (of [A, A^T] if edges are directed)
  minus the best: difference of the default to the best of the other three, mean +- standard error
Classes agree with their neighbours (a share of the edges is within them), differ from them (in a
ring, edges lead to the next class and the one before), or both: on mixed graphs, some classes agree
and others link to each other. In a cycle, directed edges lead to the next class.
"""
# Widths of the columns: the graph, its sizes, accuracies, the difference and the best.
NAME, SIZE, ACCURACY, DIFFERENCE = 28, 8, 11, 18


def test_accuracies(job: Job, data: None) -> Task:
    """Test accuracy of a method in percent, for each seed."""
    family = next(one for one in GRAPHS if one.name == job.work).scaled(job.settings["scale"])

    def run() -> Outcome:
        accuracies = []
        for seed in range(SEEDS):
            graph, labels, split = family.draw(seed)
            predicted = METHODS[job.peer](graph, labels, split)
            accuracies.append(100 * float((predicted == labels[split.test]).mean()))
        return Outcome(None, facts={"accuracies": accuracies})

    return Task(run)


def jobs(scale: float) -> list[Job]:
    return [
        Job(
            family.name, test_accuracies, method, settings={"scale": scale}, threads=1,
            checked=False, timed=False,
        )
        for family in GRAPHS
        for method in METHODS
    ]  # fmt: skip


def accuracies_of(results: Results, work: str) -> dict[str, list[float]]:
    """Accuracies of the methods that were run, by name."""
    return {row.peer: row.facts["accuracies"] for row in results.rows_of(work) if row.turns}


def best_of_others(accuracies: dict[str, list[float]]) -> str | None:
    """The method, other than the default, with the highest mean; None if none was run."""
    others = [name for name in accuracies if name != DEFAULT]
    return max(others, key=lambda name: np.mean(accuracies[name]), default=None)


def figures(results: Results) -> list[Figure]:
    """The difference of the default to the best of the others, on each graph."""
    found = []
    for family in GRAPHS:
        accuracies = accuracies_of(results, family.name)
        best, value = best_of_others(accuracies), None
        if best is not None and DEFAULT in accuracies:
            value = float(np.mean(accuracies[DEFAULT]) - np.mean(accuracies[best]))
        target = ">= 0" if family.is_mixed else f">= {-MAX_GAP:g}"
        found.append(Figure(f"{family.name}: minus the best, points", value, target))
    return found


def text(results: Results) -> str:
    by_name = {family.name: family for family in GRAPHS}
    heads = [f"{name:>{ACCURACY}}" for name in METHODS]
    lines = [
        f"{'graph':<{NAME}}{'nodes':>{SIZE}}{'degree':>{SIZE}}{'signal':>{SIZE}}{''.join(heads)}"
        f"{'minus the best':>{DIFFERENCE}}  the best"
    ]
    for name in results.works:
        family, accuracies = by_name[name].scaled(results.scale), accuracies_of(results, name)
        cells = [
            f"{np.mean(accuracies[method]):.1f}" if method in accuracies else "not run"
            for method in METHODS
        ]
        line = f"{name:<{NAME}}{family.nodes:>{SIZE},}{family.degree:>{SIZE}}"
        line += f"{family.signal:>{SIZE}}" + "".join(f"{cell:>{ACCURACY}}" for cell in cells)
        best = best_of_others(accuracies)
        if best is not None and DEFAULT in accuracies:
            difference, _ = format_paired(accuracies[DEFAULT], accuracies[best])
            line += f"{difference:>{DIFFERENCE}}  {best}"
        lines.append(line)
    return "\n".join([LEGEND, *lines])


HETEROPHILY = Benchmark(
    "heterophily",
    "Accuracy where neighbours agree, differ, or both",
    [],
    jobs,
    figures,
    page="heterophily-benchmark",
    text=text,
)
