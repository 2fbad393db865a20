"""Reorder the nodes of a graph so that neighbours are close in memory.

A product gathers the rows of each node's neighbours. On graphs beyond the cache it is faster if
neighbours have nearby indices. Communities, found by label propagation on a sample of the edges and
limited to what a cache holds, are numbered one after the other. Diffusion runs on the reordered
graph and permutes its results back.

`order` (n,) lists the nodes of the given graph in their new order, and `rank` is the inverse
permutation, ``rank[order[k]] == k``.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.graph import Graph

Array = npt.NDArray[Any]

# Nodes whose rows of 256 bytes fit in the cache: the bound on the size of a community, and on the
# distance of indices at which neighbours count as local.
CACHE_NODES = 1 << 16
# Label propagation ends after this many passes, or when a smaller share of nodes changes its label.
MAX_PASSES, MIN_CHANGED = 6, 0.02
# Neighbours that are sampled for a node's label, and edges that locality is measured on.
SAMPLED_NEIGHBOURS, SAMPLED_EDGES = 32, 1 << 20
# Edges in one call of a kernel, which takes about 100 ms: Ctrl-C has to wait for it.
RANGE_EDGES = 5_000_000
# The least gain in locality for which the graph is reordered.
MIN_LOCALITY_GAIN = 0.15

# Threads that share a graph reorder it once.
_REORDERING = threading.Lock()


@dataclass(frozen=True)
class ReorderedGraph:
    """A graph whose node k is the given graph's node ``order[k]``."""

    graph: Graph
    order: Array
    rank: Array


def reordered_graph(graph: Graph) -> ReorderedGraph | None:
    """Reorder a graph; None if that gains too little locality.

    The result is cached with the graph, and shared with graphs that have the same edges and other
    features. The order is saved with the graph.
    """
    with _REORDERING:
        if "reordered_graph" not in graph.cache:
            graph.cache["reordered_graph"] = _reorder(graph)
    reordered: ReorderedGraph | None = graph.cache["reordered_graph"]
    return reordered


def is_reordering_cached(graph: Graph) -> bool:
    """Whether `reordered_graph` has its answer cached."""
    return "reordered_graph" in graph.cache


def edge_locality(graph: Graph, rank: Array) -> float:
    """Share of edges, in a sample, whose ends have ranks less than CACHE_NODES apart."""
    step = max(1, len(graph.indices) // SAMPLED_EDGES)
    edges = np.arange(0, len(graph.indices), step)
    rows = np.searchsorted(graph.indptr, edges, side="right") - 1
    distance = np.abs(rank[rows].astype(np.int64) - rank[graph.indices[edges]])
    return float((distance < CACHE_NODES).mean()) if len(edges) else 1.0


def _reorder(graph: Graph) -> ReorderedGraph | None:
    n, index = graph.num_nodes, graph.indices.dtype
    known_order = graph.cache.get("order")
    order: Array = _community_order(graph) if known_order is None else known_order
    rank = np.empty(n, dtype=index)
    rank[order] = np.arange(n, dtype=index)
    if known_order is None:
        gain = edge_locality(graph, rank) - edge_locality(graph, np.arange(n))
        if gain < MIN_LOCALITY_GAIN:
            return None
        graph.cache["order"] = order
    return ReorderedGraph(_permute(graph, order, rank), order, rank)


def _permute(graph: Graph, order: Array, rank: Array) -> Graph:
    """The graph of A[order][:, order]."""
    from heatgraph._engine.plain_kernels import permute_symmetric

    indptr = np.concatenate([[0], np.cumsum(np.diff(graph.indptr)[order])])
    indices = np.empty_like(graph.indices)
    weights = None if graph.weights is None else np.empty_like(graph.weights)
    given = (graph.indptr, graph.indices, graph.weights)
    row_end = indptr[:-1].copy()
    for nodes in _node_ranges(indptr):
        permute_symmetric(*given, order, rank, row_end, indices, weights, *nodes)
    return graph._replace_edges(indptr, indices, weights)


def _community_order(graph: Graph) -> Array:
    """An order in which the nodes of each community are consecutive."""
    from heatgraph._engine.plain_kernels import propagate_labels

    n, index = graph.num_nodes, graph.indices.dtype
    labels, sizes = np.arange(n, dtype=index), np.ones(n, dtype=index)
    counts = np.zeros(n, dtype=index)
    edges = (graph.indptr, graph.indices)
    limits = (SAMPLED_NEIGHBOURS, CACHE_NODES)
    for _ in range(MAX_PASSES):
        changed = sum(
            propagate_labels(*edges, labels, sizes, counts, *limits, *nodes)
            for nodes in _node_ranges(graph.indptr)
        )
        if changed < MIN_CHANGED * n:
            break
    return np.argsort(labels, kind="stable").astype(index)


def _node_ranges(indptr: Array) -> list[tuple[int, int]]:
    """Cut the nodes into ranges with about RANGE_EDGES edges each."""
    pieces = 1 + int(indptr[-1]) // RANGE_EDGES
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], pieces + 1)).tolist()
    return list(pairwise([0, *cuts[1:-1], len(indptr) - 1]))
