"""Graph neural networks as an estimator with the interface of `DGCClassifier`.

Networks are trained with the settings of their authors (`recipes`), with early stopping on
validation nodes if there are any (`training`). This module imports torch only to fit, predict and
load.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from heatgraph._engine.threads import thread_count
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.baselines.gnn.recipes import RECIPES, Recipe, recipe_for
from heatgraph.errors import InputError, MissingExtraError
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning._node_classifier import NodeClassifier
from heatgraph.learning._node_estimator import read_seed
from heatgraph.learning._serialization import (
    deserialize_classes,
    from_json_value,
    model_file_errors,
    serialize_classes,
    serialize_parameters,
)
from heatgraph.learning.progress import Progress
from heatgraph.learning.scaling import Scaling, check_scaling

Array = npt.NDArray[Any]
# Fields of a recipe that are parameters of the estimator, besides `options`.
RECIPE_PARAMETERS = (
    "hidden", "layers", "dropout", "learning_rate", "weight_decay", "epochs", "patience",
)  # fmt: skip


class GNNClassifier(NodeClassifier):
    """Label nodes by a graph neural network (extra: gnn).

    Parameters
    ----------
    network : str
        One of `heatgraph.baselines.gnn.recipes.RECIPES`, such as "gcn" or "gat".
    hidden, layers, dropout, learning_rate, weight_decay, epochs, patience : optional
        By default those of the network's authors.
    options : dict, optional
        Settings that only this network has, such as ``{"heads": 8}``. Options that are not given
        are those of its authors.
    feature_scaling : str
        As in `DGCClassifier`, one name; "auto" is "rows" for words and counts, else "standard".
    random_state : int, RandomState or Generator, optional
        None is a fixed seed: refitting gives the same result.
    n_threads : int, optional
        Threads of torch; by default one per core.

    Attributes
    ----------
    classes_ : array of shape (C,)
    network_ : torch.nn.Module
    recipe_ : Recipe
        The settings of the fit.
    epochs_ : int
        Number of epochs until training stopped.
    history_ : list of dict
        "loss" of every epoch and, with validation nodes, "val_loss" and "val_accuracy".
    best_epoch_ : int or None
        The epoch, from 0 on, whose weights were kept; None without validation nodes.
    validation_accuracy_ : float or None
    num_parameters_ : int
    """

    def __init__(
        self,
        network: str = "gcn",
        hidden: int | None = None,
        layers: int | None = None,
        dropout: float | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        options: dict[str, Any] | None = None,
        feature_scaling: str = "auto",
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.network = network
        self.hidden = hidden
        self.layers = layers
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.patience = patience
        self.options = options
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
    ) -> GNNClassifier:
        """Learn from the labelled nodes of a graph; parameters as in `DGCClassifier.fit`."""
        check_graph(graph)
        if graph.features is None:
            raise InputError("GNNClassifier needs a graph with features.")
        check_scaling(self.feature_scaling)
        recipe = self._recipe()
        labels = Labels.read(y, graph.num_nodes)
        train_nodes, val_nodes = training_nodes(labels, train, val)
        classes = labels.classes(train_nodes)
        scaling = Scaling.learn(self.feature_scaling, graph.features, train_nodes)
        seed = read_seed(self.random_state)
        with _torch_session(self.n_threads) as (torch, networks, training):
            network = networks.NETWORKS[self.network]
            if graph.weights is not None and not network.uses_edge_weights:
                raise InputError(
                    f"{self.network} does not read edge weights, and this graph has some. Make a "
                    "graph without weights if all edges should count equally."
                )
            torch.manual_seed(seed)
            module = network.build(graph.num_features, len(classes), recipe, graph.num_nodes)
            inputs = self._inputs(graph, scaling, recipe)
            data = [
                None if nodes is None else (nodes, labels.encode(classes, nodes))
                for nodes in (train_nodes, val_nodes)
            ]
            history, best_epoch = training.train(module, inputs, recipe, *data, progress)
        self._set_fitted(module, recipe, scaling, classes, graph.num_nodes)
        self.graph_ = graph
        self.n_features_in_ = graph.num_features
        self.epochs_ = len(history)
        self.history_ = history
        self.best_epoch_ = best_epoch
        self.validation_accuracy_ = (
            None if best_epoch is None else history[best_epoch]["val_accuracy"]
        )
        return self

    def _set_fitted(
        self, module: Any, recipe: Recipe, scaling: Scaling, classes: Array, num_nodes: int
    ) -> None:
        """Set the fitted attributes that predictions read."""
        self.network_ = module.eval()
        self.recipe_, self.scaling_, self.classes_ = recipe, scaling, classes
        self.feature_scaling_ = scaling.name
        self.num_parameters_ = sum(weights.numel() for weights in module.parameters())
        self._num_nodes = num_nodes

    def save(self, path: str | Path) -> None:
        """Write the model to a file, atomically and without the graph; `load` reads it."""
        check_is_fitted(self)
        write_tensors(path, "GNNClassifier", *self._serialize())

    def _serialize(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """JSON values and arrays of a file."""
        content = {
            "parameters": serialize_parameters(self.get_params(deep=False) | {"options": None}),
            "options": self.options,
            **serialize_classes(self.classes_),
            "recipe": asdict(self.recipe_),
            "feature_scaling": self.feature_scaling_,
            "num_features": self.n_features_in_,
            "num_nodes": self._num_nodes,
            "epochs": self.epochs_,
            "validation_accuracy": self.validation_accuracy_,
        }
        state = self.network_.state_dict()
        tensors = {f"network.{name}": value.numpy() for name, value in state.items()}
        return content, tensors | self.scaling_.to_tensors()

    @classmethod
    def load(cls, path: str | Path) -> GNNClassifier:
        """Read a model that `save` wrote. As with `heatgraph.load`, no code in the file is run."""
        content, tensors = read_tensors(path, "GNNClassifier")
        with model_file_errors(path):
            return cls._deserialize(content, tensors)

    @classmethod
    def _deserialize(cls, content: dict[str, Any], tensors: dict[str, Array]) -> GNNClassifier:
        """Make a model of what `_serialize` returned."""
        with _torch_session(None) as (torch, networks, _):
            parameters = {
                name: from_json_value(value) for name, value in content["parameters"].items()
            }
            model = cls(**parameters | {"options": content["options"]})
            model._recipe()
            recipe = Recipe(**content["recipe"])
            RECIPES[model.network].check(recipe)
            classes, num_features = deserialize_classes(content), content["num_features"]
            scaling = Scaling.from_tensors(content["feature_scaling"], tensors, num_features)
            with torch.device("meta"):  # compare sizes before allocating anything
                module = networks.NETWORKS[model.network].build(
                    num_features, len(classes), recipe, content["num_nodes"]
                )
            state = {
                name.removeprefix("network."): torch.from_numpy(value.copy())
                for name, value in tensors.items()
            }
            for value in state.values():
                if value.dtype != torch.float32 or not bool(torch.isfinite(value).all()):
                    raise ValueError("weights are not finite numbers in float32")
            try:
                module.load_state_dict(state, assign=True)
            except RuntimeError as error:
                raise ValueError("weights do not fit the network") from error
            model._set_fitted(module, recipe, scaling, classes, content["num_nodes"])
            model.n_features_in_ = num_features
            model.epochs_ = int(content["epochs"])
            accuracy = content["validation_accuracy"]
            model.validation_accuracy_ = None if accuracy is None else float(accuracy)
        return model

    def _recipe(self) -> Recipe:
        """The authors' settings, overridden by the given parameters; validated."""
        if self.network not in RECIPES:
            raise InputError(f"network must be one of {', '.join(RECIPES)}. Got {self.network!r}.")
        published = RECIPES[self.network]
        default = published.default
        given = {
            name: getattr(self, name)
            for name in RECIPE_PARAMETERS
            if getattr(self, name) is not None
        }
        unknown = set(self.options or {}) - set(default.options)
        if unknown:
            listed = ", ".join(sorted(default.options)) or "none"
            raise InputError(
                f"options of {self.network} are: {listed}. Got {', '.join(sorted(unknown))}."
            )
        if published.has_fixed_layers and given.get("layers", default.layers) != default.layers:
            raise InputError(f"{self.network} has a fixed number of layers. Got {self.layers!r}.")
        recipe = replace(default, **given, options=default.options | (self.options or {}))
        published.check(recipe)
        return recipe

    def _inputs(self, graph: Graph, scaling: Scaling, recipe: Recipe) -> tuple[Any, ...]:
        """Arguments of the network's `forward`: scaled features (n, d) and the structure."""
        from heatgraph.baselines.gnn import features, networks

        network = networks.NETWORKS[self.network]
        X = scaling.apply(graph.features, np.dtype(np.float32))
        tensor = features.feature_tensor(X, sparse=network.accepts_sparse)
        return network.prepare(graph, tensor, recipe)

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        rows = slice(None) if nodes is None else node_indices(nodes, graph.num_nodes, "nodes")
        with _torch_session(self.n_threads) as (torch, networks, _), torch.no_grad():
            if (
                networks.NETWORKS[self.network].is_transductive
                and graph.num_nodes != self._num_nodes
            ):
                raise InputError(
                    f"{self.network} learns a weight for each node, and predicts on the graph that "
                    f"it was fitted on, of {self._num_nodes:,} nodes. Got one of "
                    f"{graph.num_nodes:,}."
                )
            scores = self.network_(*self._inputs(graph, self.scaling_, self.recipe_)).numpy()
        return np.asarray(scores[rows])


def authors_network(network: str, dataset: str | None = None, **changed: Any) -> GNNClassifier:
    """A network with its authors' settings for a data set, some of them changed.

    Examples
    --------
    >>> authors_network("gat", "pubmed", n_threads=1).learning_rate
    0.01
    """
    recipe = recipe_for(network, dataset)
    given = {name: getattr(recipe, name) for name in (*RECIPE_PARAMETERS, "options")}
    return GNNClassifier(network, **given | changed)


@contextlib.contextmanager
def _torch_session(n_threads: int | None) -> Iterator[tuple[Any, Any, Any]]:
    """Import torch, the networks and their training; restore torch's threads and random state."""
    threads = thread_count(n_threads)
    if "torch" not in sys.modules:
        # Spinning OpenMP threads make training twenty times slower next to any other process.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        with warnings.catch_warnings():
            # Importing PyTorch Geometric uses deprecated parts of torch.
            warnings.simplefilter("ignore", DeprecationWarning)
            import torch

            from heatgraph.baselines.gnn import networks, training
    except ImportError as error:
        raise MissingExtraError(
            "graph neural networks need torch, torch_geometric and torchdiffeq. Install them: "
            'pip install "heatgraph[gnn]"'
        ) from error
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=[]):
            yield torch, networks, training
    finally:
        torch.set_num_threads(before)
