"""Summaries of targets that are not classes, and of models of them, as JSON values."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.learning.conformal import error_quantile
from heatgraph.report.target_metrics import MultilabelMetrics, RegressionMetrics

if TYPE_CHECKING:
    from heatgraph.learning.multilabel import DGCMultilabelClassifier
    from heatgraph.learning.regressor import DGCRegressor

Indices = npt.NDArray[np.int64]

# Coverage of the intervals that commands write and measure.
COVERAGE = 0.9


def targets_summary(data: Dataset) -> dict[str, Any]:
    """Numbers or sets of labels that a data set has, and how many nodes have none."""
    assert data.labels is not None
    known = data.labels[data.labelled]
    summary: dict[str, Any] = {
        "task": data.task,
        "unlabelled": data.graph.num_nodes - len(known),
    }
    if data.task == "multilabel":
        counts = Counter(str(label) for labels in known for label in labels)
        summary["labels"] = dict(counts.most_common())
        summary["labels_per_node"] = sum(counts.values()) / len(known) if len(known) else None
    elif len(known):
        low, median, high = np.quantile(known, [0, 0.5, 1]).tolist()
        summary["numbers"] = {
            "distinct": len(np.unique(known)),
            "smallest": low,
            "median": median,
            "largest": high,
        }
    return summary


def target_fit_summary(
    model: DGCRegressor | DGCMultilabelClassifier,
    data: Dataset,
    alone: DGCRegressor | DGCMultilabelClassifier | None = None,
) -> dict[str, Any]:
    """Chosen settings of a fitted model, and its metrics on held-out nodes and on test nodes.

    `alone` is a model of the same data that ignores the graph.
    """
    train, val, test = data.partition()
    num_train = int(data.labelled.sum()) if train is None else len(train)
    validated_by = "held-out training nodes"
    if val is not None:
        validated_by = f"{len(val):,} validation nodes"
    return {
        "task": data.task,
        "T": model.T_,
        "K": model.K_,
        "scheme": type(model.scheme_).__name__,
        "self_loops": bool(model.self_loops_),
        "feature_scaling": model.feature_scaling_ if model.n_features_in_ else None,
        "weight_decay": model.weight_decay_,
        "converged": model.converged_,
        "settings_tried": len(model.search_),
        "training_nodes": num_train,
        "validated_by": validated_by,
        "validation": _validation(model),
        "features_alone": None if alone is None else _validation(alone),
        "test": None if test is None else asdict(measure_targets(model, data, test)),
    }


def _validation(model: Any) -> dict[str, Any]:
    """Metrics on the nodes that a model was validated on."""
    if hasattr(model, "validation_f1_"):
        return {"micro_f1": model.validation_f1_}
    errors = model.held_out_errors_
    return {
        "r2": model.validation_r2_,
        "mae": float(errors.mean()),
        "rmse": float(np.sqrt((errors**2).mean())),
        "nodes": len(errors),
    }


def measure_targets(
    model: Any, data: Dataset, nodes: Indices
) -> RegressionMetrics | MultilabelMetrics:
    """Metrics of a model's predictions on some labelled nodes of a data set."""
    assert data.labels is not None
    truth = data.labels[nodes]
    if data.task == "multilabel":
        probabilities = model.predict_proba(data.graph, nodes)
        return MultilabelMetrics.measure(probabilities, model.classes_, truth)
    predictions, half_width = model.predict(data.graph, nodes), interval_half_width(model)
    bounds = None
    if half_width is not None:
        bounds = np.stack([predictions - half_width, predictions + half_width], axis=-1)
    return RegressionMetrics.measure(predictions, truth, bounds)


def interval_half_width(model: DGCRegressor) -> float | None:
    """Half of the width of intervals at COVERAGE; None if too few nodes were held out for some."""
    try:
        (half_width,) = error_quantile(model.held_out_errors_, COVERAGE)
    except InputError:
        return None
    return float(half_width)
