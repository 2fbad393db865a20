"""What each feature adds to the difference between groups of nodes in their mean score.

The score of node v for an output with weights theta (d,) is b + sum_j (r(S) X)[v, j] theta_j. With
a contrast c (n,), such as 1 / |G| on the nodes of a group G and -1 / (n - |G|) on all others,

    sum_v c_v score(v)  =  c^T 1 b + sum_j (X^T r(S)^T c)_j theta_j,

so that the terms of the sum over j are the shares of the features in the difference. They are the
means of the shares of `heatgraph.learning.explanation`. One column per output diffuses, instead of
one per feature, as r(S) is symmetric. Channels (`heatgraph.learning._channels`) have their own
kernels, and those of links no features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.graph import Graph
from heatgraph.learning._channels import LINKS, Channels
from heatgraph.learning.scaling import BLOCK_ROWS

Array = npt.NDArray[Any]


def feature_effects(model: Any, contrasts: Array) -> Array:
    """Shares (q, d) of features in the scores, weighted by contrasts (n, q) of the fitted graph.

    `model` is a fitted `DGCClassifier`, `DGCRegressor` or `DGCMultilabelClassifier` with q outputs
    and d features. With two classes, scores are the decision function, positive for the second, and
    minus that for the first.

    Examples
    --------
    >>> from heatgraph import DGCClassifier, make_block_graph
    >>> data = make_block_graph(300, 1500, 2, 5, signal=2.0)
    >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3).fit(data.graph, data.labels)
    >>> second = clf.predict() == 1
    >>> contrast = second / second.sum() - ~second / (~second).sum()
    >>> shares = feature_effects(clf, np.stack([-contrast, contrast], axis=1))
    >>> scores = clf.decision_function()
    >>> gap = scores[second].mean() - scores[~second].mean()
    >>> bool(np.isclose(shares[1].sum(), gap, rtol=1e-3))
    True
    """
    graph = model._graph_to_label(None)
    contrasts = np.asarray(contrasts, dtype=np.float64)
    shares: Array = np.zeros((contrasts.shape[1], graph.num_features))
    terms = model._terms(graph) if hasattr(model, "_terms") else [(graph, model.coef_)]
    for on, coef in terms:
        sources = model._diffused(on.with_features(contrasts), dtype="float64")
        shares += _feature_sums(model, graph, sources) * _of_output(model, coef)
    channels = Channels(graph, np.dtype(np.float64), model.n_threads)
    for name, coef in getattr(model, "channel_coefs_", {}).items():
        if name not in LINKS:
            kernel = channels.kernel_rows(name, np.arange(graph.num_nodes))
            sources = np.asarray(kernel.T @ contrasts)
            shares += _feature_sums(model, graph, sources) * _of_output(model, coef)
    return shares


def contrast_with_others(members: Array) -> Array:
    """Contrasts (n, q) of q groups (n, q) with all other nodes; zeros for a group of none or all.

    Examples
    --------
    >>> contrast_with_others(np.array([[True], [False], [False]]))
    array([[ 1. ],
           [-0.5],
           [-0.5]])
    """
    inside = np.asarray(members, dtype=np.float64)
    sizes = inside.sum(axis=0)
    proper = (sizes > 0) & (sizes < len(inside))
    others = np.where(proper, len(inside) - sizes, 1)
    contrast = inside / np.where(proper, sizes, 1) - (1 - inside) / others
    return np.asarray(contrast * proper)


def _feature_sums(model: Any, graph: Graph, sources: Array) -> Array:
    """Sums (q, d) of scaled features over nodes, weighted by sources (n, q)."""
    sums = np.zeros((graph.num_features, sources.shape[1]))
    for start in range(0, graph.num_nodes, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        X = model.scaling_.apply(graph.features[block], np.dtype(np.float64))
        sums += X.T @ sources[block]
    return sums.T


def _of_output(model: Any, coef: Array) -> Array:
    """Weights (q, d); of two classes, minus those of the other."""
    weights = coef.astype(np.float64)
    is_binary = len(weights) == 2 and hasattr(model, "validation_accuracy_")
    return weights - weights[::-1] if is_binary else weights
