"""Networks of PyTorch Geometric's layers against their dense formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from trained_networks import GRAPH, A, S, scaled_features, trained, weights

from heatgraph import SGC, diffuse
from heatgraph.baselines.gnn.recipes import RECIPES

pytestmark = pytest.mark.usefixtures("torch")


def test_gcn():
    model = trained("gcn")
    w = weights(model)
    hidden = S @ scaled_features(model) @ w["layers.0.lin.weight"].T + w["layers.0.bias"]
    scores = S @ np.maximum(hidden, 0) @ w["layers.1.lin.weight"].T + w["layers.1.bias"]
    assert_allclose(model.decision_function(), scores, atol=1e-4)


def test_sgc_reads_the_same_features_as_the_linear_one():
    model = trained("sgc", options={"steps": 3})
    w = weights(model)
    X = diffuse(GRAPH.with_features(scaled_features(model)), scheme=SGC(3), dtype=np.float64)
    scores = X @ w["layers.0.lin.weight"].T + w["layers.0.lin.bias"]
    assert_allclose(model.decision_function(), scores, atol=1e-4)


@pytest.mark.parametrize("steps", [1, 3])
def test_sign_with_a_hidden_layer(steps):
    model = trained("sign-mlp", options={"steps": steps}, epochs=10)
    w, X = weights(model), scaled_features(model)
    parts = np.split(w["first.weight"], steps + 1)
    blocks = [np.linalg.matrix_power(S, k) @ X @ W.T for k, W in enumerate(parts)]
    assert blocks[0].shape == (90, 4)
    hidden = np.maximum(np.concatenate(blocks, axis=1) + w["bias"], 0)
    scores = hidden @ w["second.weight"].T + w["second.bias"]
    assert_allclose(model.decision_function(), scores, atol=1e-4)


def test_appnp():
    model = trained("appnp", options={"alpha": 0.2, "steps": 4})
    w = weights(model)
    hidden = np.maximum(scaled_features(model) @ w["first.weight"].T, 0)
    start = state = hidden @ w["second.weight"].T
    for _ in range(4):
        state = 0.8 * S @ state + 0.2 * start
    assert_allclose(model.decision_function(), state, atol=1e-4)


@pytest.mark.parametrize("network", ["graphsage-mean", "graphsage-gcn"])
def test_graphsage(network):
    model = trained(network)
    w = weights(model)
    own = network == "graphsage-mean"
    near = A if own else A + np.eye(90)
    mean = near / np.maximum(near.sum(axis=1, keepdims=True), 1)
    state = scaled_features(model)
    for layer in range(2):
        state = np.maximum(state, 0) if layer else state
        after = mean @ state @ w[f"layers.{layer}.lin_l.weight"].T
        after += w[f"layers.{layer}.lin_l.bias"]
        state = after + state @ w[f"layers.{layer}.lin_r.weight"].T if own else after
    assert_allclose(model.decision_function(), state, atol=1e-4)


def test_graphsage_with_an_lstm(torch):
    """Each node's neighbours are padded with zeros to the largest degree."""
    model = trained("graphsage-lstm")
    most = int((A > 0).sum(axis=1).max())
    state = torch.from_numpy(scaled_features(model)).float()
    with torch.no_grad():
        for number, layer in enumerate(model.network_.layers):
            state = torch.relu(state) if number else state
            near = []
            for row in A:
                listed = torch.zeros(most, state.shape[1])
                neighbours = state[torch.from_numpy(np.flatnonzero(row))]
                listed[: len(neighbours)] = neighbours
                near.append(layer.aggr_module.lstm(listed)[0][-1])
            state = layer.lin_l(torch.stack(near)) + layer.lin_r(state)
    assert_allclose(model.decision_function(), state.numpy(), atol=1e-4)


def test_gat():
    model = trained("gat", options={"heads": 3, "out_heads": 2})
    w = weights(model)
    near = (A + np.eye(90)) > 0

    def layer(state, number, heads, concat):
        name = f"layers.{number}"
        H = (state @ w[f"{name}.lin.weight"].T).reshape(90, heads, -1)
        source = (H * w[f"{name}.att_src"]).sum(axis=-1)
        target = (H * w[f"{name}.att_dst"]).sum(axis=-1)
        e = target[:, np.newaxis] + source[np.newaxis]
        e = np.where(e > 0, e, 0.2 * e)
        e = np.where(near[:, :, np.newaxis], np.exp(e), 0)
        attention = e / e.sum(axis=1, keepdims=True)
        out = np.einsum("vuh,uhd->vhd", attention, H)
        out = out.reshape(90, -1) if concat else out.mean(axis=1)
        return out + w[f"{name}.bias"]

    hidden = layer(scaled_features(model), 0, 3, concat=True)
    hidden = np.where(hidden > 0, hidden, np.expm1(hidden))
    assert_allclose(model.decision_function(), layer(hidden, 1, 2, concat=False), atol=1e-4)


@pytest.mark.parametrize(("network", "join"), [
    ("jknet-max", lambda states: np.max(states, axis=0)),
    ("jknet-concat", lambda states: np.concatenate(states, axis=1)),
])  # fmt: skip
def test_jknet(network, join):
    model = trained(network, layers=3)
    w = weights(model)
    states, state = [], scaled_features(model)
    for number in range(3):
        state = S @ state @ w[f"layers.{number}.lin.weight"].T + w[f"layers.{number}.bias"]
        state = np.maximum(state, 0)
        states.append(state)
    scores = S @ join(states) @ w["read.lin.weight"].T + w["read.bias"]
    assert_allclose(model.decision_function(), scores, atol=1e-4)


def test_jknet_with_an_lstm(torch):
    """A bidirectional LSTM over the layers gives each node attention to its states."""
    model = trained("jknet-lstm", layers=3)
    w, jump = weights(model), model.network_.jump
    states, state = [], scaled_features(model)
    for number in range(3):
        state = S @ state @ w[f"layers.{number}.lin.weight"].T + w[f"layers.{number}.bias"]
        state = np.maximum(state, 0)
        states.append(state)
    joined = np.zeros((90, 4))
    for node in range(90):
        own = np.array([state[node] for state in states])
        with torch.no_grad():
            read, _ = jump.lstm(torch.from_numpy(own).float())
            attention = np.exp(jump.att(read)[:, 0].numpy())
        joined[node] = attention / attention.sum() @ own
    scores = S @ joined @ w["read.lin.weight"].T + w["read.bias"]
    assert_allclose(model.decision_function(), scores, atol=1e-4)


def test_every_recipe_has_a_network_and_vice_versa():
    from heatgraph.baselines.gnn.networks import NETWORKS

    assert list(NETWORKS) == list(RECIPES)
