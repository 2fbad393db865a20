"""What the experiments on Theorems 1 to 3 share: Citeseer, with random features of norm 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from heatgraph.experiments.paper.experiment import DatasetCache
from heatgraph.experiments.results import Trial
from heatgraph.graph import Graph
from heatgraph.report.document import Table

DATASET = "citeseer"
# By whether the graph has self-loops.
LAPLACIAN_TITLES = {True: "with self-loops", False: "without self-loops"}
# Random features excite all of L's spectrum as well as 3,703 words do, at a fraction of the cost.
NUM_FEATURES = 16


def theorem_trials(
    theorem: int, measure: Callable[[Graph, bool], dict[str, Any]], details: dict[str, Any]
) -> list[Trial]:
    """A trial of `measure(graph, self_loops)` for each Laplacian."""

    def trial(loops: bool) -> Trial:
        def run(datasets: DatasetCache) -> dict[str, Any]:
            return measure(_with_random_features(datasets.load(DATASET).graph), loops)

        setting = {"what": f"theorem {theorem}", "dataset": DATASET, "self_loops": loops, "seed": 0}
        return Trial(setting, run, details)

    return [trial(loops) for loops in LAPLACIAN_TITLES]


def _with_random_features(graph: Graph) -> Graph:
    X = np.random.default_rng(0).standard_normal((graph.num_nodes, NUM_FEATURES))
    return graph._with_features(X / np.linalg.norm(X))


def slopes_table(rows: Sequence[Sequence[str]]) -> Table:
    """Expected and measured rates."""
    return Table("Slopes", ["what", "expected", "found"], rows)
