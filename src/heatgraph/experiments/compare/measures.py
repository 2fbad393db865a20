"""One method, fitted once and judged on test nodes: what is measured of it."""

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
from heatgraph.baselines.stacked import StackedClassifier
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.noise import add_feature_noise
from heatgraph.datasets.synthetic import make_block_graph
from heatgraph.errors import InputError
from heatgraph.experiments.compare.contestants import CONTESTANTS
from heatgraph.graph import Graph
from heatgraph.learning._labels import Labels
from heatgraph.learning._search import Progress
from heatgraph.learning.calibration import expected_calibration_error
from heatgraph.learning.classifier import DGCClassifier

Array = npt.NDArray[Any]
# Passing a graph this small by each method compiles and imports what it needs.
WARM_UP = {"num_nodes": 60, "num_edges": 200, "num_classes": 2, "num_features": 8}


@dataclass(frozen=True)
class Job:
    """What a run needs: a method, a data set with one split, and how it is disturbed.

    `known_as` is the name that authors may have settings for.
    """

    method: str
    data: Dataset
    known_as: str = ""
    seed: int = 0
    noise: float = 0.0
    threads: int | None = None
    memory: str | None = None

    def estimator(self, **given: Any) -> Any:
        """What is fitted."""
        return CONTESTANTS[self.method].estimator(
            self.known_as,
            random_state=self.seed,
            n_threads=self.threads,
            memory_budget=self.memory,
            **given,
        )


def measure(job: Job, report: Progress) -> dict[str, Any]:
    """Fit a method and judge it; the values are plain.

    Time and memory do not include imports and compilation: a small graph goes first.
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
    return judged(probabilities, model.classes_, data, test) | {
        "fit_seconds": fitted - started,
        "refit_seconds": _refit_seconds(model, data),
        "predict_seconds": predicted - fitted,
        "peak_bytes": peak,
        "parameters": count_parameters(model),
        "epochs": getattr(model, "epochs_", None),
        "validation_accuracy": getattr(model, "validation_accuracy_", None),
    }


def judged(probabilities: Array, classes: Array, data: Dataset, test: Array) -> dict[str, Any]:
    """Accuracy, macro-F1 and calibration error, and which test nodes are right."""
    from sklearn.metrics import f1_score

    labels = Labels.read(data.labels, data.graph.num_nodes)
    known = np.flatnonzero(labels.known)
    every = labels.classes(known)  # those that no training node has among them
    places = {label: place for place, label in enumerate(every.tolist())}
    guessed = np.array([places[label] for label in classes.tolist()])[probabilities.argmax(axis=1)]
    truth = labels.encode(every, test)
    right = guessed == truth
    return {
        "accuracy": float(right.mean()),
        "macro_f1": float(f1_score(truth, guessed, average="macro")),
        "calibration_error": expected_calibration_error(
            probabilities, labels.encode(classes, test)
        ),
        "right": base64.b64encode(np.packbits(right).tobytes()).decode(),
        "test_nodes": len(test),
        "test_share": len(test) / len(known),
    }


def rights(result: dict[str, Any]) -> npt.NDArray[np.bool_]:
    """Which test nodes were right, out of a result."""
    bits = np.frombuffer(base64.b64decode(result["right"]), dtype=np.uint8)
    return np.unpackbits(bits, count=result["test_nodes"]).astype(bool)


def count_parameters(model: Any) -> int:
    """Numbers that a fitted model learned."""
    if hasattr(model, "num_parameters_"):
        return int(model.num_parameters_)
    head = getattr(model, "head_", model)
    learned = [getattr(head, name) for name in ("coef_", "intercept_") if hasattr(head, name)]
    return int(sum(np.size(values) for values in learned))


def known_settings(model: Any) -> Any:
    """An estimator with the settings that a fitted one has chosen; None if there was no choice."""
    if isinstance(model, DGCClassifier):
        chosen = {"T": "auto", "K": None, "scheme": [model.scheme_]}
    elif isinstance(model, StackedClassifier):
        chosen = model.setting_
    else:
        return None
    scaling = {"feature_scaling": model.feature_scaling_, "weight_decay": model.weight_decay_}
    return clone(model).set_params(**chosen, **scaling)


def _refit_seconds(model: Any, data: Dataset) -> float | None:
    """Time of a fit without the search; on a copy, so that nothing is there from before.

    None if that fails: what was found before is not lost for it.
    """
    again = known_settings(model)
    if again is None:
        return None
    train, val, _ = data.partition()
    with contextlib.suppress(Exception):
        graph = Graph._from_canonical(data.graph.adjacency, data.graph.features)
        started = time.perf_counter()
        again.fit(graph, data.labels, train, val)
        return time.perf_counter() - started
    return None


def _warm_up(job: Job) -> None:
    small = make_block_graph(**WARM_UP)
    X = job.data.graph.features
    if X is None:
        small = replace(small, graph=small.graph.with_features(None))
    elif sp.issparse(X):
        words = sp.csr_array(np.abs(small.graph.features).astype(X.dtype))
        small = replace(small, graph=small.graph.with_features(words))
    model = replace(job, known_as="").estimator()
    if "epochs" in model.get_params(deep=False):
        model.set_params(epochs=2)
    split = small.split
    model.fit(small.graph, small.labels, split.train, split.val).predict_proba(None, split.test)
