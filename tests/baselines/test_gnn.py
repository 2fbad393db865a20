"""Graph neural networks: each layer against its dense formula, and the estimator around them."""

import sys
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense_operator
from scipy.linalg import expm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from strategies import planted

from heatgraph import SGC, Graph, diffuse
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.baselines.gnn import estimator
from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError, MissingExtraError

# One thread is the fastest on a graph this small, and does not wait for others.
GNNClassifier = partial(estimator.GNNClassifier, n_threads=1)
GRAPH, LABELS = planted(kind="dense")
TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)
A = GRAPH.adjacency.toarray()
S = dense_operator(A, self_loops=True)
L = np.eye(90) - dense_operator(A, self_loops=False)


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
        ({"network": "gat", "options": {"heads": 0}}, "option heads must be a whole number > 0"),
        ({"network": "gat", "options": {"heads": 1.5}}, "option heads must be a whole number > 0"),
        ({"network": "gwnn", "options": {"time": "x"}}, "option time must be a number > 0. Got"),
        ({"network": "gwnn", "options": {"threshold": -1}}, "threshold must be a number >= 0"),
        ({"network": "gat", "layers": 5}, "gat has a fixed number of layers. Got 5"),
        ({"weight_decay": "x"}, "weight_decay >= 0. Got 0.01 and 'x'"),
        ({"dropout": None, "learning_rate": np.nan}, "learning_rate must be > 0"),
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
    with pytest.raises(InputError, match="at least two classes"):
        GNNClassifier().fit(GRAPH, np.zeros(90, dtype=int))


def test_recipes():
    assert recipe_for("gat", "cora") is RECIPES["gat"]
    assert recipe_for("gat", "pubmed").weight_decay == 1e-3


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        reason = "graph neural networks need torch, torch_geometric and torchdiffeq: the extra gnn"
        pytest.importorskip("torch_geometric", reason=reason)
        pytest.importorskip("torchdiffeq", reason=reason)
        return pytest.importorskip("torch", reason=reason)

    def fitted(self, network, graph=GRAPH, **parameters):
        quick = {"epochs": 3, "dropout": 0.0, "hidden": 4} | parameters
        return GNNClassifier(network, **quick).fit(graph, LABELS, TRAIN)

    def weights(self, module):
        return {name: value.detach().numpy() for name, value in module.named_parameters()}

    def scaled(self, model):
        return model.scaling_.apply(GRAPH.features, np.dtype(np.float64))

    # For what smooths or drops too much for a graph as small as this.
    EASIER: ClassVar = {
        "gwnn": {"options": {"time": 0.5}},
        "graphheat": {"options": {"time": 1.0}},
        "cgnn": {"options": {"time": 2.0}},
        "gcde": {"options": {"inner_dropout": 0.0}, "learning_rate": 0.01},
        "dgi": {"options": {"encoder_epochs": 20}, "hidden": 64, "learning_rate": 0.05},
        "dgi-random": {"hidden": 64, "learning_rate": 0.05},
    }

    @pytest.mark.parametrize("network", RECIPES)
    def test_it_learns(self, network):
        easier = {"epochs": 60, "dropout": 0.0} | self.EASIER.get(network, {})
        model = GNNClassifier(network, **easier).fit(GRAPH, LABELS, TRAIN, VAL)
        losses = [record["loss"] for record in model.history_]
        assert losses[-1] < 0.7 * losses[0]
        assert model.score(GRAPH, LABELS, TEST) > 0.5
        assert_allclose(model.predict_proba().sum(axis=1), 1, atol=1e-6)
        assert_array_equal(model.predict(nodes=TEST), model.predict()[TEST])
        assert model.num_parameters_ > 0
        if network == "gwnn":
            with pytest.raises(InputError, match="predicts on the graph that it was fitted on"):
                model.predict(GRAPH.subgraph(TEST))
        else:
            assert model.predict(GRAPH.subgraph(TEST)).shape == (45,)

    @pytest.mark.parametrize("network", RECIPES)
    def test_files(self, network, tmp_path):
        options = {"encoder_epochs": 1} if network == "dgi" else None
        model = self.fitted(network, options=options)
        model.save(tmp_path / "model")
        again = estimator.GNNClassifier.load(tmp_path / "model")
        assert_array_equal(again.predict_proba(GRAPH), model.predict_proba())
        assert again.get_params() == model.get_params()
        assert again.recipe_ == model.recipe_
        assert again.epochs_ == 3
        with pytest.raises(InputError, match="no graph of its own"):
            again.predict()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"recipe": {"hidden": 5}}, "weights do not fit the network"),
            ({"recipe": {"hidden": 10**15}}, "weights do not fit the network"),
            ({"recipe": {"dropout": 7}}, "dropout must be"),
            ({"parameters": {"network": "gin"}}, "network must be one of"),
            ({"classes": ["a"]}, "classes must be two or more"),
            ({"num_features": 3}, "weights do not fit the network"),
        ],
    )
    def test_files_that_do_not_fit_together(self, change, message, tmp_path):
        path = tmp_path / "model"
        self.fitted("gcn", feature_scaling="none").save(path)
        content, tensors = read_tensors(path, "GNNClassifier")
        for key, value in change.items():
            content[key] = content[key] | value if isinstance(value, dict) else value
        write_tensors(path, "GNNClassifier", content, tensors)
        with pytest.raises((FileFormatError, InputError), match=message):
            estimator.GNNClassifier.load(path)

    def test_weights_that_are_not_finite(self, tmp_path):
        path = tmp_path / "model"
        self.fitted("gcn").save(path)
        content, tensors = read_tensors(path, "GNNClassifier")
        bias = tensors["network.layers.0.bias"]
        for wrong in (np.full_like(bias, np.nan), bias.astype(np.float64)):
            write_tensors(
                path, "GNNClassifier", content, tensors | {"network.layers.0.bias": wrong}
            )
            with pytest.raises(FileFormatError, match="not finite numbers in float32"):
                estimator.GNNClassifier.load(path)

    @pytest.mark.parametrize(
        "network", ["gcn", "jknet-max", "appnp", "cgnn", "gwnn", "graphheat", "sgc", "fastgcn"]
    )
    def test_edge_weights_are_read(self, network):
        rng = np.random.default_rng(0)
        heavy = Graph(A * (W := rng.uniform(0.1, 9, A.shape)) * W.T, GRAPH.features)
        model = self.fitted(network)
        assert np.abs(model.decision_function(heavy) - model.decision_function()).max() > 1e-4
        even = Graph(2 * np.eye(90) + 0.5 * A, GRAPH.features)
        assert even.weights is not None
        GNNClassifier(network, epochs=1).fit(even, LABELS, TRAIN)

    @pytest.mark.parametrize("network", ["gat", "graphsage-mean", "graphsage-gcn"])
    def test_edge_weights_are_refused_where_they_are_not_read(self, network):
        with pytest.raises(InputError, match=f"{network} does not read edge weights"):
            self.fitted(network, graph=Graph(2 * A, GRAPH.features))

    @pytest.mark.parametrize("network", RECIPES)
    def test_sparse_features_are_as_dense_ones(self, network):
        X = np.random.default_rng(1).poisson(0.3, GRAPH.features.shape).astype(float)
        options = {"encoder_epochs": 3} if network == "dgi" else None
        dense, sparse = (
            self.fitted(
                network,
                graph=GRAPH.with_features(features),
                feature_scaling="rows",
                options=options,
            ).decision_function()
            for features in (X, sp.csr_array(X))
        )
        assert_allclose(sparse, dense, atol=1e-4)

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
        hidden = np.maximum(self.scaled(model) @ w["first.weight"].T, 0)
        start = state = hidden @ w["second.weight"].T
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
        scores = S @ join(states) @ w["read.lin.weight"].T + w["read.bias"]
        assert_allclose(model.decision_function(), scores, atol=1e-4)

    def test_graphsage_with_an_lstm(self, torch):
        """The neighbours of each node, and then nothing until all have as many."""
        model = self.fitted("graphsage-lstm")
        most = int((A > 0).sum(axis=1).max())
        state = torch.from_numpy(self.scaled(model)).float()
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

    def test_jknet_with_an_lstm(self, torch):
        """Each node weighs its states by what an LSTM in both directions says of them."""
        model = self.fitted("jknet-lstm", layers=3)
        w, jump = self.weights(model.network_), model.network_.jump
        states, state = [], self.scaled(model)
        for number in range(3):
            state = S @ state @ w[f"layers.{number}.lin.weight"].T + w[f"layers.{number}.bias"]
            state = np.maximum(state, 0)
            states.append(state)
        joined = np.zeros((90, 4))
        for node in range(90):
            own = np.array([state[node] for state in states])
            with torch.no_grad():
                read, _ = jump.lstm(torch.from_numpy(own).float())
                say = jump.att(read)[:, 0].numpy()
            weights = np.exp(say) / np.exp(say).sum()
            joined[node] = weights @ own
        scores = S @ joined @ w["read.lin.weight"].T + w["read.bias"]
        assert_allclose(model.decision_function(), scores, atol=1e-4)

    def test_gwnn(self):
        model = self.fitted("gwnn", options={"time": 0.8, "threshold": 1e-3})
        w = self.weights(model.network_)
        kernels = [expm(sign * 0.8 * L) for sign in (-1, 1)]
        heat, inverse = (np.where(kernel > 1e-3, kernel, 0) for kernel in kernels)
        state = self.scaled(model)
        for layer in range(2):
            state = np.maximum(state, 0) if layer else state
            name = f"layers.{layer}"
            state = heat @ state @ w[f"{name}.lin.weight"].T
            state = inverse @ (w[f"{name}.filter"][:, np.newaxis] * state) + w[f"{name}.lin.bias"]
        assert np.abs(w["layers.0.filter"] - 1).max() > 1e-3
        assert_allclose(model.decision_function(), state, atol=1e-4)

    def test_wavelets_that_do_not_fit_into_memory(self, monkeypatch):
        monkeypatch.setattr("heatgraph._io.memory.memory_budget_bytes", lambda budget: 1000)
        with pytest.raises(MemoryBudgetError, match="keeping the wavelets needs"):
            self.fitted("gwnn")

    def test_graphheat(self):
        model = self.fitted("graphheat", options={"time": 1.5})
        w = self.weights(model.network_)
        heat = expm(-1.5 * L)
        state = self.scaled(model)
        for layer in range(2):
            state = np.maximum(state, 0) if layer else state
            name = f"layers.{layer}"
            near, own = w[f"{name}.near.weight"], w[f"{name}.own.weight"]
            state = heat @ state @ near.T + state @ own.T + w[f"{name}.own.bias"]
        assert_allclose(model.decision_function(), state, atol=1e-4)

    def test_cgnn(self):
        """Its equation is linear: H(t) = exp(M t) E + (integral of exp(M s)) E."""
        options = {"alpha": 0.7, "own_weight": 0.5, "time": 3.0, "tol": 1e-7}
        model = self.fitted("cgnn", options=options, feature_scaling="none")
        w = self.weights(model.network_)
        loops = A + 0.5 * np.eye(90)
        root = np.diag(loops.sum(axis=1) ** -0.5)
        rate = 1 / (1 + np.exp(-w["rate"])) / 2
        assert w["rate"] != np.float32(0.7)
        M = rate * (root @ loops @ root - np.eye(90))
        E = self.scaled(model) @ w["encode.weight"].T + w["encode.bias"]
        joint = expm(3.0 * np.block([[M, np.eye(90)], [np.zeros((90, 180))]]))
        H = np.maximum((joint[:90, :90] + joint[:90, 90:]) @ E, 0)
        scores = H @ w["decode.weight"].T + w["decode.bias"]
        assert_allclose(model.decision_function(), scores, atol=1e-3)

    def test_gcde(self):
        """One step of the Runge-Kutta method with thirds, which torchdiffeq calls rk4."""
        model = self.fitted("gcde")
        w = self.weights(model.network_)

        def layer(state, name):
            return S @ state @ w[f"{name}.lin.weight"].T + w[f"{name}.bias"]

        def change(state):
            return layer(np.logaddexp(0, layer(state, "inner.0")), "inner.1")

        H = np.maximum(layer(self.scaled(model), "first"), 0)
        k1 = change(H)
        k2 = change(H + k1 / 3)
        k3 = change(H + k2 - k1 / 3)
        k4 = change(H + k1 - k2 + k3)
        H = H + (k1 + 3 * k2 + 3 * k3 + k4) / 8
        assert_allclose(model.decision_function(), layer(H, "last"), atol=1e-3)

    @pytest.mark.parametrize("network", ["dgi", "dgi-random"])
    def test_dgi(self, network):
        options = {"encoder_epochs": 5} if network == "dgi" else None
        model = self.fitted(network, options=options)
        w = self.weights(model.network_)
        H = S @ self.scaled(model) @ w["encoder.layer.lin.weight"].T + w["encoder.layer.bias"]
        slopes = w["encoder.activation.weight"]
        H = np.where(H > 0, H, slopes * H)
        assert np.any(slopes != 0.25) == (network == "dgi")
        scores = H @ w["read.weight"].T + w["read.bias"]
        assert_allclose(model.decision_function(), scores, atol=1e-4)

    def test_fastgcn(self, torch):
        model = self.fitted("fastgcn", options={"samples": 20_000})
        w = self.weights(model.network_)
        hidden = np.maximum(S @ self.scaled(model) @ w["first.weight"].T + w["first.bias"], 0)
        scores = S @ hidden @ w["second.weight"].T + w["second.bias"]
        assert_allclose(model.decision_function(), scores, atol=1e-4)
        torch.manual_seed(0)
        inputs = model._inputs(GRAPH, model.scaling_, model.recipe_)
        with torch.no_grad():
            estimates = model.network_.sampled(torch.from_numpy(VAL), *inputs).numpy()
        assert_allclose(estimates, scores[VAL], atol=0.05 * np.abs(scores).max())

    def test_fastgcn_takes_batches(self):
        few = {"samples": 10, "batch": 4}
        model = self.fitted("fastgcn", options=few, epochs=80)
        assert model.history_[-1]["loss"] < model.history_[0]["loss"]

    def test_nothing_else_is_changed(self, torch):
        torch.manual_seed(7)
        torch.set_num_threads(2)
        expected = torch.get_rng_state()
        self.fitted("gcn", dropout=0.5)
        assert torch.equal(torch.get_rng_state(), expected)
        assert torch.get_num_threads() == 2

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
