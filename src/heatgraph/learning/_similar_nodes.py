"""Edges between nodes of similar features, beside those of the graph.

The k nearest neighbours of a node are those with the largest cosine similarity of features. With N
(n, n) the symmetric pattern of all pairs of which one is among the nearest of the other, diffusion
runs on

    A + SIMILAR_WEIGHT N,

so that features also spread between nodes without a path of edges. A model of it is combined with
that of A (`heatgraph.learning._extensions`): alone it is less accurate on most graphs.

Similarities are computed exactly, in blocks: n^2 inner products of features, of which only the
largest are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.sparse_products import sparse_times_dense
from heatgraph._engine.threads import SingleBlasThread, WorkerThreads, thread_count
from heatgraph.graph import Graph
from heatgraph.learning.scaling import Scaling

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Nearest neighbours of a node, and the weight of their edges beside weights of 1.
NUM_SIMILAR, SIMILAR_WEIGHT = 10, 0.1
# Similarities that are computed at a time.
BLOCK_ENTRIES = 1 << 21
# The largest similarities among every STRIDE-th node bound those among all from below.
STRIDE = 8
# Multiply-adds beyond which a search does not look for similar nodes by itself, some seconds on two
# cores. Those of dense features take about a fifth of the time.
MAX_WORK, DENSE_WORK = 5e10, 0.2

_SIMILAR_GRAPHS: WeakKeyDictionary[Graph, tuple[Scaling, Graph]] = WeakKeyDictionary()


def is_affordable(graph: Graph) -> bool:
    """Whether finding similar nodes takes no more than seconds."""
    X, n = graph.features, graph.num_nodes
    entries = X.nnz if sp.issparse(X) else DENSE_WORK * X.size
    return bool(n * entries <= MAX_WORK)


def with_similar_edges(graph: Graph, scaling: Scaling, n_threads: int | None = None) -> Graph:
    """A graph with further edges between nodes of similar scaled features, and without features.

    The result is kept while the graph is in use, for the last scaling.
    """
    known = _SIMILAR_GRAPHS.get(graph)
    if known is None or known[0] is not scaling:
        scaled = graph._with_features(scaling.apply(graph.features, np.dtype(np.float32)))
        known = scaling, add_similar_edges(scaled, n_threads).with_features(None)
        _SIMILAR_GRAPHS[graph] = known
    return known[1]


def remember_similar_edges(graph: Graph, scaling: Scaling, similar: Graph) -> None:
    """Keep a graph with further edges that is known, for `with_similar_edges`."""
    _SIMILAR_GRAPHS[graph] = scaling, similar.with_features(None)


def add_similar_edges(graph: Graph, n_threads: int | None = None) -> Graph:
    """The graph with further edges between nodes of similar features; features are kept."""
    pairs = similar_pairs(graph.features, NUM_SIMILAR, n_threads)
    matrix = sp.csr_array(graph.adjacency.astype(np.float64) + SIMILAR_WEIGHT * pairs)
    matrix.sort_indices()
    return Graph._from_canonical(matrix, graph.features)


def similar_pairs(X: Any, k: int, n_threads: int | None = None) -> sp.csr_array:
    """The symmetric pattern (n, n) of pairs of which one is among the k nearest of the other.

    Among equals, nodes of lower index come first. Nodes without a common feature are not similar.
    """
    nearest = NearestNodes.find(X, k, n_threads).nearest
    nodes, places = np.nonzero(nearest >= 0)
    ones = np.ones(len(nodes))
    directed = sp.csr_array((ones, (nodes, nearest[nodes, places])), shape=(len(nearest),) * 2)
    return sp.csr_array(directed.maximum(directed.T))


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
        """Compare all pairs of rows of X (n, d)."""
        unit = _unit_rows(X)
        n = unit.shape[0]
        nearest = np.full((n, k), -1, dtype=np.int64)
        similarity = np.zeros((n, k), dtype=np.float32)
        size = max(1, min(n, BLOCK_ENTRIES // n))
        blocks = [np.arange(start, min(start + size, n)) for start in range(0, n, size)]

        def search(block: Indices) -> None:
            similarities = _similarities(unit, unit[block])
            similarities[block, np.arange(len(block))] = -1
            rows, column, place = _largest_by_column(similarities, k)
            nearest[block[column], place] = rows
            similarity[block[column], place] = similarities[rows, column]

        with SingleBlasThread(), WorkerThreads(thread_count(n_threads)) as workers:
            workers.map(search, blocks)
        return cls(unit, nearest, similarity)

    def grow(self, X: Any) -> tuple[Indices, Indices]:
        """Pairs that `similar_pairs` of n + R nodes has more than that of n, and those it has less.

        X (R, d) are features of the new nodes, scaled as the others. Pairs (p, 2) are listed once.
        A new node takes the place of the last among the nearest of a known one if it is more
        similar to it.
        """
        (n, k), R = self.nearest.shape, X.shape[0]
        unit = _unit_rows(X)
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


def _distinct_pairs(pairs: Any) -> Indices:
    """Unordered pairs (p, 2), each once, with the lower index first."""
    array = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    return np.unique(np.sort(array, axis=1), axis=0)


def _unit_rows(X: Any) -> Any:
    """Rows of unit length in float32; rows of zeros stay."""
    if sp.issparse(X):
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)).ravel()
    else:
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if sp.issparse(X):
        return sp.csr_array(sp.diags_array(inverse) @ X).astype(np.float32)
    return (X * inverse[:, np.newaxis]).astype(np.float32)


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
