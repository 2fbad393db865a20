"""Networks trained for a few epochs on a small graph, and what dense formulas need of them."""

import numpy as np
from oracles import dense_operator
from strategies import planted

from heatgraph.baselines.gnn.estimator import GNNClassifier

GRAPH, LABELS = planted(kind="dense")
TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)
A = GRAPH.adjacency.toarray()
S = dense_operator(A, self_loops=True)
L = np.eye(90) - dense_operator(A, self_loops=False)


def trained(network, graph=GRAPH, **parameters):
    """A network after three epochs, without dropout."""
    # One thread is the fastest on a graph this small.
    quick = {"epochs": 3, "dropout": 0.0, "hidden": 4, "n_threads": 1} | parameters
    return GNNClassifier(network, **quick).fit(graph, LABELS, TRAIN)


def weights(model):
    """Weights by name, as arrays."""
    parameters = model.network_.named_parameters()
    return {name: value.detach().numpy() for name, value in parameters}


def scaled_features(model):
    return model.scaling_.apply(GRAPH.features, np.dtype(np.float64))
