"""The rule that picks T and weight decay: the centre of the plateau of validation accuracy.

An accuracy a measured on m held-out nodes has the standard error e = sqrt(a (1 - a) / m), so the
best of hundreds of settings is best by luck. Instead of the maximum, every setting gets the weight

    w = exp((accuracy - best accuracy) / e),

a soft form of the one-standard-error rule. Candidates are chosen by the sum of weights. Parameters
that are "auto" are chosen as weighted means,

    log(T + TIME_OFFSET)  =  sum w log(T_i + TIME_OFFSET) / sum w,

and log(weight_decay) in the same way, relative to the scale of the diffused features at each T.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.learning._search_space import TIME_OFFSET, SchemeFamily, SearchSpace, Setting

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ValidationResult:
    """Accuracy and log-loss of a setting on held-out nodes.

    `decay_scale` is the weight decay that corresponds to 1 on the relative grid at this T; 1 if
    weight decays are given.
    """

    setting: Setting
    decay_scale: float
    accuracy: float
    log_loss: float

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
            "accuracy": self.accuracy,
            "log_loss": self.log_loss,
        }


def rank(result: ValidationResult) -> tuple[float, float]:
    """Sort key: the most accurate first, among equals the one with the least log-loss."""
    return -result.accuracy, result.log_loss


def standard_error_weights(results: list[ValidationResult], num_held_out: int) -> Array:
    """Weights exp((accuracy - best) / standard error) of results, 1 for the best."""
    accuracy = np.array([result.accuracy for result in results])
    best = accuracy.max()
    # At accuracies of 0 and 1 the formula gives no error at all: count half a node as exception.
    a = min(max(best, 0.5 / num_held_out), 1 - 0.5 / num_held_out)
    weights: Array = np.exp((accuracy - best) / np.sqrt(a * (1 - a) / num_held_out))
    return weights


def heaviest_group(
    space: SearchSpace, results: list[ValidationResult], num_held_out: int
) -> list[ValidationResult]:
    """Of the groups of results that differ in "auto" parameters only, the one of largest weight."""
    groups: dict[Any, list[ValidationResult]] = {}
    weights: dict[Any, float] = {}
    all_weights = standard_error_weights(results, num_held_out)
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
    setting = group[0].setting
    weights = standard_error_weights(group, num_held_out)
    weights /= weights.sum()
    log_times = np.log([result.setting.T + TIME_OFFSET for result in group])
    log_time = weights @ log_times
    if space.schemes is None:
        longest = max(result.setting.T for result in group)
        T = np.clip(np.exp(log_time) - TIME_OFFSET, 0, longest)
        family = SchemeFamily.from_scheme(setting.scheme)
        setting = replace(setting, scheme=family.with_time(float(T)))
    if space.weight_decays is None:
        log_scales = np.log([result.decay_scale for result in group])
        log_decays = np.log([result.setting.weight_decay for result in group])
        order = np.argsort(log_times)
        log_scale = np.interp(log_time, log_times[order], log_scales[order])
        log_decay = weights @ (log_decays - log_scales) + log_scale
        setting = replace(setting, weight_decay=float(np.exp(log_decay)))
    return setting
