"""CGNN and GCDE against the solutions of their equations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from trained_networks import A, S, scaled_features, trained, weights

pytestmark = pytest.mark.usefixtures("torch")


def test_cgnn():
    """Its equation is linear: H(t) = exp(M t) E + (integral of exp(M s)) E."""
    options = {"alpha": 0.7, "own_weight": 0.5, "time": 3.0, "tol": 1e-7}
    model = trained("cgnn", options=options, feature_scaling="none")
    w = weights(model)
    loops = A + 0.5 * np.eye(90)
    root = np.diag(loops.sum(axis=1) ** -0.5)
    rate = 1 / (1 + np.exp(-w["rate"])) / 2
    assert w["rate"] != np.float32(0.7)
    M = rate * (root @ loops @ root - np.eye(90))
    E = scaled_features(model) @ w["encode.weight"].T + w["encode.bias"]
    joint = expm(3.0 * np.block([[M, np.eye(90)], [np.zeros((90, 180))]]))
    H = np.maximum((joint[:90, :90] + joint[:90, 90:]) @ E, 0)
    scores = H @ w["decode.weight"].T + w["decode.bias"]
    assert_allclose(model.decision_function(), scores, atol=1e-3)


def test_gcde():
    """One step of the Runge-Kutta method with thirds, which torchdiffeq calls rk4."""
    model = trained("gcde")
    w = weights(model)

    def layer(state, name):
        return S @ state @ w[f"{name}.lin.weight"].T + w[f"{name}.bias"]

    def change(state):
        return layer(np.logaddexp(0, layer(state, "inner.0")), "inner.1")

    H = np.maximum(layer(scaled_features(model), "first"), 0)
    k1 = change(H)
    k2 = change(H + k1 / 3)
    k3 = change(H + k2 - k1 / 3)
    k4 = change(H + k1 - k2 + k3)
    H = H + (k1 + 3 * k2 + 3 * k3 + k4) / 8
    assert_allclose(model.decision_function(), layer(H, "last"), atol=1e-3)
