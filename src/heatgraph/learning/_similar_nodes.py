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
        scaled = graph.with_features(scaling.apply(graph.features, np.dtype(np.float32)))
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
    unit = _unit_rows(X)
    n = unit.shape[0]
    size = max(1, min(n, BLOCK_ENTRIES // n))
    blocks = [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
    found: dict[int, tuple[Indices, Indices]] = {}

    def search(block: Indices) -> None:
        similarities = _similarities(unit, block)
        similarities[block, np.arange(len(block))] = -1
        nearest, column = _largest_by_column(similarities, k)
        found[int(block[0])] = block[column], nearest

    with SingleBlasThread(), WorkerThreads(thread_count(n_threads)) as workers:
        workers.map(search, blocks)
    nodes, nearest = (np.concatenate(part) for part in zip(*found.values(), strict=True))
    ones = np.ones(len(nodes))
    directed = sp.csr_array((ones, (nodes, nearest)), shape=(n, n))
    return sp.csr_array(directed.maximum(directed.T))


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


def _similarities(unit: Any, block: Indices) -> Array:
    """Cosines (n, b) between all nodes and those of a block."""
    if sp.issparse(unit):
        columns = np.ascontiguousarray(unit[block].toarray().T)
        return sparse_times_dense(unit, columns, n_threads=1)
    return np.asarray(unit @ unit[block].T)


def _largest_by_column(values: Array, k: int) -> tuple[Indices, Indices]:
    """Rows and columns of the k largest positive values of each column."""
    sample = values[::STRIDE]
    threshold = np.zeros(values.shape[1], dtype=values.dtype)
    if len(sample) > k:
        threshold = np.maximum(np.partition(sample, len(sample) - k, axis=0)[-k], threshold)
    threshold[threshold <= 0] = np.finfo(values.dtype).tiny
    row, column = np.divmod(np.flatnonzero(values >= threshold), values.shape[1])
    order = np.lexsort((row, -values[row, column], column))
    row, column = row[order], column[order]
    first = np.searchsorted(column, column)
    kept = np.arange(len(column)) - first < k
    return row[kept], column[kept]
