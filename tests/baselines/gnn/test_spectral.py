"""GWNN and GraphHeat against their dense formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from trained_networks import GRAPH, L, scaled_features, trained, weights

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


def test_graph_convolution_is_that_of_pytorch_geometric(torch):
    """Weights have the same names and initial values; scores and gradients are the same."""
    from torch_geometric.nn import GCNConv

    from heatgraph.baselines.gnn.spectral import GraphConvolution
    from heatgraph.baselines.gnn.structures import csr_tensor, operator_entries

    operator = GRAPH.operator().to_scipy()
    H = torch.from_numpy(np.random.default_rng(0).standard_normal((90, 5)).astype(np.float32))
    found = []
    for make in (lambda: GCNConv(5, 3, normalize=False), lambda: GraphConvolution(5, 3)):
        torch.manual_seed(0)
        layer = make()
        is_ours = isinstance(layer, GraphConvolution)
        structure = [csr_tensor(operator)] if is_ours else operator_entries(operator)
        inputs = H.clone().requires_grad_()
        scores = layer(inputs, *structure)
        scores.square().sum().backward()
        gradients = [weights.grad for weights in layer.parameters()]
        found.append([scores.detach(), inputs.grad, *gradients, *layer.state_dict().values()])
        names = list(layer.state_dict())
    assert names == ["bias", "lin.weight"]
    for theirs, ours in zip(*found, strict=True):
        assert_allclose(ours, theirs, atol=1e-5)


def test_several_series_share_their_chebyshev_vectors(torch):
    from numpy.polynomial.chebyshev import chebvander

    from heatgraph.baselines.gnn.spectral import apply_series
    from heatgraph.baselines.gnn.structures import csr_tensor

    operator = GRAPH.operator()
    H = np.random.default_rng(0).standard_normal((90, 2)).astype(np.float32)
    series = [[0.5], [1.0, -2.0, 0.25, 3.0], [0.1, 0.2]]
    found = apply_series(csr_tensor(operator.to_scipy()), series, torch.from_numpy(H))
    eigenvalues, vectors = np.linalg.eigh(operator.to_scipy().toarray())
    for sums, coefficients in zip(found, series, strict=True):
        response = chebvander(eigenvalues, len(coefficients) - 1) @ coefficients
        assert_allclose(sums, vectors @ (response[:, None] * (vectors.T @ H)), atol=1e-5)
