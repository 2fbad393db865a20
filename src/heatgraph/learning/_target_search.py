"""Search for T, weight decay and other open parameters where targets are not classes.

The rounds and the rule are those of the classifier's search (`heatgraph.learning._search`,
`heatgraph.learning._selection_rule`). Settings are compared by R^2 or by log-loss on held-out
nodes, whose standard error is that of a mean: the deviation of the nodes' ratings over sqrt(m).
Ridge regression is a head of its own here, so that all its weight decays cost one
eigendecomposition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._engine.threads import SingleBlasThread
from heatgraph.learning._evaluation import Evaluator, Head, HeadSettings
from heatgraph.learning._folds import Folds
from heatgraph.learning._labelled_features import LabelledFeatures
from heatgraph.learning._search import Search, SearchOutcome
from heatgraph.learning._search_space import Combination, SearchSpace, Setting
from heatgraph.learning._selection_rule import ValidationResult
from heatgraph.learning._target_losses import SQUARED_ERROR, TargetLoss, Targets
from heatgraph.learning._target_task import TargetTask
from heatgraph.learning.progress import FitProgress, Progress
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Standard errors are at least this, so that settings without any error can be compared.
MIN_ERROR = 1e-9


class TargetEvaluator(Evaluator):
    """Fits ridge or logistic regression to folds, and rates what the folds hold out."""

    loss: TargetLoss

    def __init__(
        self,
        task: TargetTask,
        combination: Combination,
        schemes: Sequence[Scheme],
        features: LabelledFeatures,
        folds: Folds,
    ) -> None:
        n_threads = task.engine["n_threads"]
        super().__init__(
            combination, schemes, features, folds, task.num_classes, task.regression, n_threads
        )
        self.loss, self.Y = task.loss, task.Y[folds.nodes]
        held_out = np.concatenate([positions for _, positions in folds.folds])
        self.variances = self.Y[held_out].var(axis=0)

    def held_out_scores(
        self, head: Head, weight_decay: float, learning_rate: float
    ) -> tuple[Array, Array]:
        """Scores and targets (m, q) of all held-out nodes, by one setting of the first scheme."""
        scores, _ = super().held_out_scores(head, weight_decay, learning_rate)
        return scores, self.Y[np.concatenate([held_out for _, held_out in self.folds.folds])]

    def _targets(self, train: Indices) -> Targets:
        return self.loss.targets(self.Y[train])

    def _fold_scores(
        self,
        head: Head,
        fold: int,
        places: Indices,
        settings: HeadSettings,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Array:
        scores = super()._fold_scores(head, fold, places, settings, should_stop)
        return scores + self._targets(self.folds.folds[fold][0]).base

    def _measure(self, by_fold: list[Array]) -> tuple[Array, Array, Array, Array]:
        """Mean ratings (G, W) of held-out nodes and their standard errors.

        Ratings take the place of accuracies, and with the sign of losses that of log-losses.
        """
        rated = [
            self.loss.rate(scores, self.Y[held_out], self.variances)
            for scores, (_, held_out) in zip(by_fold, self.folds.folds, strict=True)
        ]
        ratings = np.concatenate(rated, axis=-1)
        mean = ratings.mean(axis=-1)
        errors = np.maximum(ratings.std(axis=-1) / np.sqrt(ratings.shape[-1]), MIN_ERROR)
        return mean, errors, mean, -mean


@dataclass(frozen=True)
class TargetResult(ValidationResult):
    """A result whose score is the mean rating of held-out nodes."""

    loss: TargetLoss = SQUARED_ERROR

    def record(self) -> dict[str, Any]:
        """A row of `search_`."""
        record = super().record()
        for column in ("score", "standard_error", "accuracy", "log_loss", "learning_rate"):
            del record[column]
        return record | {
            self.loss.metric: self.loss.sign * self.score,
            "standard_error": self.error,
        }


class _TargetSearch(Search):
    """The search of a `TargetTask`."""

    task: TargetTask

    def _last_head(self) -> Head:
        return "ridge" if self.task.loss is SQUARED_ERROR else "logistic"

    def _evaluator_of(
        self,
        combination: Combination,
        schemes: Sequence[Scheme],
        features: LabelledFeatures,
        folds: Folds,
    ) -> Evaluator:
        return TargetEvaluator(self.task, combination, schemes, features, folds)

    def _result(
        self,
        setting: Setting,
        scale: float,
        figures: tuple[float, float, float, float],
        head: Head,
    ) -> ValidationResult:
        return TargetResult(setting, scale, *figures, head, self.task.loss)


def search_targets(
    task: TargetTask, space: SearchSpace, progress: Progress | None = None
) -> SearchOutcome:
    """Evaluate the settings of `space` and choose one; `held_out` are scores and targets (m, q)."""

    def report(state: FitProgress) -> None:
        if progress is not None:
            progress(replace(state, accuracy=None, T=None))

    with SingleBlasThread():
        return _TargetSearch(task, space, report).run()
