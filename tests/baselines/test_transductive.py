import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from strategies import planted

from heatgraph import Graph
from heatgraph.baselines._transductive import TransductiveClassifier
from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.errors import InputError

GRAPH, LABELS = planted(n=30)


def test_labels_the_fitted_graph_and_no_other():
    model = LabelPropagation().fit(GRAPH, LABELS, np.arange(12))
    assert isinstance(model, TransductiveClassifier)
    assert (model.predict() == model.predict(GRAPH)).all()
    twin = Graph(GRAPH.adjacency, GRAPH.features)
    for call in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(InputError, match="knows the graph that it was fitted on, and no other"):
            call(twin)
    with pytest.raises(InputError, match="knows the graph that it was fitted on, and no other"):
        model.score(twin, LABELS)


def test_needs_a_fit():
    with pytest.raises(NotFittedError):
        LabelPropagation().predict(GRAPH)
