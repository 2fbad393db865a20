"""What the labels of neighbours tell: adjusted homophily and label informativeness.

With p(a, b) the share of edges that lead from a node of class a to one of class b, both directions
counted, and q(a) = sum_b p(a, b) the share of their ends in class a (Platonov, Kuznedelev, Babenko
and Prokhorenkova 2023; Newman's assortativity is the same number as the first):

    homophily        =  (sum_a p(a, a) - sum_a q(a)^2) / (1 - sum_a q(a)^2),

    informativeness  =  sum_ab p(a, b) log(p(a, b) / (q(a) q(b))) / H(q)  =  2 - H(p) / H(q),

with the entropy H. Both are 0 for random edges and 1 if every edge joins two nodes of one class.
Homophily is negative if neighbours differ more often than at random. Informativeness, the share of
the uncertainty about a node's class that the class of one neighbour removes, is then still
positive, and 1 if neighbours always differ in the same way, as the two sides of a bipartite graph.

Only edges count whose two ends are labelled; each counts once, whatever its weight, and self-loops
do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.graph import Graph

# At least this many edges between labelled nodes are needed to judge by labels.
MIN_LABELLED_EDGES = 30
# Homophily above which neighbours agree.
AGREEING = 0.1
# Informativeness, above chance, from which neighbours tell something about each other: two classes
# in equal parts have it at a homophily of -0.2.
INFORMATIVE = 0.03
# Edges counted at a time, which bounds the memory of temporary arrays.
BLOCK_EDGES = 1 << 20

Relation = Literal["agree", "differ", "independent", "unclear"]


@dataclass(frozen=True)
class Homophily:
    """How much more often than at random the ends of an edge share a label.

    `share` is the share of the `edges` between labelled nodes whose ends do, `chance` its
    expectation for random edges, `value` the adjusted homophily (share - chance) / (1 - chance),
    and `error` its standard error.
    """

    edges: int
    share: float
    chance: float
    value: float
    error: float


@dataclass(frozen=True)
class Informativeness:
    """How much the label of a neighbour tells about a node's own.

    `value` is the label informativeness, `chance` its expectation for as many random edges, which
    is above 0, and `error` its standard deviation for them.
    """

    value: float
    chance: float
    error: float


@dataclass(frozen=True)
class Neighbours:
    """How labels of neighbours are related, as a sentence, and what a fit does about it."""

    relation: Relation
    finding: str
    consequence: str


def measure_neighbours(
    graph: Graph, codes: npt.NDArray[np.int64]
) -> tuple[Homophily, Informativeness] | None:
    """Homophily and informativeness by class indices (n,), -1 for unlabelled nodes.

    None if no edge joins labelled nodes, or if the ends of those that do have one class.

    Examples
    --------
    >>> square = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], num_nodes=4, symmetrize="max")
    >>> homophily, informativeness = measure_neighbours(square, np.array([0, 1, 0, 1]))
    >>> homophily.value, informativeness.value
    (-1.0, 1.0)
    """
    pairs = _count_pairs(graph, codes)
    ends = np.asarray(pairs.sum(axis=1))
    num_classes, edges = int(np.count_nonzero(ends)), int(ends.sum()) // 2
    if num_classes < 2:
        return None
    share = float(pairs.diagonal().sum()) / (2 * edges)
    chance = float(((ends / (2 * edges)) ** 2).sum())
    # Add one edge of either kind (Laplace smoothing), so that few edges keep a standard error.
    smoothed = (share * edges + 1) / (edges + 2)
    error = float(np.sqrt(smoothed * (1 - smoothed) / edges)) / (1 - chance)
    homophily = Homophily(edges, share, chance, (share - chance) / (1 - chance), error)
    H = _entropy(ends)
    value = max(0.0, 2 - _entropy(pairs.data) / H)
    # For random edges, 2 edges H value has a chi-squared distribution (Wilks).
    freedom = num_classes * (num_classes - 1) / 2
    scale = 2 * edges * H
    return homophily, Informativeness(value, freedom / scale, float(np.sqrt(2 * freedom)) / scale)


def judge_neighbours(
    homophily: Homophily | None, informativeness: Informativeness | None, has_features: bool
) -> Neighbours | None:
    """Whether neighbours agree, differ or tell nothing; None with too few labelled edges to tell.

    A relation is stated if it holds within two standard errors.
    """
    if homophily is None or informativeness is None or homophily.edges < MIN_LABELLED_EDGES:
        return None
    told, margin = informativeness.value - informativeness.chance, 2 * informativeness.error
    relation: Relation = "unclear"
    if homophily.value - 2 * homophily.error > AGREEING:
        relation = "agree"
    elif homophily.value < AGREEING and told - margin > INFORMATIVE:
        relation = "differ"
    elif homophily.value + 2 * homophily.error < AGREEING and told + margin < INFORMATIVE:
        relation = "independent"
    finding = _FINDINGS[relation].format(homophily.value, informativeness.value)
    if not has_features:
        return Neighbours(relation, finding, "Without features, a fit has only the edges.")
    return Neighbours(relation, finding, _CONSEQUENCES[relation])


_FINDINGS = {
    "agree": "Neighbours mostly agree.",
    "differ": "Neighbours differ in an informative way: the label of one removes {1:.0%} of the "
    "uncertainty about the other's.",
    "independent": "Labels of neighbours tell next to nothing about each other.",
    "unclear": "Whether neighbours agree is not certain.",
}
_COMPARES = (
    "a fit compares features alone, and beside diffused features those of a node itself, of its "
    "neighbours, and rows of the adjacency."
)
_CONSEQUENCES = {
    "agree": "A fit diffuses features along the edges, and compares that with features alone and "
    "with rows of the adjacency.",
    "differ": f"Diffusion blurs that: {_COMPARES}",
    "independent": f"The graph may not help: {_COMPARES}",
    "unclear": f"{_COMPARES[0].upper()}{_COMPARES[1:]}",
}


def _count_pairs(graph: Graph, codes: npt.NDArray[np.int64]) -> sp.csr_array:
    """How often each pair of classes is joined: (C, C), both directions, without self-loops."""
    num_classes = int(codes.max(initial=-1)) + 1
    counts = sp.csr_array((num_classes, num_classes), dtype=np.int64)
    indptr, indices = graph.indptr, graph.indices
    starts = np.searchsorted(indptr, np.arange(0, len(indices), BLOCK_EDGES), side="right") - 1
    bounds = np.append(np.unique(starts), graph.num_nodes)
    for first, last in pairwise(bounds.tolist()):
        src = np.repeat(np.arange(first, last), np.diff(indptr[first : last + 1]))
        dst = indices[indptr[first] : indptr[last]]
        counted = (codes[src] >= 0) & (codes[dst] >= 0) & (src != dst)
        joined = codes[src[counted]], codes[dst[counted]]
        ones = np.ones(len(joined[0]), dtype=np.int64)
        counts = counts + sp.coo_array((ones, joined), shape=counts.shape).tocsr()
    return counts


def _entropy(counts: npt.NDArray[Any]) -> float:
    """Entropy of a distribution given by counts, in nats."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
