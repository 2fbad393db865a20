"""The common base of `DGCRegressor` and `DGCMultilabelClassifier`.

Both predict q numbers or labels per node from scores r(S) X Theta + b, with weights Theta (d, q)
and bias b (q,), and differ in the loss (`heatgraph.learning._target_losses`) and in what scores
mean.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from heatgraph._arguments import positive_integer
from heatgraph._io.tensor_file import write_tensors
from heatgraph.diffusion import check_engine
from heatgraph.errors import StabilityWarning
from heatgraph.graph import Graph, node_indices
from heatgraph.graph._storage import read_encoder
from heatgraph.learning._diffusion_model import DiffusionModel, resolve_scalings
from heatgraph.learning._node_estimator import read_seed
from heatgraph.learning._search_space import SearchSpace, Setting
from heatgraph.learning._serialization import (
    check_finite_floats,
    deserialize_parameters,
    library_versions,
    serialize_parameters,
)
from heatgraph.learning._target_losses import TargetLoss
from heatgraph.learning._target_task import TargetRegression, TargetTask
from heatgraph.learning._target_training import TrainedTargets, train_targets
from heatgraph.learning._training import nodes_digest
from heatgraph.learning.explanation import Explanation, explain
from heatgraph.learning.progress import Progress
from heatgraph.learning.scaling import Scaling
from heatgraph.schemes import scheme_from_record, scheme_record

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Model = TypeVar("Model", bound="TargetModel")


@dataclass(frozen=True)
class LabelledTargets:
    """Targets (n, q) of a graph, its training and validation nodes, and the strata of both."""

    Y: Array
    train: Indices
    strata: Indices
    val: Indices | None
    val_strata: Indices | None


class TargetModel(DiffusionModel):
    """Base of estimators of numbers or labels that are linear in diffused features.

    The contract of a subclass: the constructor takes the parameters that `_search_space` and
    `_engine` read; `fit` calls `_train` and sets fitted attributes by `_set_fitted`; `_content` and
    `_set_content` write what a file holds beside them, and read it back.
    """

    _loss: ClassVar[TargetLoss]
    T: Any
    K: Any
    scheme: Any
    self_loops: Any
    feature_scaling: Any
    weight_decay: Any
    random_state: Any
    intercept_: Array
    converged_: bool
    search_: list[dict[str, Any]]

    @abstractmethod
    def _content(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """JSON values and arrays of a file that are particular to the class."""

    @abstractmethod
    def _set_content(self, content: dict[str, Any], tensors: dict[str, Array]) -> None:
        """Set attributes by what `_content` gave; an inconsistency is a ValueError."""

    def save(self, path: str | Path) -> None:
        """Write the model, without the graph, atomically to a file for `heatgraph.load`."""
        check_is_fitted(self)
        content, tensors = self._content()
        common = {
            "parameters": serialize_parameters(self.get_params(deep=False)),
            "scheme": scheme_record(self.scheme_),
            "self_loops": bool(self.self_loops_),
            "feature_scaling": self.feature_scaling_,
            "weight_decay": self.weight_decay_,
            "converged": self.converged_,
            "num_features": self.n_features_in_,
            "feature_names": getattr(self, "feature_names_in_", None),
            "feature_encoder": self.feature_encoder_ and self.feature_encoder_.to_json(),
            "nodes_digest": self._nodes_digest,
            "search": self.search_,
            "versions": library_versions(),
        }
        weights = {"Theta": self.coef_.T, "bias": self.intercept_, **self.scaling_.to_tensors()}
        write_tensors(path, type(self).__name__, common | content, weights | tensors)

    def _search_space(self) -> SearchSpace:
        return SearchSpace.read(
            T=self.T,
            K=self.K,
            scheme=self.scheme,
            self_loops=self.self_loops,
            feature_scaling=self.feature_scaling,
            weight_decay=self.weight_decay,
            learning_rate=1.0,
        )

    def _train(
        self, graph: Graph, space: SearchSpace, data: LabelledTargets, progress: Progress | None
    ) -> TrainedTargets:
        """Choose settings and learn weights; all arguments have been validated."""
        seed = read_seed(self.random_state)
        task = TargetTask(
            graph=graph,
            train=data.train,
            codes=data.strata,
            val=data.val,
            val_codes=data.val_strata,
            num_classes=data.Y.shape[1],
            regression=TargetRegression("lbfgs", 1, seed, self.n_threads, loss=self._loss),
            engine=self._engine(),
            seed=seed,
            Y=data.Y,
            loss=self._loss,
        )
        space = resolve_scalings(space, graph, data.train)
        return train_targets(task, space, progress)

    def _set_fitted(self, graph: Graph, trained: TrainedTargets) -> None:
        """Set the fitted attributes that all subclasses have."""
        self._set_setting(trained.setting)
        self.scaling_ = trained.scaling
        self.coef_ = trained.fit.Theta.T
        self.intercept_ = np.asarray(trained.fit.bias, dtype=np.float64)
        self.converged_ = trained.fit.converged
        self.search_ = trained.search
        self.n_features_in_ = graph.num_features
        self._nodes_digest = nodes_digest(graph) if graph.features is None else None
        self._set_feature_names(graph.feature_names)
        self.feature_encoder_ = graph.feature_encoder
        self.graph_ = graph

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        """Scores (m, q) of `nodes`, by default of all."""
        if nodes is not None:
            nodes = node_indices(nodes, graph.num_nodes, "nodes")
        columns = self._undiffused(graph, self.coef_)
        scores = self._diffused(graph._with_features(columns)) + self.intercept_
        return np.asarray(scores if nodes is None else scores[nodes], dtype=np.float64)

    def _explain(self, graph: Graph, node: int, output: int, label: Any, top: int) -> Explanation:
        """Decompose one of a node's scores."""
        (node,) = node_indices([node], graph.num_nodes, "node")
        bias = self.intercept_.astype(np.float64)
        weights = self.coef_.astype(np.float64)
        row = self._diffused(graph.with_features(None), rows=[node], dtype="float64")[0]
        scores = bias + row @ self._undiffused(graph, weights)
        return explain(
            graph,
            self.scaling_,
            [(row, weights[output])],
            node=int(node),
            label=label,
            score=float(scores[output]),
            bias=float(bias[output]),
            probability=None,
            top=positive_integer(top, "top"),
        )


def read_model(kind: type[Model], content: dict[str, Any], tensors: dict[str, Array]) -> Model:
    """A fitted model without a graph, of a file's content; parameters are checked as in `fit`.

    An inconsistency is a ValueError, a TypeError or a LookupError.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StabilityWarning)  # issued when the model was fitted
        model = kind(**deserialize_parameters(content["parameters"]))
        scheme = scheme_from_record(content["scheme"])
        model._search_space()
    check_engine(**model._engine())
    Theta, bias, num_features = tensors["Theta"], tensors["bias"], content["num_features"]
    d, q = Theta.shape
    check_finite_floats(Theta, (d, q), "Theta")
    check_finite_floats(bias, (q,), "bias")
    if not isinstance(num_features, int) or num_features not in (0, d):
        raise ValueError("the number of features contradicts the weights")
    names, digest, loops = (content[key] for key in ("feature_names", "nodes_digest", "self_loops"))
    if names is not None and (len(names) != d or not all(isinstance(n, str) for n in names)):
        raise ValueError("feature names must be one string per feature")
    if not isinstance(digest, str | None) or not isinstance(loops, bool):
        raise TypeError("the digest of nodes must be a string, and self_loops a boolean")
    if not isinstance(content["search"], list):
        raise TypeError("the search must be a list of records")
    scaling = Scaling.from_tensors(content["feature_scaling"], tensors, num_features)
    model._set_setting(Setting(scheme, loops, scaling.name, float(content["weight_decay"]), 1.0))
    model.scaling_, model.coef_, model.intercept_ = scaling, Theta.T, bias
    model.converged_ = bool(content["converged"])
    model.search_ = content["search"]
    model.n_features_in_, model._nodes_digest = num_features, digest
    model._set_feature_names(names)
    model.feature_encoder_ = read_encoder(content, names)
    model._set_content(content, tensors)
    return model
