"""A connected sample of a graph that is too large to be drawn.

Neighbourhoods grow from a few nodes, all at once and one step at a time, until there are enough
nodes. So most nodes of the sample have their neighbours with them, which a sample of single nodes
would not have.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from heatgraph.graph import Graph

Indices = npt.NDArray[np.int64]

# Nodes from which a sample grows.
NUM_SEEDS = 200
SEED = 0


def sample_nodes(graph: Graph, count: int) -> Indices:
    """Sorted indices of `count` nodes; of all if there are no more.

    Examples
    --------
    >>> path = Graph.from_edges(range(9), range(1, 10), num_nodes=10, symmetrize="max")
    >>> len(sample_nodes(path, 4))
    4
    """
    n = graph.num_nodes
    if n <= count:
        return np.arange(n)
    rng = np.random.default_rng(SEED)
    order = rng.permutation(n)
    is_taken = np.zeros(n, dtype=bool)
    frontier = order[: min(NUM_SEEDS, count)]
    is_taken[frontier] = True
    taken, next_seed = len(frontier), 0
    adjacency = graph.adjacency
    while taken < count:
        found = np.unique(adjacency[frontier].indices)
        found = found[~is_taken[found]]
        if len(found) == 0:
            # All components of the seeds are complete: go on from another node.
            while is_taken[order[next_seed]]:
                next_seed += 1
            found = order[next_seed : next_seed + 1]
        if len(found) > count - taken:
            found = rng.permutation(found)[: count - taken]
        is_taken[found] = True
        taken += len(found)
        frontier = found
    return np.flatnonzero(is_taken)
