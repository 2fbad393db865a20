"""The strongest reasons of many predictions at once: features and source nodes with their shares.

The shares are those of `heatgraph.learning.explanation`, for the class predicted. For a block of m
nodes with rows R (m, n) of the kernel, scaled features X (n, d) and weights Theta (d, C), the share
of node u in the score of node v for class c is R[v, u] (X Theta)[u, c], and that of feature j is
(R X)[v, j] Theta[j, c]. A block takes the diffusion of m columns and one product with X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.graph import Graph
from heatgraph.learning._channels import LINKS, Channels
from heatgraph.learning.classifier import DGCClassifier

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Shares = list[tuple[Any, float]]

# Entries of the rows of the kernel, or of diffused features, that are in memory at a time.
BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Reasons:
    """The largest shares of a prediction's score, as pairs of a name and a share."""

    features: Shares
    nodes: Shares


@dataclass(frozen=True)
class _Term:
    """A term B F Theta of the scores: rows of B at some nodes, F Theta (n, C), and Theta."""

    rows: Callable[[Indices], Any]
    columns: Array
    weights: Array | None


def strongest_reasons(
    model: DGCClassifier,
    codes: Indices,
    top: int,
    graph: Graph | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[Reasons]:
    """The `top` largest shares of features and of nodes, for every node of a graph.

    `codes` (n,) are the classes to explain, as indices into `classes_`.

    Examples
    --------
    >>> ring = Graph.from_edges(range(8), [1, 2, 3, 0, 5, 6, 7, 4], num_nodes=8, symmetrize="max")
    >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3)
    >>> clf = clf.fit(ring, ["a", None, None, None, "b", None, None, None])
    >>> sorted(name for name, share in strongest_reasons(clf, np.zeros(8, int), 2)[3].nodes)
    [0, 3]
    """
    graph = model._graph_to_label(graph)
    X = None
    if graph.features is not None:
        X = model.scaling_.apply(graph.features, np.dtype(np.float64))
    terms = _terms(model, graph)
    names = graph.names
    feature_names = np.array(graph.feature_names or range(graph.num_features), dtype=object)
    step = max(1, BLOCK_ENTRIES // max(graph.num_nodes, graph.num_features))
    found: list[Reasons] = []
    for start in range(0, graph.num_nodes, step):
        nodes = np.arange(start, min(start + step, graph.num_nodes))
        by_node, by_feature = _block_shares(terms, X, nodes, codes[nodes])
        for at in range(len(nodes)):
            features = [] if by_feature is None else _largest(by_feature[at], top, feature_names)
            found.append(Reasons(features, _largest(by_node[at], top, names)))
        if progress is not None:
            progress(len(found), graph.num_nodes)
    return found


def _terms(model: DGCClassifier, graph: Graph) -> list[_Term]:
    def diffused_rows(on: Graph) -> Callable[[Indices], Any]:
        bare = on.with_features(None)
        return lambda nodes: model._diffused(bare, rows=nodes, dtype="float64")

    channels = Channels(graph, np.dtype(np.float64), model.n_threads)

    def channel_rows(name: str) -> Callable[[Indices], Any]:
        return lambda nodes: channels.kernel_rows(name, nodes).toarray()

    has_features = graph.features is not None
    terms = []
    for on, coef in model._terms(graph):
        weights = coef.astype(np.float64)
        columns = model._undiffused(graph, weights)
        terms.append(_Term(diffused_rows(on), columns, weights if has_features else None))
    for name, coef in model.channel_coefs_.items():
        weights = coef.astype(np.float64)
        if name in LINKS:
            terms.append(_Term(channel_rows(name), weights.T, None))
        else:
            columns = model._undiffused(graph, weights)
            terms.append(_Term(channel_rows(name), columns, weights if has_features else None))
    return terms


def _block_shares(
    terms: list[_Term], X: Any, nodes: Indices, codes: Indices
) -> tuple[Array, Array | None]:
    """Shares of nodes (m, n) and of features (m, d) in the scores of the classes `codes` (m,)."""
    by_node: Any = 0.0
    by_feature: Any = 0.0 if any(term.weights is not None for term in terms) else None
    for term in terms:
        rows = term.rows(nodes)
        by_node = by_node + rows * _of_classes(term.columns.T, codes)
        if term.weights is not None:
            # With sparse features on the left, the product is that of a sparse matrix.
            diffused = (X.T @ rows.T).T if sp.issparse(X) else rows @ X
            by_feature = by_feature + diffused * _of_classes(term.weights, codes)
    return by_node, by_feature


def _of_classes(values: Array, codes: Indices) -> Array:
    """Rows of `values` (C, p) at the codes (m,); of two classes, minus those of the other."""
    return np.asarray(values[codes] - values[1 - codes] if len(values) == 2 else values[codes])


def _largest(values: Array, top: int, names: Array) -> Shares:
    """The largest values by magnitude with their names, largest first, without zeros."""
    size = np.abs(values)
    found = np.argpartition(-size, top - 1)[:top] if top < len(size) else np.arange(len(size))
    found = found[size[found] > 0]
    found = found[np.lexsort((found, -size[found]))]
    return list(zip(names[found].tolist(), values[found].tolist(), strict=True))
