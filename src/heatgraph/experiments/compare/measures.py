"""Measures of one run: a method is fitted once and evaluated on the test nodes.

Accuracy, macro-F1 and expected calibration error; seconds to fit, to refit with the chosen settings
and to predict; peak memory; number of parameters.
"""

from __future__ import annotations

import base64
import contextlib
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone

from heatgraph._io.memory import peak_memory, reset_peak_memory
from heatgraph.baselines.gnn.grid_search import TunedGNNClassifier
from heatgraph.baselines.stacked import StackedClassifier
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.noise import add_feature_noise
from heatgraph.datasets.synthetic import make_block_graph
from heatgraph.errors import InputError
from heatgraph.experiments.compare.methods import METHODS
from heatgraph.learning._labels import Labels
from heatgraph.learning.calibration import expected_calibration_error
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.progress import Progress
from heatgraph.report.summary import used_extensions

Array = npt.NDArray[Any]
# Nodes, edges, classes and features of a graph that is fitted first: small, but it triggers
# imports and compilation.
WARM_UP_GRAPH = (60, 200, 2, 8)


@dataclass(frozen=True)
class Job:
    """Arguments of a run: a method, a data set with one split, a seed and the noise to add.

    `recipe_dataset` is the data set whose published settings networks take; "" if there are none.
    """

    method: str
    data: Dataset
    recipe_dataset: str = ""
    seed: int = 0
    noise: float = 0.0
    threads: int | None = None
    memory: str | None = None

    def estimator(self, **parameters: Any) -> Any:
        """The method's estimator, unfitted."""
        return METHODS[self.method].estimator(
            self.recipe_dataset,
            random_state=self.seed,
            n_threads=self.threads,
            memory_budget=self.memory,
            **parameters,
        )


def measure(job: Job, report: Progress) -> dict[str, Any]:
    """Fit a method and evaluate it; the result holds JSON values.

    A small graph is fitted first, so that time and memory exclude imports and compilation.
    """
    data = job.data
    if job.noise:
        data = add_feature_noise(data, job.noise, job.seed)
    scaling = {"feature_scaling": "none"} if job.noise else {}
    train, val, test = data.partition()
    assert test is not None
    _warm_up(job)
    model = job.estimator(**scaling)
    reset_peak_memory()
    started = time.perf_counter()
    model.fit(data.graph, data.labels, train, val, progress=report)
    fitted = time.perf_counter()
    probabilities = model.predict_proba(None, test)
    predicted = time.perf_counter()
    peak = peak_memory()
    if not np.isfinite(probabilities).all():
        raise InputError("it gives probabilities that are not finite: its training diverged.")
    return classification_metrics(probabilities, model.classes_, data, test) | {
        "fit_seconds": fitted - started,
        "refit_seconds": _refit_seconds(model, data),
        "predict_seconds": predicted - fitted,
        "peak_bytes": peak,
        "parameters": count_parameters(model),
        "epochs": getattr(model, "epochs_", None),
        "validation_accuracy": getattr(model, "validation_accuracy_", None),
    }


def classification_metrics(
    probabilities: Array, classes: Array, data: Dataset, test: Array
) -> dict[str, Any]:
    """Accuracy, macro-F1, calibration error, and which test nodes are predicted correctly."""
    from sklearn.metrics import f1_score

    labels = Labels.read(data.labels, data.graph.num_nodes)
    labelled = np.flatnonzero(labels.known)
    # Includes classes without training nodes, which no prediction can hit.
    all_classes = labels.classes(labelled)
    codes = {label: code for code, label in enumerate(all_classes.tolist())}
    model_codes = np.array([codes[label] for label in classes.tolist()])
    predicted = model_codes[probabilities.argmax(axis=1)]
    truth = labels.encode(all_classes, test)
    correct = predicted == truth
    return {
        "accuracy": float(correct.mean()),
        "macro_f1": float(f1_score(truth, predicted, average="macro")),
        "calibration_error": expected_calibration_error(
            probabilities, labels.encode(classes, test)
        ),
        "right": base64.b64encode(np.packbits(correct).tobytes()).decode(),
        "test_nodes": len(test),
        "test_share": len(test) / len(labelled),
    }


def correct_predictions(result: dict[str, Any]) -> npt.NDArray[np.bool_]:
    """Which test nodes were predicted correctly, decoded from a result of `measure`."""
    bits = np.frombuffer(base64.b64decode(result["right"]), dtype=np.uint8)
    return np.unpackbits(bits, count=result["test_nodes"]).astype(bool)


def count_parameters(model: Any) -> int:
    """Number of learned parameters of a fitted model."""
    if hasattr(model, "num_parameters_"):
        return int(model.num_parameters_)
    head = getattr(model, "head_", model)
    names = ("coef_", "similar_coef_", "intercept_")
    learned = [getattr(head, name, None) for name in names]
    return int(sum(np.size(values) for values in learned if values is not None))


def without_search(model: Any) -> Any:
    """An unfitted model with the settings that the search chose; None if there is no search."""
    if isinstance(model, TunedGNNClassifier):
        return clone(model.best_)
    if isinstance(model, DGCClassifier):
        chosen: dict[str, Any] = {"T": "auto", "K": None, "scheme": [model.scheme_]}
        # If a scheme is given, extensions="auto" adds nothing.
        chosen["extensions"] = used_extensions(model) or None
    elif isinstance(model, StackedClassifier):
        chosen = model.setting_
    else:
        return None
    scaling = {"feature_scaling": model.feature_scaling_, "weight_decay": model.weight_decay_}
    return clone(model).set_params(**chosen, **scaling)


def _refit_seconds(model: Any, data: Dataset) -> float | None:
    """Time of a fit with the chosen settings, on a copy of the graph, whose caches are empty.

    None if there was no search, or if this fit fails: the first fit's measures are still valid.
    """
    refitted = without_search(model)
    if refitted is None:
        return None
    train, val, _ = data.partition()
    with contextlib.suppress(Exception):
        edges = data.graph.with_features(None).subgraph(np.arange(data.graph.num_nodes))
        graph = edges._with_features(data.graph.features)
        started = time.perf_counter()
        refitted.fit(graph, data.labels, train, val)
        return time.perf_counter() - started
    return None


def _warm_up(job: Job) -> None:
    """Fit and predict on a small graph with the same kind of features."""
    small = make_block_graph(*WARM_UP_GRAPH)
    X = job.data.graph.features
    if X is None:
        small = replace(small, graph=small.graph.with_features(None))
    elif sp.issparse(X):
        counts = sp.csr_array(np.abs(small.graph.features).astype(X.dtype))
        small = replace(small, graph=small.graph._with_features(counts))
    model = replace(job, recipe_dataset="").estimator()
    if "epochs" in model.get_params(deep=False):
        model.set_params(epochs=2)
    split = small.split
    model.fit(small.graph, small.labels, split.train, split.val).predict_proba(None, split.test)
