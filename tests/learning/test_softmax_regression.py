import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import softmax_objective, softmax_optimum, torch_adam
from strategies import seeds

from heatgraph.errors import InputError
from heatgraph.learning import _softmax_regression
from heatgraph.learning._softmax_regression import (
    OrthogonalCoordinates,
    SoftmaxRegression,
    adam,
    initial_weights,
    lbfgs,
    minimize_lbfgs,
)


def problem(n, p, C, seed, scale=1.0, dtype=np.float64, sets=1):
    """Noisy labels, so that the optimum is finite even with little penalty."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(sets, n, p)) * scale
    y = random.integers(C, size=n)
    y[:C] = np.arange(C)
    return X.astype(dtype), y


def weights_of(fit, g=0, w=0):
    return np.vstack([fit.Theta[g, w], fit.bias[g, w]])


def assert_weights_agree(actual, expected):
    """Hold the tolerance that `DGCClassifier` states for weights fitted in float64."""
    np.testing.assert_allclose(actual, expected, atol=1e-5 * np.abs(expected).max())


@given(
    st.integers(3, 14),
    st.integers(1, 9),
    st.integers(2, 3),
    st.floats(-4, 1),
    st.sampled_from([1e-2, 1.0, 30.0]),
    seeds,
)
def test_lbfgs_finds_the_optimum(n, p, C, log_decay, scale, seed):
    decay = 10**log_decay * scale**2
    X, y = problem(n, p, C, seed, scale)
    fit = lbfgs(X, y, C, [decay])
    optimum, value = softmax_optimum(X[0], y, C, decay)
    assert fit.converged.all()
    found, slope = softmax_objective(weights_of(fit), X[0], y, C, decay)
    assert found <= value + 1e-9 * max(1, value)
    assert np.abs(slope).max() <= 1e-5 * max(1, scale)
    np.testing.assert_allclose(weights_of(fit), optimum, atol=1e-3 * np.abs(optimum).max() + 1e-12)


@pytest.mark.parametrize("shape", [(200, 20), (40, 300)])
def test_lbfgs_in_float32_agrees_with_float64(shape):
    X, y = problem(*shape, 4, seed=1)
    fine = lbfgs(X, y, 4, [1e-2])
    rough = lbfgs(X.astype(np.float32), y, 4, [1e-2])
    assert rough.converged.all()
    assert rough.Theta.dtype == rough.bias.dtype == np.float32
    np.testing.assert_allclose(rough.Theta, fine.Theta, atol=2e-4 * np.abs(fine.Theta).max())


def test_coordinates_of_fewer_rows_than_columns_span_the_row_space():
    X, _ = problem(6, 50, 3, seed=2)
    coordinates = OrthogonalCoordinates.from_features(X)
    assert coordinates.Z.shape == (1, 6, 6)
    np.testing.assert_allclose(coordinates.basis[0].T @ coordinates.basis[0], np.eye(6), atol=1e-12)
    rows = np.hstack([X[0], np.ones((6, 1))])
    np.testing.assert_allclose(coordinates.Z[0], rows @ coordinates.basis[0], atol=1e-12)
    np.testing.assert_allclose(
        coordinates.Z[0].T @ coordinates.Z[0],
        np.diag(coordinates.squared_norms[0]),
        atol=1e-10 * coordinates.squared_norms.max(),
    )


def test_coordinates_of_more_rows_than_columns_span_the_whole_space():
    X, _ = problem(50, 6, 3, seed=2)
    coordinates = OrthogonalCoordinates.from_features(X)
    assert coordinates.Z.shape == (1, 50, 7)
    np.testing.assert_allclose(coordinates.basis[0] @ coordinates.basis[0].T, np.eye(7), atol=1e-12)
    others = problem(5, 6, 3, seed=3)[0]
    rows = np.hstack([others[0], np.ones((5, 1))])
    np.testing.assert_allclose(
        coordinates.transform(others)[0], rows @ coordinates.basis[0], atol=1e-12
    )


@pytest.mark.parametrize("n", [4, 30])
def test_repeated_and_zero_features_reach_the_optimum(n):
    X, y = problem(n, 3, 2, seed=4)
    X = np.concatenate([X, X, np.zeros_like(X)], axis=2)
    X[:, 1] = X[:, 0]
    fit = lbfgs(X, y, 2, [1e-3])
    assert fit.converged.all()
    assert softmax_objective(weights_of(fit), X[0], y, 2, 1e-3)[0] == pytest.approx(
        softmax_optimum(X[0], y, 2, 1e-3)[1], abs=1e-9
    )
    assert (fit.Theta[0, 0, 6:] == 0).all()


def test_a_batched_fit_agrees_with_single_fits():
    X, y = problem(12, 5, 3, seed=5, sets=4)
    decays = [1e-4, 1e-2, 1.0]
    together = lbfgs(X, y, 3, decays)
    for g in range(4):
        for w, decay in enumerate(decays):
            alone = lbfgs(X[g : g + 1], y, 3, [decay])
            assert_weights_agree(weights_of(together, g, w), weights_of(alone))
    rates = [0.1, 0.3, 1.0]
    together = adam(X, y, 3, decays, rates, epochs=20, seed=0)
    for g in range(4):
        for w in range(3):
            alone = adam(X[g : g + 1], y, 3, decays[w : w + 1], rates[w : w + 1], epochs=20, seed=0)
            np.testing.assert_allclose(weights_of(together, g, w), weights_of(alone), rtol=1e-9)


@pytest.mark.parametrize("decay", [0.0, 1e-9, 1e-6])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_dependent_features_in_float32(decay, offset):
    """Repeated columns, or a large mean beside small differences, and hardly a penalty."""
    X, y = problem(300, 5, 3, seed=11)
    X = X + offset if offset else np.concatenate([X, X], axis=2)
    single = X.astype(np.float32)
    fit = lbfgs(single, y, 3, [decay])
    assert fit.converged.all()
    assert np.abs(fit.Theta).max() < 10
    reached, _ = softmax_objective(weights_of(fit), single[0], y, 3, decay)
    assert reached == pytest.approx(softmax_optimum(X[0], y, 3, decay + 1e-12)[1], abs=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_huge_penalty_gives_vanishing_weights(dtype):
    X, y = problem(30, 4, 3, seed=3, dtype=dtype)
    fit = lbfgs(X, y, 3, [1e39])
    assert fit.converged.all()
    assert np.abs(fit.Theta).max() < 1e-20


def test_features_whose_squares_overflow_are_refused():
    X, y = problem(30, 4, 3, seed=3)
    with pytest.raises(InputError, match="their squares overflow"):
        lbfgs(X * 1e200, y, 3, [1.0])


def test_should_stop_ends_the_iteration():
    X, y = problem(30, 4, 3, seed=3)
    calls = []
    _, converged = minimize_lbfgs(
        OrthogonalCoordinates.from_features(X),
        y,
        3,
        [1e-6],
        1e-6,
        lambda: bool(calls.append(1)) or True,
    )
    assert len(calls) == 1
    assert not converged.any()


def test_every_set_may_have_its_own_weight_decay():
    X, y = problem(12, 5, 3, seed=5, sets=2)
    own = lbfgs(X, y, 3, [[1e-3, 1.0], [1e-2, 10.0]])
    walked = adam(X, y, 3, [[1e-3, 1.0], [1e-2, 10.0]], [0.1, 0.1], epochs=5, seed=0)
    for g, decays in enumerate([[1e-3, 1.0], [1e-2, 10.0]]):
        alone = lbfgs(X[g : g + 1], y, 3, decays)
        assert_weights_agree(own.Theta[g], alone.Theta[0])
        alone = adam(X[g : g + 1], y, 3, decays, [0.1, 0.1], epochs=5, seed=0)
        np.testing.assert_allclose(walked.Theta[g], alone.Theta[0], rtol=1e-9)


def test_converged_is_false_at_the_iteration_limit(monkeypatch):
    monkeypatch.setattr(_softmax_regression, "MAX_ITERATIONS", 3)
    X, y = problem(30, 4, 3, seed=3)
    fit = lbfgs(X, y, 3, [1e-8, 1e3])
    assert fit.converged.tolist() == [[False, True]]


def test_separable_labels_without_penalty_stay_finite():
    fit = lbfgs(np.array([[[-1.0], [1.0]]]), np.array([0, 1]), 2, [0.0])
    assert np.isfinite(fit.Theta).all()
    assert fit.Theta[0, 0, 0, 1] > 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_that_differ_by_rounding_alone_converge(dtype):
    """Features that are all but the same, with as many labels of either class."""
    X = 1e3 + np.random.default_rng(0).normal(size=(1, 40, 3)) * 1e3 * np.finfo(dtype).eps
    assert lbfgs(X.astype(dtype), np.arange(40) % 2, 2, [0.1]).converged.all()
    assert lbfgs(X[:, :2].astype(dtype), np.arange(2), 2, [0.1]).converged.all()


def test_zero_features_converge_to_zero_weights():
    fit = lbfgs(np.zeros((1, 4, 2)), np.array([0, 1, 0, 1]), 2, [0.1])
    assert fit.converged.all()
    assert (fit.Theta == 0).all()


@given(st.integers(2, 9), st.integers(1, 7), seeds)
def test_adam_matches_the_formula_of_pytorch(n, p, seed):
    X, y = problem(n, p, 2, seed)
    fit = adam(X, y, 2, [0.01], [0.3], epochs=25, seed=seed)
    start = initial_weights(p, 2, np.float64, seed)
    expected = torch_adam(X[0], y, start, learning_rate=0.3, weight_decay=0.01, epochs=25)
    np.testing.assert_allclose(weights_of(fit).T, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.torch
def test_adam_against_torch_itself():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = problem(20, 7, 3, seed=6, dtype=np.float32)
    start = initial_weights(7, 3, np.float32, seed=9)
    layer = torch.nn.Linear(7, 3)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(start[:, :-1]))
        layer.bias.copy_(torch.from_numpy(start[:, -1]))
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.2, weight_decay=1e-3)
    for _ in range(100):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(layer(torch.from_numpy(X[0])), torch.from_numpy(y))
        loss.backward()
        optimizer.step()
    fit = adam(X, y, 3, [1e-3], [0.2], epochs=100, seed=9)
    np.testing.assert_allclose(fit.Theta[0, 0].T, layer.weight.detach().numpy(), atol=2e-4)
    np.testing.assert_allclose(fit.bias[0, 0], layer.bias.detach().numpy(), atol=2e-4)


def test_initial_weights_are_those_of_a_linear_layer():
    start = initial_weights(400, 50, np.float64, seed=0)
    assert start.shape == (50, 401)
    assert 0.99 / 20 < np.abs(start).max() <= 1 / 20
    # Uniform in +-a has a variance of a^2 / 3.
    assert start.var() == pytest.approx(1 / 400 / 3, rel=0.05)
    assert (start == initial_weights(400, 50, np.float64, seed=0)).all()
    assert (start != initial_weights(400, 50, np.float64, seed=1)).all()


def test_adam_converges_to_the_optimum_of_lbfgs():
    X, y = problem(40, 6, 3, seed=7)
    optimum = lbfgs(X, y, 3, [0.05])
    walked = adam(X, y, 3, [0.05], [0.01], epochs=4000, seed=0)
    values = [softmax_objective(weights_of(fit), X[0], y, 3, 0.05)[0] for fit in (walked, optimum)]
    # Where gradients are rounding errors, Adam's steps are still of the size of the learning rate.
    assert values[0] == pytest.approx(values[1], abs=1e-5)


@pytest.mark.parametrize("shape", [(30, 5), (8, 20)])
@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_held_out_scores_are_those_of_a_fit(shape, solver, monkeypatch):
    monkeypatch.setattr(_softmax_regression, "SEARCH_TOLERANCE", 1e-8)
    X, y = problem(*shape, 3, seed=8, sets=2)
    others, _ = problem(4, shape[1], 3, seed=9, sets=2)
    regression = SoftmaxRegression(solver, epochs=30, seed=0)
    settings = ([1e-3, 1e-1], [0.1, 0.2])
    fit = regression.fit(X, y, 3, *settings)
    scores = regression.held_out_scores(X, y, 3, *settings, others)
    assert scores.shape == (2, 2, 4, 3)
    for g in range(2):
        for w in range(2):
            expected = others[g] @ fit.Theta[g, w] + fit.bias[g, w]
            np.testing.assert_allclose(scores[g, w], expected, atol=1e-4)


def test_a_converged_setting_is_not_moved_by_others():
    X, y = problem(30, 4, 3, seed=10, sets=2)
    coordinates = OrthogonalCoordinates.from_features(X)
    alone, _ = minimize_lbfgs(coordinates, y, 3, [10.0], 1e-3)
    beside, _ = minimize_lbfgs(coordinates, y, 3, [10.0, 1e-8], 1e-3)
    # The size of a matrix product changes its rounding; another iteration would change 1e-4.
    np.testing.assert_allclose(beside[:, :1], alone, rtol=1e-9, atol=1e-14)
