"""Edges between nodes of similar features, beside those of the graph.

The k nearest neighbours of a node are those with the largest cosine similarity of features. With N
(n, n) the symmetric pattern of all pairs of which one is among the nearest of the other, diffusion
runs on

    A + SIMILAR_WEIGHT N,

so that features also spread between nodes without a path of edges. A model of it is combined with
that of A (`heatgraph.learning._extensions`): alone it is less accurate on most graphs.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from heatgraph._io.formatting import format_bytes
from heatgraph.graph import Graph
from heatgraph.learning._approximate_neighbours import (
    INSTALL,
    approximate_memory,
    is_extra_installed,
)
from heatgraph.learning._nearest_nodes import MAX_EXACT_WORK, NearestNodes, exact_work
from heatgraph.learning.scaling import Scaling

# Nearest neighbours of a node, and the weight of their edges beside weights of 1.
NUM_SIMILAR, SIMILAR_WEIGHT = 10, 0.1
# Share of the memory budget that an approximate search may take.
MEMORY_SHARE = 0.5

_SIMILAR_GRAPHS: WeakKeyDictionary[Graph, tuple[Scaling, Graph]] = WeakKeyDictionary()


def why_unaffordable(graph: Graph, memory_budget: float) -> str | None:
    """Why a search does not look for similar nodes of a graph with features by itself.

    None if that takes no more than seconds, or the extra for larger graphs is installed and takes
    no more than its share of the memory budget, in bytes.
    """
    X, n = graph.features, graph.num_nodes
    if exact_work(X) <= MAX_EXACT_WORK:
        return None
    if not is_extra_installed():
        return (
            f"comparing {n:,} nodes with each other takes too long. {INSTALL} finds similar ones "
            "approximately."
        )
    needed = approximate_memory(X)
    if needed <= MEMORY_SHARE * memory_budget:
        return None
    return (
        f"finding those of {n:,} nodes takes {format_bytes(needed)}, more than half of the memory "
        f"budget of {format_bytes(memory_budget)}."
    )


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
