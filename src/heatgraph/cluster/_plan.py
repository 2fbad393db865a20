"""The plan of a diffusion on a cluster: mode, panels, memory per worker, bytes on the wire.

In columns mode a worker maps the graph and holds about three panels (n, w). In blocks mode, P
blocks of n / P rows are on W workers; a block of a panel has its rows of T_k, T_{k-1} and of the
sums, before and after a product, since a task never overwrites its inputs, and the rows of
neighbours in other blocks. If nodes are numbered at random and have k neighbours each,

    n (P - 1) (1 - exp(-k / P))

rows travel for each product; in an order with communities, fewer do.

Symbols: n nodes, M schemes, panels of w columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal

from heatgraph._engine.memory_estimate import (
    LINE_COLUMNS,
    GraphSizes,
    Panels,
    Request,
    estimate_memory,
    padded_width,
)
from heatgraph._engine.plan import Plan, cache_width
from heatgraph._io.formatting import format_bytes, format_seconds
from heatgraph.cluster._connection import Cluster
from heatgraph.cluster._workers import WorkerLimits
from heatgraph.errors import InputError, MemoryBudgetError

# Bytes of messages for each task, and for each worker at the start.
TASK_BYTES, START_BYTES = 3_000, 10_000
# Bytes per second between two workers: a network of 10 Gbit/s.
WIRE_SPEED = 1.25e9
# Bytes per node while a block is cut out of the graph: a flag and a position.
CUTTING_BYTES = 5
# Time of products in blocks relative to those of a whole panel, for states that are copied.
BLOCKS_COST = 1.5


@dataclass(frozen=True)
class ClusterPlan(Plan):
    """What a diffusion on a cluster will do and cost: a `Plan`, and what a cluster adds.

    `threads` are those of a worker; `memory` are the bytes that it needs, with mapped files.

    Attributes
    ----------
    mode : {"columns", "blocks"}
    workers : int
    blocks : int
        Blocks of rows; 1 in columns mode.
    worker_limit : int
        Bytes that Dask lets the smallest worker use.
    wire_bytes : int
        Bytes sent over the network, as far as they can be known beforehand: rows exchanged between
        blocks are those of a graph whose nodes are numbered at random.
    """

    mode: Literal["columns", "blocks"]
    workers: int
    blocks: int
    worker_limit: int
    wire_bytes: int

    def __str__(self) -> str:
        cut = f"{len(self.panels)} panels of up to {self.panel_width} columns"
        if self.mode == "blocks":
            cut += f", one at a time in {self.blocks} blocks of rows"
        return (
            f"{self.mode} mode on {self.workers} workers of {self.threads} threads: "
            f"{self.products} products, {cut}; {format_bytes(self.memory)} per worker (limit "
            f"{format_bytes(self.worker_limit)}), {format_bytes(self.wire_bytes)} on the wire; "
            f"about {format_seconds(max(self.seconds, 0.001), digits=3)}"
        )


def on_cluster(
    base: Plan,
    request: Request,
    workers: WorkerLimits,
    mode: Literal["columns", "blocks"],
    blocks: int,
    width: int,
) -> ClusterPlan:
    """The plan of one machine, cut for a cluster."""
    values = {field.name: getattr(base, field.name) for field in fields(Plan)}
    values |= {"panel_width": width, "threads": workers.threads, "panels_at_once": 1}
    if mode == "blocks":
        values |= {"side": "features", "columns": request.columns("features")}
    cut = Plan(**values)
    # Of one thread; threads share the rows of a panel, and workers panels or their rows.
    seconds = base.seconds * base.threads / workers.threads
    # A narrower row takes a cache line all the same.
    seconds *= max(1, LINE_COLUMNS / padded_width(width))
    if mode == "columns":
        wire = START_BYTES * workers.count + TASK_BYTES * len(cut.panels)
        seconds *= -(-len(cut.panels) // workers.count) / len(cut.panels)
        memory = columns_memory(request, cut, width)
    else:
        rows = exchanged_rows(request.graph, blocks)
        wire = int(rows * request.working_dtype.itemsize * cut.columns * cut.products)
        seconds *= BLOCKS_COST / min(blocks, workers.count)
        seconds += wire / (WIRE_SPEED * workers.count)
        memory = blocks_memory(request, cut, blocks, workers.count, width)
    values |= {"memory": memory, "seconds": seconds}
    limit = int(workers.memory_limit)
    return ClusterPlan(
        **values, mode=mode, workers=workers.count, blocks=blocks, worker_limit=limit,
        wire_bytes=wire,
    )  # fmt: skip


def plan_on_cluster(
    request: Request, base: Plan, cluster: Cluster, workers: WorkerLimits, budget: float
) -> ClusterPlan:
    """Choose the mode and the width of panels; `base` is the plan of one machine.

    Panels are at most as wide as those of one machine, and tiles are its tiles, so that bits agree.
    `budget` limits the bytes that a worker may allocate.
    """
    request = replace(request, destination="worker")
    plans = []
    if cluster.mode != "blocks":
        plans.append(_plan_columns(request, base, workers, budget))
        if plans[0] is not None and plans[0].panel_width >= min(LINE_COLUMNS, base.columns):
            return plans[0]
    if cluster.mode != "columns" and base.degree is not None:
        plans.append(_plan_blocks(request, base, cluster, workers, budget))
    possible = [plan for plan in plans if plan is not None]
    if possible:
        return min(possible, key=lambda plan: plan.seconds)
    if cluster.mode == "blocks" and base.degree is None:
        raise InputError(
            "blocks of rows are diffused by a Chebyshev series. Use method='chebyshev', or "
            "mode='columns' for literal steps."
        )
    needed = columns_memory(request, base, 1)
    raise MemoryBudgetError(
        f"needs {format_bytes(needed)} per worker for a single column, mapped files included; "
        f"workers have {format_bytes(min(workers.available, budget))} left of a limit of "
        f"{format_bytes(workers.memory_limit)}. Start workers with a higher --memory-limit, or "
        "more workers and mode='blocks'."
    )


def _plan_columns(
    request: Request, base: Plan, workers: WorkerLimits, budget: float
) -> ClusterPlan | None:
    width = base.panel_width
    if base.side == "features":
        # Each worker gets a panel; narrower ones have the same bits. On the side of the rows they
        # have not, since BLAS rounds products of another width differently.
        share = -(-base.columns // workers.count)
        width = min(width, max(LINE_COLUMNS, -(-share // LINE_COLUMNS) * LINE_COLUMNS))
    allowed = min(workers.available, budget)
    narrowed = _widest(width, lambda w: columns_memory(request, base, w) <= allowed)
    if narrowed == 0:
        return None
    return on_cluster(base, request, workers, "columns", 1, narrowed)


def columns_memory(request: Request, base: Plan, width: int) -> int:
    """Bytes of a worker that diffuses panels of `width` columns: mapped, and allocated."""
    graph = request.graph
    # The client makes the permutation; workers map it.
    sizes = replace(graph, permutation_cached=True, components_cached=True)
    panels = Panels(width, -(-base.columns // width), 1)
    estimate = estimate_memory(replace(request, graph=sizes), base.side, base.reordered, panels)
    return (
        estimate.peak + graph_bytes(graph, base.reordered) + _features_bytes(request, base, width)
    )


def _features_bytes(request: Request, base: Plan, width: int) -> int:
    """Bytes of the features that a worker maps for a panel."""
    graph = request.graph
    if graph.features_dtype is None:
        return 0
    if graph.sparse_features:
        return graph.feature_entries * (request.working_dtype.itemsize + 4)
    columns = width if base.side == "features" else graph.num_features
    return graph.num_nodes * columns * graph.features_dtype.itemsize


def graph_bytes(graph: GraphSizes, reordered: bool) -> int:
    """Bytes of the file of a graph without features, and of its order."""
    structure = 8 * graph.num_nodes + graph.num_edges * (graph.index_bytes + graph.weight_bytes)
    return structure + (2 * graph.index_bytes * graph.num_nodes if reordered else 0)


def _plan_blocks(
    request: Request, base: Plan, cluster: Cluster, workers: WorkerLimits, budget: float
) -> ClusterPlan | None:
    P = min(cluster.blocks or workers.count, request.graph.num_nodes)
    allowed = min(workers.managed, budget)
    columns = request.columns("features")
    width = base.panel_width if base.side == "features" else cache_width(request, columns)
    width = _widest(width, lambda w: blocks_memory(request, base, P, workers.count, w) <= allowed)
    if width == 0:
        return None
    return on_cluster(base, request, workers, "blocks", P, width)


def exchanged_rows(graph: GraphSizes, blocks: int) -> float:
    """Rows that blocks exchange for a product, if nodes are numbered at random."""
    neighbours = graph.num_edges / graph.num_nodes
    return graph.num_nodes * (blocks - 1) * -math.expm1(-neighbours / blocks)


def blocks_memory(request: Request, base: Plan, blocks: int, workers: int, width: int) -> int:
    """Bytes of a worker in blocks mode: mapped blocks, and the larger of cutting and diffusing."""
    graph, item = request.graph, request.working_dtype.itemsize
    M, R, _ = request.shape
    held = -(-blocks // workers)
    rows = -(-graph.num_nodes // blocks)
    entries = -(-graph.num_edges // blocks)
    sums = M * rows
    if not request.accumulates("features"):
        sums = (base.products + 1 + M) * -(-R // blocks)
    halo = math.ceil(exchanged_rows(graph, blocks) / blocks)
    before, after = 2 * rows + sums, rows + sums
    numbers = held * (before + after + 4 * halo) + rows + halo
    entry_bytes = 4 + (item if graph.weight_bytes else 0)
    mapped = held * (entries * entry_bytes + rows * (8 + 3 * item))
    cutting = (CUTTING_BYTES + 8) * graph.num_nodes + entries * (entry_bytes + 8) + rows * blocks
    return mapped + max(cutting, numbers * item * width)


def _widest(width: int, fits: Callable[[int], bool]) -> int:
    """The widest panel that fits, in whole cache lines if it has several; 0 if none does."""
    while width and not fits(width):
        width = (width - 1) // LINE_COLUMNS * LINE_COLUMNS if width > LINE_COLUMNS else width // 2
    return width
