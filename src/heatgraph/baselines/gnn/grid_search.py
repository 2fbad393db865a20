"""Networks whose settings are chosen on validation nodes, as those of linear methods are.

`TunedGNNClassifier` trains a network once for every setting of a grid, each time with early
stopping, and keeps the one of highest accuracy on validation nodes; of equals, the one of lowest
loss there.

The grids have two candidates for each of four settings, so 16 combinations, with the authors' among
them: what is chosen is at least as good on validation nodes. They are small for two reasons. Every
combination is a whole training, of as many epochs and as much patience as the authors take. And the
standard error of an accuracy a on m validation nodes is sqrt(a (1 - a) / m), more than one point
for the 500 of a citation graph, so that among more combinations chance would choose. In APPNP's
grid, alpha takes the place of the hidden size.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.baselines.gnn.estimator import RECIPE_PARAMETERS, GNNClassifier
from heatgraph.baselines.gnn.recipes import RECIPES, Recipe
from heatgraph.errors import InputError, UnknownClassWarning
from heatgraph.graph import Graph, check_graph
from heatgraph.learning._folds import stratified_sample
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning._node_classifier import NodeClassifier
from heatgraph.learning._node_estimator import read_seed
from heatgraph.learning._serialization import (
    from_json_value,
    model_file_errors,
    serialize_parameters,
    to_json_value,
)
from heatgraph.learning.progress import FitProgress, Progress
from heatgraph.learning.scaling import check_scaling

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Grid = Mapping[str, Sequence[Any]]

REGULARIZATION: Grid = {
    "learning_rate": (0.01, 0.05),
    "weight_decay": (5e-4, 5e-3),
    "dropout": (0.5, 0.8),
}
GRIDS: dict[str, Grid] = {
    "gcn": {**REGULARIZATION, "hidden": (16, 64)},
    "appnp": {**REGULARIZATION, "alpha": (0.1, 0.2)},
}
# Without validation nodes, one training node in so many is held out.
HELD_OUT_PART = 5


class TunedGNNClassifier(NodeClassifier):
    """A graph neural network with the best of several settings on validation nodes (extra: gnn).

    Without validation nodes, a stratified fifth of the training nodes is held out to choose the
    setting and the number of epochs, with which the network is then trained on all of them.

    Parameters
    ----------
    network : str
        One of `heatgraph.baselines.gnn.recipes.RECIPES`.
    grid : dict, optional
        Candidates by the name of a parameter or option of the network, such as
        ``{"dropout": [0.5, 0.8], "alpha": [0.1]}``. All combinations are tried; settings without
        candidates are the authors'. By default that of `GRIDS`, which has one for "gcn" and
        "appnp".
    epochs, patience : int, optional
        Of every training run; by default those of the network's authors.
    feature_scaling, random_state, n_threads
        As in `GNNClassifier`. All settings are tried with the same seed.

    Attributes
    ----------
    classes_ : array of shape (C,)
    best_ : GNNClassifier
        The network that was chosen, fitted.
    setting_ : dict
        Its setting in the grid.
    search_ : list of dict
        Every setting, with its "accuracy" and "log_loss" on validation nodes, and the "epochs"
        until its weights were the best. ``pandas.DataFrame(model.search_)`` makes a table of it.
    epochs_ : int
        Number of epochs until the training of the chosen network stopped.
    validation_accuracy_ : float
    num_parameters_ : int

    Examples
    --------
    >>> len(TunedGNNClassifier("gcn").recipes())
    16
    """

    def __init__(
        self,
        network: str = "gcn",
        grid: dict[str, Sequence[Any]] | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        feature_scaling: str = "auto",
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.network = network
        self.grid = grid
        self.epochs = epochs
        self.patience = patience
        self.feature_scaling = feature_scaling
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(
        self,
        graph: Graph,
        y: Any,
        train: Any = None,
        val: Any = None,
        *,
        progress: Progress | None = None,
    ) -> TunedGNNClassifier:
        """Learn from the labelled nodes of a graph; parameters as in `DGCClassifier.fit`."""
        check_graph(graph)
        if graph.features is None:
            raise InputError("TunedGNNClassifier needs a graph with features.")
        check_scaling(self.feature_scaling)
        steps = [recipe.epochs for recipe in self.recipes()]
        labels = Labels.read(y, graph.num_nodes)
        train_nodes, val_nodes = training_nodes(labels, train, val)
        # A generator is drawn from once, so that all settings have the same seed.
        is_fixed = isinstance(self.random_state, int | np.integer | None)
        seed = self.random_state if is_fixed else read_seed(self.random_state)
        parts = train_nodes, val_nodes
        if val_nodes is None:
            codes = labels.encode(labels.classes(train_nodes), train_nodes)
            parts = _hold_out(train_nodes, codes, read_seed(seed))
        report = _SearchProgress(progress, steps if val_nodes is not None else [*steps, max(steps)])
        with warnings.catch_warnings():
            # Already given for all labels; nodes that are held out leave a node of every class.
            warnings.simplefilter("ignore", UnknownClassWarning)
            best, setting, search = self._search(graph, y, parts, seed, report)
            accuracy = best.validation_accuracy_
            if val_nodes is None:
                best = self._model(setting | {"epochs": best.best_epoch_ + 1}, seed)
                best.fit(graph, y, train_nodes, progress=report.training)
        report.finish()
        self._set_fitted(best, setting, search, accuracy)
        self.graph_ = graph
        return self

    def recipes(self) -> list[Recipe]:
        """The settings of every training run, validated."""
        return [self._model(setting)._recipe() for setting in self._settings()]

    def _settings(self) -> list[dict[str, Any]]:
        """All combinations of the candidates."""
        if self.network not in RECIPES:
            raise InputError(f"network must be one of {', '.join(RECIPES)}. Got {self.network!r}.")
        if self.grid is None and self.network not in GRIDS:
            raise InputError(
                f"there is a grid for {' and '.join(GRIDS)}, and none for {self.network}. Give "
                "grid=, such as {'dropout': [0.5, 0.8]}."
            )
        grid = GRIDS[self.network] if self.grid is None else self.grid
        known = (*RECIPE_PARAMETERS, *RECIPES[self.network].default.options)
        is_valid = isinstance(grid, Mapping) and all(
            name in known and isinstance(candidates, list | tuple | np.ndarray) and len(candidates)
            for name, candidates in grid.items()
        )
        if not is_valid:
            raise InputError(
                f"grid must be a dict with a list of candidates for any of {', '.join(known)}. Got "
                f"{grid!r}."
            )
        # As plain numbers, which files hold.
        candidates = [to_json_value(list(values)) for values in grid.values()]
        return [dict(zip(grid, values, strict=True)) for values in itertools.product(*candidates)]

    def _model(self, setting: dict[str, Any], seed: Any = None) -> GNNClassifier:
        """The unfitted network with a setting of the grid."""
        settings = {"epochs": self.epochs, "patience": self.patience} | setting
        options = {name: settings.pop(name) for name in setting if name not in RECIPE_PARAMETERS}
        return GNNClassifier(
            self.network,
            **settings,
            options=options,
            feature_scaling=self.feature_scaling,
            random_state=seed,
            n_threads=self.n_threads,
        )

    def _search(
        self,
        graph: Graph,
        y: Any,
        parts: tuple[Indices, Indices | None],
        seed: Any,
        report: _SearchProgress,
    ) -> tuple[GNNClassifier, dict[str, Any], list[dict[str, Any]]]:
        """Train every setting; the best network, its setting, and a record of each."""
        fits: list[tuple[tuple[float, float], GNNClassifier, dict[str, Any]]] = []
        search = []
        for setting in self._settings():
            model = self._model(setting, seed)
            model.fit(graph, y, *parts, progress=report.training)
            epoch = model.best_epoch_
            accuracy, loss = (model.history_[epoch][key] for key in ("val_accuracy", "val_loss"))
            loss = loss if np.isfinite(loss) else np.inf
            record = {"accuracy": accuracy, "log_loss": loss if loss < np.inf else None}
            search.append(setting | record | {"epochs": epoch + 1})
            # Only the best is kept in memory; of equals the first.
            fits = [max([*fits, ((accuracy, -loss), model, setting)], key=lambda fit: fit[0])]
            report.tried(fits[0][0][0])
        _, best, setting = fits[0]
        return best, setting, search

    def _set_fitted(
        self,
        best: GNNClassifier,
        setting: dict[str, Any],
        search: list[dict[str, Any]],
        accuracy: float | None,
    ) -> None:
        """Set the fitted attributes, except the graph."""
        self.best_, self.setting_, self.search_ = best, setting, search
        self.classes_, self.n_features_in_ = best.classes_, best.n_features_in_
        self.epochs_, self.num_parameters_ = best.epochs_, best.num_parameters_
        self.feature_scaling_ = best.feature_scaling_
        self.validation_accuracy_ = accuracy

    def save(self, path: str | Path) -> None:
        """Write the model to a file, atomically and without the graph; `load` reads it."""
        check_is_fitted(self)
        best, tensors = self.best_._serialize()
        grid = self.grid
        content = {
            "parameters": serialize_parameters(self.get_params(deep=False) | {"grid": None}),
            "grid": grid and {name: to_json_value(list(grid[name])) for name in grid},
            "setting": self.setting_,
            "search": self.search_,
            "validation_accuracy": self.validation_accuracy_,
            "best": best,
        }
        write_tensors(path, "TunedGNNClassifier", content, tensors)

    @classmethod
    def load(cls, path: str | Path) -> TunedGNNClassifier:
        """Read a model that `save` wrote. As with `heatgraph.load`, no code in the file is run."""
        content, tensors = read_tensors(path, "TunedGNNClassifier")
        with model_file_errors(path):
            parameters = {
                name: from_json_value(value) for name, value in content["parameters"].items()
            }
            model = cls(**parameters | {"grid": content["grid"]})
            setting = content["setting"]
            best = GNNClassifier._deserialize(content["best"], tensors)
            if setting not in model._settings() or best.network != model.network:
                raise ValueError("the network does not fit the grid")
            search = [dict(record) for record in content["search"]]
            model._set_fitted(best, setting, search, float(content["validation_accuracy"]))
        return model

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        return self.best_._scores(graph, nodes)


def _hold_out(train: Indices, codes: Indices, seed: int) -> tuple[Indices, Indices]:
    """Training nodes to learn from, at least one of each class, and nodes that are held out."""
    size = max(len(train) - max(1, len(train) // HELD_OUT_PART), len(np.unique(codes)))
    if size == len(train):
        raise InputError(
            "without validation nodes some training nodes are held out, and every class has one "
            f"training node only ({len(train):,} in all). Give val=, or a GNNClassifier, which "
            "chooses nothing."
        )
    kept = stratified_sample(codes, size, np.random.default_rng(seed))
    return train[kept], np.delete(train, kept)


class _SearchProgress:
    """Reports epochs of all training runs as steps of one search, with the best accuracy."""

    def __init__(self, progress: Progress | None, steps: list[int]) -> None:
        self._progress, self._total = progress, sum(steps)
        # Steps before each run. A run that stops early skips the rest of its own.
        self._before = [0, *itertools.accumulate(steps)]
        self._settings = 0
        self._accuracy: float | None = None
        self._begun = time.perf_counter()

    def training(self, fit: FitProgress) -> None:
        """Report an epoch of the current run."""
        if fit.stage == "training":
            self._report(min(self._before[self._settings] + fit.done, self._total))

    def tried(self, accuracy: float) -> None:
        """Report the end of a run, and the best accuracy so far."""
        self._settings, self._accuracy = self._settings + 1, accuracy
        self._report(self._before[self._settings])

    def finish(self) -> None:
        """Report the end."""
        self._report(self._total)

    def _report(self, done: int) -> None:
        if self._progress is not None:
            seconds = time.perf_counter() - self._begun
            state = FitProgress(
                "search", done, self._total, self._settings, None, self._accuracy, seconds
            )
            self._progress(state)
