"""An order of nodes in which neighbours are near each other, for graphs beyond the cache.

A product gathers the rows of each node's neighbours. Where nodes are numbered by chance, every row
comes from far away; where communities are numbered one after the other, most of them have just been
there. Communities come from label propagation: every node takes the label that most of its
neighbours have, over and over, and none may grow beyond what a cache holds. That is a few passes
over a sample of the edges. The order is used inside a diffusion and undone on the way out.
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

# Threads that share a graph find its order once.
_ONE_AT_A_TIME = threading.Lock()

# Nodes whose rows a cache holds, 256 bytes each: the largest community, and what counts as near.
NEAR = 1 << 16
# Passes of label propagation, at most; and the share of nodes that change below which it is done.
PASSES, SETTLED = 6, 0.02
# Neighbours of a node that are asked, and edges that nearness is measured on.
ASKED, SAMPLED = 32, 1 << 20
# Edges at a time: some 100 ms, which Ctrl-C may have to wait for.
RANGE_EDGES = 5_000_000
# An order is kept if it brings this share of all edges near.
WORTHWHILE = 0.15


@dataclass(frozen=True)
class ReorderedGraph:
    """A graph whose nodes are in another order: its node k is the given graph's ``order[k]``.

    ``rank[order[k]]`` is k.
    """

    graph: Graph
    order: Array
    rank: Array


def reordered_graph(graph: Graph) -> ReorderedGraph | None:
    """Give the graph in an order with near neighbours, or None if none is found that is better.

    The answer is kept with the graph, also for the same edges with other features, and an order
    goes into its file.
    """
    kept = graph.cache
    with _ONE_AT_A_TIME:
        if "arrangement" not in kept:
            kept["arrangement"] = _arrange(graph)
    arrangement: ReorderedGraph | None = kept["arrangement"]
    return arrangement


def edge_locality(graph: Graph, rank: Array) -> float:
    """Share of edges, of a sample, whose ends are near each other when nodes have these ranks."""
    step = max(1, len(graph.indices) // SAMPLED)
    edges = np.arange(0, len(graph.indices), step)
    ends = np.searchsorted(graph.indptr, edges, side="right") - 1
    apart = np.abs(rank[ends].astype(np.int64) - rank[graph.indices[edges]])
    return float((apart < NEAR).mean()) if len(edges) else 1.0


def _arrange(graph: Graph) -> ReorderedGraph | None:
    from heatgraph._engine.kernels import permute

    n, index = graph.num_nodes, graph.indices.dtype
    order = graph.cache.get("order")
    if order is None:
        order = _by_community(graph)
    rank = np.empty(n, dtype=index)
    rank[order] = np.arange(n, dtype=index)
    if "order" not in graph.cache:
        if edge_locality(graph, rank) - edge_locality(graph, np.arange(n)) < WORTHWHILE:
            return None
        graph.cache["order"] = order
    indptr = np.concatenate([[0], np.cumsum(np.diff(graph.indptr)[order])])
    indices = np.empty_like(graph.indices)
    weights = None if graph.weights is None else np.empty_like(graph.weights)
    end = indptr[:-1].copy()
    for nodes in _ranges(indptr):
        permute(
            graph.indptr, graph.indices, graph.weights, order, rank, end, indices, weights, *nodes
        )
    return ReorderedGraph(graph._with_edges(indptr, indices, weights), order, rank)


def _by_community(graph: Graph) -> Array:
    """An order in which communities come one after the other."""
    from heatgraph._engine.kernels import join_communities

    n, index = graph.num_nodes, graph.indices.dtype
    labels, sizes = np.arange(n, dtype=index), np.ones(n, dtype=index)
    counts = np.zeros(n, dtype=index)
    edges = (graph.indptr, graph.indices)
    for _ in range(PASSES):
        changed = sum(
            join_communities(*edges, labels, sizes, counts, ASKED, NEAR, *nodes)
            for nodes in _ranges(graph.indptr)
        )
        if changed < SETTLED * n:
            break
    return np.argsort(labels, kind="stable").astype(index)


def _ranges(indptr: Array) -> list[tuple[int, int]]:
    """Cut nodes into ranges with so many edges that work on one can be waited for."""
    pieces = 1 + int(indptr[-1]) // RANGE_EDGES
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], pieces + 1)).tolist()
    return list(pairwise([0, *cuts[1:-1], len(indptr) - 1]))
