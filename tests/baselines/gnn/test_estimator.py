"""GNNClassifier: parameters, errors, files, seeds and the state of torch."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from trained_networks import GRAPH, LABELS, TEST, TRAIN, VAL, A, trained

from heatgraph import Graph
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.baselines.gnn.estimator import GNNClassifier, authors_network
from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.errors import FileFormatError, InputError, MissingExtraError

needs_torch = pytest.mark.usefixtures("torch")
# For networks that smooth or drop out too much for a graph this small.
EASIER = {
    "gwnn": {"options": {"time": 0.5}},
    "graphheat": {"options": {"time": 1.0}},
    "cgnn": {"options": {"time": 2.0}},
    "gcde": {"options": {"inner_dropout": 0.0}, "learning_rate": 0.01},
    "dgi": {"options": {"encoder_epochs": 20}, "hidden": 64, "learning_rate": 0.05},
    "dgi-random": {"hidden": 64, "learning_rate": 0.05},
}


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r'pip install "heatgraph\[gnn\]"'):
        GNNClassifier().fit(GRAPH, LABELS, TRAIN)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"network": "gin"}, "network must be one of gcn, gat,"),
        ({"hidden": 0}, "hidden must be an integer"),
        ({"epochs": 1.5}, "epochs must be an integer"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1. Got 1.0"),
        ({"learning_rate": 0.0}, "learning_rate must be > 0"),
        ({"weight_decay": -1.0}, "weight_decay >= 0"),
        ({"options": {"heads": 2}}, "options of gcn are: none. Got heads."),
        ({"network": "gat", "options": {"heads": 0}}, "option heads must be an integer > 0"),
        ({"network": "gat", "options": {"heads": 1.5}}, "option heads must be an integer > 0"),
        ({"network": "gwnn", "options": {"time": "x"}}, "option time must be a number > 0. Got"),
        ({"network": "gwnn", "options": {"threshold": -1}}, "threshold must be a number >= 0"),
        ({"network": "gat", "layers": 5}, "gat has a fixed number of layers. Got 5"),
        ({"weight_decay": "x"}, "weight_decay >= 0. Got 0.01 and 'x'"),
        ({"dropout": None, "learning_rate": np.nan}, "learning_rate must be > 0"),
        ({"feature_scaling": "evil"}, "feature_scaling must be one of"),
    ],
)
def test_parameters_are_checked_before_torch_is_imported(parameters, message, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=message):
        GNNClassifier(**parameters).fit(GRAPH, LABELS, TRAIN)


def test_features_are_required():
    with pytest.raises(InputError, match="GNNClassifier needs a graph with features"):
        GNNClassifier().fit(GRAPH.with_features(None), LABELS)


def test_authors_settings_can_be_changed():
    model = authors_network("gat", "pubmed", hidden=3)
    published = recipe_for("gat", "pubmed")
    assert (model.learning_rate, model.options) == (published.learning_rate, published.options)
    assert model.hidden == 3


@needs_torch
@pytest.mark.parametrize("network", RECIPES)
def test_better_than_chance_on_this_graph_and_others(network):
    easier = {"epochs": 60, "dropout": 0.0, "n_threads": 1} | EASIER.get(network, {})
    model = GNNClassifier(network, **easier).fit(GRAPH, LABELS, TRAIN, VAL)
    losses = [record["loss"] for record in model.history_]
    assert losses[-1] < 0.7 * losses[0]
    assert model.score(GRAPH, LABELS, TEST) > 0.5
    assert model.num_parameters_ > 0
    if network == "gwnn":
        with pytest.raises(InputError, match="predicts on the graph that it was fitted on"):
            model.predict(GRAPH.subgraph(TEST))
    else:
        assert model.predict(GRAPH.subgraph(TEST)).shape == (45,)


@needs_torch
@pytest.mark.parametrize("network", RECIPES)
def test_saved_networks_predict_the_same(network, tmp_path):
    options = {"encoder_epochs": 1} if network == "dgi" else None
    model = trained(network, options=options)
    model.save(tmp_path / "model")
    again = GNNClassifier.load(tmp_path / "model")
    assert_array_equal(again.predict_proba(GRAPH), model.predict_proba())
    assert again.get_params() == model.get_params()
    assert again.recipe_ == model.recipe_
    assert again.epochs_ == 3
    with pytest.raises(InputError, match="no graph of its own"):
        again.predict()


@needs_torch
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
def test_inconsistent_files(change, message, tmp_path):
    path = tmp_path / "model"
    trained("gcn", feature_scaling="none").save(path)
    content, tensors = read_tensors(path, "GNNClassifier")
    for key, value in change.items():
        content[key] = content[key] | value if isinstance(value, dict) else value
    write_tensors(path, "GNNClassifier", content, tensors)
    with pytest.raises((FileFormatError, InputError), match=message):
        GNNClassifier.load(path)


@needs_torch
def test_files_with_weights_that_are_not_finite(tmp_path):
    path = tmp_path / "model"
    trained("gcn").save(path)
    content, tensors = read_tensors(path, "GNNClassifier")
    bias = tensors["network.layers.0.bias"]
    for wrong in (np.full_like(bias, np.nan), bias.astype(np.float64)):
        write_tensors(path, "GNNClassifier", content, tensors | {"network.layers.0.bias": wrong})
        with pytest.raises(FileFormatError, match="not finite numbers in float32"):
            GNNClassifier.load(path)


@needs_torch
@pytest.mark.parametrize(
    "network",
    ["gcn", "jknet-max", "appnp", "cgnn", "gwnn", "graphheat", "sgc", "fastgcn", "sign-mlp"],
)
def test_edge_weights_are_read(network):
    rng = np.random.default_rng(0)
    heavy = Graph(A * (W := rng.uniform(0.1, 9, A.shape)) * W.T, GRAPH.features)
    model = trained(network)
    assert np.abs(model.decision_function(heavy) - model.decision_function()).max() > 1e-4
    even = Graph(2 * np.eye(90) + 0.5 * A, GRAPH.features)
    assert even.weights is not None
    trained(network, even)


@needs_torch
@pytest.mark.parametrize("network", ["gat", "graphsage-mean", "graphsage-gcn"])
def test_edge_weights_are_refused_by_networks_that_ignore_them(network):
    with pytest.raises(InputError, match=f"{network} does not read edge weights"):
        trained(network, graph=Graph(2 * A, GRAPH.features))


def test_global_state_of_torch_is_restored(torch):
    torch.manual_seed(7)
    torch.set_num_threads(2)
    expected = torch.get_rng_state()
    trained("gcn", dropout=0.5)
    assert torch.equal(torch.get_rng_state(), expected)
    assert torch.get_num_threads() == 2


@needs_torch
def test_seeds():
    first, again, other = (
        trained("gcn", dropout=0.5, random_state=seed).predict_proba() for seed in (1, 1, 2)
    )
    assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


@needs_torch
def test_progress():
    calls = []
    model = GNNClassifier("sgc", epochs=4, n_threads=1)
    model.fit(GRAPH, LABELS, TRAIN, progress=calls.append)
    steps = [(call.stage, call.done, call.total) for call in calls]
    assert list(dict.fromkeys(steps)) == [("training", epoch, 4) for epoch in range(5)]
