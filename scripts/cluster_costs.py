"""Print the table of docs/cluster.md: what large graphs take on a cluster, computed and not run.

The figures are those that `heatgraph.plan(..., cluster=...)` gives for a graph of these sizes.
"""

import math
from dataclasses import dataclass

import numpy as np

from heatgraph import Heat
from heatgraph._engine.memory_estimate import GraphSizes, Request
from heatgraph._engine.panels import ChebyshevSeries
from heatgraph._engine.plan import make_plan
from heatgraph._io.formatting import format_bytes, format_seconds
from heatgraph.cluster import Cluster, ClusterPlan
from heatgraph.cluster._plan import graph_bytes, plan_on_cluster
from heatgraph.cluster._workers import WorkerLimits
from heatgraph.errors import MemoryBudgetError

T, TOLERANCE, SINGLE = 5.0, 1e-6, np.dtype(np.float32)
THREADS = 8
# Dask pauses a worker above the first share of its limit, and moves results to disk above the
# second. A worker that has done nothing uses that many bytes.
PAUSE, TARGET, IDLE = 0.8, 0.6, 300e6


@dataclass(frozen=True)
class Case:
    """A graph, and workers with so many bytes each."""

    name: str
    num_nodes: int
    num_entries: int
    workers: int
    memory: float
    num_features: int = 128

    @property
    def sizes(self) -> GraphSizes:
        n, d = self.num_nodes, self.num_features
        return GraphSizes(
            n, self.num_entries, num_features=d, feature_entries=n * d, features_dtype=SINGLE
        )


PAPERS = ("papers100M", 111_059_956, 2 * 1_615_685_872)
BILLION = ("10⁹ nodes, 10¹⁰ edges", 10**9, 2 * 10**10)
CASES = [
    Case(*PAPERS, workers=4, memory=64e9),
    Case(*PAPERS, workers=8, memory=32e9),
    Case(*PAPERS, workers=16, memory=16e9),
    Case(*BILLION, workers=8, memory=512e9),
    Case(*BILLION, workers=16, memory=128e9),
    Case(*BILLION, workers=64, memory=64e9),
]


def planned(case: Case) -> ClusterPlan:
    series = ChebyshevSeries.from_schemes([Heat(T)], TOLERANCE, SINGLE)
    request = Request(
        graph=case.sizes,
        num_schemes=1,
        num_rows=None,
        products=series.products,
        degree=series.degree,
        step_panels=series.step_panels,
        dtype=SINGLE,
        working_dtype=SINGLE,
        destination="file",
    )
    base = make_plan(
        request,
        error_bound=series.error_bound,
        budget=math.inf,
        threads=THREADS,
        reorder=False,
    )
    limits = WorkerLimits(
        case.workers, THREADS, case.memory, PAUSE * case.memory - IDLE, TARGET * case.memory - IDLE
    )
    return plan_on_cluster(request, base, Cluster("local:1"), limits, math.inf)


def row(case: Case) -> list[str]:
    workers = f"{case.workers} × {format_bytes(case.memory)}"
    files = format_bytes(graph_bytes(case.sizes, reordered=False))
    try:
        plan = planned(case)
    except MemoryBudgetError:
        return [case.name, files, workers, "refused", *["–"] * 5]
    return [
        case.name,
        files,
        workers,
        plan.mode,
        f"{len(plan.panels)} × {plan.panel_width}",
        str(plan.products),
        format_bytes(plan.memory),
        format_bytes(plan.wire_bytes),
        format_seconds(plan.seconds, digits=2),
    ]


def table() -> str:
    header = ["graph", "its file", "workers", "mode", "panels × columns", "products", "per worker",
              "on the network", "time"]  # fmt: skip
    lines = [header, ["---"] * len(header), *map(row, CASES)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    print(table())
