"""The common base of node classifiers: predictions and accuracy.

From scores z (m, C) of m nodes, the predicted class is argmax_c z_c and the probabilities are
softmax(z / t), with a temperature t.

The contract of a subclass:

1. `fit` sets `classes_`, `graph_` and `n_features_in_`, and `temperature_` if it is not 1. A model
   read from a file has no `graph_`.
2. `_scores` returns scores of the classes in the order of `classes_`. Its graph has been checked by
   `_graph_to_label`; its nodes have not.
3. `_probabilities` may be overridden where scores are not logits, and `_graph_to_label` extended by
   further checks.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special
from sklearn.base import ClassifierMixin

from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.learning._labels import Labels
from heatgraph.learning._node_estimator import NodeEstimator

Array = npt.NDArray[Any]


class NodeClassifier(ClassifierMixin, NodeEstimator):
    """Base of estimators that are fitted to one graph and label its nodes, or those of others."""

    classes_: Array
    temperature_: float = 1.0

    @abstractmethod
    def _scores(self, graph: Graph, nodes: Any) -> Array:
        """Scores (m, C) of `nodes` (indices or mask), by default of all."""

    def _probabilities(self, scores: Array) -> Array:
        """Probabilities (m, C) for scores (m, C)."""
        scaled = scores.astype(np.float64) / self.temperature_
        return np.asarray(scipy.special.softmax(scaled, axis=1))

    def decision_function(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Scores of the classes; with two classes, the second's score minus the first's.

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
        """Accuracy of the predicted labels.

        Parameters
        ----------
        graph : Graph or None
            None for the graph that was fitted.
        y : sequence of length n
            True labels.
        nodes : indices or mask, optional
            Nodes to score; by default all that have a label in `y`.
        """
        graph = self._graph_to_label(graph)
        labels = Labels.read(y, graph.num_nodes)
        labelled = labels.labelled(nodes, "nodes")
        if len(labelled) == 0:
            raise InputError("there is no labelled node to score.")
        codes = labels.encode(self.classes_, labelled)
        return float((self._scores(graph, labelled).argmax(axis=1) == codes).mean())
