"""Diffused columns at nodes that join a graph, computed in their neighbourhood.

A graph of n nodes, whose columns x (n, C) were diffused before, gets R new nodes, and some of its
edges may change. Wanted are the rows of p(S') x' at the new nodes, where p = sum_k c_k T_k is the
Chebyshev series of a response, and S' and x' belong to the larger graph.

**Clenshaw's recurrence** computes p(S) x from b_{K+1} = b_{K+2} = 0, downwards, by

    b_k = c_k x + 2 S b_{k+1} - b_{k+2},        p(S) x = c_0 x + S b_1 - b_2.

The vectors b_1, ..., b_K of the graph before are kept (`ClenshawVectors`). In the larger graph they
still satisfy the recurrence at all nodes but the *sources*: the new nodes, and nodes at which edges
have changed. For this, they are scaled by the roots of the degrees: y = D^(-1/2) b obeys the
recurrence with the random walk matrix D^-1 A, whose rows depend on no other node's degree. So, with
rho_k the residuals at the sources, the true vectors are b' = D'^(1/2) y + d, with

    d_k = rho_k + 2 S' d_{k+1} - d_{k+2}.

**The neighbourhood.** On a set of nodes W that contains the sources, d is computed with the block
of S' within W, as if it were zero beyond. Let d~ be the result. The true error of the scores at a
new node i is

    sum_l  (T_l(S') e_i)^T r_l,        r_l = 2 S'[beyond W, W] d~_{l+1},

since r_l is what is missing in the recurrence, and it is missing beyond W only. There, the vectors
t_l = T_l(S') e_i are what left W before: if t~_l are the same vectors computed within W, and
delta_j = 2 S'[beyond W, W] t~_{j-1}, then t_l - t~_l = sum_{j <= l} U_{l-j}(S') delta_j, with
Chebyshev polynomials of the second kind, |U_m| <= m + 1. By Cauchy and Schwarz, for a node o beyond
W, with A the larger graph's and D its degrees,

    (sum_m S'[o, m] v_m)^2  <=  (sum_m A[o, m] / D_o)  sum_m A[o, m] v_m^2 / D_m,

so that |S'[beyond W, W] v|^2 <= sum_m lambda_m v_m^2, where lambda_m is the share of the degree of
m that leads out of W, each edge times the share of the degree of its end o that leads into W. In
the Euclidean norm,

    |error|  <=  sum_{l=1}^{K-1}  |r_l|  min(1, sum_{j=1}^{l} (l - j + 1) |delta_j|),

of which everything is known within W. Both factors shrink as W grows: heat has to leave W and to
come back. W grows around the nodes with the largest part in the bound, until it is at most the
tolerance. A node of large degree has a small part in it, and need not have its neighbours in W.

Everything but the kept vectors is in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph._engine.ranges import product_work
from heatgraph._engine.sparse_products import sparse_times_dense
from heatgraph.graph import Graph
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Share of the work of diffusing all columns on the larger graph beyond which the neighbourhood is
# given up.
MAX_SHARE = 0.5
GATHER = 10
# Blocks of up to this many nodes are dense: a sparse product of so few takes mostly its call.
DENSE_NODES = 128
# Up to this many neighbours of the sources are in the first neighbourhood.
FEW_NEIGHBOURS = 500
# The part of the bound that a growth of W should leave, relative to the tolerance.
REMAINDER = 0.3


@dataclass(frozen=True)
class ClenshawVectors:
    """Columns x (n, C) of a graph, and the vectors b_1, ..., b_K (n, K, C) that diffuse them.

    `coefficients` (K + 1,) are those of a series with an error of at most half of `tol`, relative
    to `norm`, the largest value of the response or 1. `degrees` (n,) are those of A~, and
    `squared_norms` (C,) those of the columns.
    """

    graph: Graph
    columns: Array
    self_loops: bool
    coefficients: Floats
    vectors: Array
    degrees: Floats
    squared_norms: Floats
    tol: float
    norm: float

    @classmethod
    def compute(
        cls,
        graph: Graph,
        columns: Array,
        scheme: Scheme,
        self_loops: bool,
        tol: float,
        dtype: np.dtype[Any],
        n_threads: int | None = None,
    ) -> ClenshawVectors:
        """Diffuse columns (n, C) in the precision `dtype`, and keep all vectors."""
        coefficients, _ = chebyshev_series(scheme, tol / 2)
        norm = max(1.0, float(np.abs(scheme.response(np.linspace(-1, 1, 257))).max()))
        x = columns.astype(dtype, copy=False)
        K = len(coefficients) - 1
        vectors = np.empty((graph.num_nodes, K, x.shape[1]), dtype=dtype)
        S = graph.operator(self_loops, dtype).to_scipy()
        above, current = np.zeros_like(x), np.zeros_like(x)
        for k in range(K, 0, -1):
            product = sparse_times_dense(S, current, n_threads)
            product *= 2
            product -= above
            product += dtype.type(coefficients[k]) * x
            vectors[:, k - 1] = product
            above, current = current, product
        degrees, squares = graph.degrees + self_loops, np.square(x, dtype=np.float64).sum(axis=0)
        return cls(graph, x, self_loops, coefficients, vectors, degrees, squares, tol, norm)

    @staticmethod
    def size(entries: int, scheme: Scheme, tol: float, itemsize: int) -> int:
        """Bytes of the vectors of columns with this many entries."""
        K = len(chebyshev_series(scheme, tol / 2)[0]) - 1
        return entries * K * itemsize


@dataclass(frozen=True)
class Change:
    """R new nodes with columns (R, C), and entries that change A (n + R, n + R), both ways.

    Each position is listed once. A removed edge has a negative value.
    """

    columns: Array
    rows: Indices
    cols: Indices
    values: Floats


@dataclass(frozen=True)
class LocalScores:
    """Diffused columns (R, C) at new nodes, and what they took.

    Attributes
    ----------
    scores : array of shape (R, C)
    error_bound : float
        Bound on the error of what lies beyond the neighbourhood, relative to the norm of a column.
    num_nodes : int
        Nodes of the neighbourhood.
    work : int
        Multiply-adds with S, of all columns and products.
    full_work : int
        The same if all columns were diffused on the whole graph.
    """

    scores: Floats
    error_bound: float
    num_nodes: int
    work: int
    full_work: int


def local_scores(before: ClenshawVectors, change: Change) -> LocalScores | None:
    """Diffuse columns to new nodes; None where the neighbourhood takes too much work."""
    K, (R, C) = len(before.coefficients) - 1, change.columns.shape
    graph = before.graph
    full_product = product_work(graph.num_nodes + R, len(graph.indices) + len(change.rows))
    full_work = C * K * full_product
    if K == 0:
        return LocalScores(before.coefficients[0] * change.columns, 0.0, R, 0, full_work)
    sources = _Sources.of(before, change)
    norms = np.sqrt(before.squared_norms + np.square(change.columns).sum(axis=0))
    nodes, work = _first_neighbourhood(graph, sources.nodes), 0
    while True:
        # Gathering an edge costs about as much as GATHER multiply-adds.
        gathering = GATHER * _count_entries(graph, nodes)
        if work + gathering > MAX_SHARE * full_work:
            return None
        block = _Neighbourhood.of(before, change, sources, nodes)
        work += gathering + (R + C) * K * product_work(len(nodes), block.num_entries)
        if work > MAX_SHARE * full_work:
            return None
        scores, t, d = _diffuse(sources, block, R)
        bound, parts = _bound(block.leaving, t, d, norms)
        allowed = before.norm * before.tol / 2
        if bound <= allowed:
            return LocalScores(scores, bound, len(nodes), work, full_work)
        nodes = _grow(graph, nodes, parts, REMAINDER * allowed / bound)


@dataclass(frozen=True)
class _Sources:
    """Nodes at which the recurrence of the graph before does not hold.

    `nodes` (q,) are sorted indices, the new ones last; `degrees` (q,) those in the larger graph,
    `residuals` (K + 1, q, C) the rho_k, and that of k = 0 is what the last step adds.
    """

    nodes: Indices
    degrees: Floats
    residuals: Floats

    @classmethod
    def of(cls, before: ClenshawVectors, change: Change) -> _Sources:
        n, (R, C) = before.graph.num_nodes, change.columns.shape
        known = np.unique(change.rows)
        known = known[known < n]
        nodes = np.concatenate([known, np.arange(n, n + R)])
        q, K = len(known), len(before.coefficients) - 1
        rows, cols = np.searchsorted(nodes, change.rows), np.searchsorted(nodes, change.cols)
        delta = sp.csr_array((change.values, (rows, cols)), shape=(len(nodes), len(nodes)))
        old = before.degrees[known]
        degrees = np.concatenate([old, np.full(R, float(before.self_loops))])
        degrees += np.bincount(rows, change.values, len(nodes))
        # What rounding leaves where all edges were removed.
        degrees[:q][np.abs(degrees[:q]) <= 1e-12 * old] = 0
        root, old_root = _root(degrees), _root(old)
        # y_1, ..., y_{K+2}; zero at new nodes.
        y = np.zeros((len(nodes), K + 2, C))
        y[:q, :K] = before.vectors[known] / old_root[:, np.newaxis, np.newaxis]
        x = np.concatenate([before.columns[known].astype(np.float64), change.columns])
        c = before.coefficients
        # Sums over the edges of the graph before, by its recurrence, and over the change.
        sums = np.zeros((len(nodes), K + 1, C))
        cx = c[1:, np.newaxis] * x[:q, np.newaxis]
        sums[:q, 1:] = y[:q, :K] + y[:q, 2:] - cx / old_root[:, np.newaxis, np.newaxis]
        sums[:q, 1:] *= old[:, np.newaxis, np.newaxis] / 2
        moved = delta @ y.reshape(len(nodes), -1)
        sums += moved.reshape(y.shape)[:, : K + 1]
        linked = degrees > 0
        walk = np.zeros_like(sums)
        walk[linked] = sums[linked] / degrees[linked, np.newaxis, np.newaxis]
        # Without edges and self-loops, S is the identity.
        walk[~linked] = y[~linked, : K + 1]
        residuals = 2 * walk
        residuals[:, 0] = walk[:, 0]
        residuals[:, 1:] -= y[:, :K] + y[:, 2:]
        residuals *= root[:, np.newaxis, np.newaxis]
        residuals += c[:, np.newaxis] * x[:, np.newaxis]
        return cls(nodes, degrees, np.ascontiguousarray(residuals.transpose(1, 0, 2)))


@dataclass(frozen=True)
class _Neighbourhood:
    """The block of S' within a set of nodes W, dense or sparse, and lambda (w,), `leaving`.

    `num_entries` counts those of S' in the block, and `sources` are positions of the sources among
    the nodes.
    """

    S: Any
    num_entries: int
    leaving: Floats
    sources: Indices

    @classmethod
    def of(
        cls, before: ClenshawVectors, change: Change, sources: _Sources, nodes: Indices
    ) -> _Neighbourhood:
        graph = before.graph
        w = len(nodes)
        old = nodes[: np.searchsorted(nodes, graph.num_nodes)]
        at_source = np.searchsorted(nodes, sources.nodes)
        rows, position = _edges_of(graph, old)
        ends = graph.indices[position]
        weights = np.ones(len(ends)) if graph.weights is None else graph.weights[position]
        columns = np.searchsorted(old, ends)
        columns[columns == len(old)] = 0
        inside = old[columns] == ends if len(old) else np.zeros(0, dtype=bool)
        degrees = np.empty(w)
        degrees[: len(old)] = before.degrees[old]
        degrees[at_source] = sources.degrees
        inverse = np.divide(1, degrees, out=np.zeros(w), where=degrees > 0)
        beyond, end = np.unique(ends[~inside], return_inverse=True)
        out = weights[~inside]
        into = np.bincount(end, out, len(beyond)) / before.degrees[beyond]
        leaving = np.bincount(rows[~inside], out * into[end], w).astype(np.float64) * inverse
        diagonal = inverse if before.self_loops else (degrees <= 0).astype(np.float64)
        changed_rows, changed_cols = (np.searchsorted(nodes, e) for e in (change.rows, change.cols))
        r = np.concatenate([rows[inside], changed_rows])
        c = np.concatenate([columns[inside], changed_cols])
        scale = np.sqrt(inverse)
        values = np.concatenate([weights[inside], change.values]) * scale[r] * scale[c]
        r, c = np.append(r, np.arange(w)), np.append(c, np.arange(w))
        values = np.append(values, diagonal)
        if w <= DENSE_NODES:
            S: Any = np.bincount(r * w + c, values, w * w).reshape(w, w)
        else:
            S = sp.csr_array((values, (r, c)), shape=(w, w))
        return cls(S, len(values), leaving, at_source)


def _diffuse(sources: _Sources, block: _Neighbourhood, R: int) -> tuple[Floats, Floats, Floats]:
    """Scores (R, C), t~_0, ..., t~_{K-1} (K, w, R) and d~_1, ..., d~_K (K, w, C)."""
    w, rho = block.S.shape[0], sources.residuals
    K, C = len(rho) - 1, rho.shape[2]
    # Both recurrences take one product with S for a step, t~ upwards and d~ downwards.
    steps = np.zeros((K, w, R + C))
    steps[0, np.arange(w - R, w), np.arange(R)] = 1
    steps[0, block.sources, R:] = rho[K]
    for s in range(1, K):
        V = steps[s]
        np.multiply(block.S @ steps[s - 1], 2, out=V)
        if s == 1:
            V[:, :R] /= 2
        else:
            V -= steps[s - 2]
        V[block.sources, R:] += rho[K - s]
    t, d = steps[:, :, :R], steps[::-1, :, R:]
    scores = rho[0, -R:] + block.S[w - R :] @ d[0]
    if K > 1:
        scores -= d[1, w - R :]
    return scores, t, d


def _bound(leaving: Floats, t: Floats, d: Floats, norms: Floats) -> tuple[float, Floats]:
    """The bound of the module docstring relative to `norms`, and each node's part in it (w,)."""
    rim = np.flatnonzero(leaving)
    parts = np.zeros(len(leaving))
    if len(rim) == 0 or len(t) == 1:
        return 0.0, parts
    out = leaving[rim, np.newaxis]
    scale = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    t2, d2 = np.square(t[:, rim]) * out, np.square(d[:, rim] * scale) * out
    delta = 2 * np.sqrt(t2.sum(axis=1))
    r = 2 * np.sqrt(d2.sum(axis=1))[1:]
    # sum_{j <= l} (l - j + 1) delta_j, where delta_j comes of t~_{j-1}, for l = 1, ..., K - 1.
    reached = np.minimum(1, np.cumsum(np.cumsum(delta, axis=0), axis=0))[: len(r)]
    parts[rim] = np.sqrt(t2.sum(axis=0).max(axis=1) * d2[1:].sum(axis=0).max(axis=1))
    return float((reached.T @ r).max()), parts


def _first_neighbourhood(graph: Graph, sources: Indices) -> Indices:
    """The sources and, if they are few, their neighbours, which are nearly always needed."""
    if _count_entries(graph, sources) > FEW_NEIGHBOURS:
        return sources
    return _with_neighbours(graph, sources, sources)


def _grow(graph: Graph, nodes: Indices, parts: Floats, share: float) -> Indices:
    """Add neighbours of the nodes with the largest parts; the rest have a share of their sum."""
    order = np.argsort(parts)
    left = np.cumsum(parts[order])
    return _with_neighbours(graph, nodes, nodes[order[left > share * left[-1]]])


def _with_neighbours(graph: Graph, nodes: Indices, around: Indices) -> Indices:
    """Sorted nodes, and the neighbours that some of them had before."""
    _, position = _edges_of(graph, around[around < graph.num_nodes])
    return np.union1d(nodes, graph.indices[position].astype(np.int64))


def _edges_of(graph: Graph, nodes: Indices) -> tuple[Indices, Indices]:
    """Positions of the nodes' edges in `graph.indices`, and to which of the nodes each belongs."""
    starts, counts = graph.indptr[nodes], graph.indptr[nodes + 1] - graph.indptr[nodes]
    rows = np.repeat(np.arange(len(nodes)), counts)
    offsets = starts - (np.cumsum(counts) - counts)
    return rows, np.arange(len(rows)) + offsets[rows]


def _count_entries(graph: Graph, nodes: Indices) -> int:
    old = nodes[nodes < graph.num_nodes]
    return int((graph.indptr[old + 1] - graph.indptr[old]).sum())


def _root(degrees: Floats) -> Floats:
    return np.sqrt(np.where(degrees > 0, degrees, 1.0))
