"""A graph neural network as an estimator with the interface of `DGCClassifier`.

Training is that of the network's authors (`recipes`, `training`). It stops early on validation
nodes, if there are any, and keeps the weights that did best there.
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

from heatgraph._arguments import positive_integer
from heatgraph._engine.threads import thread_count
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.baselines.gnn.recipes import FIXED_LAYERS, RECIPES, Recipe, recipe_for
from heatgraph.errors import InputError, MissingExtraError
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning._node_classifier import NodeClassifier
from heatgraph.learning._search import Progress
from heatgraph.learning._serialization import (
    deserialize_classes,
    from_json_value,
    model_file_errors,
    serialize_classes,
    serialize_parameters,
)
from heatgraph.learning.classifier import read_seed
from heatgraph.learning.scaling import Scaling, candidate_scalings, check_scaling

Array = npt.NDArray[Any]
# Options that need not be whole, and such that may be zero; all others are counts.
FRACTIONS = ("alpha", "time", "threshold", "own_weight", "tol", "inner_dropout", "encoder_rate")
MAY_BE_ZERO = ("threshold", "inner_dropout", "encoder_epochs")
# Settings of a recipe that are parameters of the estimator, beside `options`.
SETTINGS = (
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
        What only this network has, such as ``{"heads": 8}``; the rest is as its authors have it.
    feature_scaling : str
        As in `DGCClassifier`, one name; "auto" is "rows" for words and counts, else "standard".
    random_state : int, RandomState or Generator, optional
        None is a fixed seed: refitting gives the same result.
    n_threads : int, optional
        Of torch; by default every core.

    Attributes
    ----------
    classes_ : array of shape (C,)
    network_ : torch.nn.Module
    recipe_ : Recipe
        The settings in use.
    epochs_ : int
        Epochs that were run.
    history_ : list of dict
        Loss of every epoch and, if there are validation nodes, loss and accuracy on them.
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
        learning, checking = training_nodes(labels, train, val)
        classes = labels.classes(learning)
        name = self.feature_scaling
        if name == "auto":
            name = candidate_scalings(graph.features, learning)[0]
        scaling = Scaling.learn(name, graph.features, learning)
        seed = read_seed(self.random_state)
        with _torch(self.n_threads) as (torch, networks, training):
            network = networks.NETWORKS[self.network]
            if graph.weights is not None and not network.reads_weights:
                raise InputError(
                    f"{self.network} does not read edge weights, and this graph has some. Make a "
                    "graph without, if edges should count alike."
                )
            torch.manual_seed(seed)
            module = network.make(graph.num_features, len(classes), recipe, graph.num_nodes)
            inputs = self._inputs(graph, scaling, recipe)
            known = [
                None if nodes is None else (nodes, labels.encode(classes, nodes))
                for nodes in (learning, checking)
            ]
            history, accuracy = training.train(
                module, inputs, recipe, *known, progress or (lambda *_: None)
            )
        self._settle(module, recipe, scaling, classes, graph.num_nodes)
        self.graph_ = graph
        self.n_features_in_ = graph.num_features
        self.epochs_ = len(history)
        self.history_ = history
        self.validation_accuracy_ = accuracy
        return self

    def _settle(
        self, module: Any, recipe: Recipe, scaling: Scaling, classes: Array, num_nodes: int
    ) -> None:
        """Set what predictions need."""
        self.network_ = module.eval()
        self.recipe_, self.scaling_, self.classes_ = recipe, scaling, classes
        self.feature_scaling_ = scaling.name
        self.num_parameters_ = sum(weights.numel() for weights in module.parameters())
        self._num_nodes = num_nodes

    def save(self, path: str | Path) -> None:
        """Write the model into a file, whole or not at all; `GNNClassifier.load` reads it.

        The graph is not in it.
        """
        check_is_fitted(self)
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
        for name in ("factor", "shift"):
            if getattr(self.scaling_, name) is not None:
                tensors[name] = getattr(self.scaling_, name)
        write_tensors(path, "GNNClassifier", content, tensors)

    @classmethod
    def load(cls, path: str | Path) -> GNNClassifier:
        """Read a model that `save` wrote; as `heatgraph.load`, it runs nothing in the file."""
        content, tensors = read_tensors(path, "GNNClassifier")
        with model_file_errors(path), _torch(None) as (torch, networks, _):
            parameters = {
                name: from_json_value(value) for name, value in content["parameters"].items()
            }
            model = cls(**parameters | {"options": content["options"]})
            model._recipe()
            recipe = _checked(Recipe(**content["recipe"]))
            classes, num_features = deserialize_classes(content), content["num_features"]
            scaling = Scaling(
                content["feature_scaling"], tensors.pop("factor", None), tensors.pop("shift", None)
            )
            scaling.check(num_features)
            with torch.device("meta"):  # so that sizes are compared before anything is allocated
                module = networks.NETWORKS[model.network].make(
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
            model._settle(module, recipe, scaling, classes, content["num_nodes"])
            model.n_features_in_ = num_features
            model.epochs_ = int(content["epochs"])
            accuracy = content["validation_accuracy"]
            model.validation_accuracy_ = None if accuracy is None else float(accuracy)
        return model

    def _recipe(self) -> Recipe:
        """The authors' settings, but for those that are given; all checked."""
        if self.network not in RECIPES:
            raise InputError(f"network must be one of {', '.join(RECIPES)}. Got {self.network!r}.")
        authors = RECIPES[self.network]
        given = {name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None}
        unknown = set(self.options or {}) - set(authors.options)
        if unknown:
            listed = ", ".join(sorted(authors.options)) or "none"
            raise InputError(
                f"options of {self.network} are: {listed}. Got {', '.join(sorted(unknown))}."
            )
        if self.network in FIXED_LAYERS and given.get("layers", authors.layers) != authors.layers:
            raise InputError(f"{self.network} has a fixed number of layers. Got {self.layers!r}.")
        return _checked(replace(authors, **given, options=authors.options | (self.options or {})))

    def _inputs(self, graph: Graph, scaling: Scaling, recipe: Recipe) -> tuple[Any, ...]:
        """What the network takes: scaled features (n, d) and what it sees of the graph."""
        from heatgraph.baselines.gnn import features, networks

        network = networks.NETWORKS[self.network]
        X = scaling.apply(graph.features, np.dtype(np.float32))
        tensor = features.feature_tensor(X, sparse=network.sparse_features)
        return network.see(graph, tensor, recipe)

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        rows = slice(None) if nodes is None else node_indices(nodes, graph.num_nodes, "nodes")
        with _torch(self.n_threads) as (torch, networks, _), torch.no_grad():
            if networks.NETWORKS[self.network].one_graph and graph.num_nodes != self._num_nodes:
                raise InputError(
                    f"{self.network} learns a weight for each node, and predicts on the graph that "
                    f"it was fitted on, of {self._num_nodes:,} nodes. Got one of "
                    f"{graph.num_nodes:,}."
                )
            scores = self.network_(*self._inputs(graph, self.scaling_, self.recipe_)).numpy()
        return np.asarray(scores[rows])


def authors_network(network: str, dataset: str | None = None, **changed: Any) -> GNNClassifier:
    """A network with its authors' settings for a data set, but for what is changed.

    Examples
    --------
    >>> authors_network("gat", "pubmed", n_threads=1).learning_rate
    0.01
    """
    recipe = recipe_for(network, dataset)
    given = {name: getattr(recipe, name) for name in (*SETTINGS, "options")}
    return GNNClassifier(network, **given | changed)


def _checked(recipe: Recipe) -> Recipe:
    """Refuse settings that no network can have."""
    for name in ("hidden", "layers", "epochs", "patience"):
        positive_integer(getattr(recipe, name), name)
    if not _is_number(recipe.dropout) or not 0 <= recipe.dropout < 1:
        raise InputError(f"dropout must be at least 0 and below 1. Got {recipe.dropout!r}.")
    rate, decay = recipe.learning_rate, recipe.weight_decay
    if not _is_number(rate) or not _is_number(decay) or not rate > 0 or not decay >= 0:
        raise InputError(
            f"learning_rate must be > 0 and weight_decay >= 0. Got {rate!r} and {decay!r}."
        )
    for name, value in recipe.options.items():
        if name == "method" and isinstance(value, str):
            continue
        least = 0 if name in MAY_BE_ZERO else 1e-12
        whole = name not in FRACTIONS
        if not _is_number(value) or value < least or (whole and int(value) != value):
            kind = "a whole number" if whole else "a number"
            raise InputError(f"option {name} must be {kind} {'>= 0' if not least else '> 0'}. "
                             f"Got {value!r}.")  # fmt: skip
    return recipe


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value))


@contextlib.contextmanager
def _torch(n_threads: int | None) -> Iterator[tuple[Any, Any, Any]]:
    """Torch, the networks and their training; threads and random numbers are put back after."""
    threads = thread_count(n_threads)
    if "torch" not in sys.modules:
        # Threads that wait by spinning make training twenty times slower beside any other job.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        with warnings.catch_warnings():
            # PyTorch Geometric's import still uses what torch has deprecated.
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
