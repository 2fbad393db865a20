"""Channels: features that a linear model reads beside, or instead of, diffused ones.

Diffusion averages over neighbours, which blurs what tells classes apart where neighbours differ. A
model of channels c adds up blocks of columns Z_c (n, p_c), each with weights Theta_c (p_c, C):

    scores  =  sum_c Z_c Theta_c + b,    Z_c = B_c F_c.

With W = D^-1 A (n, n), the mean over neighbours without self-loops, the channels are

    heat            r(S) X     (n, d)    diffused features, as DGC has them
    features        X          (n, d)    a node's own
    neighbours      W X        (n, d)    the mean of its neighbours'
    links           W          (n, n)    which neighbours a node has
    two-hop-links   W W        (n, n)    which neighbours these have,

that is B_c = W^k with k = 0, 1, 2 hops, except for heat, and F_c = X or I.

If the graph keeps directed edges, W_out (n, n) is the mean over the nodes that a node links to, and
W_in (n, n) over those that link to it. The directed channels are

    out-neighbours, in-neighbours            W_out X, W_in X             (n, d)
    out-links, in-links                      W_out, W_in                 (n, n)
    two-hop-out-links, two-hop-in-links      W_out W_out, W_in W_in      (n, n).

`heatgraph.learning._channel_models` chooses a set of channels and fits it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.sparse_products import sparse_times_dense
from heatgraph.graph import Graph

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Along edges of either direction, from source to target, or from target to source.
Direction = Literal["any", "out", "in"]

HEAT = "heat"
# The hops of a channel's kernel B_c: the first is its leftmost factor.
HOPS: dict[str, tuple[Direction, ...]] = {
    "features": (),
    "neighbours": ("any",),
    "links": ("any",),
    "two-hop-links": ("any", "any"),
    "out-neighbours": ("out",),
    "in-neighbours": ("in",),
    "out-links": ("out",),
    "in-links": ("in",),
    "two-hop-out-links": ("out", "out"),
    "two-hop-in-links": ("in", "in"),
}
# Channels whose columns are nodes instead of features, and those that need directed edges.
LINKS = tuple(name for name in HOPS if name.endswith("links"))
DIRECTED = tuple(name for name, hops in HOPS.items() if {"out", "in"} & set(hops))
# Entries of the dense block of rows by which sparse rows are multiplied at a time.
BLOCK_ENTRIES = 1 << 22


class Channels:
    """The channels of a graph; the means over neighbours are computed when a channel needs them."""

    def __init__(self, graph: Graph, dtype: np.dtype[Any], n_threads: int | None = None) -> None:
        self.graph, self.dtype, self.n_threads = graph, dtype, n_threads
        self._operators: dict[Direction, sp.csr_array] = {}

    def apply(self, name: str, columns: Array) -> Array:
        """B_c times columns F_c Theta_c (n, C)."""
        for direction in reversed(HOPS[name]):
            columns = sparse_times_dense(self._operator(direction), columns, self.n_threads)
        return columns

    def kernel_rows(self, name: str, nodes: Indices) -> sp.csr_array:
        """Rows (m, n) of B_c at some nodes."""
        units = (np.ones(len(nodes), dtype=self.dtype), (np.arange(len(nodes)), nodes))
        rows = sp.csr_array(units, shape=(len(nodes), self.graph.num_nodes))
        for direction in HOPS[name]:
            rows = sp.csr_array(rows @ self._operator(direction))
        return rows

    def rows(self, name: str, nodes: Indices) -> Any:
        """Rows (m, p_c) of Z_c at some nodes: dense if they are features and these are."""
        rows, X = self.kernel_rows(name, nodes), self.graph.features
        if name in LINKS:
            return rows
        if sp.issparse(X):
            return sp.csr_array(rows @ X.astype(self.dtype, copy=False))
        return sparse_times_dense(rows, X.astype(self.dtype, copy=False), self.n_threads)

    def _operator(self, direction: Direction) -> sp.csr_array:
        if direction not in self._operators:
            self._operators[direction] = mean_operator(self.graph, self.dtype, direction)
        return self._operators[direction]


def mean_operator(graph: Graph, dtype: np.dtype[Any], direction: Direction = "any") -> sp.csr_array:
    """W = D^-1 A, W_out or W_in (n, n), without self-loops; rows without such edges are zero."""
    edges = graph.adjacency if direction == "any" else graph.directed_adjacency
    assert edges is not None
    A = edges.astype(np.float64)
    if direction == "in":
        A = A.T.tocsr()
    if graph.num_self_loops:
        A = sp.csr_array(A - sp.diags_array(A.diagonal()))
        A.eliminate_zeros()
    degrees = np.asarray(A.sum(axis=1)).ravel()
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    A.data *= np.repeat(inverse, np.diff(A.indptr))
    return A.astype(dtype)


def block_gram(rows: Any, L: int, n_threads: int | None) -> Array:
    """Inner products (R, L) of rows (R, p) with the first L of them."""
    if not sp.issparse(rows):
        return np.asarray(rows @ rows[:L].T)
    gram = np.empty((rows.shape[0], L), dtype=rows.dtype)
    step = max(1, BLOCK_ENTRIES // max(1, rows.shape[1]))
    for start in range(0, L, step):
        columns = rows[start : min(start + step, L)].toarray().T
        gram[:, start : start + step] = sparse_times_dense(rows, columns, n_threads)
    return gram
