"""How a diffusion is cut up, and what it will cost: known before anything is allocated.

Columns of a diffusion do not depend on each other, so they are worked through in *panels*, narrow
enough for the cache and for the memory budget. Within one product rows do not depend on each other
either, so a panel's product is cut into *ranges* of rows of about equal work. Threads take whole
panels where there are enough of them, which needs no waiting between products, and share the ranges
of one panel where there are not. Neither choice changes a bit of the result.

Symbols: n nodes, d features, R wanted rows, M schemes.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import memory_owners
from heatgraph._engine.reordering import NEAR
from heatgraph._io.formatting import format_bytes, format_seconds
from heatgraph.errors import MemoryBudgetError
from heatgraph.graph import Graph
from heatgraph.graph._normalized_operator import BLOCK_EDGES

# A panel of about this size stays in the cache while its neighbours are gathered from it.
PANEL_BYTES = 4 << 20
# A tile of a panel that is wider stays in the cache while it is gathered from, where the nodes have
# so many neighbours in one that it pays to come back to them for each tile.
TILE_BYTES = 3 << 19
FEWEST_IN_TILE = 8
# Below this width, reading the graph costs as much as gathering the columns.
NARROWEST_PANEL = 32
# A panel that does not fit the cache anyway has rows of this size, which are summed in registers.
ROW_BYTES = 256
# Bytes gathered per edge, over all products and columns, that finding an order of nodes pays for:
# measured, it takes as long as 30 products with rows of 256 bytes save.
ORDER_BYTES = 30 * ROW_BYTES
# Panels are whole cache lines wide: 16 columns of float32.
LINE_COLUMNS = 16
# Columns are cut into at least this many panels where they are not too narrow then. How they are
# cut does not depend on the number of threads, lest the bits of a product with features do.
SHARED_PANELS = 8
# Multiply-adds in one call of a kernel: some 50 ms, which Ctrl-C may have to wait for.
RANGE_WORK = 200_000_000
# Multiply-adds in a product below which waking a second thread costs more than it brings.
WORTH_SHARING = 4_000_000
# Besides its edges, a row costs about this many accesses, to its own vector and the next; and two
# for each sum that is kept.
ACCESSES_PER_ROW = 3
# Share of the columns that may be in work at once.
MOST_IN_WORK = 2 / 3
# Multiply-adds against those of a product with S: dense ones, which stay in the cache, and those of
# SciPy's product with sparse features.
DENSE_COST = 0.1
SPARSE_COST = 0.5
# Bytes per entry that SciPy takes to find components: float64, an index, and a one of ours.
COMPONENTS_COST = 13
# Bytes per second and thread, as measured on a machine of 2020: rows gathered from the cache, from
# memory, from memory in an order with near neighbours; and vectors that are read and written.
NEAR_SPEED, FAR_SPEED, ORDERED_SPEED, STREAM_SPEED = 14e9, 5e9, 8e9, 8e9
# Multiply-adds per second with features, and seconds per entry to find an order of nodes.
BLAS_SPEED, ORDER_SECONDS = 2e10, 2e-7
# Panels that literal steps keep alive at once, by products per step: Euler's, and the four stages
# of Runge-Kutta with their sums.
STEPWISE_PANELS = {1: 4, 4: 8}
# Rows of dense features that are converted to another precision at a time.
BLOCK_ROWS = 1 << 14


@dataclass(frozen=True)
class Plan:
    """What a diffusion will do, known before it is done.

    Attributes
    ----------
    method : {"chebyshev", "steps"}
    side : {"features", "rows"}
        Whether feature columns are diffused, or one unit column per wanted row.
    products : int
        Products of S with each column.
    degree : int or None
        Degree of the Chebyshev series; None for literal steps.
    error_bound : float
        Bound on the error in operator norm, relative to the response's own norm (which is 1 for
        every stable scheme). Rounding comes on top, and is all there is for literal steps.
    columns, panel_width : int
        Columns to diffuse, and how many of them make a panel.
    tile : int
        Nodes whose rows of a panel stay in the cache while they are gathered; all of them if they
        have too few neighbours for that to pay.
    reordered : bool
        Whether nodes are worked on in an order with near neighbours, if one is found.
    panels_at_once : int
        Panels that are worked on side by side; the threads share the rows of one if it is 1.
    threads : int
    memory : int
        Bytes needed at the peak beside the graph and its features, the result included.
    bytes_moved : int
        Bytes that the products read and write.
    seconds : float
        About how long it takes, on an ordinary machine that has nothing else to do.
    """

    method: Literal["chebyshev", "steps"]
    side: Literal["features", "rows"]
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
            f"{format_seconds(max(self.seconds, 0.001), digits=2)}"
        )


def make_plan(
    graph: Graph,
    M: int,
    rows: npt.NDArray[np.int64] | None,
    dtype: np.dtype[Any],
    working: np.dtype[Any],
    *,
    degree: int | None,
    stages: int,
    products: int,
    error_bound: float,
    budget: float,
    threads: int,
    place: Literal["memory", "array", "file"],
    reorder: bool | None,
    looking: bool,
) -> Plan:
    """Choose side, panels, order and threads, and count memory and traffic.

    `dtype` is that of the result and `working` that of the work; `degree` is None for literal
    steps, which take `stages` products each; `place` says where the result goes: to new memory, to
    an array that is there, or panel by panel to a file; `reorder` of None leaves the order to the
    plan; `looking` says that components are needed in the end, to tell whether all has collapsed.
    """
    n, entries, item = graph.num_nodes, len(graph.indices), working.itemsize
    _, R, d = result_shape(graph, M, rows)
    side = _cheaper_side(graph, M, rows, degree, products)
    columns = R if side == "rows" else d
    accumulating = degree is not None and (side == "rows" or rows is None)
    wide = _panel_width(columns, n, item)
    if is_mapped(graph.features) and graph.features.nbytes > budget:
        # Each panel reads the whole file, so that there had better be few.
        wide = columns

    # A single product is made where its sum is.
    vectors = 1 if degree == 0 or (degree == 1 and M == 1) else 2

    def with_order(reordered: bool) -> Plan:
        if accumulating:
            # Turned back into the given order, or to another precision, there are two of a result.
            twice = 2 * M + 1 if reordered else 2 * M * (working != dtype)
            column_items = max(vectors + M, twice) * n
        elif degree is None:
            column_items = (STEPWISE_PANELS[stages] + M) * n
        else:
            column_items = 2 * n + (degree + 1 + M) * R
        if side == "rows":
            column_items += M * d
        column_bytes = item * column_items
        result = dtype.itemsize * M * R * d * (place == "memory")
        building_operator, operator = _operator_bytes(graph, working)
        building_source, source = _source_bytes(graph, working, side)
        # What goes to a file is planned as if no order were there, since a run that is taken up
        # again has to be cut into the same panels.
        there = "arrangement" in graph.cache and place != "file"
        building_order, order = _order_bytes(graph) if reordered and not there else (0, 0)
        fixed = result + order + operator + source
        in_the_end = _components_bytes(graph) if looking else 0
        preparing = result + max(
            building_order,
            order + max(building_operator, operator + building_source, in_the_end),
        )
        least = max(preparing, fixed + column_bytes)
        if least > budget:
            raise MemoryBudgetError(
                f"needs {format_bytes(least)}, budget {format_bytes(budget)}. Raise "
                "memory_budget=, ask for fewer rows=, or give out= a file or a memory-mapped array."
            )

        room = int(min(budget - fixed, 1e18) // column_bytes)
        width = max(1, min(wide, columns, room))
        if LINE_COLUMNS < width < min(wide, columns):
            width -= width % LINE_COLUMNS
        panels = -(-columns // width)
        if accumulating and side == "features":
            # All columns in work at once would take three arrays beside features and result.
            room = min(room, int(MOST_IN_WORK * columns))
        # One panel at a time goes to a file, so that no more than one is lost.
        at_once = threads if threads <= min(panels, room // width) and place != "file" else 1
        # A single panel is summed where the result is wanted.
        alone = panels == 1 and side == "features" and working == dtype
        in_place = accumulating and alone and not reordered
        whole = columns if panels == 1 else padded_width(columns)
        working_columns = min(whole, width * at_once)
        in_work = column_bytes * working_columns - item * M * R * d * in_place
        if side == "rows" and not sp.issparse(graph.features):
            # Features are converted when the vectors of the recurrence are gone.
            fixed -= source
            gone = (vectors - reordered) * n * item * working_columns
            in_work = max(in_work, in_work - gone + source * at_once)
        structure = 8 * n + entries * (graph.indices.itemsize + item * (graph.weights is not None))
        streamed = item * (3 + 2 * M * accumulating) * n
        tile = _tile(n, entries, width * item)
        near = tile < n or n * width * item <= PANEL_BYTES
        pace = NEAR_SPEED if near else ORDERED_SPEED if reordered else FAR_SPEED
        per_column = item * entries / pace + streamed / STREAM_SPEED
        seconds = products * columns * per_column
        if at_once > 1 or _product_work(n, entries) * width >= WORTH_SHARING:
            seconds /= threads
        if side == "rows":
            seconds += M * columns * _stored(graph) / BLAS_SPEED
        if reordered and "arrangement" not in graph.cache:
            seconds += ORDER_SECONDS * entries
        return Plan(
            method="steps" if degree is None else "chebyshev",
            side=side,
            products=products,
            degree=degree,
            error_bound=error_bound,
            columns=columns,
            panel_width=width,
            tile=tile,
            reordered=reordered,
            panels_at_once=at_once,
            threads=threads,
            memory=max(preparing, fixed + in_work),
            bytes_moved=products * (panels * structure + columns * (item * entries + streamed)),
            seconds=seconds,
        )

    if reorder is not None:
        return with_order(reorder)
    given = with_order(False)
    if given.tile < n or not _worth_reordering(n, item * columns * products):
        return given
    try:
        return with_order(True)
    except MemoryBudgetError:
        return given


def result_shape(graph: Graph, M: int, rows: npt.NDArray[np.int64] | None) -> tuple[int, int, int]:
    """Shape (M, R, d) of a result; without features, a node's features are all nodes."""
    n = graph.num_nodes
    return M, n if rows is None else len(rows), graph.num_features or n


def row_ranges(
    indptr: npt.NDArray[np.int64], width: int, sums: int, threads: int
) -> list[tuple[int, int]]:
    """Cut the rows into ranges of about equal work, none too long to be interrupted."""
    n = len(indptr) - 1
    done = indptr + (ACCESSES_PER_ROW + 2 * sums) * np.arange(n + 1)
    work = int(done[-1]) * width
    sharing = threads if work >= WORTH_SHARING else 1
    pieces = sharing * -(-work // (sharing * RANGE_WORK))
    cuts = np.searchsorted(done, np.linspace(0, done[-1], pieces + 1)).tolist()
    return [(start, stop) for start, stop in pairwise(cuts) if start < stop]


def even_ranges(rows: int, row_work: int) -> list[tuple[int, int]]:
    """Cut rows that cost the same into ranges that are not too long to be interrupted."""
    step = max(1, RANGE_WORK // max(1, row_work))
    return [(start, min(start + step, rows)) for start in range(0, rows, step)]


def padded_width(columns: int) -> int:
    """Columns of a narrow last panel with some of zeros: each power of two is a pass over edges."""
    if columns < LINE_COLUMNS:
        return 1 << (columns - 1).bit_length()
    return -(-columns // LINE_COLUMNS) * LINE_COLUMNS


def row_blocks(rows: int) -> list[tuple[int, int]]:
    """Cut rows into blocks that are converted or looked at at a time."""
    return [(start, min(start + BLOCK_ROWS, rows)) for start in range(0, rows, BLOCK_ROWS)]


def feature_blocks(X: Any, width: int) -> list[tuple[int, int]]:
    """Cut features into rows that are multiplied by `width` columns, and converted, at a time."""
    n = X.shape[0]
    if sp.issparse(X):
        return even_ranges(n, -(-int(X.nnz) // n) * width)
    return row_blocks(n)


def _cheaper_side(
    graph: Graph, M: int, rows: npt.NDArray[np.int64] | None, degree: int | None, products: int
) -> Literal["features", "rows"]:
    """Compare multiply-adds: products with S, sums over terms, and the product with X."""
    if graph.features is None:
        return "rows"
    if rows is None:
        return "features"
    n, R, d = graph.num_nodes, len(rows), graph.num_features
    X = graph.features
    contraction = SPARSE_COST * X.nnz if sp.issparse(X) else DENSE_COST * n * d
    per_column = products * _product_work(n, len(graph.indices))
    by_features = d * per_column + DENSE_COST * M * (degree or 0) * R * d
    by_rows = R * per_column + 2 * M * products * n * R + M * contraction * R
    return "rows" if by_rows < by_features else "features"


def is_mapped(array: Any) -> bool:
    """Whether an array lies in a file, as far as it can be told."""
    return any(isinstance(owner, mmap.mmap) for owner in memory_owners(array))


def _operator_bytes(graph: Graph, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Memory for S: while it is made, and then."""
    n, entries = graph.num_nodes, len(graph.indices)
    vectors = 3 * n * dtype.itemsize
    building, kept = vectors + 3 * 8 * n, vectors
    if graph.weights is not None:
        values = dtype.itemsize * entries
        building, kept = building + values + 3 * 8 * min(entries, 2 * BLOCK_EDGES), kept + values
    return building, kept


def _order_bytes(graph: Graph) -> tuple[int, int]:
    """Memory for the graph in another order: while that is found, and then."""
    n, index = graph.num_nodes, graph.indices.itemsize
    weight = 0 if graph.weights is None else graph.weights.itemsize
    copy = len(graph.indices) * (index + weight) + 8 * n + 2 * index * n
    return copy + 4 * index * n, copy


def _source_bytes(
    graph: Graph, dtype: np.dtype[Any], side: Literal["features", "rows"]
) -> tuple[int, int]:
    """Memory for features in another order or precision: while they are converted, and then."""
    X = graph.features
    if X is None:
        return 0, 0
    start, stop = feature_blocks(X, NARROWEST_PANEL)[0] if side == "rows" else (0, 0)
    if not sp.issparse(X):
        block = 0 if X.dtype == dtype else (stop - start) * X.shape[1] * dtype.itemsize
        return block, block
    kept = int(X.nnz) * (dtype.itemsize + 4)
    if side == "rows":
        block = 0 if stop == graph.num_nodes else kept * stop // graph.num_nodes
        kept = block + (kept if X.dtype != dtype else 0)
        return kept, kept
    reordered = int(X.nnz) * (int(X.dtype.itemsize) + 4)
    return kept + (reordered if X.dtype != dtype else 0), kept


def _components_bytes(graph: Graph) -> int:
    """Memory to find connected components, unless they are known, and to compare within them."""
    n, entries = graph.num_nodes, len(graph.indices)
    comparing = 5 * 8 * n
    return comparing if "components" in vars(graph) else comparing + COMPONENTS_COST * entries


def _stored(graph: Graph) -> int:
    """Numbers in the features."""
    X = graph.features
    return 0 if X is None else int(X.nnz if sp.issparse(X) else X.size)


def _product_work(num_nodes: int, num_entries: int) -> int:
    """Multiply-adds of one product of S with one column."""
    return num_entries + ACCESSES_PER_ROW * num_nodes


def _tile(n: int, entries: int, row_bytes: int) -> int:
    """Nodes in a tile that fits the cache, or n if a node has few neighbours in a tile."""
    tile = max(1, TILE_BYTES // row_bytes)
    return tile if entries * tile >= FEWEST_IN_TILE * n * n else n


def _worth_reordering(n: int, bytes_per_edge: int) -> bool:
    """Whether panels exceed the cache by far, and enough of them to pay for finding an order."""
    return n >= 2 * NEAR and bytes_per_edge >= ORDER_BYTES


def _panel_width(columns: int, n: int, item: int) -> int:
    """Columns per panel: for the cache, and for threads to share; whatever their number."""
    fitting = PANEL_BYTES // (n * item)
    narrowest = NARROWEST_PANEL if fitting >= NARROWEST_PANEL else ROW_BYTES // item
    for_threads = -(-columns // SHARED_PANELS)
    lines = -(-max(narrowest, min(fitting, for_threads)) // LINE_COLUMNS)
    width = lines * LINE_COLUMNS
    return columns if MOST_IN_WORK * columns < width else width
