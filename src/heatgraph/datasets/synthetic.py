r"""Random graphs from a degree-corrected stochastic block model.

Classes c have n_c nodes, n in all. Node i of class c has a propensity theta_i, and an edge is drawn
in two steps: its source i with a probability proportional to theta_i; then, with probability
`homophily`, its target j within the class of i, else in the other classes, again by theta_j.
Loops and duplicate edges are redrawn, separately within and between classes, so that the share of
edges within a class is `homophily`.

A directed graph has edges i -> j, and those between classes lead from class c to class c + 1, from
the last one to the first: a cycle of classes.

Propensities follow a power law. With gamma the exponent and beta = 1 / (gamma - 1), the node of
rank r = 0, ..., n_c - 1 in its class has

    theta_r  =  integral from r / n_c to (r + 1) / n_c of (t + f)^(-beta) dt,

so that degrees have a density like k^(-gamma) up to a cap: f > 0 is chosen such that no expected
degree exceeds sqrt(n k), the structural cutoff of a graph of mean degree k. Nodes are drawn by
inverse transform sampling, in closed form:

    t(u)  =  (f^(1-beta) + u ((1+f)^(1-beta) - f^(1-beta)))^(1/(1-beta)) - f.

Features are x_i = signal mu_c + noise, with mu_c of length 1 in a random direction and standard
normal noise. While edges are drawn, each is the integer key min(i, j) n + max(i, j), or i n + j if
directed, so that duplicates are found by sorting. A key takes 8 bytes, as much as the edge in the
graph.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import INDEX_LIMIT, index_dtype, positive_integer, short_repr
from heatgraph._io.memory import require_memory
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split, fraction_split
from heatgraph.errors import InputError
from heatgraph.graph import Graph

Array = npt.NDArray[Any]
Keys = npt.NDArray[np.int64]

# Chunks bound the size of temporary arrays.
CHUNK_EDGES, CHUNK_ROWS = 1 << 18, 1 << 12
# Drawing ends when at most this share of edges is missing.
MISSING_SHARE = 0.005
# Bytes per directed edge, beside its key, while the graph is built and symmetrised.
DIRECTED_EDGE_BYTES = 64
# At least MIN_DRAWS per round, or the last edges of a small graph would take many rounds.
MAX_ROUNDS, MIN_DRAWS = 200, 1000

# Reddit as in DGL's files.
REDDIT_NODES, REDDIT_EDGES, REDDIT_FEATURES, REDDIT_CLASSES = 232_965, 57_307_946, 602, 41
REDDIT_PARTS = (153_431, 23_831, 55_703)
# Largest edge density of a downscaled graph.
MAX_DENSITY = 0.02

# Separate random streams: `fraction_split` permutes nodes with the plain seed, and with the same
# permutation for classes, each part of the split would have its own classes.
_GRAPH, _SPLIT = 1, 2


def make_block_graph(
    num_nodes: int = 1000,
    num_edges: int = 5000,
    num_classes: int = 4,
    num_features: int = 32,
    *,
    homophily: float = 0.8,
    signal: float = 1.0,
    exponent: float = 2.5,
    class_exponent: float = 0.0,
    directed: bool = False,
    seed: int = 0,
) -> Dataset:
    """Draw a graph whose nodes have classes, heavy-tailed degrees and noisy features.

    10^8 edges take about a minute and at most about twice the memory of the edges.

    Parameters
    ----------
    num_nodes, num_classes, num_features : int
    num_edges : int
        Number of undirected edges, or of directed ones; the graph has at most 0.5 % fewer.
    homophily : float in [0, 1]
        Share of edges within a class. Edges independent of classes would have 1 / `num_classes`.
    signal : float >= 0
        Norm of each class's mean feature vector, with noise of standard deviation 1 per feature.
    exponent : float > 2
        Exponent of the power law of degrees; `math.inf` gives equal expected degrees.
    class_exponent : float >= 0
        The class of rank r = 1, 2, ... has a size proportional to 1 / r^class_exponent; 0 makes
        all equal.
    directed : bool
        Draw directed edges, and keep them in the graph. Those between classes lead from each class
        to the next one, in a cycle. With three classes and a homophily of 1/3, directions alone
        tell classes apart: without them, all pairs of nodes are equally likely to be joined.
    seed : int >= 0
        The same seed gives the same graph.

    Returns
    -------
    Dataset
        With a split "fractions": 60 % training, 20 % validation and 20 % test nodes.

    Examples
    --------
    >>> data = make_block_graph(100, 300, num_classes=2, num_features=8)
    >>> data.graph.features.shape, data.split
    ((100, 8), Split(train=60, val=20, test=20))
    """
    random = _random_stream(seed, _GRAPH)
    n = positive_integer(num_nodes, "num_nodes")
    edges = positive_integer(num_edges, "num_edges")
    columns = positive_integer(num_features, "num_features")
    sizes = _class_sizes(n, num_classes, class_exponent)
    _check_number("homophily", homophily, 0.0, 1.0)
    _check_number("signal", signal, 0.0, math.inf)
    if n > INDEX_LIMIT:
        raise InputError(f"num_nodes must be at most {INDEX_LIMIT:,}. Got {n:,}.")
    if not isinstance(directed, bool | np.bool_):
        raise InputError(f"directed must be True or False. Got {directed!r}.")
    _check_memory(n, edges, columns, directed)
    inside = round(edges * homophily)
    _check_pairs(sizes, inside, edges - inside, directed)
    blocks = _Blocks.make(sizes, _cutoff(exponent, n, edges), directed, random)
    labels = np.empty(n, dtype=np.int64)
    labels[blocks.nodes] = np.repeat(np.arange(len(sizes)), sizes)
    graph = _graph(_draw_edges(blocks, inside, edges - inside, random), n, directed)
    split = fraction_split(labels, seed=seed)
    features = _draw_features(labels, columns, len(sizes), signal, random)
    return Dataset(
        "blocks",
        graph._with_features(features),
        labels,
        {"fractions": split},
        source=f"heatgraph.datasets.synthetic.make_block_graph, seed {seed}",
        notes="Synthetic: a degree-corrected stochastic block model.",
    )


def reddit_like(seed: int = 0, scale: float = 1.0) -> Dataset:
    """Draw a graph with the size of Reddit, to measure time and memory without its files.

    Numbers of nodes, edges, features, classes and of nodes in the split "inductive" are those of
    DGL's files. Class sizes and homophily are guesses. `scale` multiplies the numbers of nodes and
    edges; below about 0.1, edges are fewer, to bound the density of the graph.

    Examples
    --------
    >>> reddit_like(scale=0.005).split
    Split(train=767, val=119, test=279)
    """
    _check_number("scale", scale, 0.001, 100.0)
    n = round(REDDIT_NODES * scale)
    edges = min(round(REDDIT_EDGES * scale), int(MAX_DENSITY * n * (n - 1) / 2))
    drawn = make_block_graph(
        n,
        edges,
        REDDIT_CLASSES,
        REDDIT_FEATURES,
        homophily=0.76,
        class_exponent=0.7,
        seed=seed,
    )
    order = _random_stream(seed, _SPLIT).permutation(n)
    train = round(n * REDDIT_PARTS[0] / REDDIT_NODES)
    val = round(n * REDDIT_PARTS[1] / REDDIT_NODES)
    return Dataset(
        "reddit-like",
        drawn.graph,
        drawn.labels,
        {"inductive": Split(*np.split(order, [train, train + val]))},
        source=f"heatgraph.datasets.synthetic.reddit_like, seed {seed}, scale {scale:g}",
        notes=(
            "Synthetic: it has Reddit's counts, for measurements of time and memory, and none of "
            "its data. Accuracies on it are not comparable with those on Reddit. The split is "
            "inductive: fit on graph.subgraph(split.train)."
        ),
    )


@dataclass(frozen=True)
class _Blocks:
    """Nodes sorted by class and, in each class, by descending propensity.

    Class c has the positions starts[c], ..., starts[c + 1] - 1 in `nodes`.
    """

    nodes: Array
    starts: Keys
    offset: float
    beta: float
    directed: bool

    @classmethod
    def make(
        cls,
        sizes: Keys,
        shape: tuple[float, float],
        directed: bool,
        random: np.random.Generator,
    ) -> _Blocks:
        n = int(sizes.sum())
        nodes = random.permutation(n).astype(index_dtype(n))
        return cls(nodes, np.concatenate([[0], np.cumsum(sizes)]), *shape, directed)

    def draw(self, count: int, inside: bool, random: np.random.Generator) -> Keys:
        """Draw at most `count` edges, as keys; loops are dropped."""
        n, starts = len(self.nodes), self.starts
        source = random.random(count) * n
        block = np.searchsorted(starts, source, side="right") - 1
        if self.directed and not inside:
            block = (block + 1) % (len(starts) - 1)
        within_block = inside or self.directed
        start, size = starts[block], starts[block + 1] - starts[block]
        target = random.random(count) * (size if within_block else n - size)
        target += start if within_block else np.where(target >= start, size, 0)
        tail, head = self._by_propensity(source), self._by_propensity(target)
        is_edge = tail != head
        tail, head = tail[is_edge], head[is_edge]
        if self.directed:
            return np.asarray(tail.astype(np.int64) * n + head)
        keys: Keys = np.minimum(tail, head).astype(np.int64)
        keys *= n
        keys += np.maximum(tail, head)
        return keys

    def _by_propensity(self, positions: npt.NDArray[np.float64]) -> Array:
        """Map uniform positions to nodes of the same class, drawn proportionally to theta."""
        # The inner boundaries only, since rounding can lift a position to n.
        block = np.searchsorted(self.starts[1:-1], positions, side="right")
        start = self.starts[block]
        size = self.starts[block + 1] - start
        f, power = self.offset, 1.0 - self.beta
        low, high = f**power, (1.0 + f) ** power
        t = ((positions - start) / size * (high - low) + low) ** (1.0 / power) - f
        rank = np.clip((t * size).astype(np.int64), 0, size - 1)
        drawn: Array = self.nodes[start + rank]
        return drawn


def _draw_edges(blocks: _Blocks, inside: int, between: int, random: np.random.Generator) -> Keys:
    """Sorted keys of distinct edges: `inside` within classes and `between` between them."""
    keys = np.empty(inside + between, dtype=np.int64)
    found = _fill_distinct(keys[:inside], blocks, True, random)
    more = _fill_distinct(keys[inside:], blocks, False, random)
    keys[found : found + more] = keys[inside : inside + more]
    keys = keys[: found + more]
    keys.sort()
    # Rounding moves an edge across a class boundary once in 10^15, so keys can coincide.
    return keys[: _move_distinct(keys)]


def _fill_distinct(keys: Keys, blocks: _Blocks, inside: bool, random: np.random.Generator) -> int:
    """Fill `keys` with distinct edges, up to MISSING_SHARE, and return how many there are."""
    found, missing = 0, int(MISSING_SHARE * len(keys))
    for _ in range(MAX_ROUNDS):
        if found >= len(keys) - missing:
            return found
        for start in range(found, len(keys), CHUNK_EDGES):
            count = min(CHUNK_EDGES, len(keys) - start)
            drawn = blocks.draw(max(count, MIN_DRAWS), inside, random)[:count]
            keys[found : found + len(drawn)] = drawn
            found += len(drawn)
        keys[:found].sort()
        found = _move_distinct(keys[:found])
    kind = "within" if inside else "between"
    raise InputError(
        f"num_edges and homophily ask for {len(keys):,} edges {kind} classes, and only {found:,} "
        f"distinct ones were drawn in {MAX_ROUNDS} rounds. Ask for fewer edges, fewer classes or a "
        "larger exponent."
    )


def _move_distinct(keys: Keys) -> int:
    """Move the distinct values of sorted keys to the front, and return how many there are."""
    found, last = 0, -1
    for start in range(0, len(keys), CHUNK_EDGES):
        chunk = keys[start : start + CHUNK_EDGES]
        distinct = chunk[np.diff(chunk, prepend=last) != 0]
        last = int(chunk[-1])
        keys[found : found + len(distinct)] = distinct
        found += len(distinct)
    return found


def _graph(keys: Keys, n: int, directed: bool) -> Graph:
    """Build a graph without features from sorted keys, which are overwritten."""
    if directed:
        return Graph(_directed_adjacency(keys, n), directed=True)
    return Graph._from_canonical(_adjacency(keys, n))


def _adjacency(keys: Keys, n: int) -> sp.csr_array:
    """Build the symmetric adjacency from sorted keys, which are overwritten.

    Row i has its smaller neighbours first and then its larger ones. As an entry (low, high), edge e
    of the sorted keys is preceded by the e larger neighbours of the edges before it, and by the
    smaller neighbours of all rows up to its own. For the entries (high, low), sort keys with their
    ends exchanged and swap the roles.
    """
    smaller = np.zeros(n + 1, dtype=np.int64)
    larger = np.zeros(n + 1, dtype=np.int64)
    for _, low, high in _chunks_of_ends(keys, n):
        larger[1:] += np.bincount(low, minlength=n)
        smaller[1:] += np.bincount(high, minlength=n)
    np.cumsum(smaller, out=smaller)
    np.cumsum(larger, out=larger)
    indices = np.empty(2 * len(keys), dtype=index_dtype(n))
    for start, low, high in _chunks_of_ends(keys, n):
        indices[np.arange(start, start + len(low)) + smaller[low + 1]] = high
        keys[start : start + len(low)] = high * n + low
    keys.sort()
    for start, high, low in _chunks_of_ends(keys, n):
        indices[np.arange(start, start + len(low)) + larger[high]] = low
    # With another dtype than that of `indices`, SciPy would copy them.
    indptr = (smaller + larger).astype(index_dtype(max(n, len(indices))))
    ones = np.ones(len(indices), dtype=np.int8)
    return sp.csr_array((ones, indices, indptr), shape=(n, n))


def _directed_adjacency(keys: Keys, n: int) -> sp.csr_array:
    """Build the adjacency of directed edges from sorted keys."""
    indptr = np.searchsorted(keys, np.arange(n + 1) * n)
    indices = (keys % n).astype(index_dtype(n))
    return sp.csr_array((np.ones(len(keys), dtype=bool), indices, indptr), shape=(n, n))


def _chunks_of_ends(keys: Keys, n: int) -> Iterator[tuple[int, Keys, Keys]]:
    # `bincount` costs n per chunk, so a chunk has at least n / 4 edges.
    step = max(CHUNK_EDGES, n // 4)
    for start in range(0, len(keys), step):
        first, second = np.divmod(keys[start : start + step], n)
        yield start, first, second


def _draw_features(
    labels: Keys, columns: int, classes: int, signal: float, random: np.random.Generator
) -> npt.NDArray[np.float32]:
    means = random.standard_normal((classes, columns))
    means *= signal / np.linalg.norm(means, axis=1, keepdims=True)
    means = means.astype(np.float32)
    X = np.empty((len(labels), columns), dtype=np.float32)
    for start in range(0, len(labels), CHUNK_ROWS):
        rows = X[start : start + CHUNK_ROWS]
        random.standard_normal(dtype=np.float32, out=rows)
        rows += means[labels[start : start + CHUNK_ROWS]]
    return X


def _cutoff(exponent: float, n: int, edges: int) -> tuple[float, float]:
    """The cutoff f and the power beta of the propensities.

    The largest propensity, relative to the mean, is f^(-beta) over the integral of (t + f)^(-beta).
    It decreases with f; bisection finds the f at which it is sqrt(n / k), for a mean degree of
    k = 2 edges / n.
    """
    if isinstance(exponent, bool) or not isinstance(exponent, int | float) or not exponent > 2:
        raise InputError(
            "exponent must be a number > 2: degrees have no mean otherwise. Got "
            f"{short_repr(exponent)}."
        )
    beta = 1.0 / (exponent - 1.0)
    cap = max(n / math.sqrt(2.0 * edges), 1.0)
    lowest, highest = math.log(1e-12), math.log(1e3)
    for _ in range(60):
        middle = (lowest + highest) / 2
        f = math.exp(middle)
        mean = ((1.0 + f) ** (1.0 - beta) - f ** (1.0 - beta)) / (1.0 - beta)
        lowest, highest = (middle, highest) if f**-beta > cap * mean else (lowest, middle)
    return math.exp(highest), beta


def _class_sizes(n: int, num_classes: int, class_exponent: float) -> Keys:
    """Class sizes: at least one node each, and the rest by a power of the rank."""
    classes = positive_integer(num_classes, "num_classes")
    _check_number("class_exponent", class_exponent, 0.0, 10.0)
    if classes > n:
        raise InputError(f"num_classes must be at most num_nodes, {n:,}. Got {classes:,}.")
    shares = np.arange(1, classes + 1) ** -float(class_exponent)
    ends = np.rint(np.cumsum(shares) / shares.sum() * (n - classes)).astype(np.int64)
    sizes: Keys = np.diff(ends, prepend=0) + 1
    return sizes


def _check_pairs(sizes: Keys, inside: int, between: int, directed: bool) -> None:
    """Refuse more edges than there are pairs of nodes."""
    n = int(sizes.sum())
    pairs_inside = sum(size * (size - 1) // 2 for size in sizes.tolist())
    pairs_between = n * (n - 1) // 2 - pairs_inside
    if directed:
        pairs_inside *= 2
        following = np.roll(sizes, -1).tolist() if len(sizes) > 1 else [0]
        pairs_between = sum(map(operator.mul, sizes.tolist(), following))
    for kind, requested, available in (
        ("within", inside, pairs_inside),
        ("between", between, pairs_between),
    ):
        if requested > available:
            raise InputError(
                f"num_edges and homophily ask for {requested:,} edges {kind} classes, and there "
                f"are {available:,} pairs of such nodes. Ask for fewer edges or another homophily."
            )


def _check_memory(n: int, edges: int, columns: int, directed: bool) -> None:
    """Check both peaks of memory: keys and the graph, then features and the graph."""
    drawing = DIRECTED_EDGE_BYTES * edges if directed else 8 * edges
    needed = 8 * edges + max(drawing, 4 * n * columns) + 40 * n
    what = f"a graph of {n:,} nodes with {columns:,} features and {edges:,} edges"
    require_memory(what, needed)


def _check_number(name: str, value: Any, least: float, most: float) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (least <= value <= most and math.isfinite(value)):
        expected = f"in [{least:g}, {most:g}]" if math.isfinite(most) else f">= {least:g}"
        raise InputError(f"{name} must be a number {expected}. Got {short_repr(value)}.")


def _random_stream(seed: int, stream: int) -> np.random.Generator:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be an integer >= 0. Got {short_repr(seed)}.")
    return np.random.default_rng([int(seed), stream])
