r"""Softmax regression on precomputed features of a graph.

    SIGN-linear     [X, S X, ..., S^r X]                   Rossi et al. 2020
    SGC-PairNorm    P(S ... P(S X))                        Zhao and Akoglu 2020

with K steps and the normalisation P (PairNorm), which centres the rows and scales them to a mean
squared norm of scale^2:

    P(X)  =  scale (X - 1 m^T) / sqrt(||X - 1 m^T||_F^2 / n).

Each of several candidates for r, K or scale is fitted, with its weight decay chosen as in
`DGCClassifier`; the one with the best accuracy on validation nodes or folds is kept.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from heatgraph._arguments import positive_integer
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.diffusion import diffuse_many
from heatgraph.errors import CollapseWarning, InputError
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning._node_classifier import NodeClassifier
from heatgraph.learning._serialization import (
    deserialize_model,
    from_json_value,
    model_file_errors,
    serialize_model,
    serialize_parameters,
)
from heatgraph.learning.classifier import DGCClassifier, from_fitted_model, to_fitted_model
from heatgraph.learning.progress import Progress, StageProgress
from heatgraph.learning.scaling import Scaling, check_scaling
from heatgraph.schemes import SIGN

Array = npt.NDArray[Any]


class StackedClassifier(NodeClassifier):
    """Base of softmax regression on features that a subclass computes from a graph.

    A subclass adds the parameters declared below to its own, and implements `_candidates` and
    `_features`.

    Attributes
    ----------
    classes_ : array of shape (C,)
    setting_ : dict
        The subclass's own parameters, as chosen or given.
    feature_scaling_ : str
    weight_decay_ : float
    validation_accuracy_ : float or None
    head_ : DGCClassifier
        Softmax regression on the features, fitted on a graph without edges.
    """

    feature_scaling: str
    weight_decay: Any
    self_loops: bool
    random_state: Any
    n_threads: int | None
    dtype: Any

    @abstractmethod
    def _candidates(self) -> list[dict[str, Any]]:
        """Settings to try, validated; keyword arguments of `_features`."""

    @abstractmethod
    def _features(self, graph: Graph, rows: Array | None, **setting: Any) -> Array:
        """Features (m, p) of the nodes `rows`, or of all."""

    def fit(
        self,
        graph: Graph,
        y: Any,
        train: Any = None,
        val: Any = None,
        *,
        progress: Progress | None = None,
    ) -> StackedClassifier:
        """Learn from the labelled nodes of a graph; parameters as in `DGCClassifier.fit`."""
        check_graph(graph)
        if graph.features is None:
            raise InputError(f"{type(self).__name__} needs a graph with features.")
        check_scaling(self.feature_scaling)
        candidates = self._candidates()
        labels = Labels.read(y, graph.num_nodes)
        train_nodes, val_nodes = training_nodes(labels, train, val)
        self.scaling_ = Scaling.learn(self.feature_scaling, graph.features, train_nodes)
        nodes = train_nodes if val_nodes is None else np.concatenate([train_nodes, val_nodes])
        scaled = self._scale_features(graph)
        stage = StageProgress(progress, "search", len(candidates))
        fits = []
        for number, setting in enumerate(candidates):
            stage.report(number)
            X = self._features(scaled, nodes, **setting)
            # Candidates are compared by held-out accuracy, which calibration computes.
            calibrate = True if len(candidates) > 1 else "auto"
            head = self._fit_head(X, labels.values[nodes], len(train_nodes), calibrate)
            fits.append((head, setting))
        stage.report(len(candidates))
        self._set_fitted(*max(fits, key=lambda fit: fit[0].validation_accuracy_ or 0.0))
        self.graph_ = graph
        self.n_features_in_ = graph.num_features
        return self

    def _fit_head(self, X: Array, y: Array, num_train: int, calibrate: Any) -> DGCClassifier:
        """Fit softmax regression to the first rows of X, with the others for validation."""
        train, val = np.split(np.arange(len(X)), [num_train])
        return DGCClassifier(
            T=0.0,
            feature_scaling="none",
            weight_decay=self.weight_decay,
            random_state=self.random_state,
            n_threads=self.n_threads,
            calibrate=calibrate,
            dtype=self.dtype,
        ).fit(edgeless_graph(X), y, train, val if len(val) else None)

    def _scale_features(self, graph: Graph) -> Graph:
        X = self.scaling_.apply(graph.features, np.dtype(self.dtype))
        return graph._with_features(X)

    def save(self, path: str | Path) -> None:
        """Write the model to a file, atomically and without the graph; `load` reads it."""
        check_is_fitted(self)
        head, tensors = serialize_model(to_fitted_model(self.head_))
        content = {
            "parameters": serialize_parameters(self.get_params(deep=False)),
            "setting": self.setting_,
            "feature_scaling": self.feature_scaling_,
            "num_features": self.n_features_in_,
            "head": head,
        }
        tensors |= self.scaling_.to_tensors()
        write_tensors(path, type(self).__name__, content, tensors)

    @classmethod
    def load(cls, path: str | Path) -> StackedClassifier:
        """Read a model that `save` wrote. As with `heatgraph.load`, no code in the file is run."""
        content, tensors = read_tensors(path, cls.__name__)
        with model_file_errors(path):
            parameters = {
                name: from_json_value(value) for name, value in content["parameters"].items()
            }
            setting, count = content["setting"], content["num_features"]
            if cls(**(parameters | setting))._candidates() != [setting]:
                raise ValueError("the setting does not fit the parameters")
            scaling = Scaling.from_tensors(content["feature_scaling"], tensors, count)
            head = from_fitted_model(deserialize_model(content["head"], tensors))
            if count < 1 or head.n_features_in_ % count:
                raise ValueError("the numbers of features contradict each other")
            model = cls(**parameters)
            model.scaling_, model.n_features_in_ = scaling, count
            model._set_fitted(head, setting)
        return model

    def _set_fitted(self, head: DGCClassifier, setting: dict[str, Any]) -> None:
        """Set the fitted attributes that derive from a head and the setting of its features."""
        self.head_, self.setting_ = head, setting
        self.classes_, self.temperature_ = head.classes_, head.temperature_
        self.feature_scaling_ = self.scaling_.name
        self.weight_decay_ = head.weight_decay_
        self.validation_accuracy_ = head.validation_accuracy_

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        rows = None if nodes is None else node_indices(nodes, graph.num_nodes, "nodes")
        X = self._features(self._scale_features(graph), rows, **self.setting_)
        return self.head_._scores(edgeless_graph(X), None)


def edgeless_graph(X: Array) -> Graph:
    """A graph without edges, on which `DGCClassifier` is plain softmax regression."""
    return Graph(sp.csr_array((len(X), len(X)), dtype=np.float32), X)


class SIGNClassifier(StackedClassifier):
    """Linear SIGN: softmax regression on the concatenation of X, S X, ..., S^r X.

    Parameters
    ----------
    r : int or sequence of int
        Largest number of steps, or candidates.
    feature_scaling : str
        As in `DGCClassifier`, one name; "auto" is "rows" for words and counts, else "standard".
    weight_decay, self_loops, random_state, n_threads, dtype
        As in `DGCClassifier`.
    """

    def __init__(
        self,
        r: int | Sequence[int] = (1, 2, 3, 4, 5, 6),
        feature_scaling: str = "auto",
        weight_decay: Any = "auto",
        self_loops: bool = True,
        random_state: Any = None,
        n_threads: int | None = None,
        dtype: Any = "float32",
    ) -> None:
        self.r = r
        self.feature_scaling = feature_scaling
        self.weight_decay = weight_decay
        self.self_loops = self_loops
        self.random_state = random_state
        self.n_threads = n_threads
        self.dtype = dtype

    def _candidates(self) -> list[dict[str, Any]]:
        return [{"r": positive_integer(number, "r")} for number in _as_list(self.r, "r")]

    def _features(self, graph: Graph, rows: Array | None, **setting: Any) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            blocks = diffuse_many(
                graph,
                SIGN(setting["r"]),
                rows=rows,
                self_loops=self.self_loops,
                n_threads=self.n_threads,
                dtype=self.dtype,
            )
        return np.concatenate(list(blocks), axis=1)


class PairNormClassifier(StackedClassifier):
    """SGC with PairNorm after every step.

    Parameters
    ----------
    K : int or sequence of int
        Number of steps, or candidates.
    scale : float or sequence of float
        Root mean squared norm of the rows after each step, or candidates.
    feature_scaling, weight_decay, self_loops, random_state, n_threads, dtype
        As in `SIGNClassifier`.
    """

    def __init__(
        self,
        K: int | Sequence[int] = (1, 2, 3, 4, 5, 6),
        scale: float | Sequence[float] = 1.0,
        feature_scaling: str = "auto",
        weight_decay: Any = "auto",
        self_loops: bool = True,
        random_state: Any = None,
        n_threads: int | None = None,
        dtype: Any = "float32",
    ) -> None:
        self.K = K
        self.scale = scale
        self.feature_scaling = feature_scaling
        self.weight_decay = weight_decay
        self.self_loops = self_loops
        self.random_state = random_state
        self.n_threads = n_threads
        self.dtype = dtype

    def _candidates(self) -> list[dict[str, Any]]:
        steps, scales = _as_list(self.K, "K"), _as_list(self.scale, "scale")
        for scale in scales:
            if not (isinstance(scale, int | float) and 0 < scale < np.inf):
                raise InputError(f"scale must be a number > 0. Got {scale!r}.")
        return [{"K": positive_integer(K, "K"), "scale": scale} for K in steps for scale in scales]

    def _features(self, graph: Graph, rows: Array | None, **setting: Any) -> Array:
        S = graph.operator(self.self_loops, self.dtype).to_scipy()
        X = graph.features.toarray() if sp.issparse(graph.features) else graph.features
        for _ in range(setting["K"]):
            X = pair_norm(S @ X, setting["scale"])
        return np.asarray(X if rows is None else X[rows])


def _as_list(value: Any, name: str) -> list[Any]:
    """The candidates of a parameter that is one value or a sequence."""
    candidates = list(value) if isinstance(value, Sequence | np.ndarray) else [value]
    if not candidates:
        raise InputError(f"{name} must have at least one candidate. Got {value!r}.")
    return candidates


def pair_norm(X: Array, scale: float = 1.0) -> Array:
    """PairNorm: centre the rows and scale them to a mean squared norm of scale^2.

    Examples
    --------
    >>> pair_norm(np.array([[1.0, 0.0], [3.0, 0.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    X = X - X.mean(axis=0)
    norm = np.sqrt(np.square(X, dtype=np.float64).sum() / len(X))
    return np.asarray(X * X.dtype.type(scale / norm)) if norm > 0 else X
