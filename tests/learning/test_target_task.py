"""Tasks of targets: the forms of a fit, and training nodes that are left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from strategies import planted

import heatgraph as hg
from heatgraph.learning._search_space import Setting
from heatgraph.learning._target_losses import LOGISTIC, SQUARED_ERROR
from heatgraph.learning._target_task import TargetRegression, TargetTask

ENGINE = {"tol": 1e-9, "dtype": "float64", "n_threads": 1, "memory_budget": None}
SETTING = Setting(hg.Heat(1.0), True, "none", 0.05, 1.0)


def make_task(loss, kind="dense", n=80, num_train=40):
    graph, classes = planted(n=n, kind=kind)
    return TargetTask(
        graph=graph,
        train=np.arange(num_train),
        codes=np.zeros(num_train, dtype=np.int64),
        val=None,
        val_codes=None,
        num_classes=3,
        regression=TargetRegression("lbfgs", 1, 0, 1, loss=loss),
        engine=ENGINE,
        seed=0,
        Y=np.eye(3)[classes],
        loss=loss,
    )


@pytest.mark.parametrize("loss", [SQUARED_ERROR, LOGISTIC], ids=["squared", "logistic"])
@pytest.mark.parametrize("kind", ["words", "dense", None])
def test_the_gradient_of_a_fit_is_zero(loss, kind):
    task = make_task(loss, kind)
    _, fit = task.fit(SETTING)
    graph = task.graph
    Z = hg.diffuse(graph, T=1.0, **ENGINE)[task.train]
    base = task.targets.base
    offset = fit.bias - base
    _, residuals = loss.evaluate((Z @ fit.Theta + offset).T, task.targets, None)
    gradient = residuals @ Z + SETTING.weight_decay * fit.Theta.T
    assert_allclose(gradient, 0, atol=1e-6)
    assert_allclose(residuals.sum(axis=1) + SETTING.weight_decay * offset, 0, atol=1e-6)


@pytest.mark.parametrize("loss", [SQUARED_ERROR, LOGISTIC], ids=["squared", "logistic"])
def test_weights_of_nodes_are_copies_of_them(loss):
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(700, 5)), random.integers(0, 2, (700, 2)).astype(float)
    counts = random.integers(1, 4, 700)
    regression = TargetRegression("lbfgs", 1, 0, 1, loss=loss)
    targets = loss.targets(np.repeat(Y, counts, axis=0))
    copied = regression.fit(np.repeat(X, counts, axis=0), targets, 2, 0.1, 1.0)
    weighted = regression.fit(
        X, type(targets)(Y, targets.base), 2, 0.1, 1.0, sample_weight=counts / counts.sum()
    )
    assert_allclose(weighted.Theta, copied.Theta, atol=1e-6)


def test_without_some_training_nodes():
    task = make_task(SQUARED_ERROR)
    smaller = task.without(np.array([0, 5]))
    assert_array_equal(smaller.train, np.delete(np.arange(40), [0, 5]))
    assert len(smaller.codes) == 38
    assert_allclose(smaller.targets.base, task.Y[smaller.train].mean(axis=0))
