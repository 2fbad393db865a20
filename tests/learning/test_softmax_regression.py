"""A single fit, whatever the number of nodes and features."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import random_problem, softmax_objective, softmax_optimum

from heatgraph.errors import InputError
from heatgraph.learning import _softmax_regression
from heatgraph.learning._adam import adam
from heatgraph.learning._design_matrices import RowMatrix
from heatgraph.learning._softmax_regression import SoftmaxRegression

LBFGS = SoftmaxRegression("lbfgs", epochs=100, seed=0)
SHAPES = [(40, 120), (120, 40), (30, 29), (700, 20), (610, 100)]


def weights_of(fit):
    return np.vstack([fit.Theta, fit.bias])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_finds_the_optimum(shape, kind):
    X, y = random_problem(*shape, 4, seed=1)
    fit = LBFGS.fit(kind(X[0]), y, 4, 1e-2, 0.2)
    assert fit.converged
    assert fit.Theta.dtype == fit.bias.dtype == np.float64
    optimum, value = softmax_optimum(X[0], y, 4, 1e-2)
    assert softmax_objective(weights_of(fit), X[0], y, 4, 1e-2)[0] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(weights_of(fit), optimum, atol=1e-4 * np.abs(optimum).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_float32_agrees_with_float64(shape):
    X, y = random_problem(*shape, 4, seed=1)
    fine = LBFGS.fit(X[0], y, 4, 1e-2, 0.2)
    rough = LBFGS.fit(X[0].astype(np.float32), y, 4, 1e-2, 0.2)
    assert rough.converged
    assert rough.Theta.dtype == rough.bias.dtype == np.float32
    np.testing.assert_allclose(rough.Theta, fine.Theta, atol=2e-4 * np.abs(fine.Theta).max())


@pytest.mark.parametrize("n", [4, 30, 700])
def test_repeated_and_zero_features_reach_the_optimum(n):
    X, y = random_problem(n, 3, 2, seed=4)
    X = np.concatenate([X, X, np.zeros_like(X)], axis=2)[0]
    X[1] = X[0]
    fit = LBFGS.fit(X, y, 2, 1e-3, 0.2)
    assert fit.converged
    reached, _ = softmax_objective(weights_of(fit), X, y, 2, 1e-3)
    assert reached == pytest.approx(softmax_optimum(X, y, 2, 1e-3)[1], abs=1e-9)
    np.testing.assert_allclose(fit.Theta[6:], 0, atol=1e-7)


@pytest.mark.parametrize("decay", [0.0, 1e-9, 1e-6])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("n", [300, 800])
def test_dependent_features_in_float32(n, decay, offset):
    """Repeated columns, or a large mean beside small differences, and hardly a penalty."""
    X, y = random_problem(n, 5, 3, seed=11)
    X = X[0] + offset if offset else np.concatenate([X, X], axis=2)[0]
    single = X.astype(np.float32)
    fit = LBFGS.fit(single, y, 3, decay, 0.2)
    assert fit.converged
    assert np.abs(fit.Theta).max() < 10
    reached, _ = softmax_objective(weights_of(fit), single, y, 3, decay)
    assert reached == pytest.approx(softmax_optimum(X, y, 3, decay + 1e-12)[1], abs=2e-3)


@pytest.mark.parametrize("n", [30, 700])
def test_features_whose_squares_overflow_are_refused(n):
    X, y = random_problem(n, 4, 3, seed=3)
    with pytest.raises(InputError, match="their squares overflow"), np.errstate(all="ignore"):
        LBFGS.fit(X[0] * 1e200, y, 3, 1.0, 0.2)


@pytest.mark.parametrize("n", [4, 700])
def test_zero_features_converge_to_zero_weights(n):
    fit = LBFGS.fit(np.zeros((n, 2)), np.arange(n) % 2, 2, 0.1, 0.2)
    assert fit.converged
    np.testing.assert_allclose(fit.Theta, 0, atol=1e-12)


@pytest.mark.parametrize("n", [30, 700])
def test_the_iteration_limit_is_reported(n, monkeypatch):
    monkeypatch.setattr(_softmax_regression, "MAX_ITERATIONS", 3)
    monkeypatch.setattr(_softmax_regression, "MAX_NEWTON_ITERATIONS", 2)
    X, y = random_problem(n, 4, 3, seed=3)
    assert not LBFGS.fit(X[0], y, 3, 1e-8, 0.2).converged
    assert LBFGS.fit(X[0], y, 3, 1e3, 0.2).converged


def test_features_are_overwritten_only_if_allowed():
    X, y = random_problem(700, 5, 3, seed=0)
    kept, given_up = X[0].copy(), X[0].copy()
    one = LBFGS.fit(kept, y, 3, 0.1, 0.2)
    two = LBFGS.fit(given_up, y, 3, 0.1, 0.2, overwrite=True)
    np.testing.assert_array_equal(kept, X[0])
    np.testing.assert_array_equal(one.Theta, two.Theta)


def test_a_design_matrix_can_be_fitted_itself():
    X, y = random_problem(700, 5, 3, seed=0)
    one = LBFGS.fit(X[0], y, 3, 0.1, 0.2)
    two = LBFGS.fit_design(RowMatrix.from_features(X[0]), y, 3, 0.1)
    np.testing.assert_array_equal(weights_of(one), weights_of(two))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_adam(kind):
    X, y = random_problem(20, 7, 3, seed=6)
    regression = SoftmaxRegression("adam", epochs=30, seed=5)
    fit = regression.fit(kind(X[0]), y, 3, 0.01, 0.3)
    expected = adam(X, y, 3, [0.01], [0.3], epochs=30, seed=5)[0, 0]
    np.testing.assert_array_equal(weights_of(fit), expected)
    assert fit.converged
