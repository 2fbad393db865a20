"""Graph neural networks: each layer against its dense formula, and the estimator around them."""

import sys
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense_operator
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from strategies import planted

from heatgraph import SGC, Graph, diffuse
from heatgraph.baselines.gnn import estimator
from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.errors import InputError, MissingExtraError

# One thread is the fastest on a graph this small, and does not wait for others.
GNNClassifier = partial(estimator.GNNClassifier, n_threads=1)
GRAPH, LABELS = planted(kind="dense")
TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)
A = GRAPH.adjacency.toarray()
S = dense_operator(A, self_loops=True)


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r'pip install "heatgraph\[gnn\]"'):
        GNNClassifier().fit(GRAPH, LABELS, TRAIN)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"network": "gin"}, "network must be one of gcn, gat,"),
        ({"hidden": 0}, "hidden must be a whole number"),
        ({"epochs": 1.5}, "epochs must be a whole number"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1. Got 1.0"),
        ({"learning_rate": 0.0}, "learning_rate must be > 0"),
        ({"weight_decay": -1.0}, "weight_decay >= 0"),
        ({"options": {"heads": 2}}, "options of gcn are: none. Got heads."),
        ({"feature_scaling": "evil"}, "feature_scaling must be one of"),
    ],
)
def test_parameters_are_checked_before_torch_is_asked_for(parameters, message, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=message):
        GNNClassifier(**parameters).fit(GRAPH, LABELS, TRAIN)


def test_graphs_and_labels_are_checked():
    with pytest.raises(NotFittedError):
        GNNClassifier().predict(GRAPH)
    with pytest.raises(InputError, match="needs a graph with features"):
        GNNClassifier().fit(GRAPH.with_features(None), LABELS)
    with pytest.raises(InputError, match="must be a heatgraph.Graph"):
        GNNClassifier().fit(A, LABELS)
    with pytest.raises(InputError, match="do not read edge weights"):
        GNNClassifier().fit(Graph(2 * A, GRAPH.features), LABELS)
    with pytest.raises(InputError, match="at least two classes"):
        GNNClassifier().fit(GRAPH, np.zeros(90, dtype=int))


def test_recipes():
    assert recipe_for("gat", "cora") is RECIPES["gat"]
    assert recipe_for("gat", "pubmed").weight_decay == 1e-3


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        reason = "graph neural networks need torch and torch_geometric, of the extra gnn"
        pytest.importorskip("torch_geometric", reason=reason)
        return pytest.importorskip("torch", reason=reason)

    def fitted(self, network, **parameters):
        quick = {"epochs": 3, "dropout": 0.0, "hidden": 4} | parameters
        return GNNClassifier(network, **quick).fit(GRAPH, LABELS, TRAIN)

    def weights(self, module):
        return {name: value.detach().numpy() for name, value in module.named_parameters()}

    def scaled(self, model):
        return model.scaling_.apply(GRAPH.features, np.dtype(np.float64))

    @pytest.mark.parametrize("network", RECIPES)
    def test_it_learns(self, network):
        model = GNNClassifier(network, epochs=60, dropout=0.0).fit(GRAPH, LABELS, TRAIN, VAL)
        losses = [record["loss"] for record in model.history_]
        assert losses[-1] < 0.7 * losses[0]
        assert model.score(GRAPH, LABELS, TEST) > 0.5
        assert_allclose(model.predict_proba().sum(axis=1), 1, atol=1e-6)
        assert_array_equal(model.predict(nodes=TEST), model.predict()[TEST])
        assert model.num_parameters_ > 0
        part = model.predict(GRAPH.subgraph(TEST))
        assert part.shape == (45,)

    def test_gcn(self):
        model = self.fitted("gcn")
        w = self.weights(model.network_)
        hidden = S @ self.scaled(model) @ w["layers.0.lin.weight"].T + w["layers.0.bias"]
        scores = S @ np.maximum(hidden, 0) @ w["layers.1.lin.weight"].T + w["layers.1.bias"]
        assert_allclose(model.decision_function(), scores, atol=1e-4)

    def test_sgc_has_the_features_of_ours(self):
        model = self.fitted("sgc", options={"steps": 3})
        w = self.weights(model.network_)
        X = diffuse(GRAPH.with_features(self.scaled(model)), scheme=SGC(3), dtype=np.float64)
        scores = X @ w["layers.0.lin.weight"].T + w["layers.0.lin.bias"]
        assert_allclose(model.decision_function(), scores, atol=1e-4)

    def test_appnp(self):
        model = self.fitted("appnp", options={"alpha": 0.2, "steps": 4})
        w = self.weights(model.network_)
        hidden = np.maximum(self.scaled(model) @ w["first.weight"].T + w["first.bias"], 0)
        start = state = hidden @ w["second.weight"].T + w["second.bias"]
        for _ in range(4):
            state = 0.8 * S @ state + 0.2 * start
        assert_allclose(model.decision_function(), state, atol=1e-4)

    @pytest.mark.parametrize("network", ["graphsage-mean", "graphsage-gcn"])
    def test_graphsage(self, network):
        model = self.fitted(network)
        w = self.weights(model.network_)
        own = network == "graphsage-mean"
        near = A if own else A + np.eye(90)
        mean = near / np.maximum(near.sum(axis=1, keepdims=True), 1)
        state = self.scaled(model)
        for layer in range(2):
            state = np.maximum(state, 0) if layer else state
            after = mean @ state @ w[f"layers.{layer}.lin_l.weight"].T
            after += w[f"layers.{layer}.lin_l.bias"]
            state = after + state @ w[f"layers.{layer}.lin_r.weight"].T if own else after
        assert_allclose(model.decision_function(), state, atol=1e-4)

    def test_gat(self):
        model = self.fitted("gat", options={"heads": 3, "out_heads": 2})
        w = self.weights(model.network_)
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

        hidden = layer(self.scaled(model), 0, 3, concat=True)
        hidden = np.where(hidden > 0, hidden, np.expm1(hidden))
        assert_allclose(model.decision_function(), layer(hidden, 1, 2, concat=False), atol=1e-4)

    @pytest.mark.parametrize(("network", "join"), [
        ("jknet-max", lambda states: np.max(states, axis=0)),
        ("jknet-concat", lambda states: np.concatenate(states, axis=1)),
    ])  # fmt: skip
    def test_jknet(self, network, join):
        model = self.fitted(network, layers=3)
        w = self.weights(model.network_)
        states, state = [], self.scaled(model)
        for number in range(3):
            state = S @ state @ w[f"layers.{number}.lin.weight"].T + w[f"layers.{number}.bias"]
            state = np.maximum(state, 0)
            states.append(state)
        scores = join(states) @ w["read.weight"].T + w["read.bias"]
        assert_allclose(model.decision_function(), scores, atol=1e-4)

    def test_seeds(self):
        first, again, other = (
            GNNClassifier(epochs=5, random_state=seed).fit(GRAPH, LABELS, TRAIN).predict_proba()
            for seed in (1, 1, 2)
        )
        assert_array_equal(first, again)
        assert np.abs(first - other).max() > 1e-3

    def test_the_best_weights_on_validation_nodes_are_kept(self):
        model = GNNClassifier(epochs=40, patience=5, learning_rate=0.1, random_state=0)
        model.fit(GRAPH, LABELS, TRAIN, VAL)
        accuracies = [record["val_accuracy"] for record in model.history_]
        assert model.validation_accuracy_ == max(accuracies)
        assert model.score(None, LABELS, VAL) == pytest.approx(max(accuracies))

    def test_training_stops_early(self):
        model = GNNClassifier(epochs=500, patience=3, learning_rate=0.5, random_state=0)
        model.fit(GRAPH, LABELS, TRAIN, VAL)
        assert model.epochs_ == len(model.history_) < 500

    def test_only_the_first_layer_decays(self):
        light, heavy = (
            self.weights(self.fitted("gcn", weight_decay=decay, epochs=100).network_)
            for decay in (0.0, 10.0)
        )
        first, last = (
            np.linalg.norm(heavy[name]) / np.linalg.norm(light[name])
            for name in ("layers.0.lin.weight", "layers.1.lin.weight")
        )
        assert first < 0.1
        assert last > 0.5

    def test_labels_of_any_kind_and_two_classes(self):
        names = np.where(LABELS == 0, "x", "y").astype(object)
        names[TEST] = None
        model = GNNClassifier(epochs=5).fit(GRAPH, names, val=VAL)
        assert set(model.predict()) <= {"x", "y"}
        assert model.decision_function().shape == (90,)

    def test_clones_and_progress(self):
        calls = []
        model = clone(GNNClassifier("sgc", epochs=4)).fit(
            GRAPH, LABELS, TRAIN, progress=lambda *call: calls.append(call)
        )
        assert calls == [("training", at, 4) for at in range(5)]
        assert model.get_params()["epochs"] == 4

    def test_other_features_are_refused(self):
        model = self.fitted("gcn")
        with pytest.raises(InputError, match="fitted with 12 features per node. Got a graph with"):
            model.predict(Graph(GRAPH.adjacency, GRAPH.features[:, :3]))
