"""Block graphs whose classes mix in any way: some agree with their neighbours, others differ.

The edges between classes c and k, or those from c to k if edges are directed, are proportional to
mixing[c, k]. A node of class c has features

    x  =  signal * centre[group of c] + noise,

with centres of norm 1 and noise of standard deviation 1 per feature. Classes of one group have the
same features, so that only edges tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from heatgraph import Graph, Split, fraction_split

FEATURES = 32
MIN_NODES = 100


def agreeing(classes: int, homophily: float) -> np.ndarray:
    """A share of edges within classes, and the others evenly between them."""
    mixing = np.full((classes, classes), (1 - homophily) / (classes - 1))
    np.fill_diagonal(mixing, homophily)
    return mixing


def ring(classes: int, share: float) -> np.ndarray:
    """A share of edges to the next class of a ring or the one before, and the others evenly."""
    nodes = np.arange(classes)
    mixing = np.full((classes, classes), (1 - share) / classes)
    for step in (-1, 1):
        mixing[nodes, (nodes + step) % classes] += share / 2
    return mixing


def cycle(classes: int, share: float) -> np.ndarray:
    """A share of edges to the next class of a cycle, and the others evenly."""
    return share * np.roll(np.eye(classes), 1, axis=1) + (1 - share) / classes


def joined(*parts: np.ndarray, share: float) -> np.ndarray:
    """Groups of classes that mix as the parts say, with a share of edges within groups."""
    within = np.zeros((sum(map(len, parts)),) * 2)
    start = 0
    for part in parts:
        stop = start + len(part)
        within[start:stop, start:stop] = part * len(part) / part.sum()
        start = stop
    return share * within / len(within) + (1 - share) / within.size


@dataclass(frozen=True, eq=False)
class MixedBlocks:
    """A family of block graphs, one for each seed.

    Parameters
    ----------
    name : str
    mixing : array of shape (C, C)
        Relative numbers of edges between classes.
    nodes, degree : int
        Number of nodes, and mean degree before duplicates and self-loops are dropped.
    signal : float
        Norm of each class's mean feature vector.
    groups : tuple of int
        The group of each class whose features have the same mean; empty for a group per class.
    exponent : float
        Exponent of the power law of degrees; `inf` gives equal expected degrees.
    is_mixed : bool
        Whether some classes agree with their neighbours and others differ.
    directed : bool
        Whether the graph keeps directed edges; mixing[c, k] are then those from c to k.
    """

    name: str
    mixing: np.ndarray
    nodes: int
    degree: int
    signal: float
    groups: tuple[int, ...] = ()
    exponent: float = np.inf
    is_mixed: bool = False
    directed: bool = False

    def scaled(self, scale: float) -> MixedBlocks:
        """The same with fewer or more nodes."""
        return replace(self, nodes=max(MIN_NODES, round(scale * self.nodes)))

    def draw(self, seed: int) -> tuple[Graph, np.ndarray, Split]:
        """A graph, labels and a split of 60 % training, 20 % validation and 20 % test nodes."""
        random = np.random.default_rng([seed, self.nodes])
        classes = len(self.mixing)
        labels = random.permutation(np.arange(self.nodes) % classes)
        ends = self._draw_edges(labels, random)
        adjacency = sp.coo_array((np.ones(len(ends[0]), dtype=bool), ends), (self.nodes,) * 2)
        if not self.directed:
            adjacency = adjacency + adjacency.T
        adjacency = adjacency.tolil()
        adjacency.setdiag(False)
        features = self._draw_features(labels, random)
        graph = Graph(adjacency.tocsr(), features, directed=self.directed)
        return graph, labels, fraction_split(labels, seed=seed)

    def _draw_edges(
        self, labels: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        count = self.nodes * self.degree // 2
        shares = self.mixing.ravel() / self.mixing.sum()
        pairs = random.choice(self.mixing.size, count, p=shares)
        propensities = np.ones(self.nodes)
        if np.isfinite(self.exponent):
            propensities += random.pareto(self.exponent - 1, self.nodes)
            np.minimum(propensities, np.sqrt(self.nodes), out=propensities)
        sources, targets = np.divmod(pairs, len(self.mixing))
        return tuple(self._draw_nodes(codes, labels, propensities, random)
                     for codes in (sources, targets))  # fmt: skip

    def _draw_nodes(
        self,
        codes: np.ndarray,
        labels: np.ndarray,
        propensities: np.ndarray,
        random: np.random.Generator,
    ) -> np.ndarray:
        """A node of each class in `codes`, in proportion to propensities."""
        drawn = np.empty(len(codes), dtype=np.int64)
        for code in range(len(self.mixing)):
            members, places = np.flatnonzero(labels == code), np.flatnonzero(codes == code)
            shares = propensities[members] / propensities[members].sum()
            drawn[places] = random.choice(members, len(places), p=shares)
        return drawn

    def _draw_features(self, labels: np.ndarray, random: np.random.Generator) -> np.ndarray:
        groups = np.array(self.groups or range(len(self.mixing)))
        centres = random.standard_normal((groups.max() + 1, FEATURES))
        centres *= self.signal / np.linalg.norm(centres, axis=1, keepdims=True)
        noise = random.standard_normal((self.nodes, FEATURES))
        return (centres[groups[labels]] + noise).astype(np.float32)
