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

`heatgraph.learning._channel_models` chooses a set of channels and fits it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.sparse_products import sparse_times_dense
from heatgraph.graph import Graph

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

HEAT = "heat"
# Powers of W, and the channels whose columns are nodes instead of features.
HOPS = {"features": 0, "neighbours": 1, "links": 1, "two-hop-links": 2}
LINKS = ("links", "two-hop-links")
# Entries of the dense block of rows by which sparse rows are multiplied at a time.
BLOCK_ENTRIES = 1 << 22


def mean_operator(graph: Graph, dtype: np.dtype[Any]) -> sp.csr_array:
    """W = D^-1 A (n, n) without self-loops; rows of isolated nodes are zero."""
    A = graph.adjacency.astype(np.float64)
    if graph.num_self_loops:
        A = sp.csr_array(A - sp.diags_array(A.diagonal()))
        A.eliminate_zeros()
    degrees = np.asarray(A.sum(axis=1)).ravel()
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    A.data *= np.repeat(inverse, np.diff(A.indptr))
    return A.astype(dtype)


def apply_channel(name: str, W: sp.csr_array, columns: Array, n_threads: int | None) -> Array:
    """B_c times columns F_c Theta_c (n, C)."""
    for _ in range(HOPS[name]):
        columns = sparse_times_dense(W, columns, n_threads)
    return columns


def channel_row(name: str, graph: Graph, node: int) -> npt.NDArray[np.float64]:
    """The row (n,) of B_c at a node, in float64."""
    W = mean_operator(graph, np.dtype(np.float64))
    row = sp.csr_array(([1.0], ([0], [node])), shape=(1, graph.num_nodes))
    for _ in range(HOPS[name]):
        row = row @ W
    return np.asarray(row.toarray()[0])


def channel_rows(name: str, W: sp.csr_array, X: Any, nodes: Indices, n_threads: int | None) -> Any:
    """Rows (m, p_c) of Z_c at some nodes: dense if they are features and these are."""
    ones = np.ones(len(nodes), dtype=W.dtype)
    units = (ones, (np.arange(len(nodes)), nodes))
    rows = sp.csr_array(units, shape=(len(nodes), W.shape[0]))
    for _ in range(HOPS[name]):
        rows = sp.csr_array(rows @ W)
    if name in LINKS:
        return rows
    if sp.issparse(X):
        return sp.csr_array(rows @ X.astype(W.dtype, copy=False))
    return sparse_times_dense(rows, X.astype(W.dtype, copy=False), n_threads)


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
