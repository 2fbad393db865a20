"""TunedGNNClassifier: what is tried, what is chosen, on which nodes, and files."""

import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from trained_networks import GRAPH, LABELS, TEST, TRAIN, VAL

from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.baselines.gnn.estimator import GNNClassifier
from heatgraph.baselines.gnn.grid_search import GRIDS, TunedGNNClassifier, _hold_out
from heatgraph.baselines.gnn.recipes import recipe_for
from heatgraph.errors import FileFormatError, InputError, MissingExtraError, UnknownClassWarning

needs_torch = pytest.mark.usefixtures("torch")
SMALL_GRID = {"learning_rate": [1e-6, 0.05], "alpha": [0.1, 0.9]}


def tuned(network="appnp", grid=SMALL_GRID, **parameters):
    quick = {"epochs": 8, "n_threads": 1, "random_state": 0} | parameters
    return TunedGNNClassifier(network, grid, **quick)


@pytest.fixture(scope="module")
def fitted():
    pytest.importorskip("torch_geometric")
    return tuned().fit(GRAPH, LABELS, TRAIN, VAL)


@pytest.mark.parametrize("network", GRIDS)
def test_grids_are_small_and_hold_the_authors_settings(network):
    recipes = TunedGNNClassifier(network).recipes()
    assert len(recipes) == 16
    assert recipe_for(network) in recipes
    assert len({str(recipe) for recipe in recipes}) == 16


def test_epochs_and_patience_are_those_of_every_run():
    recipes = tuned(epochs=7, patience=3).recipes()
    assert {(recipe.epochs, recipe.patience) for recipe in recipes} == {(7, 3)}
    assert [recipe.epochs for recipe in tuned(grid={"epochs": [2, 9]}).recipes()] == [2, 9]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"network": "gin"}, "network must be one of gcn, gat,"),
        ({"network": "gat", "grid": None}, "a grid for gcn and appnp, and none for gat. Give grid"),
        ({"grid": [0.5]}, "grid must be a dict with a list of candidates for any of hidden, .*alp"),
        ({"grid": {"heads": [8]}}, r"any of hidden, .* steps. Got {'heads': \[8\]}"),
        ({"grid": {"dropout": []}}, "grid must be a dict"),
        ({"grid": {"dropout": 0.5}}, "grid must be a dict"),
        ({"grid": {"dropout": [0.5, 1.0]}}, "dropout must be at least 0 and below 1. Got 1.0"),
        ({"grid": {"alpha": [0]}}, "option alpha must be a number > 0"),
        ({"epochs": 0}, "epochs must be an integer"),
        ({"feature_scaling": "evil"}, "feature_scaling must be one of"),
    ],
)
def test_parameters_are_checked_before_torch_is_imported(parameters, message, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=message):
        tuned(**parameters).fit(GRAPH, LABELS, TRAIN, VAL)


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r'pip install "heatgraph\[gnn\]"'):
        tuned().fit(GRAPH, LABELS, TRAIN, VAL)


def test_features_are_required():
    with pytest.raises(InputError, match="TunedGNNClassifier needs a graph with features"):
        tuned().fit(GRAPH.with_features(None), LABELS)


@needs_torch
def test_every_setting_is_recorded_as_if_fitted_alone(fitted):
    assert [(record["learning_rate"], record["alpha"]) for record in fitted.search_] == [
        (1e-6, 0.1), (1e-6, 0.9), (0.05, 0.1), (0.05, 0.9),
    ]  # fmt: skip
    for record in fitted.search_:
        alone = GNNClassifier(
            "appnp",
            learning_rate=record["learning_rate"],
            options={"alpha": record["alpha"]},
            epochs=8,
            random_state=0,
            n_threads=1,
        ).fit(GRAPH, LABELS, TRAIN, VAL)
        best = alone.history_[alone.best_epoch_]
        assert record["accuracy"] == alone.validation_accuracy_ == best["val_accuracy"]
        assert record["log_loss"] == best["val_loss"]
        assert record["epochs"] == alone.best_epoch_ + 1


@needs_torch
def test_the_best_on_validation_nodes_is_kept(fitted):
    best = max(fitted.search_, key=lambda record: (record["accuracy"], -record["log_loss"]))
    assert fitted.setting_ == {name: best[name] for name in SMALL_GRID}
    assert fitted.setting_["learning_rate"] == 0.05  # 1e-6 hardly learns
    assert fitted.validation_accuracy_ == best["accuracy"]
    assert fitted.score(None, LABELS, VAL) == pytest.approx(best["accuracy"])
    assert fitted.best_.recipe_.options["alpha"] == fitted.setting_["alpha"]
    assert fitted.epochs_ == fitted.best_.epochs_
    assert fitted.num_parameters_ == fitted.best_.num_parameters_


@needs_torch
def test_of_equal_accuracies_the_lower_loss_is_chosen(monkeypatch):
    losses = {0.1: 0.7, 0.2: 0.6, 0.3: 0.5, 0.4: np.inf, 0.5: np.nan}
    fit = GNNClassifier.fit

    def fit_with_given_loss(self, *args, **kwargs):
        fit(self, *args, **kwargs)
        alpha = self.recipe_.options["alpha"]
        accuracy = 0.4 if alpha == 0.3 else 0.5
        self.history_[self.best_epoch_] = {"val_accuracy": accuracy, "val_loss": losses[alpha]}
        return self

    monkeypatch.setattr(GNNClassifier, "fit", fit_with_given_loss)
    model = tuned(grid={"alpha": list(losses)}, epochs=1).fit(GRAPH, LABELS, TRAIN, VAL)
    assert model.setting_ == {"alpha": 0.2}
    assert [record["log_loss"] for record in model.search_] == [0.7, 0.6, 0.5, None, None]


@needs_torch
@pytest.mark.parametrize("val", [VAL, None], ids=["validation nodes", "held-out nodes"])
def test_labels_of_other_nodes_are_not_read(val):
    others = np.setdiff1d(np.arange(90), TRAIN if val is None else [*TRAIN, *val])
    permuted = LABELS.copy()
    permuted[others] = np.random.default_rng(0).permutation(LABELS[others])
    assert (permuted != LABELS).any()
    model, again = (tuned().fit(GRAPH, labels, TRAIN, val) for labels in (LABELS, permuted))
    assert again.search_ == model.search_
    assert_array_equal(again.predict_proba(), model.predict_proba())


@needs_torch
def test_without_validation_nodes_all_training_nodes_are_learned_from():
    model = tuned().fit(GRAPH, LABELS, TRAIN)
    (chosen,) = (record for record in model.search_ if model.setting_.items() <= record.items())
    assert model.epochs_ == chosen["epochs"] <= 8
    assert model.validation_accuracy_ == chosen["accuracy"]
    alone = clone(model.best_).fit(GRAPH, LABELS, TRAIN)
    assert_array_equal(alone.predict_proba(), model.predict_proba())


def test_held_out_nodes_leave_a_node_of_every_class():
    nodes, codes = np.arange(100, 120), np.repeat([0, 1, 2], [1, 12, 7])
    for seed in range(20):
        kept, held_out = _hold_out(nodes, codes, seed)
        assert_array_equal(np.union1d(kept, held_out), nodes)
        assert len(held_out) == 4
        assert set(codes[kept - 100]) == {0, 1, 2}
    assert len(_hold_out(nodes[:3], codes[:3], 0)[1]) == 1
    with pytest.raises(InputError, match=r"one training node only \(2 in all\). Give val="):
        _hold_out(nodes[:2], codes[:2], 0)


@needs_torch
def test_classes_without_training_nodes_are_warned_of_once():
    with pytest.warns(UnknownClassWarning) as given:
        model = tuned().fit(GRAPH, LABELS, TRAIN[LABELS[TRAIN] < 2], VAL)
    assert len(given) == 1
    assert_array_equal(model.classes_, [0, 1])


@needs_torch
def test_seeds():
    first, again, other = (
        tuned(random_state=seed).fit(GRAPH, LABELS, TRAIN, VAL) for seed in (1, 1, 2)
    )
    assert first.search_ == again.search_ != other.search_
    assert_array_equal(first.predict_proba(), again.predict_proba())
    # All settings have the same seed, drawn once.
    drawn = tuned(random_state=np.random.default_rng(3)).fit(GRAPH, LABELS, TRAIN, VAL)
    alone = clone(drawn.best_).fit(GRAPH, LABELS, TRAIN, VAL)
    assert_array_equal(alone.predict_proba(), drawn.predict_proba())


@needs_torch
@pytest.mark.parametrize("val", [VAL, None], ids=["validation nodes", "held-out nodes"])
def test_progress(val):
    calls = []
    tuned(epochs=2).fit(GRAPH, LABELS, TRAIN, val, progress=calls.append)
    total = 8 if val is not None else 10
    assert {(call.stage, call.total) for call in calls} == {("search", total)}
    done = [call.done for call in calls]
    assert done == sorted(done)
    assert sorted(set(done)) == list(range(total + 1))
    assert [call.settings for call in calls] == sorted(call.settings for call in calls)
    best = [call.accuracy for call in calls if call.settings]
    assert calls[0].accuracy is None
    assert best == sorted(best)
    assert (calls[-1].settings, calls[-1].seconds_left) == (4, 0)


@needs_torch
def test_saved_networks_predict_the_same(fitted, tmp_path):
    path = tmp_path / "model"
    fitted.save(path)
    again = TunedGNNClassifier.load(path)
    assert_array_equal(again.predict_proba(GRAPH), fitted.predict_proba())
    assert again.get_params() == fitted.get_params()
    for name in ("search_", "setting_", "validation_accuracy_", "epochs_", "num_parameters_"):
        assert getattr(again, name) == getattr(fitted, name)
    with pytest.raises(InputError, match="no graph of its own"):
        again.predict()
    with pytest.raises(FileFormatError, match="TunedGNNClassifier"):
        GNNClassifier.load(path)


@needs_torch
def test_grids_of_arrays_can_be_saved(tmp_path):
    grid = {"dropout": np.array([0.0, 0.5]), "alpha": (0.1,)}
    model = tuned(grid=grid, epochs=1).fit(GRAPH, LABELS, TRAIN, VAL)
    model.save(tmp_path / "model")
    again = TunedGNNClassifier.load(tmp_path / "model")
    assert again.grid == {"dropout": [0.0, 0.5], "alpha": [0.1]}
    assert again.recipes() == model.recipes()


@needs_torch
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"setting": {"learning_rate": 7.0}}, "the network does not fit the grid"),
        ({"grid": {"dropout": [0.1]}}, "the network does not fit the grid"),
        ({"parameters": {"network": "gin"}}, "network must be one of"),
        ({"validation_accuracy": None}, "does not hold a valid model"),
        ({"search": [1]}, "does not hold a valid model"),
    ],
)
def test_inconsistent_files(change, message, fitted, tmp_path):
    path = tmp_path / "model"
    fitted.save(path)
    content, tensors = read_tensors(path, "TunedGNNClassifier")
    for key, value in change.items():
        content[key] = content[key] | value if key == "parameters" else value
    write_tensors(path, "TunedGNNClassifier", content, tensors)
    with pytest.raises((FileFormatError, InputError), match=message):
        TunedGNNClassifier.load(path)


@needs_torch
def test_pickles_predict_the_same(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict_proba(nodes=TEST), fitted.predict_proba(nodes=TEST))
    assert again.search_ == fitted.search_
