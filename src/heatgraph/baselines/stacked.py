r"""Methods whose features are made first and read by softmax regression then.

    SIGN-linear     [X, S X, ..., S^r X]                   Rossi et al. 2020
    SGC-PairNorm    P(S ... P(S X))                        Zhao and Akoglu 2020

with K steps and the normalisation P, which takes the mean row from every row and then gives rows a
mean square length of scale^2:

    P(X)  =  scale (X - 1 m^T) / sqrt(||X - 1 m^T||_F^2 / n).

What is left open is tried: for each candidate, weight decay is chosen as `DGCClassifier` does, and
the candidate that is best on validation nodes or folds is taken.
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
from heatgraph.learning._search import Progress
from heatgraph.learning._serialization import (
    deserialize_model,
    from_json_value,
    model_file_errors,
    serialize_model,
    serialize_parameters,
)
from heatgraph.learning.classifier import DGCClassifier, from_fitted_model, to_fitted_model
from heatgraph.learning.scaling import Scaling, candidate_scalings, check_scaling
from heatgraph.schemes import SIGN

Array = npt.NDArray[Any]


class StackedClassifier(NodeClassifier):
    """Softmax regression on features that a subclass makes of a graph.

    A subclass has the parameters below beside its own, lists its candidates, and makes features.

    Attributes
    ----------
    classes_ : array of shape (C,)
    setting_ : dict
        The subclass's own parameters in use, chosen or given.
    feature_scaling_ : str
    weight_decay_ : float
    validation_accuracy_ : float or None
    head_ : DGCClassifier
        What reads the features; it knows no edges.
    """

    feature_scaling: str
    weight_decay: Any
    self_loops: bool
    random_state: Any
    n_threads: int | None
    dtype: Any

    @abstractmethod
    def _candidates(self) -> list[dict[str, Any]]:
        """Settings to try, each checked."""

    @abstractmethod
    def _features(self, graph: Graph, rows: Array | None, **setting: Any) -> Array:
        """Features (m, p) of some nodes, or of all."""

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
        learning, checking = training_nodes(labels, train, val)
        chosen = self.feature_scaling
        if chosen == "auto":
            chosen = candidate_scalings(graph.features, learning)[0]
        self.scaling_ = Scaling.learn(chosen, graph.features, learning)
        nodes = learning if checking is None else np.concatenate([learning, checking])
        scaled = self._scaled(graph)
        report = progress or (lambda *_: None)
        fits = []
        for number, setting in enumerate(candidates):
            report("search", number, len(candidates))
            X = self._features(scaled, nodes, **setting)
            # Held-out scores are what candidates are told apart by, and calibrating takes them.
            calibrate = True if len(candidates) > 1 else "auto"
            head = self._head(X, labels.values[nodes], learning, checking, calibrate)
            fits.append((head, setting))
        report("search", len(candidates), len(candidates))
        self._settle(*max(fits, key=lambda fit: fit[0].validation_accuracy_ or 0.0))
        self.graph_ = graph
        self.n_features_in_ = graph.num_features
        return self

    def _head(
        self, X: Array, y: Array, learning: Array, checking: Array | None, calibrate: Any
    ) -> DGCClassifier:
        """Softmax regression on rows of features: those to learn from, then those to check on."""
        train = np.arange(len(learning))
        val = None if checking is None else np.arange(len(learning), len(X))
        return DGCClassifier(
            T=0.0,
            feature_scaling="none",
            weight_decay=self.weight_decay,
            random_state=self.random_state,
            n_threads=self.n_threads,
            calibrate=calibrate,
            dtype=self.dtype,
        ).fit(_edgeless(X), y, train, val)

    def _scaled(self, graph: Graph) -> Graph:
        X = self.scaling_.apply(graph.features, np.dtype(self.dtype))
        return graph.with_features(X)

    def save(self, path: str | Path) -> None:
        """Write the model into a file, whole or not at all; `load` of its class reads it.

        The graph is not in it.
        """
        check_is_fitted(self)
        head, tensors = serialize_model(to_fitted_model(self.head_))
        content = {
            "parameters": serialize_parameters(self.get_params(deep=False)),
            "setting": self.setting_,
            "feature_scaling": self.feature_scaling_,
            "num_features": self.n_features_in_,
            "head": head,
        }
        for name in ("factor", "shift"):
            if getattr(self.scaling_, name) is not None:
                tensors[name] = getattr(self.scaling_, name)
        write_tensors(path, type(self).__name__, content, tensors)

    @classmethod
    def load(cls, path: str | Path) -> StackedClassifier:
        """Read a model that `save` wrote; as `heatgraph.load`, it runs nothing in the file."""
        content, tensors = read_tensors(path, cls.__name__)
        with model_file_errors(path):
            parameters = {
                name: from_json_value(value) for name, value in content["parameters"].items()
            }
            setting, count = content["setting"], content["num_features"]
            if cls(**(parameters | setting))._candidates() != [setting]:
                raise ValueError("the setting is not what it should be")
            statistics = tensors.pop("factor", None), tensors.pop("shift", None)
            scaling = Scaling(content["feature_scaling"], *statistics)
            scaling.check(count)
            head = from_fitted_model(deserialize_model(content["head"], tensors))
            if count < 1 or head.n_features_in_ % count:
                raise ValueError("the numbers of features contradict each other")
            model = cls(**parameters)
            model.scaling_, model.n_features_in_ = scaling, count
            model._settle(head, setting)
        return model

    def _settle(self, head: DGCClassifier, setting: dict[str, Any]) -> None:
        """Set the fitted attributes that come from a head and the setting of its features."""
        self.head_, self.setting_ = head, setting
        self.classes_, self.temperature_ = head.classes_, head.temperature_
        self.feature_scaling_ = self.scaling_.name
        self.weight_decay_ = head.weight_decay_
        self.validation_accuracy_ = head.validation_accuracy_

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        rows = None if nodes is None else node_indices(nodes, graph.num_nodes, "nodes")
        X = self._features(self._scaled(graph), rows, **self.setting_)
        return self.head_._scores(_edgeless(X), None)


def _edgeless(X: Array) -> Graph:
    return Graph(sp.csr_array((len(X), len(X)), dtype=np.float32), X)


class SIGNClassifier(StackedClassifier):
    """Linear SIGN: softmax regression on X, S X, ..., S^r X side by side.

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
        return [{"r": positive_integer(number, "r")} for number in _listed(self.r, "r")]

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
        Root mean square length of rows after each step, or candidates.
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
        steps, scales = _listed(self.K, "K"), _listed(self.scale, "scale")
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


def _listed(value: Any, name: str) -> list[Any]:
    """Candidates, of which there may be one."""
    candidates = list(value) if isinstance(value, Sequence | np.ndarray) else [value]
    if not candidates:
        raise InputError(f"{name} must have at least one candidate. Got {value!r}.")
    return candidates


def pair_norm(X: Array, scale: float = 1.0) -> Array:
    """Take the mean row from every row, and give rows a mean square length of scale^2.

    Examples
    --------
    >>> pair_norm(np.array([[1.0, 0.0], [3.0, 0.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    X = X - X.mean(axis=0)
    length = np.sqrt(np.square(X, dtype=np.float64).sum() / len(X))
    return np.asarray(X * X.dtype.type(scale / length)) if length > 0 else X
