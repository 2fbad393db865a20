"""Predictions of labels that a fitted model has not learned, and the same by simpler models.

The nodes are the test nodes of the split; without any, its validation nodes, predicted by a model
that has not learned from them; and without a split, training nodes out of fold, predicted by models
with the chosen settings. The simpler models are the features alone (T = 0) and the labels alone
(label propagation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.baselines.schemes import COMPARISON_TOLERANCE, fit_features_alone
from heatgraph.datasets.dataset import Dataset
from heatgraph.learning._folds import NUM_FOLDS, stratified_parts
from heatgraph.learning._labels import Labels
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.progress import Progress
from heatgraph.report.summary import used_extensions

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Part = Literal["test", "validation", "out-of-fold"]

# Folds are predicted until there are this many nodes, whose accuracy has a standard error of 1 %.
ENOUGH_NODES = 2_500
# Edges times classes up to which labels are propagated: each class is a linear system.
MAX_PROPAGATION_WORK = 500_000_000


@dataclass(frozen=True)
class HeldOut:
    """Probabilities (m, C) of the `nodes` (m,) by each model.

    `features_alone` is None without features, `labels_alone` where it would take long. Those of the
    model are softmax(z / `temperature`) of its scores z.
    """

    part: Part
    nodes: Indices
    with_graph: Array
    features_alone: Array | None = None
    labels_alone: Array | None = None
    temperature: float = 1.0

    @property
    def uncalibrated(self) -> Array:
        """Probabilities of the model before calibration, softmax(z)."""
        logits = self.temperature * np.log(np.maximum(self.with_graph, 1e-300))
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def predict_held_out(
    model: DGCClassifier, data: Dataset, labels: Labels, use_test: bool, progress: Progress | None
) -> HeldOut | None:
    """Predict nodes that the model has not learned; None if no class has two labelled nodes."""
    train, val, test = data.partition()
    fit = (data.graph, data.labels)
    has_labels_alone = len(data.graph.indices) * len(model.classes_) <= MAX_PROPAGATION_WORK
    if test is not None and use_test:
        alone = fit_features_alone(model, *fit, train, val, progress=progress)
        return HeldOut(
            "test",
            test,
            _probabilities(model, model.classes_, test),
            None if alone is None else _probabilities(alone, model.classes_, test),
            _propagate(model, data, learned_nodes(model, data), test) if has_labels_alone else None,
            model.temperature_,
        )
    if val is not None:
        alone = fit_features_alone(model, *fit, train, val, progress=progress)
        if alone is not None and alone.final_fit == "train+val":
            alone = _with_settings(alone, alone.weight_decay).fit(*fit, train, val)
        own = predict_validation(model, data)
        assert own is not None
        return HeldOut(
            "validation",
            val,
            own.with_graph,
            None if alone is None else _probabilities(alone, model.classes_, val),
            _propagate(model, data, train, val) if has_labels_alone else None,
            own.temperature,
        )
    return _predict_folds(model, data, labels, has_labels_alone, progress)


def predict_validation(model: DGCClassifier, data: Dataset) -> HeldOut | None:
    """Predict the validation nodes of the split, if there are any, by a model fitted without them.

    It has the settings of the model, which were chosen on these nodes.
    """
    train, val, _ = data.partition()
    if val is None:
        return None
    if model.final_fit == "train+val" or model.class_offsets_ is not None:
        model_without = _with_settings(model, model.weight_decay)
        model_without.fit(data.graph, data.labels, train, val)
    else:
        model_without = model
    probabilities = _probabilities(model_without, model.classes_, val)
    return HeldOut("validation", val, probabilities, temperature=model_without.temperature_)


def _predict_folds(
    model: DGCClassifier,
    data: Dataset,
    labels: Labels,
    has_labels_alone: bool,
    progress: Progress | None,
) -> HeldOut | None:
    """Predict training nodes, each by models that have not learned from it."""
    train, _, _ = data.partition()
    train = labels.labelled(train, "train")
    codes = labels.encode(model.classes_, train)
    if np.bincount(codes).max() < 2:
        return None
    alone = fit_features_alone(model, data.graph, data.labels, train, progress=progress)
    parts = stratified_parts(codes, min(NUM_FOLDS, len(codes)), np.random.default_rng(0))
    found: list[tuple[Indices, Array, Array | None, Array | None]] = []
    for part in np.unique(parts):
        learned, held_out = train[parts != part], train[parts == part]
        if len(np.unique(codes[parts != part])) < 2:
            continue

        def refit(fitted: DGCClassifier, learned: Indices = learned) -> DGCClassifier:
            unfitted = _with_settings(fitted, fitted.weight_decay_)
            unfitted.calibrate = False
            unfitted.fit(data.graph, data.labels, learned)
            unfitted.temperature_ = fitted.temperature_
            return unfitted

        found.append(
            (
                held_out,
                _probabilities(refit(model), model.classes_, held_out),
                None if alone is None else _probabilities(refit(alone), model.classes_, held_out),
                _propagate(model, data, learned, held_out) if has_labels_alone else None,
            )
        )
        if sum(len(nodes) for nodes, *_ in found) >= ENOUGH_NODES:
            break
    if not found:
        return None
    columns = [
        None if column[0] is None else np.concatenate(column) for column in zip(*found, strict=True)
    ]
    nodes, with_graph, features_alone, labels_alone = columns
    assert nodes is not None
    assert with_graph is not None
    return HeldOut(
        "out-of-fold", nodes, with_graph, features_alone, labels_alone, model.temperature_
    )


def _with_settings(model: DGCClassifier, weight_decay: Any) -> DGCClassifier:
    """An unfitted model with the settings of a fitted one, for nodes that it shall not learn from.

    Class offsets are left out, as they are learned from the labels of held-out nodes.
    """
    extensions = [name for name in used_extensions(model) if name != "class-offsets"]
    unfitted: DGCClassifier = clone(model).set_params(
        T="auto",
        K=None,
        scheme=[model.scheme_],
        self_loops=model.self_loops_,
        feature_scaling=model.feature_scaling_,
        weight_decay=weight_decay,
        learning_rate=model.learning_rate_,
        extensions=extensions or None,
        final_fit="train",
    )
    unfitted._solver_tolerance = COMPARISON_TOLERANCE
    return unfitted


def _propagate(model: DGCClassifier, data: Dataset, learned: Any, nodes: Indices) -> Array:
    labels_alone = LabelPropagation().fit(data.graph, data.labels, learned)
    return _probabilities(labels_alone, model.classes_, nodes)


def _probabilities(model: Any, classes: Array, nodes: Indices) -> Array:
    """Probabilities (m, C) of `classes`, 0 for one that the model does not know."""
    known = {label: at for at, label in enumerate(classes.tolist())}
    probabilities = np.zeros((len(nodes), len(classes)))
    columns = [known[label] for label in model.classes_.tolist()]
    probabilities[:, columns] = model.predict_proba(None, nodes)
    return probabilities


def learned_nodes(model: DGCClassifier, data: Dataset) -> Indices:
    """The nodes of a fit's data whose labels the model has learned."""
    train, val, _ = data.partition()
    learned = Labels.read(data.labels, data.graph.num_nodes).labelled(train, "train")
    if val is not None and model.final_fit == "train+val":
        learned = np.union1d(learned, val)
    return learned
