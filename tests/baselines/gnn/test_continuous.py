"""CGNN and GCDE against the solutions of their equations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from trained_networks import GRAPH, A, S, scaled_features, trained, weights

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


@pytest.mark.parametrize("rate", [1e-5, 0.05, 0.36, 0.5])
def test_a_diffusion_with_a_source_is_the_solution_of_its_equation(torch, rate):
    """Values and gradients against a solver; gradients flow through the initial value only."""
    from torchdiffeq import odeint

    from heatgraph.baselines.gnn.continuous import SourcedDiffusion
    from heatgraph.baselines.gnn.structures import csr_tensor

    time, rng = 12.1, np.random.default_rng(0)
    operator = csr_tensor(GRAPH.operator().to_scipy())
    start, gradient = (torch.from_numpy(rng.standard_normal((90, 4))) for _ in range(2))

    def results(solve, dtype):
        E = start.to(dtype, copy=True).requires_grad_()
        b = torch.tensor(rate, dtype=dtype, requires_grad=True)
        H = solve(E, b)
        H.backward(gradient.to(dtype))
        return [tensor.double().numpy() for tensor in (H.detach(), E.grad, b.grad)]

    def by_solver(E, b):
        dense, source = torch.from_numpy(S), E.detach()
        times = torch.tensor([0.0, time], dtype=E.dtype)

        def change(_, H):
            return b * (dense @ H - H) + source

        return odeint(change, E, times, rtol=1e-9, atol=1e-9)[-1]

    exact = results(by_solver, torch.float64)
    found = results(lambda E, b: SourcedDiffusion.apply(operator, E, b, time, 1e-7), torch.float32)
    for value, expected in zip(found, exact, strict=True):
        assert_allclose(value, expected, atol=1e-5 * np.abs(expected).max())


def test_bounds_on_the_growth_of_the_responses():
    """The bounds hold on circles in the complex plane, where the responses are largest."""
    from heatgraph.baselines.gnn.continuous import HeatWithSource, RateDerivative

    rate, time = 0.4, 3.0
    angles = np.linspace(0, 2 * np.pi, 400)
    for radius in (1.0, 1.5, 4.0):
        x = 1 - radius * np.exp(1j * angles)
        z = rate * time * x + 1e-12
        mean = (1 - np.exp(-z)) / z
        slope = (z * np.exp(-z) - 1 + np.exp(-z)) / z**2
        values = {
            HeatWithSource: np.exp(-z) + time * mean,
            RateDerivative: time * x * (time * slope - np.exp(-z)),
        }
        for scheme, response in values.items():
            assert np.isfinite(response).all() or radius == 1
            largest = np.nanmax(np.abs(response))
            assert np.log(largest) <= scheme(rate, time).log_growth(np.array(radius)) + 1e-3
