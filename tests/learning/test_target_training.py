"""Where the held-out scores of a model come from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from strategies import random_graph

import heatgraph as hg
from heatgraph import DGCRegressor
from heatgraph.errors import ConvergenceWarning

GRAPH = random_graph(n=2500, edges=8000, d=5)
Y = hg.diffuse(GRAPH, T=1.0) @ np.arange(5.0) + np.random.default_rng(0).normal(size=2500)


def errors_of(train, val=None):
    reg = DGCRegressor(T=1.0, weight_decay=1e-3).fit(GRAPH, Y, train, val)
    return reg, reg.held_out_errors_


def test_validation_nodes_are_predicted_by_the_model_itself():
    val = np.arange(200, 260)
    reg, errors = errors_of(np.arange(200), val)
    assert_allclose(errors[:, 0], np.sort(np.abs(reg.predict(nodes=val) - Y[val])), atol=1e-4)


def test_few_training_nodes_are_all_held_out_in_folds():
    assert len(errors_of(np.arange(200))[1]) == 200


def test_of_many_training_nodes_a_fifth_is_held_out():
    reg, errors = errors_of(np.arange(2000))
    assert len(errors) == 400
    # Those of a fit to the 1,600 others, not of one to a sample as small as that of a search.
    assert np.mean(errors) == pytest.approx(np.abs(reg.predict() - Y)[2000:].mean(), rel=0.1)


def test_a_fit_that_does_not_converge_warns(monkeypatch):
    monkeypatch.setattr("heatgraph.learning._target_task.MAX_ITERATIONS", 1)
    labels = (Y > 0).astype(int)[:, np.newaxis]
    with pytest.warns(ConvergenceWarning, match="the fit did not converge: with weight_decay=1e-0"):
        clf = hg.DGCMultilabelClassifier(T=1.0, weight_decay=1e-9).fit(GRAPH, labels)
    assert not clf.converged_
