"""The memory estimate: bytes that a diffusion allocates, known before anything is allocated.

The peak is reached either while the parts are prepared or while panels are diffused:

    preparing = result + max(permutation.building,
                             permutation + max(operator.building, operator + source.building,
                                               components))
    working   = result + permutation + operator + source + panels
    peak      = max(preparing, working)

The graph and its features exist before, and are not counted. Tests compare the estimate with the
peak that tracemalloc measures.

Symbols: n nodes, d features, R requested rows, M schemes.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from heatgraph._arguments import memory_owners
from heatgraph._engine.ranges import row_blocks
from heatgraph._engine.recurrence import accumulates_all_rows
from heatgraph._engine.reordering import is_reordering_cached
from heatgraph.graph import Graph
from heatgraph.graph._normalized_operator import BLOCK_EDGES

Side = Literal["features", "rows"]
Destination = Literal["memory", "array", "file", "worker"]

# Panels are whole cache lines wide: 16 columns of float32.
LINE_COLUMNS = 16
# Bytes per edge that SciPy takes to find components: float64 data, an index, and our array of ones.
COMPONENTS_BYTES = 13


@dataclass(frozen=True)
class GraphSizes:
    """The sizes of a graph that cost depends on.

    Attributes
    ----------
    num_nodes, num_edges : int
        An undirected edge counts twice, as it is stored.
    index_bytes, weight_bytes : int
        Bytes per edge; no `weight_bytes` for an unweighted graph.
    num_features, feature_entries : int
        Columns of X, and the numbers stored in it.
    features_dtype : dtype or None
        None without features.
    sparse_features : bool
    mapped_bytes : int
        Size of features that are a memory map; 0 if they are in memory.
    permutation_cached, components_cached : bool
        Whether the graph keeps its reordered copy, or its connected components, already.
    """

    num_nodes: int
    num_edges: int
    index_bytes: int = 4
    weight_bytes: int = 0
    num_features: int = 0
    feature_entries: int = 0
    features_dtype: np.dtype[Any] | None = None
    sparse_features: bool = False
    mapped_bytes: int = 0
    permutation_cached: bool = False
    components_cached: bool = False

    @classmethod
    def from_graph(cls, graph: Graph) -> GraphSizes:
        """Read the sizes off a graph."""
        X = graph.features
        sparse = sp.issparse(X)
        return cls(
            num_nodes=graph.num_nodes,
            num_edges=len(graph.indices),
            index_bytes=graph.indices.itemsize,
            weight_bytes=0 if graph.weights is None else graph.weights.itemsize,
            num_features=graph.num_features,
            feature_entries=0 if X is None else int(X.nnz if sparse else X.size),
            features_dtype=None if X is None else X.dtype,
            sparse_features=sparse,
            mapped_bytes=X.nbytes if is_memory_mapped(X) else 0,
            permutation_cached=is_reordering_cached(graph),
            components_cached="components" in vars(graph),
        )


@dataclass(frozen=True)
class Request:
    """A diffusion, as far as its cost depends on it.

    Attributes
    ----------
    graph : GraphSizes
    num_schemes : int
    num_rows : int or None
        Requested rows; None for all nodes.
    products : int
        Products of S with each column.
    degree : int or None
        Degree of the Chebyshev series; None for literal steps.
    step_panels : int
        Panels that literal steps keep in memory.
    dtype, working_dtype : dtype
        Precision of the result, and of the work.
    destination : {"memory", "array", "file", "worker"}
        Whether the result is allocated, fills an array of the caller, or goes to a file; or whether
        a worker of a cluster writes a panel of it to a file, from inputs that are mapped.
    checks_oversmoothing : bool
        Whether the result is compared within connected components at the end.
    """

    graph: GraphSizes
    num_schemes: int
    num_rows: int | None
    products: int
    degree: int | None
    step_panels: int
    dtype: np.dtype[Any]
    working_dtype: np.dtype[Any]
    destination: Destination = "memory"
    checks_oversmoothing: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape (M, R, d) of the result; without features, d is n and the result r(S) itself."""
        n = self.graph.num_nodes
        rows = n if self.num_rows is None else self.num_rows
        return self.num_schemes, rows, self.graph.num_features or n

    def columns(self, side: Side) -> int:
        """Columns that are diffused: d features, or R unit vectors."""
        _, R, d = self.shape
        return R if side == "rows" else d

    def accumulates(self, side: Side) -> bool:
        """Whether each product adds its term to accumulators (M, n, w).

        The alternative is to keep the requested rows of every term, and to sum them at the end.
        """
        if self.degree is None or self.num_rows is None or side == "rows":
            return self.degree is not None
        return accumulates_all_rows(self.graph.num_nodes, self.num_schemes, self.num_rows)


@dataclass(frozen=True)
class Allocation:
    """Bytes at the peak while something is built, and bytes that stay."""

    building: int
    retained: int


NOTHING = Allocation(0, 0)


@dataclass(frozen=True)
class Panels:
    """How columns are cut: `count` panels of `width` columns, `at_once` of them side by side."""

    width: int
    count: int
    at_once: int


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes of each part of a diffusion; see the module for how they add up."""

    result: int
    permutation: Allocation
    operator: Allocation
    source: Allocation
    components: int
    panels: int

    @property
    def retained(self) -> int:
        """Bytes that stay allocated while panels are diffused."""
        return (
            self.result + self.permutation.retained + self.operator.retained + self.source.retained
        )

    @property
    def preparing(self) -> int:
        """Peak before the first panel."""
        beside = max(
            self.operator.building, self.operator.retained + self.source.building, self.components
        )
        return self.result + max(self.permutation.building, self.permutation.retained + beside)

    @property
    def peak(self) -> int:
        """Peak of the whole diffusion."""
        return max(self.preparing, self.retained + self.panels)


def estimate_column(request: Request, side: Side, reordered: bool) -> MemoryEstimate:
    """Estimate the memory of a diffusion that works on a single column at a time."""
    M, R, d = request.shape
    item = request.dtype.itemsize
    # Files are planned as if no permutation were cached: a run that is resumed has to be cut into
    # the same panels.
    cached = request.graph.permutation_cached and request.destination != "file"
    return MemoryEstimate(
        result=item * M * R * d if request.destination == "memory" else 0,
        permutation=_permutation(request.graph) if reordered and not cached else NOTHING,
        operator=_operator(request.graph, request.working_dtype),
        source=_source(request.graph, request.working_dtype, side),
        components=_components(request.graph) if request.checks_oversmoothing else 0,
        panels=request.working_dtype.itemsize * _column_items(request, side, reordered),
    )


def estimate_memory(
    request: Request, side: Side, reordered: bool, panels: Panels
) -> MemoryEstimate:
    """Estimate the memory of a diffusion that is cut into `panels`."""
    M, R, d = request.shape
    item, n = request.working_dtype.itemsize, request.graph.num_nodes
    estimate = estimate_column(request, side, reordered)
    columns = request.columns(side)
    padded = columns if panels.count == 1 else padded_width(columns)
    in_work = min(padded, panels.width * panels.at_once)
    in_panels = estimate.panels * in_work
    if (
        request.accumulates(side)
        and side == "features"
        and request.num_rows is None
        and not reordered
        and panels.count == 1
        and request.working_dtype == request.dtype
        and request.destination in ("memory", "array")
    ):
        in_panels -= item * M * R * d  # the result is the accumulator
    if side == "rows" and not request.graph.sparse_features:
        # Features are converted after the vectors of the recurrence are freed.
        freed = (_recurrence_vectors(request) - reordered) * n * item * in_work
        in_panels = max(in_panels, in_panels - freed + estimate.source.retained * panels.at_once)
        estimate = replace(estimate, source=Allocation(estimate.source.building, 0))
    return replace(estimate, panels=in_panels)


def padded_width(columns: int) -> int:
    """Width of a panel with `columns` columns, the last of them zeros.

    The kernel sums 16 columns at a time and passes over the edges again for each power of two of
    the rest, so that a few columns of zeros are cheaper.
    """
    if columns < LINE_COLUMNS:
        return 1 << (columns - 1).bit_length()
    return -(-columns // LINE_COLUMNS) * LINE_COLUMNS


def is_memory_mapped(array: Any) -> bool:
    """Whether an array is a view of a memory-mapped file, as far as NumPy knows."""
    return any(isinstance(owner, mmap.mmap) for owner in memory_owners(array))


def _column_items(request: Request, side: Side, reordered: bool) -> int:
    """Numbers in memory for each column that is being diffused."""
    M, R, d = request.shape
    n = request.graph.num_nodes
    if request.degree is None:
        items = (request.step_panels + M) * n
    elif side == "features" and request.num_rows is not None and request.accumulates(side):
        items = (_recurrence_vectors(request) + M) * n + M * R
    elif request.accumulates(side):
        # Undoing the permutation, or converting to another precision, copies the result.
        converts = request.working_dtype != request.dtype
        copies = 2 * M + 1 if reordered else 2 * M * converts
        items = max(_recurrence_vectors(request) + M, copies) * n
    else:
        items = 2 * n + (request.degree + 1 + M) * R
    return items + M * d if side == "rows" else items


def _recurrence_vectors(request: Request) -> int:
    """Vectors of the recurrence; with one product, the output doubles as the accumulator."""
    single = request.degree == 0 or (request.degree == 1 and request.num_schemes == 1)
    return 1 if single else 2


def permutation_bytes(graph: GraphSizes) -> int:
    """Bytes at the peak while a graph is reordered."""
    return _permutation(graph).building


def _operator(graph: GraphSizes, dtype: np.dtype[Any]) -> Allocation:
    """S: three vectors, made in float64, and the weights if there are any."""
    n, entries = graph.num_nodes, graph.num_edges
    vectors = 3 * n * dtype.itemsize
    if not graph.weight_bytes:
        return Allocation(vectors + 3 * 8 * n, vectors)
    values = dtype.itemsize * entries
    blocks = 3 * 8 * min(entries, 2 * BLOCK_EDGES)
    return Allocation(vectors + 3 * 8 * n + values + blocks, vectors + values)


def _permutation(graph: GraphSizes) -> Allocation:
    """The reordered graph, the order and the ranks; four work arrays while it is found."""
    n, index = graph.num_nodes, graph.index_bytes
    copy = graph.num_edges * (index + graph.weight_bytes) + 8 * n + 2 * index * n
    return Allocation(copy + 4 * index * n, copy)


def _source(graph: GraphSizes, dtype: np.dtype[Any], side: Side) -> Allocation:
    """Features in another order or precision."""
    if graph.features_dtype is None:
        return NOTHING
    converts = graph.features_dtype != dtype
    if not graph.sparse_features:
        block_rows = row_blocks(graph.num_nodes)[0][1] if side == "rows" and converts else 0
        block = block_rows * graph.num_features * dtype.itemsize
        return Allocation(block, block)
    by_column = graph.feature_entries * (graph.features_dtype.itemsize + 4)
    converted = graph.feature_entries * (dtype.itemsize + 4)
    return Allocation(converted + (by_column if converts else 0), converted)


def _components(graph: GraphSizes) -> int:
    """Finding connected components, unless they are cached, and comparing rows within them."""
    comparing = 5 * 8 * graph.num_nodes
    finding = 0 if graph.components_cached else COMPONENTS_BYTES * graph.num_edges
    return comparing + finding
