"""The nearest neighbours of all nodes by cosine similarity of features.

Cosines of all n (n - 1) / 2 pairs are computed once, exactly: products of panels of BLOCK_ENTRIES
cosines at a time, from which a kernel takes those among the k largest of either node so far
(`heatgraph._engine.plain_kernels.keep_nearest`). No more than the panels is stored.

Where that would take more than MAX_EXACT_WORK multiply-adds, some ten CPU seconds, the neighbours
are found by nearest-neighbour descent if the extra is installed
(`heatgraph.learning._approximate_neighbours`), and exactly, with a warning, if it is not.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.kernel_arguments import NearestLists
from heatgraph._engine.kernels import keep_nearest, multiply
from heatgraph._engine.recurrence import empty_panel
from heatgraph._engine.sparse_products import sparse_times_dense
from heatgraph._engine.threads import SingleBlasThread, WorkerThreads, thread_count
from heatgraph.errors import HeatgraphWarning, warn
from heatgraph.learning._approximate_neighbours import (
    INSTALL,
    approximate_neighbours,
    is_extra_installed,
)

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Cosines of a panel, and its columns: those of sparse features are summed in registers.
BLOCK_ENTRIES, SPARSE_WIDTH, DENSE_WIDTH = 1 << 17, 32, 256
# Work up to which all pairs are compared, in multiply-adds of sparse features, and what others cost
# in that unit: those of dense features, and looking at a pair.
MAX_EXACT_WORK, DENSE_WORK, PAIR_WORK = 4e11, 0.7, 30
# The largest similarities among every STRIDE-th node bound those among all from below.
STRIDE = 8


@dataclass(frozen=True)
class NearestNodes:
    """The k nearest of each node, by decreasing similarity, and what finding further ones needs.

    `unit` (n, d) are features of unit length, `nearest` (n, k) indices, -1 where there are fewer
    than k, and `similarity` (n, k) their cosines, 0 there.
    """

    unit: Any
    nearest: Indices
    similarity: npt.NDArray[np.float32]

    @classmethod
    def find(cls, X: Any, k: int, n_threads: int | None = None) -> NearestNodes:
        """The nearest by rows of X (n, d): exactly, or approximately where that takes too long."""
        unit = unit_rows(X)
        if exact_work(X) <= MAX_EXACT_WORK:
            return cls.find_exactly(unit, k, n_threads)
        if is_extra_installed():
            return cls(unit, *approximate_neighbours(unit, k))
        warn(
            f"comparing all pairs of {unit.shape[0]:,} nodes takes a while. {INSTALL} finds "
            "similar nodes of graphs of this size approximately, in less time.",
            HeatgraphWarning,
        )
        return cls.find_exactly(unit, k, n_threads)

    @classmethod
    def find_exactly(cls, unit: Any, k: int, n_threads: int | None = None) -> NearestNodes:
        """Compare all pairs of rows of unit length."""
        n = unit.shape[0]
        width = SPARSE_WIDTH if sp.issparse(unit) else DENSE_WIDTH
        height = BLOCK_ENTRIES // width
        panels = [unit[start : start + height] for start in range(0, n, height)]
        lists = _empty_lists(n, k, width)
        lock = threading.Lock()

        def search(first: int) -> None:
            """Compare the nodes from `first` on with those that come after them."""
            columns = _as_columns(unit[first : first + width], width)
            values = empty_panel((height, width), np.dtype(np.float32))
            for i in range(first // height, len(panels)):
                start = max(0, first - i * height)
                rows = start, panels[i].shape[0]
                _multiply(panels[i], columns, values, rows)
                # Lists only ever get better, and their content does not depend on the order.
                with lock:
                    keep_nearest(values, lists, (i * height, first), rows)

        with SingleBlasThread(), WorkerThreads(thread_count(n_threads)) as workers:
            workers.map(search, range(0, n, width))
        return cls(unit, lists.nodes, lists.similarity)

    def grow(self, X: Any) -> tuple[Indices, Indices]:
        """Pairs that `similar_pairs` of n + R nodes has more than that of n, and those it has less.

        X (R, d) are features of the new nodes, scaled as the others. Pairs (p, 2) are listed once.
        A new node takes the place of the last among the nearest of a known one if it is more
        similar to it.
        """
        (n, k), R = self.nearest.shape, X.shape[0]
        unit = unit_rows(X)
        with SingleBlasThread():
            known, among = _similarities(self.unit, unit), _similarities(unit, unit)
        among[np.arange(R), np.arange(R)] = -1
        rows, column, _ = _largest_by_column(np.vstack([known, among]), k)
        added = [np.stack([rows, column + n], axis=1)]
        changed = np.flatnonzero((known > self.similarity[:, [-1]]).any(axis=1))
        old = self.nearest[changed]
        candidates = np.hstack([old, np.tile(np.arange(n, n + R), (len(changed), 1))])
        similarity = np.hstack([self.similarity[changed], known[changed]])
        # Stable: among equals, known nodes come before new ones, each by index.
        order = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
        now = np.take_along_axis(candidates, order, axis=1)
        now[np.take_along_axis(similarity, order, axis=1) <= 0] = -1
        at, place = np.nonzero(now >= n)
        added.append(np.stack([changed[at], now[at, place]], axis=1))
        lists = dict(zip(changed.tolist(), now.tolist(), strict=True))
        removed = [
            (v, w)
            for v, before in zip(changed.tolist(), old.tolist(), strict=True)
            for w in set(before) - set(lists[v])
            if w >= 0 and v not in lists.get(w, self.nearest[w].tolist())
        ]
        return _distinct_pairs(np.concatenate(added)), _distinct_pairs(removed)


def exact_work(X: Any) -> float:
    """Multiply-adds that comparing all pairs of rows of X (n, d) takes the time of."""
    n, entries = X.shape[0], X.nnz if sp.issparse(X) else DENSE_WORK * X.size
    return float(n * (entries + PAIR_WORK * n) / 2)


def _distinct_pairs(pairs: Any) -> Indices:
    """Unordered pairs (p, 2), each once, with the lower index first."""
    array = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    return np.unique(np.sort(array, axis=1), axis=0)


def unit_rows(X: Any) -> Any:
    """Rows of unit length in float32; rows of zeros stay."""
    if sp.issparse(X):
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)).ravel()
    else:
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if sp.issparse(X):
        return _with_short_indices(sp.csr_array(sp.diags_array(inverse) @ X).astype(np.float32))
    return (X * inverse[:, np.newaxis]).astype(np.float32)


def _with_short_indices(matrix: sp.csr_array) -> sp.csr_array:
    """With 32-bit indices where they suffice: kernels read half as many bytes."""
    index = np.int32 if max(*matrix.shape, matrix.nnz) < np.iinfo(np.int32).max else np.int64
    indices, indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return sp.csr_array((matrix.data, indices, indptr), shape=matrix.shape)


def _empty_lists(n: int, k: int, padding: int) -> NearestLists:
    smallest = np.full(n + padding, np.inf, dtype=np.float32)
    smallest[:n] = np.finfo(np.float32).tiny
    return NearestLists(
        np.full((n, k), -1, dtype=np.int64), np.zeros((n, k), dtype=np.float32), smallest
    )


def _as_columns(rows: Any, width: int) -> Array:
    """Rows (b, d) as columns of a matrix (d, width), with zeros beside them."""
    columns = empty_panel((rows.shape[1], width), np.dtype(np.float32))
    columns[...] = 0
    if sp.issparse(rows):
        row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        columns[rows.indices, row] = rows.data
    else:
        columns[:, : len(rows)] = rows.T
    return columns


def _multiply(panel: Any, columns: Array, out: Array, rows: tuple[int, int]) -> None:
    """Rows [start, stop) of the product of a panel and a dense matrix."""
    if sp.issparse(panel):
        multiply(panel, columns, out, rows)
    else:
        np.matmul(panel[slice(*rows)], columns, out=out[slice(*rows)])


def _similarities(unit: Any, block: Any) -> Array:
    """Cosines (n, b) between rows of unit length, those of all nodes and those of a block."""
    if sp.issparse(unit):
        columns = np.ascontiguousarray(block.toarray().T)
        return sparse_times_dense(unit, columns, n_threads=1)
    return np.asarray(unit @ block.T)


def _largest_by_column(values: Array, k: int) -> tuple[Indices, Indices, Indices]:
    """Rows, columns and ranks of the k largest positive values of each column."""
    sample = values[::STRIDE]
    threshold = np.zeros(values.shape[1], dtype=values.dtype)
    if len(sample) > k:
        threshold = np.maximum(np.partition(sample, len(sample) - k, axis=0)[-k], threshold)
    threshold[threshold <= 0] = np.finfo(values.dtype).tiny
    row, column = np.divmod(np.flatnonzero(values >= threshold), values.shape[1])
    order = np.lexsort((row, -values[row, column], column))
    row, column = row[order], column[order]
    first = np.searchsorted(column, column)
    rank = np.arange(len(column)) - first
    return row[rank < k], column[rank < k], rank[rank < k]
