"""Hypothesis strategies: graphs of every shape that the engine must get right, and schemes."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from heatgraph import Graph, PersonalizedPageRank
from heatgraph._engine.memory_estimate import GraphSizes, Request
from heatgraph.schemes import SCHEMES

seeds = st.integers(0, 2**32 - 1)
precisions = st.sampled_from([np.dtype(np.float32), np.dtype(np.float64)])


@st.composite
def adjacencies(draw, max_nodes=12):
    """Dense symmetric weights: weighted or not, with self-loops, isolated nodes, several
    components, bipartite (so that -1 is an eigenvalue), one node, no edges."""
    n = draw(st.integers(1, max_nodes))
    random = np.random.default_rng(draw(seeds))
    A = random.random((n, n)) < draw(st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]))
    A = np.triu(A, k=0 if draw(st.booleans()) else 1).astype(np.float64)
    kind = draw(st.sampled_from(["any", "bipartite", "two components", "isolated"]))
    half = n // 2
    if kind == "bipartite":
        A[:half, :half] = A[half:, half:] = 0
    elif kind == "two components":
        A[:half, half:] = 0
    elif kind == "isolated":
        A[:, : half + 1] = A[: half + 1] = 0
    if draw(st.booleans()):
        A *= np.exp(random.normal(scale=2, size=(n, n)))
    return A + np.triu(A, 1).T


@st.composite
def features(draw, n, max_columns=5):
    random = np.random.default_rng(draw(seeds))
    X = random.normal(size=(n, draw(st.integers(1, max_columns))))
    X[random.random(X.shape) < 0.4] = 0
    return sp.csr_array(X) if draw(st.booleans()) else X


@st.composite
def graphs(draw, max_nodes=12, featureless=False):
    A = draw(adjacencies(max_nodes))
    X = None if featureless else draw(features(len(A)))
    return Graph(sp.csr_array(A), X)


@st.composite
def directed_adjacencies(draw, max_nodes=12):
    """Dense weights of directed edges: entries of a symmetric matrix, some missing or doubled."""
    A = draw(adjacencies(max_nodes))
    random = np.random.default_rng(draw(seeds))
    A = A * (random.random(A.shape) < 0.6)
    return A * random.integers(1, 3, A.shape) if draw(st.booleans()) else A


@st.composite
def directed_graphs(draw, max_nodes=12):
    A = draw(directed_adjacencies(max_nodes))
    return Graph(sp.csr_array(A), draw(features(len(A))), directed=True)


times = st.floats(0, 20, allow_subnormal=False)


def stable_schemes(kind):
    """Schemes of one class, with any parameters that are stable and quick."""
    if kind is PersonalizedPageRank:
        return st.floats(0.05, 1).map(kind)
    if not kind.takes_K:
        return times.map(kind)

    def with_time(T):
        fewest = max(1, kind(T, 10**6).smallest_stable_steps())
        return st.integers(fewest, 60).map(lambda K: kind(T, K))

    return times.flatmap(with_time)


schemes = st.one_of(*map(stable_schemes, [*SCHEMES.values(), PersonalizedPageRank]))
stepped_schemes = st.one_of(*(stable_schemes(kind) for kind in SCHEMES.values() if kind.takes_K))


def sizes(largest):
    """Whole numbers from 1, as often small as large."""
    return st.floats(0, float(np.log(largest))).map(lambda log: min(largest, int(np.exp(log))))


@st.composite
def requests(draw):
    """Sizes of diffusions, small and large, for the plan and the memory estimate."""
    n = draw(sizes(10**7))
    kind = draw(st.sampled_from([None, "dense", "sparse"]))
    d = draw(sizes(10**4))
    entries = draw(st.integers(0, n * d)) if kind == "sparse" else n * d
    graph = GraphSizes(
        num_nodes=n,
        num_edges=draw(st.integers(0, 50)) * n,
        weight_bytes=draw(st.sampled_from([0, 4, 8])),
        num_features=0 if kind is None else d,
        feature_entries=0 if kind is None else entries,
        features_dtype=None if kind is None else draw(precisions),
        sparse_features=kind == "sparse",
        permutation_cached=draw(st.booleans()),
        components_cached=draw(st.booleans()),
    )
    degree = draw(st.none() | st.integers(0, 100))
    M = draw(st.integers(1, 5))
    dtype = draw(precisions)
    return Request(
        graph=graph,
        num_schemes=M,
        num_rows=draw(st.none() | st.just(0) | sizes(n)),
        products=draw(st.integers(M, 500)) if degree is None else degree,
        degree=degree,
        step_panels=draw(st.integers(4, 8)) if degree is None else 0,
        dtype=dtype,
        working_dtype=np.dtype(np.float64) if draw(st.booleans()) else dtype,
        destination=draw(st.sampled_from(["memory", "array", "file"])),
        checks_oversmoothing=draw(st.booleans()),
    )


# The kinds of features that a graph may have, made of a dense array.
MATRICES = {
    "float32": lambda X: X.astype(np.float32),
    "float64": lambda X: X.astype(np.float64),
    "sparse float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "sparse float64": lambda X: sp.csr_array(X.astype(np.float64)),
}


def random_graph(n=3000, edges=20_000, d=70, seed=0, weighted=False):
    """A graph of uniformly random edges, large enough to be cut into panels and ranges."""
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, n, (2, edges))
    X = random.normal(size=(n, d)).astype(np.float32)
    weight = random.random(edges) if weighted else None
    return Graph.from_edges(src, dst, weight, features=X, symmetrize="max", duplicates="max")


def planted(n=90, classes=3, seed=0, kind="words", noise=1.0):
    """A graph whose edges and features follow its classes: the graph, and the classes.

    Features are "words" (sparse counts), "dense" (normal) or None.
    """
    random = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    same = labels[:, np.newaxis] == labels
    upper = np.triu(random.random((n, n)) < np.where(same, 12 / n, 1.5 / n), k=1)
    centres = random.random((classes, 12)) * (random.random((classes, 12)) < 0.4)
    if kind == "words":
        X = sp.csr_array(random.poisson(noise * 0.15 + centres[labels]).astype(np.float64))
    elif kind == "dense":
        X = centres[labels] + noise * random.normal(size=(n, 12))
    else:
        X = None
    return Graph(upper | upper.T, X), labels
