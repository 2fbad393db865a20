"""GWNN and GraphHeat against their dense formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from trained_networks import L, scaled_features, trained, weights

pytestmark = pytest.mark.usefixtures("torch")


def test_gwnn():
    model = trained("gwnn", options={"time": 0.8, "threshold": 1e-3})
    w = weights(model)
    kernels = [expm(sign * 0.8 * L) for sign in (-1, 1)]
    heat, inverse = (np.where(kernel > 1e-3, kernel, 0) for kernel in kernels)
    state = scaled_features(model)
    for layer in range(2):
        state = np.maximum(state, 0) if layer else state
        name = f"layers.{layer}"
        state = heat @ state @ w[f"{name}.lin.weight"].T
        state = inverse @ (w[f"{name}.filter"][:, np.newaxis] * state) + w[f"{name}.lin.bias"]
    assert np.abs(w["layers.0.filter"] - 1).max() > 1e-3
    assert_allclose(model.decision_function(), state, atol=1e-4)


def test_graphheat():
    model = trained("graphheat", options={"time": 1.5})
    w = weights(model)
    heat = expm(-1.5 * L)
    state = scaled_features(model)
    for layer in range(2):
        state = np.maximum(state, 0) if layer else state
        name = f"layers.{layer}"
        near, own = w[f"{name}.near.weight"], w[f"{name}.own.weight"]
        state = heat @ state @ near.T + state @ own.T + w[f"{name}.own.bias"]
    assert_allclose(model.decision_function(), state, atol=1e-4)
