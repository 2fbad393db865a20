"""What a classifier would have said at other times T.

For each T of a grid, from features alone (T = 0) to the oversmoothed end, the classifier is fitted
again to the same training nodes, with the scaling, weight decay and extensions of the fitted one.
At the T of the fitted classifier, predictions are its own.

Shapes: F frames, one for each T; predictions and confidences are (F, n).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from heatgraph.datasets.dataset import Dataset
from heatgraph.graph import Graph
from heatgraph.learning._labels import Labels
from heatgraph.learning._search_space import TIME_OFFSET, SchemeFamily
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.report.summary import used_extensions

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# Number of T beside that of the classifier, and the last of them: at least LAST_TIME, and
# LAST_FACTOR times the classifier's.
NUM_TIMES, LAST_TIME, LAST_FACTOR = 15, 100.0, 10.0

# Called with the number of fits that are done, and that of all.
SweepProgress = Callable[[int, int], object]


@dataclass(frozen=True)
class TimeSweep:
    """Predictions at F times.

    Attributes
    ----------
    times : tuple of float or None
        Increasing; a single None for a classifier whose scheme has no T.
    chosen : int
        The frame of the fitted classifier.
    predictions : array of shape (F, n)
        Indices of classes.
    confidences : array of shape (F, n)
        Probabilities of the predicted classes.
    validation : tuple of float, or None
        Accuracy (F,) on validation nodes, or out of fold without any; as by `validation_accuracy_`
        from before a final fit that includes these nodes. None if it was not measured.
    note : str
        Why there is a single frame, or how others differ from that of the classifier; else empty.
    """

    times: tuple[float | None, ...]
    chosen: int
    predictions: npt.NDArray[np.int64]
    confidences: Floats
    validation: tuple[float, ...] | None = None
    note: str = ""

    def accuracies(self, codes: npt.NDArray[np.int64], nodes: Array) -> Floats:
        """Accuracy (F,) on nodes whose classes are `codes` (n,)."""
        return np.asarray((self.predictions[:, nodes] == codes[nodes]).mean(axis=1))


def standard_errors(accuracy: Floats, num_nodes: int) -> Floats:
    """Standard errors of accuracies that were measured on so many nodes."""
    return np.sqrt(accuracy * (1 - accuracy) / num_nodes)


def plateau(accuracy: Floats, error: Floats) -> tuple[int, int]:
    """First and last frame around the best whose accuracy is within its standard error.

    Examples
    --------
    >>> plateau(np.array([0.5, 0.78, 0.8, 0.77, 0.7]), np.full(5, 0.03))
    (1, 3)
    """
    best = int(accuracy.argmax())
    is_equal = accuracy >= accuracy[best] - error[best]
    first = last = best
    while first > 0 and is_equal[first - 1]:
        first -= 1
    while last < len(accuracy) - 1 and is_equal[last + 1]:
        last += 1
    return first, last


def sweep_times(T: float, family: SchemeFamily) -> list[float]:
    """The grid of T in equal steps of log(T + 0.5), with the given one in place of the nearest."""
    last = max(LAST_TIME, LAST_FACTOR * T)
    if family.K is not None:
        # Beyond that, steps T / K are unstable; it is inf for schemes that are always stable.
        last = max(T, min(last, family.max_time))
    if last == 0:
        return [0.0]
    times = np.geomspace(TIME_OFFSET, last + TIME_OFFSET, NUM_TIMES + 1) - TIME_OFFSET
    times[0], times[-1] = 0.0, last
    nearest = int(np.abs(np.log(times + TIME_OFFSET) - math.log(T + TIME_OFFSET)).argmin())
    if 0 < T < last and nearest in (0, NUM_TIMES):
        return sorted([*times.tolist(), T])
    times[nearest] = T
    return [float(time) for time in times]


def time_sweep(
    model: DGCClassifier,
    graph: Graph,
    data: Dataset,
    probabilities: Array,
    progress: SweepProgress | None = None,
) -> TimeSweep:
    """Refit a classifier at other T.

    `graph` is that of `data` with the features of the model, and `probabilities` (n, C) are those
    of the model.
    """
    note = _obstacle(model, data)
    if note:
        return _of_frames([model.T_], 0, [probabilities], [None], note)
    assert model.T_ is not None
    family = SchemeFamily.from_scheme(model.scheme_)
    times = sweep_times(model.T_, family)
    chosen = times.index(model.T_)
    train, val, _ = data.partition()
    frames, validation = [], []
    for number, T in enumerate(times):
        if progress is not None:
            progress(number, len(times))
        if number == chosen:
            frames.append(probabilities)
            validation.append(model.validation_accuracy_)
            continue
        other = _unfitted(model).set_params(T="auto", K=None, scheme=family.with_time(T))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of oversmoothing above all, which is to be seen
            frames.append(other.fit(graph, data.labels, train, val).predict_proba())
        validation.append(other.validation_accuracy_)
    if model.channel_coefs_:
        note = "Predictions at other times are those of diffused features alone, without channels."
    return _of_frames(times, chosen, frames, validation, note)


def _obstacle(model: DGCClassifier, data: Dataset) -> str:
    """Why a model cannot be fitted at other T; empty if it can."""
    if model.T_ is None:
        return f"The scheme {model.scheme_} has no time T to vary."
    unable = "Predictions at other times need the labels that the model was fitted to"
    if data.labels is None or not data.labelled.any():
        return f"{unable}, and this graph has no labels."
    labels = Labels.read(data.labels, data.graph.num_nodes)
    train, _, _ = data.partition()
    found = labels.classes(np.flatnonzero(labels.known) if train is None else train)
    if found.tolist() != model.classes_.tolist():
        return f"{unable}, and the training nodes of this graph have other classes."
    return ""


def _unfitted(model: DGCClassifier) -> DGCClassifier:
    """A classifier with the settings that a model was fitted with, but for T."""
    settings: dict[str, Any] = {
        "self_loops": model.self_loops_,
        "feature_scaling": model.feature_scaling_,
        "weight_decay": model.weight_decay_,
        "learning_rate": model.learning_rate_,
        "extensions": used_extensions(model) or None,
        # Calibrating needs held-out nodes, whose accuracy is wanted too; predictions stay the same.
        "calibrate": model.validation_accuracy_ is not None,
    }
    if model.channel_coefs_:
        # The weight decay of channels is that of blocks of another scale.
        settings |= {"extensions": None, "weight_decay": "auto"}
    unfitted: DGCClassifier = clone(model).set_params(**settings)
    return unfitted


def _of_frames(
    times: list[Any],
    chosen: int,
    probabilities: list[Array],
    validation: list[float | None],
    note: str,
) -> TimeSweep:
    measured = [accuracy for accuracy in validation if accuracy is not None]
    return TimeSweep(
        times=tuple(times),
        chosen=chosen,
        predictions=np.stack([P.argmax(axis=1) for P in probabilities]),
        confidences=np.stack([P.max(axis=1) for P in probabilities]).astype(np.float64),
        validation=tuple(measured) if len(measured) == len(times) else None,
        note=note,
    )
