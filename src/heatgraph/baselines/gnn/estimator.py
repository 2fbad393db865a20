"""A graph neural network as an estimator with the interface of `DGCClassifier`.

Training is full-batch Adam on the cross-entropy of the training nodes, with weight decay in the
gradient, as all of the original codes do it. It stops early on validation nodes, if there are any,
and keeps the weights that did best there.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from heatgraph.baselines.gnn.recipes import RECIPES, Recipe
from heatgraph.classifier import read_seed
from heatgraph.crew import thread_count
from heatgraph.entries import whole_number
from heatgraph.errors import InputError, MissingExtraError
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.labels import Labels, training_nodes
from heatgraph.scaling import Scaling, check_scaling, fitting_scalings
from heatgraph.tuning import Progress

if TYPE_CHECKING:
    import torch

Array = npt.NDArray[Any]


class GNNClassifier(ClassifierMixin, BaseEstimator):
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
        if graph.weights is not None:
            raise InputError(
                "the networks do not read edge weights, and this graph has some. Make one without, "
                "if edges should count alike."
            )
        check_scaling(self.feature_scaling)
        recipe = self._recipe()
        labels = Labels.read(y, graph.num_nodes)
        learning, checking = training_nodes(labels, train, val)
        classes = labels.classes(learning)
        name = self.feature_scaling
        if name == "auto":
            name = fitting_scalings(graph.features, learning)[0]
        scaling = Scaling.learn(name, graph.features, learning)
        seed = read_seed(self.random_state)
        torch, networks = _torch(self.n_threads)
        module = networks.build(self.network, graph.num_features, len(classes), recipe, seed)
        inputs = self._inputs(graph, scaling)
        codes = [
            None if nodes is None else torch.from_numpy(labels.encode(classes, nodes))
            for nodes in (learning, checking)
        ]
        training = _Training(module, inputs, recipe, progress or (lambda *_: None))
        training.run(learning, codes[0], checking, codes[1])
        self.network_ = module.eval()
        self.scaling_, self.recipe_, self.classes_ = scaling, recipe, classes
        self.feature_scaling_ = name
        self.graph_ = graph
        self.n_features_in_ = graph.num_features
        self.epochs_ = len(training.history)
        self.history_ = training.history
        self.validation_accuracy_ = training.best_accuracy
        self.num_parameters_ = sum(weights.numel() for weights in module.parameters())
        return self

    def decision_function(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Scores of the classes, as in `DGCClassifier`."""
        scores = self._scores(graph, nodes)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Probabilities of the classes, as in `DGCClassifier`."""
        scores = self._scores(graph, nodes).astype(np.float64)
        return np.asarray(scipy.special.softmax(scores, axis=1))

    def predict(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Labels, as in `DGCClassifier`."""
        best = self._scores(graph, nodes).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def score(self, graph: Graph | None, y: Any, nodes: Any = None) -> float:
        """Share of nodes that are labelled right, as in `DGCClassifier`."""
        check_is_fitted(self)
        graph = self.graph_ if graph is None else graph
        check_graph(graph)
        labels = Labels.read(y, graph.num_nodes)
        counted = labels.labelled(nodes, "nodes")
        if len(counted) == 0:
            raise InputError("there is no labelled node to score.")
        codes = labels.encode(self.classes_, counted)
        return float((self._scores(graph, counted).argmax(axis=1) == codes).mean())

    def _recipe(self) -> Recipe:
        """The authors' settings, but for those that are given; all checked."""
        if self.network not in RECIPES:
            raise InputError(f"network must be one of {', '.join(RECIPES)}. Got {self.network!r}.")
        authors = RECIPES[self.network]
        names = ("hidden", "layers", "dropout", "learning_rate", "weight_decay", "epochs",
                 "patience")  # fmt: skip
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        unknown = set(self.options or {}) - set(authors.options)
        if unknown:
            listed = ", ".join(sorted(authors.options)) or "none"
            raise InputError(
                f"options of {self.network} are: {listed}. Got {', '.join(sorted(unknown))}."
            )
        recipe = replace(authors, **given, options=authors.options | (self.options or {}))
        for name in ("hidden", "layers", "epochs", "patience"):
            whole_number(getattr(recipe, name), name)
        if not 0 <= recipe.dropout < 1:
            raise InputError(f"dropout must be at least 0 and below 1. Got {recipe.dropout!r}.")
        if not recipe.learning_rate > 0 or not recipe.weight_decay >= 0:
            raise InputError(
                "learning_rate must be > 0 and weight_decay >= 0. Got "
                f"{recipe.learning_rate!r} and {recipe.weight_decay!r}."
            )
        return recipe

    def _inputs(self, graph: Graph, scaling: Scaling) -> tuple[torch.Tensor, torch.Tensor]:
        """Scaled features (n, d) and directed edges (2, m), sorted by target."""
        torch, networks = _torch(self.n_threads)
        X = scaling.apply(graph.features, np.dtype(np.float32))
        X = X.toarray() if hasattr(X, "toarray") else X
        targets = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
        edges = np.stack([graph.indices.astype(np.int64), targets])
        if self.network in networks.WITH_SELF_LOOPS:
            itself = np.arange(graph.num_nodes)
            edges = np.concatenate([edges, np.stack([itself, itself])], axis=1)
        return torch.from_numpy(np.ascontiguousarray(X)), torch.from_numpy(edges)

    def _scores(self, graph: Graph | None, nodes: Any) -> Array:
        check_is_fitted(self)
        graph = self.graph_ if graph is None else graph
        check_graph(graph)
        if graph.num_features != self.n_features_in_:
            raise InputError(
                f"the model was fitted with {self.n_features_in_:,} features per node. Got a graph "
                f"with {graph.num_features:,}."
            )
        torch, _ = _torch(self.n_threads)
        with torch.no_grad():
            scores = self.network_(*self._inputs(graph, self.scaling_)).numpy()
        if nodes is not None:
            scores = scores[node_indices(nodes, graph.num_nodes, "nodes")]
        return np.asarray(scores)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


class _Training:
    """Epochs of Adam, and the best weights so far."""

    def __init__(
        self,
        module: Any,
        inputs: tuple[torch.Tensor, torch.Tensor],
        recipe: Recipe,
        report: Progress,
    ) -> None:
        import torch

        self.module, self.inputs, self.recipe, self.report = module, inputs, recipe, report
        groups = [{"params": list(module.parameters()), "weight_decay": recipe.weight_decay}]
        if recipe.decays_first_only:
            first = list(module.first.parameters())
            known = {id(weights) for weights in first}
            rest = [weights for weights in module.parameters() if id(weights) not in known]
            groups = [{"params": first, "weight_decay": recipe.weight_decay}, {"params": rest}]
        self.adam = torch.optim.Adam(groups, recipe.learning_rate)
        self.loss = torch.nn.functional.cross_entropy
        self.history: list[dict[str, float]] = []
        self.best_accuracy: float | None = None

    def run(self, train: Array, codes: Any, val: Array | None, val_codes: Any) -> None:
        best_loss, weights, waited = np.inf, None, 0
        for epoch in range(self.recipe.epochs):
            self.report("training", epoch, self.recipe.epochs)
            record = {"loss": self._step(train, codes)}
            self.history.append(record)
            if val is None:
                continue
            record |= self._check(val, val_codes)
            accuracy, loss = record["val_accuracy"], record["val_loss"]
            best = -1.0 if self.best_accuracy is None else self.best_accuracy
            waited += 1
            if accuracy >= best or loss <= best_loss:
                waited = 0
                if accuracy >= best and (accuracy > best or loss <= best_loss):
                    weights = copy.deepcopy(self.module.state_dict())
                best_loss = min(best_loss, loss)
                self.best_accuracy = max(best, accuracy)
            if waited >= self.recipe.patience:
                break
        if weights is not None:
            self.module.load_state_dict(weights)
        self.report("training", self.recipe.epochs, self.recipe.epochs)

    def _step(self, nodes: Array, codes: Any) -> float:
        self.module.train()
        self.adam.zero_grad()
        loss = self.loss(self.module(*self.inputs)[nodes], codes)
        loss.backward()
        self.adam.step()
        return float(loss.detach())

    def _check(self, nodes: Array, codes: Any) -> dict[str, float]:
        import torch

        self.module.eval()
        with torch.no_grad():
            scores = self.module(*self.inputs)[nodes]
        known = codes >= 0  # a class without a training node has no score
        loss = float(self.loss(scores[known], codes[known])) if known.any() else np.inf
        return {
            "val_loss": loss,
            "val_accuracy": float((scores.argmax(dim=1) == codes).float().mean()),
        }


def _torch(n_threads: int | None) -> tuple[Any, Any]:
    """Torch and the networks, with so many threads; or an error that says how to get them."""
    try:
        with warnings.catch_warnings():
            # PyTorch Geometric's import still uses what torch has deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            import torch

            from heatgraph.baselines.gnn import networks
    except ImportError as error:
        raise MissingExtraError(
            "graph neural networks need torch and torch_geometric. Install them: "
            'pip install "heatgraph[gnn]"'
        ) from error
    torch.set_num_threads(thread_count(n_threads))
    return torch, networks
