"""Time and memory of a diffusion by size of the graph: on one and two threads, and out of core."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import heatgraph as hg
from benchmarks.benchmark import OURS, Benchmark, Figure, Job, Outcome, Task
from benchmarks.results import Results, Row, divide
from benchmarks.suite.diffusion import REDDIT_K, REDDIT_T, REDDIT_TOL, diffuse
from benchmarks.workloads import Workload, blocks
from heatgraph.report.document import Chart, Panel, Series

SIZES, THREADS = (10_000, 100_000, 1_000_000, 10_000_000), (1, 2)
PEERS, SINGLE_THREADED = ("torch CSR", "MKL"), "SciPy"
BUDGET = "6GB"
OUT_OF_CORE = f"heatgraph, {BUDGET}, out of core"
# For larger graphs the reference would take longer than the benchmark.
MAX_CHECKED_NODES = 2_000_000


def diffuse_out_of_core(job: Job, data: Workload) -> Task:
    """Diffuse memory-mapped features into a file, within a memory budget."""
    graph = data.graph(mapped=True)
    folder = tempfile.TemporaryDirectory(dir=data.folder.parent, prefix=".out-")
    settings = dict(job.settings) | {"n_threads": job.threads, "out": Path(folder.name, "X_T.npy")}
    settings["memory_budget"] = settings.pop("budget")

    # The default argument keeps the folder as long as the task, whose sample is read from it.
    def run(folder: Any = folder) -> Outcome:
        facts = {"reference": {"what": "heat", "T": settings["T"]}}
        return Outcome(hg.diffuse(graph, **settings), facts=facts)

    plan = hg.plan(graph, **settings)
    return Task(run, data.sample, plan.products, plan.bytes_moved)


def work_name(size: int, threads: int) -> str:
    return f"Growth: {size:,} nodes, {_count_threads(threads)}"


def _count_threads(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"


def jobs(scale: float) -> list[Job]:
    """At any scale, works are named by their full size; `Row.data` names the actual graph."""
    jobs = []
    settings = {"T": REDDIT_T, "K": REDDIT_K, "tol": REDDIT_TOL}
    for size in SIZES:
        for threads in THREADS:
            peers = (OURS, *PEERS, *([SINGLE_THREADED] if threads == 1 else []))
            jobs += [_job(diffuse, peer, size, threads, scale, settings) for peer in peers]
    settings = {"T": REDDIT_T, "tol": REDDIT_TOL, "budget": BUDGET}
    return [
        *jobs,
        _job(diffuse_out_of_core, OUT_OF_CORE, SIZES[-1], THREADS[-1], scale, settings),
    ]


def _job(
    task: Callable[[Job, Workload], Task],
    peer: str,
    size: int,
    threads: int,
    scale: float,
    settings: dict[str, Any],
) -> Job:
    nodes = size * scale
    checked = nodes <= MAX_CHECKED_NODES
    work = work_name(size, threads)
    return Job(work, task, peer, blocks(nodes), settings, threads, checked=checked)


def figures(results: Results) -> list[Figure]:
    largest, tenth = (work_name(size, THREADS[-1]) for size in (SIZES[-1], SIZES[-2]))
    growth = divide(results.seconds(largest, OURS), results.seconds(tenth, OURS))
    nodes = divide(_nodes(results, largest), _nodes(results, tenth))
    out_of_core = results.value(largest, OUT_OF_CORE, lambda row: row.private_memory)
    return [
        Figure(
            "largest graph: GB for graph, features and work", _total_gb(results, largest), "<= 24"
        ),
        Figure(
            "largest graph: time / in proportion to a tenth of it", divide(growth, nodes), "<= 1.3"
        ),
        Figure(
            "largest graph: relative error of the plan's memory",
            results.plan_error(largest),
            "<= 0.15",
        ),
        Figure(
            f"largest graph with {BUDGET}: GB of its own memory",
            None if out_of_core is None else out_of_core / 1e9,
            "<= 6",
        ),
        results.ratio_figure("largest graph: torch CSR / heatgraph", largest, "torch CSR"),
    ]


def _nodes(results: Results, work: str) -> int | None:
    return results.value(work, OURS, lambda row: results.data[row.data]["nodes"])


def _total_gb(results: Results, work: str) -> float | None:
    """Graph, features and the memory beside them."""
    row = results.find(work)
    if row is None or row.memory is None:
        return None
    about = results.data[row.data]
    return (about["graph_bytes"] + about["feature_bytes"] + row.memory) / 1e9


def charts(results: Results) -> list[Chart]:
    def lines(read: Callable[[Row], float | None]) -> list[Series]:
        series = []
        for threads in THREADS:
            for colour, peer in enumerate((OURS, *PEERS, SINGLE_THREADED)):
                rows = (results.find(work_name(size, threads), peer) for size in SIZES)
                points = [
                    (results.data[row.data]["nodes"], read(row))
                    for row in rows
                    if row is not None and row.turns and read(row)
                ]
                if points:
                    name = f"{peer}, {_count_threads(threads)}"
                    look = {"colour": colour, "dashed": threads == 1}
                    series.append(Series.through(name, points, **look))
        return series

    panels = [
        Panel("Time", lines(lambda row: row.seconds), "nodes", "seconds", "xy"),
        Panel(
            "Memory beside the input",
            lines(lambda row: row.memory / 1e6 if row.memory else None),
            "nodes",
            "MB",
            "xy",
        ),
    ]
    caption = (
        "Time and memory of a diffusion over the number of nodes, with 64 features and 20 stored "
        "entries per node. Peers take the published algorithm's 100 steps, extrapolated where the "
        "table says so."
    )
    panels = [panel for panel in panels if panel.content]
    return [Chart("growth", caption, panels, 2)] if panels else []


GROWTH = Benchmark(
    "growth",
    "Growth",
    [
        "Block graphs with heavy-tailed degrees, ten edges per node and 64 features, at T = 2.7 "
        "with K = 100 and a tolerance of 1e-4; peers take the hundred steps. Memory is the peak "
        "beyond the graph and its features.",
        f"*Out of core*: features are a memory-mapped file, the result is another file, and "
        f"{BUDGET} is the budget for everything else. The figure counts memory that no file "
        "backs: the system can reclaim pages of mapped files.",
    ],
    jobs,
    figures,
    charts,
)
