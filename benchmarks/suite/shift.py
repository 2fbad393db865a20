"""Accuracy on another graph than the one that was fitted, and what makes up for the difference.

Both graphs have the same classes, with the same centres of features. The second one differs in one
respect. A model is fitted to the first; labels of the second only measure its accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, Job, Outcome, Task
from benchmarks.results import Results
from heatgraph import DGCClassifier, Graph, fraction_split, make_block_graph

SEEDS = 10
CLASSES, FEATURES, SIGNAL = 4, 16, 1.2
# Without channels, which may know nodes by position and then label no other graph.
EXTENSIONS = ["similar-edges", "self-training", "class-offsets"]
METHODS: dict[str, dict[str, Any]] = {
    "default": {"extensions": EXTENSIONS},
    "DGC": {"extensions": None},
    "T = 1": {"T": 1.0, "extensions": EXTENSIONS},
}
FITTED, RESCALED = "as fitted", "rescaled"


@dataclass(frozen=True)
class Population:
    """Block graphs with the same classes; `offset` and `spread` change their features by column."""

    nodes: int = 1000
    degree: int = 8
    homophily: float = 0.8
    class_exponent: float = 0.0
    offset: float = 0.0
    spread: float = 0.0

    def draw(self, seed: int, centre_seed: int) -> tuple[Graph, np.ndarray]:
        """A graph and its labels; graphs of one `centre_seed` have the same classes."""
        random = np.random.default_rng([centre_seed, 1])
        centres = np.linalg.qr(random.standard_normal((FEATURES, CLASSES)))[0].T
        data = make_block_graph(
            self.nodes, self.nodes * self.degree // 2, CLASSES, 1, homophily=self.homophily,
            class_exponent=self.class_exponent, seed=seed,
        )  # fmt: skip
        random = np.random.default_rng([seed, 2])
        X = SIGNAL * centres[data.labels] + random.standard_normal((self.nodes, FEATURES))
        X *= np.exp(self.spread * random.standard_normal(FEATURES))
        X += self.offset * random.standard_normal(FEATURES)
        return data.graph.with_features(X.astype(np.float32)), data.labels


HOME = Population()
OTHERS: dict[str, Population] = {
    "another sample": HOME,
    "five times the degrees": replace(HOME, degree=40),
    "a quarter of the degrees": replace(HOME, degree=2),
    "means moved by 0.5": replace(HOME, offset=0.5),
    "means moved by 3": replace(HOME, offset=3.0),
    "other deviations": replace(HOME, spread=0.7),
    "other means and deviations": replace(HOME, offset=1.0, spread=0.7),
    "the same, 100 nodes": replace(HOME, nodes=100, offset=1.0, spread=0.7),
    "50 % of edges in classes": replace(HOME, homophily=0.5),
    "30 % of edges in classes": replace(HOME, homophily=0.3),
    "classes of 48, ..., 12 %": replace(HOME, class_exponent=1.0),
    "classes of 70, ..., 4 %": replace(HOME, class_exponent=2.0),
    "70, ..., 4 %, means moved": replace(HOME, class_exponent=2.0, offset=1.0),
}

LEGEND = f"""\
Accuracy in percent on another graph than the fitted one, the mean over {SEEDS} pairs of graphs.
  default: DGCClassifier() without channels; DGC: extensions=None; T = 1: a given, small T
  {RESCALED}: with_scaling_of(graph), features standardised by the other graph's own statistics
The fitted graph has 1,000 nodes of degree 8 in 4 classes of equal size, 80 % of edges within
classes, and features with a deviation of 1 within classes.
"""
NAME, COLUMN = 28, 11


def accuracies_elsewhere(job: Job, data: None) -> Task:
    """Accuracies of a method in percent on each second graph, as fitted and rescaled."""
    other = OTHERS[job.work]

    def run() -> Outcome:
        facts: dict[str, list[float]] = {FITTED: [], RESCALED: []}
        for seed in range(SEEDS):
            graph, labels = HOME.draw(2 * seed, seed)
            split = fraction_split(labels, seed=seed)
            model = DGCClassifier(n_threads=1, **METHODS[job.peer])
            model.fit(graph, labels, split.train, split.val)
            graph, labels = other.draw(2 * seed + 1, seed)
            for name, one in ((FITTED, model), (RESCALED, model.with_scaling_of(graph))):
                facts[name].append(100 * one.score(graph, labels))
        return Outcome(None, facts=facts)

    return Task(run)


def jobs(scale: float) -> list[Job]:
    return [
        Job(work, accuracies_elsewhere, method, threads=1, checked=False, timed=False)
        for work in OTHERS
        for method in METHODS
    ]


def text(results: Results) -> str:
    heads = "".join(f"{method:>{COLUMN}}{RESCALED:>{COLUMN}}" for method in METHODS)
    lines = [f"{'the other graph':<{NAME}}{heads}"]
    for work in results.works:
        cells = []
        for method in METHODS:
            row = results.find(work, method)
            for name in (FITTED, RESCALED):
                ran = row is not None and row.turns
                cells.append(f"{np.mean(row.facts[name]):.1f}" if ran else "not run")
        lines.append(f"{work:<{NAME}}" + "".join(f"{cell:>{COLUMN}}" for cell in cells))
    return "\n".join([LEGEND, *lines])


SHIFT = Benchmark(
    "shift",
    "Accuracy on another graph",
    [],
    jobs,
    page="shift-benchmark",
    text=text,
)
