"""What estimators have in common that learn on one graph and label others with its features."""

from __future__ import annotations

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from heatgraph.errors import InputError
from heatgraph.graph import Graph, check_graph


class NodeClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of nodes; `fit` leaves `graph_` and `n_features_in_`."""

    graph_: Graph
    n_features_in_: int

    def _own_graph(self, graph: Graph | None) -> Graph:
        """The graph that is meant: one that is given, or that of the fit."""
        check_is_fitted(self)
        if graph is None:
            graph = getattr(self, "graph_", None)
            if graph is None:
                raise InputError("a model that was loaded has no graph of its own: pass graph=.")
        check_graph(graph)
        return graph

    def _graph_to_label(self, graph: Graph | None) -> Graph:
        """The same, with as many features as were fitted."""
        graph = self._own_graph(graph)
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
