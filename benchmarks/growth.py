"""Time and memory over the size of the graph, on one thread and two, and out of core."""

from __future__ import annotations

from benchmarks.diffusion import noted, plan_off
from benchmarks.jobs import OURS, Benchmark, Figure, Job
from benchmarks.ours import REDDIT_K, REDDIT_T, REDDIT_TOL
from benchmarks.product import blocks
from benchmarks.rows import Results
from heatgraph.report.document import Chart, Panel, Series

SIZES, THREADS = (10_000, 100_000, 1_000_000, 10_000_000), (1, 2)
PEERS, SINGLE = ("torch CSR", "MKL"), "SciPy"
BUDGET = "6GB"
FROM_FILE = f"heatgraph, {BUDGET}, out of core"
# Of larger graphs no reference is made: it would take longer than the benchmark.
LARGEST_CHECKED = 2_000_000
LINEAR = 1.3


def work(size: int, threads: int) -> str:
    return f"Growth: {size:,} nodes, {threads} thread{'s' * (threads > 1)}"


def jobs(scale: float) -> list[Job]:
    """Works are called by their full size at any scale; the row's data tell the true one."""
    listed = []
    settings = {"T": REDDIT_T, "K": REDDIT_K, "tol": REDDIT_TOL}
    for size in SIZES:
        data, checked = blocks(size * scale), size * scale <= LARGEST_CHECKED
        for threads in THREADS:
            peers = (OURS, *PEERS, *([SINGLE] if threads == 1 else []))
            listed += [
                Job(
                    work(size, threads), "diffusion", peer, data, settings, threads, checked=checked
                )
                for peer in peers
            ]
    settings = {"T": REDDIT_T, "tol": REDDIT_TOL, "budget": BUDGET}
    most = THREADS[-1]
    listed.append(
        Job(work(SIZES[-1], most), "out of core", FROM_FILE, data, settings, most, checked=checked)
    )
    return listed


def figures(results: Results) -> list[Figure]:
    largest = work(SIZES[-1], THREADS[-1])
    growth = results.ratio(largest, OURS, OURS, work(SIZES[-2], THREADS[-1]))
    nodes = [
        results.value(work(size, THREADS[-1]), OURS, lambda row: results.data[row.data]["nodes"])
        for size in SIZES[-2:]
    ]
    proportional = growth / (nodes[1] / nodes[0]) if growth and all(nodes) else None
    row = results.find(largest)
    peak = None
    if row is not None and row.memory is not None:
        about = results.data[row.data]
        peak = (about["graph_bytes"] + about["feature_bytes"] + row.memory) / 1e9
    beside = results.value(largest, FROM_FILE, lambda row: row.private_memory)
    slow = results.find(largest, "torch CSR")
    return [
        Figure("largest graph: GB for graph, features and work", peak, "<= 24"),
        Figure(
            "largest graph: time / in proportion to a tenth of it", proportional, f"<= {LINEAR}"
        ),
        Figure(
            "largest graph: plan's memory off the measured peak, as a share",
            plan_off(results, largest),
            "<= 0.15",
        ),
        Figure(
            f"largest graph with {BUDGET}: GB of its own memory",
            None if beside is None else beside / 1e9,
            "<= 6",
        ),
        Figure(
            noted("largest graph: torch CSR / heatgraph", slow),
            results.ratio(largest, "torch CSR", OURS),
        ),
    ]


def charts(results: Results) -> list[Chart]:
    def lines(value) -> list[Series]:
        drawn = []
        for threads in THREADS:
            for place, peer in enumerate((OURS, *PEERS, SINGLE)):
                points = []
                for size in SIZES:
                    row = results.find(work(size, threads), peer)
                    if row is not None and row.turns and value(row):
                        points.append((results.data[row.data]["nodes"], value(row)))
                if points:
                    name = f"{peer}, {threads} thread{'s' * (threads > 1)}"
                    look = {"colour": place, "dashed": threads == 1}
                    drawn.append(Series.through(name, points, **look))
        return drawn

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
    drawn = [panel for panel in panels if panel.content]
    return [Chart("growth", caption, drawn, 2)] if drawn else []


GROWTH = Benchmark(
    "growth",
    "Growth",
    [
        "Block graphs with heavy-tailed degrees, ten edges per node and 64 features, at T = 2.7 "
        "with K = 100 and a tolerance of 1e-4; peers take the hundred steps. Memory is what the "
        "process takes beyond the graph and its features, at the peak.",
        f"*Out of core*: features are a file, the result is another, and {BUDGET} is all that may "
        "be taken beside them. What counts there is the memory that is the process's own: pages "
        "of mapped files are the system's to take back.",
    ],
    jobs,
    figures,
    charts,
)
