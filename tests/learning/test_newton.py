"""Newton's method for one setting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import random_problem, softmax_objective, softmax_optimum
from strategies import seeds

from heatgraph.learning._design_matrices import OrthogonalMatrix, RowMatrix
from heatgraph.learning._lbfgs import minimize
from heatgraph.learning._newton import newton_minimize

TIGHT = {"tolerance": 1e-8, "max_iterations": 100}


@given(
    st.integers(3, 14),
    st.integers(1, 9),
    st.integers(2, 3),
    st.floats(-4, 1),
    st.sampled_from([1e-2, 1.0, 30.0]),
    seeds,
)
def test_finds_the_optimum(n, p, C, log_decay, scale, seed):
    decay = 10**log_decay * scale**2
    X, y = random_problem(n, p, C, seed, scale)
    design = OrthogonalMatrix.from_rows(X)
    weights, converged = newton_minimize(design, y, C, decay, **TIGHT)
    Theta = design.to_basis(weights)[0, 0].T
    optimum, value = softmax_optimum(X[0], y, C, decay)
    assert converged
    found, slope = softmax_objective(Theta, X[0], y, C, decay)
    assert found <= value + 1e-9 * max(1, value)
    assert np.abs(slope).max() <= 1e-5 * max(1, scale)
    np.testing.assert_allclose(Theta, optimum, atol=1e-3 * np.abs(optimum).max() + 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decay", [1e-6, 1e-3, 1.0])
def test_agrees_with_lbfgs_on_rows(dtype, decay):
    X, y = random_problem(200, 30, 5, seed=2)
    design = RowMatrix.from_features(X[0].astype(dtype))
    tolerance = 1e-8 if dtype == np.float64 else 1e-5
    ours, converged = newton_minimize(design, y, 5, decay, tolerance=tolerance, max_iterations=100)
    other, _ = minimize(design, y, 5, [decay], tolerance=tolerance, max_iterations=1500)
    assert converged
    assert ours.dtype == dtype
    atol = (1e-5 if dtype == np.float64 else 2e-2) * np.abs(other).max()
    np.testing.assert_allclose(ours, other, atol=atol)


def test_weights_of_nodes_are_repetitions():
    X, y = random_problem(40, 6, 3, seed=7)
    times = np.random.default_rng(0).integers(1, 5, size=40)
    repeated = OrthogonalMatrix.from_rows(np.repeat(X, times, axis=1))
    expected, _ = newton_minimize(repeated, np.repeat(y, times), 3, 0.01, **TIGHT)
    design = OrthogonalMatrix.from_rows(X)
    shares = times / times.sum()
    found, converged = newton_minimize(design, y, 3, 0.01, sample_weight=shares, **TIGHT)
    assert converged
    by_lbfgs, _ = minimize(
        design, y, 3, [0.01], tolerance=1e-8, max_iterations=1500, sample_weight=shares
    )
    for weights in (found, by_lbfgs):
        np.testing.assert_allclose(design.to_basis(weights), repeated.to_basis(expected), atol=1e-5)


def test_the_iteration_limit_is_reported():
    X, y = random_problem(30, 4, 3, seed=3)
    design = OrthogonalMatrix.from_rows(X)
    _, converged = newton_minimize(design, y, 3, 1e-8, tolerance=1e-8, max_iterations=2)
    assert not converged


def test_separable_classes_without_a_penalty_have_no_optimum():
    X, y = random_problem(4, 9, 2, seed=3)
    design = OrthogonalMatrix.from_rows(X)
    weights, _ = newton_minimize(design, y, 2, 0.0, **TIGHT)
    assert np.isfinite(weights).all()
    assert (design.scores(weights)[0, 0].argmax(axis=0) == y).all()


def test_takes_few_iterations_near_the_optimum():
    """Convergence is superlinear: eight digits take little more than four."""
    X, y = random_problem(100, 10, 3, seed=1)
    design = OrthogonalMatrix.from_rows(X)

    def needed(tolerance):
        return next(
            count
            for count in range(1, 100)
            if newton_minimize(design, y, 3, 1e-3, tolerance=tolerance, max_iterations=count)[1]
        )

    assert needed(1e-8) <= needed(1e-4) + 3
