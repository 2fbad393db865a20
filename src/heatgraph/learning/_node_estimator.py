"""The common base of estimators of nodes: the graph to predict on, and scikit-learn's tags."""

from __future__ import annotations

from abc import ABC
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from heatgraph.errors import InputError
from heatgraph.graph import Graph, check_graph

Array = npt.NDArray[Any]


class NodeEstimator(BaseEstimator, ABC):
    """Base of estimators that are fitted to one graph and predict its nodes, or those of others.

    `fit` sets `graph_` and `n_features_in_`; a model read from a file has no `graph_`.
    """

    graph_: Graph
    n_features_in_: int

    def _graph_to_label(self, graph: Graph | None) -> Graph:
        """The graph to predict on, by default the fitted one, after a check of its features."""
        check_is_fitted(self)
        if graph is None:
            graph = getattr(self, "graph_", None)
            if graph is None:
                raise InputError("a model that was loaded has no graph of its own: pass graph=.")
        check_graph(graph)
        if graph.num_features != self.n_features_in_:
            raise InputError(
                f"the model was fitted with {self.n_features_in_:,} features per node. Got a graph "
                f"with {graph.num_features:,}."
            )
        return graph

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def read_seed(random_state: Any) -> int:
    """An integer seed from any `random_state` that scikit-learn takes; 0 for None."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))
