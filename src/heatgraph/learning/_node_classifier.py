"""What every classifier of nodes shares: predictions, scoring, checks and scikit-learn's tags.

A subclass fits and leaves `classes_`, `graph_` and `n_features_in_`, and implements `_scores`. From
scores z (m, C) follow the prediction, argmax_c z_c, and the probabilities, softmax(z / t) with the
temperature t, unless a subclass says otherwise in `_probabilities`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from heatgraph.errors import InputError
from heatgraph.graph import Graph, check_graph
from heatgraph.learning._labels import Labels

Array = npt.NDArray[Any]


class NodeClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of estimators that learn on one graph and label the nodes of it, or of others."""

    classes_: Array
    graph_: Graph
    n_features_in_: int
    temperature_: float = 1.0

    @abstractmethod
    def _scores(self, graph: Graph, nodes: Any) -> Array:
        """Scores (m, C) of `nodes`, or of all; `graph` comes from `_graph_to_label`."""

    def _probabilities(self, scores: Array) -> Array:
        """Probabilities (m, C) for scores (m, C)."""
        scaled = scores.astype(np.float64) / self.temperature_
        return np.asarray(scipy.special.softmax(scaled, axis=1))

    def decision_function(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Scores of the classes; for two classes, those of the second minus those of the first.

        Parameters
        ----------
        graph : Graph, optional
            Any graph with the same features; by default the one that was fitted.
        nodes : indices or mask, optional
            Nodes to score; by default all.

        Returns
        -------
        array of shape (m, C), or (m,) for two classes
        """
        scores = self._scores(self._graph_to_label(graph), nodes)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Probabilities of the classes, of shape (m, C). Parameters as in `decision_function`."""
        return self._probabilities(self._scores(self._graph_to_label(graph), nodes))

    def predict(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Labels of shape (m,). Parameters as in `decision_function`."""
        best = self._scores(self._graph_to_label(graph), nodes).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def score(self, graph: Graph | None, y: Any, nodes: Any = None) -> float:
        """Accuracy: the share of nodes whose predicted label is the true one.

        Parameters
        ----------
        graph : Graph or None
            None is the graph that was fitted.
        y : sequence of length n
            True labels.
        nodes : indices or mask, optional
            Nodes to count; by default all that have a label in `y`.
        """
        graph = self._graph_to_label(graph)
        labels = Labels.read(y, graph.num_nodes)
        counted = labels.labelled(nodes, "nodes")
        if len(counted) == 0:
            raise InputError("there is no labelled node to score.")
        codes = labels.encode(self.classes_, counted)
        return float((self._scores(graph, counted).argmax(axis=1) == codes).mean())

    def _graph_to_label(self, graph: Graph | None) -> Graph:
        """The graph to predict on, by default the fitted one, if its features fit the model."""
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
