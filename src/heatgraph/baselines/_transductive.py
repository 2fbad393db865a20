"""Base of transductive classifiers: they label the nodes of the graph they were fitted on."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.learning._node_classifier import NodeClassifier


class TransductiveClassifier(NodeClassifier):
    """Base of classifiers that hold scores of the nodes of `graph_` and cannot compute others.

    A subclass ignores features, so `n_features_in_` is not compared with those of a graph.
    """

    _other_graph_error: str

    def _graph_to_label(self, graph: Graph | None) -> Graph:
        check_is_fitted(self)
        if graph is not None and graph is not self.graph_:
            raise InputError(self._other_graph_error)
        return self.graph_
