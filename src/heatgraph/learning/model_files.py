"""Read a model of any kind from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from heatgraph._io.tensor_file import map_tensors, read_kind, read_tensors
from heatgraph.learning._serialization import (
    GRAPH,
    deserialize_model,
    deserialize_model_graph,
    model_file_errors,
)
from heatgraph.learning._target_model import TargetModel, read_model
from heatgraph.learning.classifier import KIND, DGCClassifier, from_fitted_model
from heatgraph.learning.multilabel import DGCMultilabelClassifier
from heatgraph.learning.regressor import DGCRegressor

TARGET_MODELS: dict[str, type[TargetModel]] = {
    kind.__name__: kind for kind in (DGCRegressor, DGCMultilabelClassifier)
}


def load(path: str | Path) -> Any:
    """Read a model that the method `save` of an estimator wrote, with its graph if it has it.

    Returns a `DGCClassifier`, a `DGCRegressor` or a `DGCMultilabelClassifier`: what was saved. No
    code in the file is ever run. A file that is incomplete, altered, of another kind or of a newer
    version is refused with the reason. The graph is memory-mapped, as by `Graph.load`: do not write
    into the file while the model is in use; replacing it is safe, except on Windows.
    """
    kind = read_kind(path)
    if kind not in TARGET_MODELS:
        return _load_classifier(path)
    content, tensors = read_tensors(path, kind)
    with model_file_errors(path):
        return read_model(TARGET_MODELS[kind], content, tensors)


def _load_classifier(path: str | Path) -> DGCClassifier:
    content, tensors = map_tensors(path, KIND, noun="model")
    with model_file_errors(path):
        own = {name: T.copy() for name, T in tensors.items() if not name.startswith(GRAPH)}
        fitted = deserialize_model(content, own)
        classifier = from_fitted_model(fitted)
        graph = deserialize_model_graph(content, tensors, fitted)
    if graph is not None:
        classifier.graph_ = graph
    return classifier


def task_of(model: Any) -> Literal["classification", "multilabel", "regression"]:
    """What a model predicts: "classification", "multilabel" or "regression"."""
    if isinstance(model, DGCRegressor):
        return "regression"
    return "multilabel" if isinstance(model, DGCMultilabelClassifier) else "classification"
