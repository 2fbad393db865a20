"""The batched minimiser, in each form of a design matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import random_problem, softmax_objective, softmax_optimum
from strategies import seeds

from heatgraph.learning._design_matrices import OrthogonalMatrix, RowMatrix, append_ones
from heatgraph.learning._lbfgs import cross_entropy, minimize, ridge_weights

TIGHT = {"tolerance": 1e-8, "max_iterations": 1500}


def gram_matrix(X):
    rows = append_ones(X)
    return OrthogonalMatrix.from_gram(rows @ rows.swapaxes(1, 2), X.dtype)


def row_weights(form, design, weights, X):
    """Weights (G, W, p + 1, C) of the rows [x, 1], from those of any design matrix."""
    if isinstance(design, OrthogonalMatrix):
        weights = design.to_basis(weights)
    if form == "gram":
        weights = np.einsum("gwcn,gnp->gwcp", weights, append_ones(X))
    return weights.swapaxes(2, 3)


FORMS = {
    "rows": OrthogonalMatrix.from_rows,
    "gram": gram_matrix,
    "dense": lambda X: RowMatrix.from_features(X[0]),
    "sparse": lambda X: RowMatrix.from_features(sp.csr_array(X[0])),
}


@pytest.mark.parametrize("form", FORMS)
@given(
    st.integers(3, 14),
    st.integers(1, 9),
    st.integers(2, 3),
    st.floats(-4, 1),
    st.sampled_from([1e-2, 1.0, 30.0]),
    seeds,
)
def test_finds_the_optimum(form, n, p, C, log_decay, scale, seed):
    decay = 10**log_decay * scale**2
    X, y = random_problem(n, p, C, seed, scale)
    design = FORMS[form](X)
    weights, converged = minimize(design, y, C, [decay], **TIGHT)
    Theta = row_weights(form, design, weights, X)[0, 0]
    optimum, value = softmax_optimum(X[0], y, C, decay)
    assert converged.all()
    found, slope = softmax_objective(Theta, X[0], y, C, decay)
    assert found <= value + 1e-9 * max(1, value)
    assert np.abs(slope).max() <= 1e-5 * max(1, scale)
    np.testing.assert_allclose(Theta, optimum, atol=1e-3 * np.abs(optimum).max() + 1e-12)


@pytest.mark.parametrize("form", FORMS)
@given(st.integers(3, 14), st.integers(1, 9), st.floats(-4, 1), seeds)
def test_ridge_weights_minimise_the_quadratic_bound(form, n, p, log_decay, seed):
    X, y = random_problem(n, p, 3, seed)
    design = FORMS[form](X)
    decay = 10**log_decay
    Theta = row_weights(form, design, ridge_weights(design, y, 3, [decay, 2 * decay]), X)[0, 0]
    A, Y = np.hstack([X[0], np.ones((n, 1))]), np.eye(3)[y]
    expected = np.linalg.solve(A.T @ A / 2 + n * decay * np.eye(p + 1), A.T @ (Y - 1 / 3))
    np.testing.assert_allclose(Theta, expected, atol=1e-6 * np.abs(expected).max() + 1e-12)


def test_the_first_step_is_ridge_regression():
    X, y = random_problem(30, 5, 3, seed=0)
    design = OrthogonalMatrix.from_rows(X)
    weights, _ = minimize(design, y, 3, [0.1, 1.0], tolerance=1e-8, max_iterations=1)
    np.testing.assert_allclose(weights, ridge_weights(design, y, 3, [0.1, 1.0]))


def test_a_batch_agrees_with_single_fits():
    X, y = random_problem(12, 5, 3, seed=5, sets=4)
    decays = np.array([[1e-4, 1e-2, 1.0]] * 3 + [[1e-3, 1e-1, 10.0]])
    for form in ("rows", "gram"):
        design = FORMS[form](X)
        together, _ = minimize(design, y, 3, decays, **TIGHT)
        for g in range(4):
            one = FORMS[form](X[g : g + 1])
            for w in range(3):
                alone, _ = minimize(one, y, 3, decays[g : g + 1, w], **TIGHT)
                atol = 1e-5 * np.abs(alone).max()
                np.testing.assert_allclose(together[g, w], alone[0, 0], atol=atol)


def test_a_converged_setting_is_not_moved_by_others():
    X, y = random_problem(30, 4, 3, seed=10, sets=2)
    design = OrthogonalMatrix.from_rows(X)
    rough = {"tolerance": 1e-3, "max_iterations": 1500}
    alone, _ = minimize(design, y, 3, [10.0], **rough)
    beside, _ = minimize(design, y, 3, [10.0, 1e-8], **rough)
    # The size of a matrix product changes its rounding; another iteration would change 1e-4.
    np.testing.assert_allclose(beside[:, :1], alone, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("form", ["rows", "dense"])
def test_the_iteration_limit_is_reported(form):
    X, y = random_problem(30, 4, 3, seed=3)
    _, converged = minimize(FORMS[form](X), y, 3, [1e-8, 1e3], tolerance=1e-8, max_iterations=3)
    assert converged.tolist() == [[False, True]]


def test_should_stop_is_asked_once_per_iteration():
    X, y = random_problem(30, 4, 3, seed=3)
    calls = []
    _, converged = minimize(
        OrthogonalMatrix.from_rows(X), y, 3, [1e-6], tolerance=1e-6, max_iterations=100,
        should_stop=lambda: bool(calls.append(1)) or True,
    )  # fmt: skip
    assert len(calls) == 1
    assert not converged.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["rows", "dense"])
def test_a_huge_penalty_gives_vanishing_weights(form, dtype):
    X, y = random_problem(30, 4, 3, seed=3, dtype=dtype)
    weights, converged = minimize(FORMS[form](X), y, 3, [1e39], **TIGHT)
    assert converged.all()
    assert np.abs(weights).max() < 1e-20


@pytest.mark.parametrize("form", ["gram", "dense"])
def test_separable_labels_without_penalty_stay_finite(form):
    X, y = np.array([[[-1.0], [1.0]]]), np.array([0, 1])
    design = FORMS[form](X)
    weights, _ = minimize(design, y, 2, [0.0], tolerance=1e-8, max_iterations=200)
    Theta = row_weights(form, design, weights, X)
    assert np.isfinite(Theta).all()
    assert Theta[0, 0, 0, 1] > 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["rows", "dense"])
def test_features_that_differ_by_rounding_alone_converge(form, dtype):
    """Features that are all but the same, with as many labels of either class."""
    X = 1e3 + np.random.default_rng(0).normal(size=(1, 40, 3)) * 1e3 * np.finfo(dtype).eps
    tolerance = {np.float32: 1e-6, np.float64: 1e-8}[dtype]
    design = FORMS[form](X.astype(dtype))
    _, converged = minimize(
        design, np.arange(40) % 2, 2, [0.1], tolerance=tolerance, max_iterations=1500
    )
    assert converged.all()


@given(st.integers(1, 6), st.integers(2, 4), seeds)
def test_cross_entropy_and_its_gradient(n, C, seed):
    random = np.random.default_rng(seed)
    scores, y = random.normal(size=(C, n)) * 5, random.integers(C, size=n)
    loss, gradient = cross_entropy(scores[np.newaxis, np.newaxis], y)
    P = np.exp(scores) / np.exp(scores).sum(axis=0)
    assert loss[0, 0] == pytest.approx(-np.log(P[y, np.arange(n)]).mean())
    np.testing.assert_allclose(gradient[0, 0], (P - np.eye(C)[y].T) / n, atol=1e-12)
