"""The plan of a diffusion: side, panels, threads, memory and time, before anything is allocated.

The columns of a diffusion do not depend on each other, so they are diffused in *panels*, narrow
enough for the cache and for the memory budget. Threads take whole panels where there are enough of
them, which needs no waiting between products, and share the rows of one panel where there are not.
Neither choice changes a bit of the result.

Symbols: n nodes, d features, R requested rows, M schemes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from heatgraph._engine.memory_estimate import (
    LINE_COLUMNS,
    MemoryEstimate,
    Panels,
    Request,
    Side,
    estimate_column,
    estimate_memory,
)
from heatgraph._engine.ranges import is_worth_sharing, product_work
from heatgraph._engine.reordering import CACHE_NODES
from heatgraph._io.formatting import format_bytes, format_seconds
from heatgraph.errors import MemoryBudgetError

# A panel of about this size stays in the cache while the rows of neighbours are gathered from it.
PANEL_BYTES = 4 << 20
# Of a larger panel, a tile of this size stays in the cache. Visiting neighbours tile by tile pays
# if a node has this many of them in a tile.
TILE_BYTES = 3 << 19
FEWEST_IN_TILE = 8
# Rows of a panel that exceeds the cache have this size, which the kernel sums in registers.
ROW_BYTES = 256
# Bytes gathered per edge, over all products and columns, that finding an order of nodes pays for:
# measured, it takes as long as 30 products with rows of 256 bytes save.
ORDER_BYTES = 30 * ROW_BYTES
# Multiply-adds in a panel that are worth a thread of its own, and the number of panels beyond which
# there is no need for more. The cut into panels does not depend on the number of threads: BLAS
# rounds a product with features differently for each width.
PANEL_WORK, SHARED_PANELS = 30_000_000, 8
# Largest share of the columns that is diffused at the same time.
MOST_IN_WORK = 2 / 3
# Cost of a multiply-add relative to one of a product with S: in dense products, in products with
# sparse features, and in sums of vectors that were kept at some rows.
DENSE_COST, SPARSE_COST, COMBINE_COST = 0.1, 1.0, 1.0
# Bytes per second and thread, measured on a machine of 2020: rows gathered from the cache, from
# memory, from memory in an order with near neighbours; and vectors that are read and written.
NEAR_SPEED, FAR_SPEED, ORDERED_SPEED, STREAM_SPEED = 14e9, 5e9, 8e9, 8e9
# Multiply-adds per second with features, and seconds per edge to find an order of nodes.
BLAS_SPEED, ORDER_SECONDS = 2e10, 2e-7


@dataclass(frozen=True)
class Plan:
    """What a diffusion will do and cost.

    Attributes
    ----------
    method : {"chebyshev", "steps"}
    side : {"features", "rows"}
        Whether feature columns are diffused, or one unit column per requested row.
    products : int
        Products of S with each column.
    degree : int or None
        Degree of the Chebyshev series; None for literal steps.
    error_bound : float
        Bound on the error in operator norm, relative to the response's own norm (which is 1 for
        every stable scheme). Rounding comes on top; literal steps have no other error.
    columns, panel_width : int
        Columns to diffuse, and columns per panel.
    tile : int
        Nodes whose rows of a panel stay in the cache while they are gathered; n if nodes have too
        few neighbours for tiles to pay.
    reordered : bool
        Whether nodes are permuted so that neighbours are near each other in memory, if such an
        order is found.
    panels_at_once : int
        Panels that are diffused in parallel; if it is 1, the threads share the rows of one panel.
    threads : int
    memory : int
        Peak of allocated bytes beside the graph and its features, the result included.
    bytes_moved : int
        Bytes that the products read and write.
    seconds : float
        Rough running time on an otherwise idle machine.
    """

    method: Literal["chebyshev", "steps"]
    side: Side
    products: int
    degree: int | None
    error_bound: float
    columns: int
    panel_width: int
    tile: int
    reordered: bool
    panels_at_once: int
    threads: int
    memory: int
    bytes_moved: int
    seconds: float

    @property
    def panels(self) -> list[slice]:
        """The panels that the columns are cut into."""
        starts = range(0, self.columns, self.panel_width)
        return [slice(a, min(a + self.panel_width, self.columns)) for a in starts]

    def __str__(self) -> str:
        how = "literal steps"
        if self.degree is not None:
            how = f"Chebyshev degree {self.degree}, error at most {self.error_bound:.1e}"
        return (
            f"{self.products} products ({how}) with {self.columns:,} columns from the {self.side} "
            f"side, {self.panel_width:,} at a time; {format_bytes(self.memory)} beside the "
            f"input, {format_bytes(self.bytes_moved)} moved; about "
            f"{format_seconds(max(self.seconds, 0.001), digits=3)}"
        )


def make_plan(
    request: Request, *, error_bound: float, budget: float, threads: int, reorder: bool | None
) -> Plan:
    """Plan a diffusion within a memory budget; `reorder` of None leaves the order to the plan."""
    side = cheaper_side(request)

    def plan_for(reordered: bool) -> Plan:
        panels = choose_panels(request, side, reordered, budget, threads)
        tile = _tile(request, panels.width)
        return Plan(
            method="steps" if request.degree is None else "chebyshev",
            side=side,
            products=request.products,
            degree=request.degree,
            error_bound=error_bound,
            columns=request.columns(side),
            panel_width=panels.width,
            tile=tile,
            reordered=reordered,
            panels_at_once=panels.at_once,
            threads=threads,
            memory=estimate_memory(request, side, reordered, panels).peak,
            bytes_moved=_bytes_moved(request, side, panels),
            seconds=_seconds(request, side, reordered, panels, tile, threads),
        )

    if reorder is not None:
        return plan_for(reorder)
    unordered = plan_for(False)
    if unordered.tile < request.graph.num_nodes or not _is_worth_reordering(request, side):
        return unordered
    try:
        return plan_for(True)
    except MemoryBudgetError:
        return unordered


def cheaper_side(request: Request) -> Side:
    """Compare multiply-adds: products with S, sums over terms, and the product with X."""
    graph = request.graph
    if graph.features_dtype is None:
        return "rows"
    if request.num_rows is None:
        return "features"
    M, R, d = request.shape
    contraction = (SPARSE_COST if graph.sparse_features else DENSE_COST) * graph.feature_entries
    per_column = request.products * product_work(graph.num_nodes, graph.num_edges)
    by_features = d * per_column + COMBINE_COST * M * (request.degree or 0) * R * d
    sums = 2 * M * request.products * graph.num_nodes * R
    by_rows = R * per_column + sums + M * contraction * R
    return "rows" if by_rows < by_features else "features"


def choose_panels(
    request: Request, side: Side, reordered: bool, budget: float, threads: int
) -> Panels:
    """Cut the columns for the cache, narrower if the budget is tight; refuse if nothing fits."""
    estimate = estimate_column(request, side, reordered)
    _check_budget(estimate, budget)
    columns = request.columns(side)
    preferred = min(cache_width(request, columns), columns)
    if request.graph.mapped_bytes > budget:
        preferred = columns  # each panel reads the whole file
    affordable = int(min(budget - estimate.retained, 1e18) // estimate.panels)
    width = max(1, min(preferred, affordable))
    if LINE_COLUMNS < width < preferred:
        width -= width % LINE_COLUMNS
    count = -(-columns // width)
    if request.accumulates(side) and side == "features":
        # Diffusing all columns at once would take three arrays beside features and result.
        affordable = min(affordable, int(MOST_IN_WORK * columns))
        if request.num_rows is not None and is_worth_sharing(width * _work(request)):
            # Threads that share one panel take no longer, and less memory than the result.
            M, R, d = request.shape
            result = M * R * d * request.working_dtype.itemsize
            affordable = min(affordable, result // estimate.panels)
    parallel = Panels(width, count, at_once=threads)
    if (
        threads <= min(count, affordable // width)
        # A file takes one panel at a time, so that a kill loses no more than one.
        and request.destination != "file"
        # Each thread may convert a block of features, which `affordable` counts once.
        and estimate_memory(request, side, reordered, parallel).peak <= budget
    ):
        return parallel
    return Panels(width, count, at_once=1)


def _check_budget(estimate: MemoryEstimate, budget: float) -> None:
    """Raise MemoryBudgetError if even a single column at a time does not fit."""
    if estimate.peak > budget:
        raise MemoryBudgetError(
            f"needs {format_bytes(estimate.peak)}, budget {format_bytes(budget)}. Raise "
            "memory_budget=, ask for fewer rows=, or give out= a file or a memory-mapped array."
        )


def cache_width(request: Request, columns: int) -> int:
    """Columns per panel for the cache and for threads to share, whatever their number."""
    item = request.working_dtype.itemsize
    fitting = PANEL_BYTES // (request.graph.num_nodes * item)
    work = columns * request.products * _work(request)
    panels = min(1 + work // PANEL_WORK, SHARED_PANELS)
    for_threads = -(-columns // panels)
    lines = -(-max(ROW_BYTES // item, min(fitting, for_threads)) // LINE_COLUMNS)
    width = lines * LINE_COLUMNS
    return columns if MOST_IN_WORK * columns < width else width


def _work(request: Request) -> int:
    """Multiply-adds of one product with one column."""
    return product_work(request.graph.num_nodes, request.graph.num_edges)


def _tile(request: Request, width: int) -> int:
    """Nodes in a tile that fits the cache, or n if nodes have few neighbours in a tile."""
    n, entries = request.graph.num_nodes, request.graph.num_edges
    tile = max(1, TILE_BYTES // (width * request.working_dtype.itemsize))
    return tile if entries * tile >= FEWEST_IN_TILE * n * n else n


def _is_worth_reordering(request: Request, side: Side) -> bool:
    """Whether panels exceed the cache by far, and the products gather enough to pay for it."""
    gathered = request.working_dtype.itemsize * request.columns(side) * request.products
    return request.graph.num_nodes >= 2 * CACHE_NODES and gathered >= ORDER_BYTES


def _streamed_bytes(request: Request, side: Side) -> int:
    """Bytes of vectors and accumulators that a product reads and writes for each column."""
    accumulators = request.num_schemes if request.accumulates(side) else 0
    return request.working_dtype.itemsize * (3 + 2 * accumulators) * request.graph.num_nodes


def _bytes_moved(request: Request, side: Side, panels: Panels) -> int:
    """Bytes of the graph, once per panel, and of gathered rows and vectors, for each column."""
    graph, item = request.graph, request.working_dtype.itemsize
    structure = 8 * graph.num_nodes
    structure += graph.num_edges * (graph.index_bytes + (item if graph.weight_bytes else 0))
    per_column = item * graph.num_edges + _streamed_bytes(request, side)
    return request.products * (panels.count * structure + request.columns(side) * per_column)


def _seconds(
    request: Request, side: Side, reordered: bool, panels: Panels, tile: int, threads: int
) -> float:
    """Estimated running time: gathering, streaming, the product with X, and reordering."""
    graph, item = request.graph, request.working_dtype.itemsize
    n, entries, columns = graph.num_nodes, graph.num_edges, request.columns(side)
    in_cache = tile < n or n * panels.width * item <= PANEL_BYTES
    gather_speed = NEAR_SPEED if in_cache else ORDERED_SPEED if reordered else FAR_SPEED
    per_column = item * entries / gather_speed + _streamed_bytes(request, side) / STREAM_SPEED
    seconds = request.products * columns * per_column
    if panels.at_once > 1 or is_worth_sharing(product_work(n, entries) * panels.width):
        seconds /= threads
    if side == "rows":
        seconds += request.num_schemes * columns * graph.feature_entries / BLAS_SPEED
    if reordered and not graph.permutation_cached:
        seconds += ORDER_SECONDS * entries
    return seconds
