"""The rule that picks T and weight decay: the centre of the plateau of validation accuracy.

An accuracy a measured on m held-out nodes has the standard error e = sqrt(a (1 - a) / m), so the
best of hundreds of settings is best by luck. Instead of the maximum, every setting gets the weight

    w = exp((score - best score) / e),

a soft form of the one-standard-error rule. The score is the accuracy or another one
(`heatgraph.learning._scoring`), and e the standard error of the best. Candidates are chosen by the
sum of weights. Parameters that are "auto" are chosen as weighted means,

    log(T + TIME_OFFSET)  =  sum w log(T_i + TIME_OFFSET) / sum w,

and log(weight_decay) in the same way, relative to the scale of the diffused features at each T.

T = 0 is a candidate of its own: a mean that includes it would never be 0. The plateau is that of
T > 0, unless features alone are more accurate than its centre. Single accuracies are too noisy for
that comparison, so each side is a mean of several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.learning._search_space import TIME_OFFSET, SchemeFamily, SearchSpace, Setting

Array = npt.NDArray[Any]

# Accuracies with and without edges are compared as means of this many, at the best weight decays
# and at the T nearest to the plateau's centre.
NUM_SMOOTHED = 3
# Features alone must be ahead of the plateau's centre by this share of the standard error, and by a
# whole node: edges help more often than not, and a few nodes prove little.
EDGELESS_MARGIN = 0.25


@dataclass(frozen=True)
class ValidationResult:
    """Score of a setting on held-out nodes, its standard error, and accuracy and log-loss.

    `decay_scale` is the weight decay that corresponds to 1 on the relative grid at this T; 1 if
    weight decays are given.
    """

    setting: Setting
    decay_scale: float
    score: float
    error: float
    accuracy: float
    log_loss: float
    head: str = "softmax"

    def record(self) -> dict[str, Any]:
        """A row of `DGCClassifier.search_`."""
        scheme = self.setting.scheme
        return {
            "scheme": type(scheme).__name__ if hasattr(scheme, "T") else repr(scheme),
            "T": getattr(scheme, "T", None),
            "K": getattr(scheme, "K", None),
            "self_loops": self.setting.self_loops,
            "feature_scaling": self.setting.feature_scaling,
            "weight_decay": self.setting.weight_decay,
            "learning_rate": self.setting.learning_rate,
            "score": self.score,
            "standard_error": self.error,
            "accuracy": self.accuracy,
            "log_loss": self.log_loss,
            "head": self.head,
        }


def rank(result: ValidationResult) -> tuple[float, float]:
    """Sort key: the largest score first, among equals the one with the least log-loss."""
    return -result.score, result.log_loss


def standard_error_weights(scores: Array, errors: Array) -> Array:
    """Weights exp((score - best) / standard error of the best), 1 for the best."""
    best = np.unravel_index(scores.argmax(), scores.shape)
    return np.asarray(np.exp((scores - scores[best]) / errors[best]))


def plateau_weights(results: list[ValidationResult]) -> Array:
    """Those weights for results of a search."""
    return standard_error_weights(
        np.array([result.score for result in results]),
        np.array([result.error for result in results]),
    )


def heaviest_group(space: SearchSpace, results: list[ValidationResult]) -> list[ValidationResult]:
    """Of the groups of results that differ in "auto" parameters only, the one of largest weight."""
    groups: dict[Any, list[ValidationResult]] = {}
    weights: dict[Any, float] = {}
    all_weights = plateau_weights(results)
    for result, weight in zip(results, all_weights, strict=True):
        setting = result.setting
        key = (
            SchemeFamily.from_scheme(setting.scheme) if space.schemes is None else setting.scheme,
            setting.self_loops,
            setting.feature_scaling,
            None if space.weight_decays is None else setting.weight_decay,
            setting.learning_rate,
        )
        groups.setdefault(key, []).append(result)
        weights[key] = weights.get(key, 0.0) + float(weight)
    largest = max(weights.values())
    tied = [group for key, group in groups.items() if weights[key] >= largest * (1 - 1e-12)]
    return min(tied, key=lambda group: min(map(rank, group)))


def plateau_center(space: SearchSpace, group: list[ValidationResult], num_held_out: int) -> Setting:
    """The weighted mean of a group, in log(T + TIME_OFFSET) and in log relative weight decay.

    The scale of weight decay at the mean T is interpolated between the T of the group.
    """
    if space.schemes is None:
        group = _with_or_without_edges(group, num_held_out)
    setting = group[0].setting
    weights = plateau_weights(group)
    weights /= weights.sum()
    if space.schemes is None:
        log_time = weights @ np.array([result.setting.log_time for result in group])
        longest = max(result.setting.T for result in group)
        T = np.clip(np.exp(log_time) - TIME_OFFSET, 0, longest)
        family = SchemeFamily.from_scheme(setting.scheme)
        setting = replace(setting, scheme=family.with_time(float(T)))
    if space.weight_decays is None:
        relative = np.log([result.setting.weight_decay / result.decay_scale for result in group])
        scale = decay_scale_at(setting, group)
        setting = replace(setting, weight_decay=float(scale * np.exp(weights @ relative)))
    return setting


def _with_or_without_edges(
    group: list[ValidationResult], num_held_out: int
) -> list[ValidationResult]:
    """The results at T = 0 or those at T > 0, whichever of the two have larger scores."""
    scores: dict[float, list[float]] = {}
    for result in group:
        scores.setdefault(result.setting.log_time, []).append(result.score)
    smoothed = {
        log_time: float(np.mean(sorted(values)[-NUM_SMOOTHED:]))
        for log_time, values in scores.items()
    }
    diffused = [result for result in group if result.setting.T > 0]
    alone = smoothed.pop(math.log(TIME_OFFSET), None)
    if alone is None or not diffused:
        return group
    weights = plateau_weights(diffused)
    center = weights @ np.array([result.setting.log_time for result in diffused]) / weights.sum()
    nearest = sorted(smoothed, key=lambda log_time: abs(log_time - center))[:NUM_SMOOTHED]
    error = min(group, key=rank).error
    margin = max(EDGELESS_MARGIN * error, 1 / num_held_out)
    if alone > np.mean([smoothed[log_time] for log_time in nearest]) + margin:
        return [result for result in group if result.setting.T == 0]
    return diffused


def decay_scale_at(setting: Setting, results: list[ValidationResult]) -> float:
    """The scale of weight decay at the T of a setting, interpolated between those of results."""
    scales = {result.setting.log_time: math.log(result.decay_scale) for result in results}
    log_times = sorted(scales)
    log_scales = [scales[log_time] for log_time in log_times]
    return math.exp(np.interp(setting.log_time, log_times, log_scales))
