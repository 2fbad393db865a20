"""The paper's Adam, compared with the formula of PyTorch and with PyTorch itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import random_problem, softmax_objective, softmax_optimum, torch_adam
from strategies import seeds

from heatgraph.learning._adam import adam, initial_weights


@given(st.integers(2, 9), st.integers(1, 7), seeds)
def test_adam_matches_the_formula_of_pytorch(n, p, seed):
    X, y = random_problem(n, p, 2, seed)
    weights = adam(X, y, 2, [0.01], [0.3], epochs=25, seed=seed)
    start = initial_weights(p, 2, np.float64, seed)
    expected = torch_adam(X[0], y, start, learning_rate=0.3, weight_decay=0.01, epochs=25)
    np.testing.assert_allclose(weights[0, 0].T, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 1e-3)])
@pytest.mark.parametrize("num_classes", range(2, 10))
def test_any_number_of_classes(num_classes, dtype, rtol):
    """Rows of weights are padded to a multiple of four."""
    X, y = random_problem(30, 6, num_classes, seed=1, dtype=dtype)
    weights = adam(X, y, num_classes, [0.01, 0.1], [0.1, 0.02], epochs=50, seed=2)
    assert weights.dtype == dtype
    start = initial_weights(6, num_classes, dtype, seed=2)
    for setting, decay, rate in zip(weights[0], [0.01, 0.1], [0.1, 0.02], strict=True):
        expected = torch_adam(X[0], y, start, rate, decay, epochs=50)
        np.testing.assert_allclose(setting.T, expected, rtol=rtol, atol=rtol)


def test_squares_that_overflow_give_infinities():
    X, y = random_problem(12, 5, 3, seed=5, dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = adam(X * np.float32(1e25), y, 3, [0.0], [0.1], epochs=5, seed=0)
    assert not np.isfinite(weights).all()


@pytest.mark.torch
def test_adam_against_torch_itself():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = random_problem(20, 7, 3, seed=6, dtype=np.float32)
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
    weights = adam(X, y, 3, [1e-3], [0.2], epochs=100, seed=9)
    np.testing.assert_allclose(weights[0, 0, :-1].T, layer.weight.detach().numpy(), atol=2e-4)
    np.testing.assert_allclose(weights[0, 0, -1], layer.bias.detach().numpy(), atol=2e-4)


def test_initial_weights_are_those_of_a_linear_layer():
    start = initial_weights(400, 50, np.float64, seed=0)
    assert start.shape == (50, 401)
    assert 0.99 / 20 < np.abs(start).max() <= 1 / 20
    # Uniform in +-a has a variance of a^2 / 3.
    assert start.var() == pytest.approx(1 / 400 / 3, rel=0.05)
    assert (start == initial_weights(400, 50, np.float64, seed=0)).all()
    assert (start != initial_weights(400, 50, np.float64, seed=1)).all()


def test_settings_do_not_influence_each_other():
    X, y = random_problem(12, 5, 3, seed=5, sets=4)
    decays, rates = [[1e-4, 1e-2, 1.0]] * 3 + [[1e-3, 1e-1, 10.0]], [0.1, 0.3, 1.0]
    together = adam(X, y, 3, decays, rates, epochs=20, seed=0)
    assert together.shape == (4, 3, 6, 3)
    for g in range(4):
        for w in range(3):
            alone = adam(X[g : g + 1], y, 3, [decays[g][w]], rates[w : w + 1], epochs=20, seed=0)
            np.testing.assert_allclose(together[g, w], alone[0, 0], rtol=1e-9)


def test_converges_to_the_optimum():
    X, y = random_problem(40, 6, 3, seed=7)
    walked = adam(X, y, 3, [0.05], [0.01], epochs=4000, seed=0)
    reached, _ = softmax_objective(walked[0, 0], X[0], y, 3, 0.05)
    # Where gradients are rounding errors, Adam's steps are still of the size of the learning rate.
    assert reached == pytest.approx(softmax_optimum(X[0], y, 3, 0.05)[1], abs=1e-5)
