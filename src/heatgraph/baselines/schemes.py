"""Baselines that differ from DGC in the scheme alone.

    SGC         S^K X                            Wu et al. 2019
    PageRank    alpha (I - (1 - alpha) S)^-1 X   the fixed point of APPNP, Klicpera et al. 2019
    features    X                                softmax regression without the graph

Each is a `DGCClassifier` with another scheme, and has all that it offers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from heatgraph.graph import Graph
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.progress import Progress
from heatgraph.schemes import SGC, PersonalizedPageRank

# Default candidates.
STEPS = tuple(range(1, 11))
RESTARTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
# Gradient tolerance of fits whose accuracies are compared, and whose weights nobody reads: the one
# of other fits takes several times as many iterations.
COMPARISON_TOLERANCE = 1e-3


def sgc(K: int | Sequence[int] = STEPS, **parameters: Any) -> DGCClassifier:
    """Simplified graph convolution with K steps, or with the best of several K.

    `parameters` are those of `DGCClassifier`, except T and scheme.

    Examples
    --------
    >>> sgc(2, weight_decay=1e-3)
    DGCClassifier(scheme=[Euler(T=2.0, K=2)], weight_decay=0.001)
    """
    steps = [K] if isinstance(K, int) else list(K)
    return DGCClassifier(scheme=[SGC(number) for number in steps], **parameters)


def personalized_pagerank(
    alpha: float | Sequence[float] = RESTARTS, **parameters: Any
) -> DGCClassifier:
    """Personalised PageRank with restart probability alpha, or with the best of several.

    `parameters` are those of `DGCClassifier`, except T, K and scheme.

    Examples
    --------
    >>> personalized_pagerank(0.1)
    DGCClassifier(scheme=[PersonalizedPageRank(alpha=0.1)])
    """
    restarts = [alpha] if isinstance(alpha, int | float) else list(alpha)
    return DGCClassifier(scheme=[PersonalizedPageRank(a) for a in restarts], **parameters)


def features_alone(**parameters: Any) -> DGCClassifier:
    """Softmax regression on the features, without the graph.

    `parameters` are those of `DGCClassifier`, except T, K and scheme.

    Examples
    --------
    >>> features_alone()
    DGCClassifier(T=0.0)
    """
    return DGCClassifier(T=0.0, **parameters)


def fit_features_alone(
    model: DGCClassifier,
    graph: Graph,
    y: Any,
    train: Any = None,
    val: Any = None,
    *,
    progress: Progress | None = None,
) -> DGCClassifier | None:
    """Refit a model with T = 0: the features alone, with settings chosen in the same way.

    Extensions are left out: without edges, they change nothing but class offsets. Returns None if
    the graph has no features.
    """
    if not model.n_features_in_:
        return None
    alone: DGCClassifier = clone(model).set_params(T=0.0, K=None, scheme=None, extensions=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fitting `model` gave the same warnings
        alone._solver_tolerance = COMPARISON_TOLERANCE
        return alone.fit(graph, y, train, val, progress=progress)
