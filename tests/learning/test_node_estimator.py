"""The base of estimators of nodes: the graph to predict on, and seeds."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from strategies import planted

from heatgraph.errors import InputError
from heatgraph.learning._node_estimator import NodeEstimator, read_seed

GRAPH, _ = planted(n=6, kind="dense")


class Estimator(NodeEstimator):
    def fit(self, graph):
        self.graph_, self.n_features_in_ = graph, graph.num_features
        return self

    def predict(self, graph=None):
        return self._graph_to_label(graph)


def test_the_fitted_graph_is_the_default():
    fitted = Estimator().fit(GRAPH)
    assert fitted.predict() is GRAPH
    other, _ = planted(n=4, kind="dense")
    assert fitted.predict(other) is other
    del fitted.graph_
    with pytest.raises(InputError, match="has no graph of its own: pass graph="):
        fitted.predict()


def test_other_graphs_are_refused():
    with pytest.raises(NotFittedError):
        Estimator().predict(GRAPH)
    with pytest.raises(InputError, match="fitted with 12 features per node. Got a graph with 0"):
        Estimator().fit(GRAPH).predict(GRAPH.with_features(None))
    with pytest.raises(InputError, match=r"must be a heatgraph.Graph"):
        Estimator().fit(GRAPH).predict(GRAPH.features)


def test_input_is_no_table():
    assert not Estimator().__sklearn_tags__().input_tags.two_d_array


def test_seeds():
    assert read_seed(None) == 0
    assert read_seed(3) == read_seed(np.random.RandomState(3))
    assert read_seed(np.random.default_rng(1)) == read_seed(np.random.default_rng(1))
