"""The features that count most in the score of every node.

With weights Theta (d, C), the share of feature j in the score of node v for class c is

    (r(S) X)[v, j] Theta[j, c],

the same as in `heatgraph.learning.explanation`, summed over the graphs and channels of a model. The
columns r(S) X are computed for some features at a time, of which the largest shares are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.graph import Graph
from heatgraph.learning._channels import LINKS, Channels
from heatgraph.learning.classifier import DGCClassifier

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Entries of diffused features that are in memory at a time.
BLOCK_ENTRIES = 1 << 24


def largest_feature_shares(
    model: DGCClassifier, graph: Graph, codes: Indices, top: int
) -> tuple[Indices, Array]:
    """Features (n, top) with the largest shares by magnitude, and the shares, largest first.

    `codes` (n,) are the classes whose scores are explained; with two classes, the score is that of
    the class minus that of the other. Without features, the arrays are (n, 0).
    """
    n, d = graph.num_nodes, graph.num_features
    top = min(top, d)
    found = np.zeros((n, 0), dtype=np.int64)
    shares = np.zeros((n, 0))
    if graph.features is None or not top:
        return found, shares
    X = model.scaling_.apply(graph.features, np.dtype(np.float64))
    X = sp.csc_array(X) if sp.issparse(X) else X
    width = max(1, BLOCK_ENTRIES // n)
    rows = np.arange(n)[:, np.newaxis]
    for start in range(0, d, width):
        columns = np.arange(start, min(start + width, d))
        block = _shares(model, graph, X, columns, codes)
        found = np.hstack([found, np.tile(columns, (n, 1))])
        shares = np.hstack([shares, block])
        if shares.shape[1] > top:
            kept = np.argpartition(-np.abs(shares), top - 1, axis=1)[:, :top]
            found, shares = found[rows, kept], shares[rows, kept]
    order = np.argsort(-np.abs(shares), axis=1, kind="stable")
    return found[rows, order], shares[rows, order]


def _shares(model: DGCClassifier, graph: Graph, X: Any, columns: Indices, codes: Indices) -> Array:
    """Shares (n, p) of some features."""
    part = X[:, columns]
    part = part.toarray() if sp.issparse(part) else part
    shares = np.zeros(part.shape)
    for on, coef in model._terms(graph):
        diffused = model._diffused(on.with_features(part), dtype="float64")
        shares += diffused * of_classes(coef[:, columns], codes)
    channels = Channels(graph, np.dtype(np.float64), model.n_threads)
    for name, coef in model.channel_coefs_.items():
        if name not in LINKS:
            shares += channels.apply(name, part) * of_classes(coef[:, columns], codes)
    return shares


def of_classes(values: Array, codes: Indices) -> Array:
    """Rows of `values` (C, p) at the codes (m,); of two classes, minus those of the other."""
    values = values.astype(np.float64)
    return np.asarray(values[codes] - values[1 - codes] if len(values) == 2 else values[codes])
