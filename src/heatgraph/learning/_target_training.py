"""From a task of targets to a fitted model: search, last fit, and scores of held-out nodes.

Held-out scores calibrate a model: its intervals, or its temperature. They are those of

1. validation nodes, if there are some, by the model itself;
2. else, if training nodes are few, all of them in the folds of the search;
3. else a fifth of the training nodes, at most MAX_HELD_OUT, by a fit to the others. Folds of a
   search sample so few training nodes that their errors would be too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.errors import ConvergenceWarning, warn
from heatgraph.learning._folds import NUM_FOLDS, stratified_sample
from heatgraph.learning._search import DECIDING, SearchOutcome, hold_out
from heatgraph.learning._search_space import SearchSpace, Setting
from heatgraph.learning._softmax_regression import SoftmaxFit
from heatgraph.learning._target_search import search_targets
from heatgraph.learning._target_task import TargetTask
from heatgraph.learning.progress import Progress, StageProgress
from heatgraph.learning.scaling import Scaling

Array = npt.NDArray[Any]

MAX_HELD_OUT = 5000


@dataclass(frozen=True)
class TrainedTargets:
    """A fit of the chosen setting, and what was found on the way.

    `held_out_scores` and `held_out_targets` are (m, q).
    """

    setting: Setting
    scaling: Scaling
    fit: SoftmaxFit
    search: list[dict[str, Any]]
    held_out_scores: Array
    held_out_targets: Array


def train_targets(
    task: TargetTask, space: SearchSpace, progress: Progress | None
) -> TrainedTargets:
    """Choose a setting of the space, if there are several, and learn from the task."""
    single = space.single_setting()
    outcome = SearchOutcome(single, []) if single else search_targets(task, space, progress)
    stage = StageProgress(progress, "fit", 2)
    setting = outcome.setting
    scaling, fit = task.fit(setting, outcome.rows)
    if not fit.converged:
        warn(
            f"the fit did not converge: with weight_decay={setting.weight_decay:g} the optimum is "
            "very far away or does not exist. Choose a larger weight_decay.",
            ConvergenceWarning,
        )
    stage.report(1)
    held_out = _held_out(task, outcome, fit)
    stage.report(2)
    records = [result.record() for result in outcome.results]
    return TrainedTargets(setting, scaling, fit, records, *held_out)


def _held_out(task: TargetTask, outcome: SearchOutcome, fit: SoftmaxFit) -> tuple[Array, Array]:
    """Scores and targets (m, q) of held-out nodes."""
    if task.val is not None:
        return task.scores(outcome.setting, fit)[task.val], task.Y[task.val]
    if hold_out(task, DECIDING).num_held_out == len(task.train):
        if outcome.held_out is None:
            outcome = search_targets(task, SearchSpace.of_setting(outcome.setting))
            assert outcome.held_out is not None
        return outcome.held_out
    rng = np.random.default_rng(task.seed)
    count = min(len(task.train) // NUM_FOLDS, MAX_HELD_OUT)
    positions = stratified_sample(task.codes, count, rng)
    smaller = task.without(positions)
    _, other = smaller.fit(outcome.setting)
    nodes = task.train[positions]
    return smaller.scores(outcome.setting, other)[nodes], task.Y[nodes]
