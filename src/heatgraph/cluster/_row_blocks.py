"""Blocks of rows of a graph, and one product of a Chebyshev recurrence on a block.

The rows of S are cut into P blocks of consecutive rows. A product at block i reads the rows of its
own nodes and those of their neighbours in other blocks, its *halo*. Nodes of block and halo are
numbered by their global index, so that the neighbours of a node keep their order, tiles keep their
edges, and every sum is rounded as it is on one machine. Own rows, and those from each other block,
are ranges of this local numbering.

S is symmetric: a block needs a row of another block if and only if that row has a neighbour in it.
So each block knows from its own rows which of them the others need.

Shapes: a block of r rows and a halo of h has panels (r + h, w); M schemes have sums (M, r, w).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import index_dtype
from heatgraph._engine.kernel_arguments import Accumulators, Step
from heatgraph._engine.ranges import row_ranges, tile_ends
from heatgraph._engine.recurrence import PanelOperator, empty_panel
from heatgraph._engine.threads import WorkerThreads
from heatgraph._io.tensor_file import CACHE_LINE_ALIGNMENT, map_tensors, write_tensors
from heatgraph.graph._normalized_operator import NormalizedOperator

Array = npt.NDArray[Any]

KIND = "block of a graph"
# Entries of A that are renumbered at a time.
CHUNK = 1 << 22
# Accesses to memory of a row beside its edges, relative to those of an edge.
ROW_ACCESSES = 3


def cut_rows(indptr: Array, blocks: int) -> list[int]:
    """Cut the rows into blocks of about equal work: `blocks` + 1 increasing positions."""
    n = len(indptr) - 1
    work = np.asarray(indptr) + ROW_ACCESSES * np.arange(n + 1)
    cuts = np.searchsorted(work, np.linspace(0, work[-1], blocks + 1))
    # Every block has a row, also where one row has the work of many.
    cuts = np.maximum(cuts, np.arange(blocks + 1))
    cuts = np.minimum(cuts, n - np.arange(blocks, -1, -1))
    return [int(cut) for cut in cuts]


@dataclass(frozen=True)
class RowBlock:
    """A block of rows, with local numbering of the nodes that its products read.

    Attributes
    ----------
    P : NormalizedOperator
        The rows of the block; `indices` are local.
    local_cuts : array of shape (P + 1,)
        The nodes of block j are numbered from ``local_cuts[j]`` to ``local_cuts[j + 1]``.
    number : int
        Which of the blocks it is.
    tile_ends : array
        Ends of the tiles, in local numbering.
    send_starts, send_rows : array
        Block j needs the rows ``send_rows[send_starts[j]:send_starts[j + 1]]`` of this one.
    """

    P: NormalizedOperator
    local_cuts: Array
    number: int
    tile_ends: Array
    send_starts: Array
    send_rows: Array

    @classmethod
    def open(cls, path: Path) -> RowBlock:
        """Map a file of `write_block`."""
        content, tensors = map_tensors(path, KIND)
        P = NormalizedOperator(
            indptr=tensors["indptr"],
            indices=tensors["indices"],
            values=tensors.get("values"),
            row_scale=tensors["row_scale"],
            diagonal=tensors["diagonal"],
            root=tensors.get("root"),
        )
        return cls(
            P, tensors["local_cuts"], content["number"], tensors["tile_ends"],
            tensors["send_starts"], tensors["send_rows"],
        )  # fmt: skip

    @property
    def num_rows(self) -> int:
        """Rows of the block."""
        return self.P.num_nodes

    @property
    def own_start(self) -> int:
        """Local number of its first row."""
        return int(self.local_cuts[self.number])

    def rows_for(self, other: int) -> Array:
        """Rows of this block that another one needs."""
        rows: Array = self.send_rows[self.send_starts[other] : self.send_starts[other + 1]]
        return rows

    def needs(self, other: int) -> int:
        """Number of rows of another block in its halo."""
        return 0 if other == self.number else int(np.diff(self.local_cuts)[other])

    def assemble(self, own: Array, halo: dict[int, Array]) -> Array:
        """A panel of all local nodes, from its own rows and those of other blocks."""
        panel = empty_panel((int(self.local_cuts[-1]), own.shape[1]), own.dtype)
        panel[self.own_start : self.own_start + len(own)] = own
        for other, rows in halo.items():
            panel[self.local_cuts[other] : self.local_cuts[other + 1]] = rows
        return panel


class BlockState(NamedTuple):
    """A block after k products: the own rows of T_k and T_{k-1}, and what is summed of them.

    `sums` is (M, r, w), or the vectors T_0, ..., T_k at the requested rows of the block.
    """

    current: Array
    previous: Array | None
    sums: Array | None


def write_block(
    path: Path,
    number: int,
    cuts: list[int],
    graph: tuple[Array, Array, Array | None],
    root: Array,
    self_loops: bool,
    dtype: np.dtype[Any],
    tile: int,
) -> list[int]:
    """Cut block `number` out of a graph in CSR form; return the number of rows each block needs."""
    indptr, indices, weights = graph
    n, start, stop = len(indptr) - 1, cuts[number], cuts[number + 1]
    first, last = int(indptr[start]), int(indptr[stop])
    own_indptr = np.asarray(indptr[start : stop + 1]) - first
    edges = slice(first, last)
    P = NormalizedOperator.from_adjacency(
        own_indptr, indices[edges], None if weights is None else weights[edges], root, self_loops,
        dtype, start,
    )  # fmt: skip
    is_local = np.zeros(n, dtype=bool)
    is_local[start:stop] = True
    needed_by = np.zeros((stop - start, len(cuts) - 1), dtype=bool)
    chunks = [slice(a, min(a + CHUNK, last - first)) for a in range(0, last - first, CHUNK)]
    for chunk in chunks:
        columns = P.indices[chunk]
        is_local[columns] = True
        rows = np.searchsorted(own_indptr, np.arange(chunk.start, chunk.stop), side="right") - 1
        needed_by[rows, np.searchsorted(cuts, columns, side="right") - 1] = True
    needed_by[:, number] = False
    # The local number of a node is the number of local nodes before it.
    before = np.zeros(n + 1, dtype=index_dtype(n + 1))
    np.cumsum(is_local, out=before[1:])
    local_indices = np.empty(last - first, dtype=index_dtype(int(before[-1])))
    for chunk in chunks:
        local_indices[chunk] = before[P.indices[chunk]]
    counts = needed_by.sum(axis=0)
    tensors = {
        "indptr": own_indptr,
        "indices": local_indices,
        "row_scale": P.row_scale,
        "diagonal": P.diagonal,
        "local_cuts": before[cuts].astype(np.int64),
        "tile_ends": before[tile_ends(n, tile)].astype(np.int64),
        "send_starts": np.concatenate([[0], np.cumsum(counts)]),
        "send_rows": np.nonzero(needed_by.T)[1],
    }
    if P.values is not None:
        tensors["values"] = P.values
    if P.root is not None:
        tensors["root"] = P.root
    write_tensors(path, KIND, {"number": number}, tensors, CACHE_LINE_ALIGNMENT)
    return [int(count) for count in counts]


def advance(
    block: RowBlock,
    k: int,
    coefficients: Array,
    state: BlockState,
    halo: dict[int, Array],
    rows: Array | None,
    threads: int = 1,
) -> BlockState:
    """The state after product k, from that after k - 1 and the halo's rows of T_{k-1}.

    Sums of `coefficients` (M, degree + 1) are accumulated, unless `rows` of the block are given, at
    which vectors are kept. Nothing is overwritten.
    """
    current = block.assemble(state.current, halo)
    out = empty_panel(state.current.shape, current.dtype)
    alpha, beta = (1, 0) if k == 1 else (2, -1)
    if state.previous is not None:
        out[...] = state.previous
    by_degree = np.ascontiguousarray(coefficients.T)
    M, degree = len(coefficients), len(by_degree) - 1
    step = Step(alpha, beta, current, out, block.own_start)
    accumulators, sums = None, state.sums
    if rows is None:
        scale = block.P.root if k == degree and block.P.root is not None else block.P.row_scale[:0]
        sums = np.empty((M, *out.shape), dtype=out.dtype) if sums is None else sums.copy()
        accumulators = Accumulators(by_degree[0], by_degree[k], sums, scale)
    with WorkerThreads(threads) as workers:
        operator = _operator(block, workers, out.shape[1], M)
        operator.recur(step, accumulators)
    if rows is not None:
        kept = state.current[rows][np.newaxis] if sums is None else sums
        sums = np.concatenate([kept, out[rows][np.newaxis]])
    return BlockState(out, state.current, sums)


def result_of(
    block: RowBlock, coefficients: Array, state: BlockState, rows: Array | None, threads: int = 1
) -> Array:
    """The block's part of the result, (M, rows, w), from its state after all products."""
    M, terms = coefficients.shape
    if terms == 1:
        values = coefficients[:, 0][:, np.newaxis, np.newaxis] * state.current
        return values if rows is None else values[:, rows]
    assert state.sums is not None
    if rows is None:
        return state.sums
    out = np.empty((M, *state.sums.shape[1:]), dtype=state.sums.dtype)
    with WorkerThreads(threads) as workers:
        operator = _operator(block, workers, out.shape[2], M)
        operator.combine(coefficients, state.sums, out)
        operator.multiply_by_root(out, rows)
    return out


def _operator(block: RowBlock, workers: WorkerThreads, width: int, M: int) -> PanelOperator:
    return PanelOperator(
        P=block.P,
        root=block.P.root,
        tile_ends=block.tile_ends,
        workers=workers,
        row_workers=workers,
        row_ranges=row_ranges(block.P.indptr, width, M, workers.threads),
        total_products=1,
        progress=None,
    )
