"""Training: early stopping, the best weights and weight decay."""

import numpy as np
import pytest
from trained_networks import GRAPH, LABELS, TRAIN, VAL, trained, weights

from heatgraph.baselines.gnn.estimator import GNNClassifier

pytestmark = pytest.mark.usefixtures("torch")


def test_best_weights_on_validation_nodes_are_restored():
    model = GNNClassifier(epochs=40, patience=5, learning_rate=0.1, random_state=0, n_threads=1)
    model.fit(GRAPH, LABELS, TRAIN, VAL)
    accuracies = [record["val_accuracy"] for record in model.history_]
    assert model.validation_accuracy_ == max(accuracies)
    assert model.score(None, LABELS, VAL) == pytest.approx(max(accuracies))


def test_early_stopping():
    model = GNNClassifier(epochs=500, patience=3, learning_rate=0.5, random_state=0, n_threads=1)
    model.fit(GRAPH, LABELS, TRAIN, VAL)
    assert model.epochs_ == len(model.history_) < 500


def test_only_the_first_layer_decays():
    light, heavy = (
        weights(trained("gcn", weight_decay=decay, epochs=100)) for decay in (0.0, 10.0)
    )
    first, last = (
        np.linalg.norm(heavy[name]) / np.linalg.norm(light[name])
        for name in ("layers.0.lin.weight", "layers.1.lin.weight")
    )
    assert first < 0.1
    assert last > 0.5
