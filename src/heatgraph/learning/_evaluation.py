"""Accuracies of settings on held-out nodes.

For the diffused features of M schemes, W settings of a head are fitted to the training part of each
fold and score its held-out part. There are three heads:

==========  ========================================================================================
"ridge"     ridge regression, the first step of L-BFGS (`heatgraph.learning._lbfgs`)
"softmax"   softmax regression by L-BFGS, to a tolerance at which the ranks of settings settle
"adam"      softmax regression as the paper trains it
==========  ========================================================================================

All weight decays share the eigendecomposition of a design matrix, and so do the first two heads.
Threads take batches of schemes; the caller limits BLAS to one thread. Batches do not depend on the
number of threads, so neither do results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heatgraph._engine.threads import WorkerThreads, thread_count
from heatgraph.learning._adam import adam
from heatgraph.learning._design_matrices import OrthogonalMatrix
from heatgraph.learning._folds import Folds
from heatgraph.learning._labelled_features import LabelledFeatures, RowFeatures
from heatgraph.learning._lbfgs import Loss, minimize, ridge_weights
from heatgraph.learning._scoring import Scoring, accuracy
from heatgraph.learning._search_space import Combination
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.learning.calibration import log_loss
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Head = Literal["ridge", "softmax", "logistic", "adam"]

# A search ranks settings, for which this gradient tolerance is enough.
SEARCH_TOLERANCE, MAX_ITERATIONS = 1e-2, 100
# Schemes are fitted together while their scores fit in this many bytes of cache, and at most this
# many settings of each. With many classes, the scores of a scheme's settings take no more than
# SCHEME_BYTES: L-BFGS has several arrays of that size.
BATCH_BYTES, BATCH_SETTINGS, SCHEME_BYTES = 1 << 19, 8, 1 << 22
# Training nodes of a fold from which on threads pay.
WORTH_THREADS = 128


@dataclass(frozen=True)
class HeldOutFigures:
    """Scores of settings (M, W) on held-out nodes, with standard errors; NaN where not evaluated.

    `scores` are what the search maximises; accuracies and log-losses are told beside them.
    """

    scores: Array
    errors: Array
    accuracies: Array
    losses: Array

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> HeldOutFigures:
        return cls(*(np.full(shape, np.nan) for _ in range(4)))

    def at(self, place: int, column: int) -> tuple[float, float, float, float]:
        """Score, standard error, accuracy and log-loss of a setting."""
        at = place, column
        return (
            float(self.scores[at]),
            float(self.errors[at]),
            float(self.accuracies[at]),
            float(self.losses[at]),
        )


@dataclass(frozen=True)
class HeadSettings:
    """Weight decays (M, W), for each scheme its own, and learning rates (W,), which Adam reads."""

    weight_decays: Array
    learning_rates: Array

    def select(self, schemes: Indices, settings: slice) -> HeadSettings:
        """Some of the W settings of some of the M schemes."""
        return HeadSettings(self.weight_decays[schemes, settings], self.learning_rates[settings])


class Evaluator:
    """Fits heads to the folds of diffused features, and scores what the folds hold out.

    Parameters
    ----------
    combination : Combination
    schemes : sequence of Scheme
    features : LabelledFeatures
        Those of the M schemes; `RowFeatures` for "adam".
    folds : Folds
    num_classes : int
    regression : SoftmaxRegression
    n_threads : int or None
    scoring : callable
        What settings are compared by (`heatgraph.learning._scoring`).
    """

    # What heads minimise; None is the cross-entropy.
    loss: Loss | None = None

    def __init__(
        self,
        combination: Combination,
        schemes: Sequence[Scheme],
        features: LabelledFeatures,
        folds: Folds,
        num_classes: int,
        regression: SoftmaxRegression,
        n_threads: int | None,
        scoring: Scoring = accuracy,
    ) -> None:
        self.combination, self.schemes = combination, schemes
        self.features, self.folds, self.scoring = features, folds, scoring
        self.num_classes, self.regression = num_classes, regression
        # Arrays of fewer nodes are so small that threads would wait for the interpreter's lock.
        self.threads = thread_count(n_threads) if folds.num_fold_train >= WORTH_THREADS else 1
        self._designs: dict[tuple[int, int], OrthogonalMatrix] = {}

    def evaluate(
        self,
        head: Head,
        settings: HeadSettings,
        places: Sequence[int],
        on_batch: Callable[[Indices, Array, Array], None],
    ) -> HeldOutFigures:
        """Figures (M, W) at some places among the M schemes.

        `on_batch` is called with the places of a batch, its scores and its accuracies, from any
        thread.
        """
        figures = HeldOutFigures.empty(settings.weight_decays.shape)

        def evaluate(batch: tuple[Indices, slice]) -> None:
            places, columns = batch
            chosen = settings.select(places, columns)
            by_fold = [
                self._fold_scores(head, fold, places, chosen, lambda: workers.stopping)
                for fold in range(len(self.folds.folds))
            ]
            value, error, right, loss = self._measure(by_fold)
            figures.scores[places, columns], figures.errors[places, columns] = value, error
            figures.accuracies[places, columns] = right
            figures.losses[places, columns] = loss
            on_batch(places, value, right)

        with WorkerThreads(self.threads) as workers:
            if head != "adam":
                workers.map(self._prepare_design, self._missing_designs(places))
            workers.map(evaluate, self._batches(places, settings))
        return figures

    def held_out_scores(
        self, head: Head, weight_decay: float, learning_rate: float
    ) -> tuple[Array, Indices]:
        """Scores (m, C) of all held-out nodes by one setting of the first scheme, and codes (m,).

        A code is -1 where the node's class is missing from the training part of its fold.
        """
        settings = HeadSettings(np.array([[weight_decay]]), np.array([learning_rate]))
        places = np.zeros(1, dtype=np.int64)
        scores, codes = [], []
        for fold, (train, held_out) in enumerate(self.folds.folds):
            if head != "adam" and (0, fold) not in self._designs:
                self._prepare_design((0, fold))
            scores.append(self._fold_scores(head, fold, places, settings)[0, 0])
            of_fold = self.folds.codes[held_out]
            is_known = np.isin(of_fold, self.folds.codes[train])
            codes.append(np.where(is_known, of_fold, -1))
        return np.concatenate(scores), np.concatenate(codes)

    def _measure(self, by_fold: list[Array]) -> tuple[Array, Array, Array, Array]:
        """Scores (G, W) with standard errors, accuracies and log-losses of held-out nodes.

        `by_fold` are scores (G, W, m, C) of the nodes that each fold holds out.
        """
        parts = [self.folds.codes[held_out] for _, held_out in self.folds.folds]
        losses = (
            log_loss(found, held) * len(held) for found, held in zip(by_fold, parts, strict=True)
        )
        loss = sum(losses, np.zeros(by_fold[0].shape[:2])) / self.folds.num_held_out
        scores = by_fold[0] if len(by_fold) == 1 else np.concatenate(by_fold, axis=-2)
        codes = np.concatenate(parts)
        value, error = self.scoring(scores, codes)
        right = value if self.scoring is accuracy else accuracy(scores, codes)[0]
        return value, error, right, loss

    def _fold_scores(
        self,
        head: Head,
        fold: int,
        places: Indices,
        settings: HeadSettings,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Array:
        """Scores (G, W, m, C) of a fold's held-out nodes by weights fitted to its training part."""
        if head == "adam":
            return self._adam_scores(self.features.select(places), fold, settings)
        design = OrthogonalMatrix.stack([self._designs[int(place), fold] for place in places])
        y, loss = self._targets(self.folds.folds[fold][0]), self.loss
        sample_weight = self.folds.train_weights(fold)
        problem = (design, y, self.num_classes, settings.weight_decays)
        if head == "ridge":
            weights = ridge_weights(*problem, sample_weight, loss)
        else:
            weights, _ = minimize(
                *problem,
                tolerance=SEARCH_TOLERANCE,
                max_iterations=MAX_ITERATIONS,
                sample_weight=sample_weight,
                should_stop=should_stop,
                loss=loss,
            )
        # One scheme after the other: a selection of several is a copy of their features.
        return np.concatenate(
            [
                self.features.select(np.array([place])).scores(
                    self.folds, fold, self._designs[int(place), fold], weights[at : at + 1]
                )
                for at, place in enumerate(places)
            ]
        )

    def _targets(self, train: Indices) -> Any:
        """What heads learn at the training part of a fold."""
        return self.folds.codes[train]

    def _adam_scores(self, features: LabelledFeatures, fold: int, settings: HeadSettings) -> Array:
        assert isinstance(features, RowFeatures)
        train, held_out = self.folds.folds[fold]
        weights = adam(
            features.rows(fold, train),
            self.folds.codes[train],
            self.num_classes,
            settings.weight_decays,
            settings.learning_rates.tolist(),
            epochs=self.regression.epochs,
            seed=self.regression.seed,
        )
        rows = features.rows(fold, held_out)[:, np.newaxis]
        return np.asarray(rows @ weights[:, :, :-1] + weights[:, :, -1:])

    def _missing_designs(self, places: Sequence[int]) -> list[tuple[int, int]]:
        pairs = [(place, fold) for place in places for fold in range(len(self.folds.folds))]
        return [pair for pair in pairs if pair not in self._designs]

    def _prepare_design(self, pair: tuple[int, int]) -> None:
        place, fold = pair
        features = self.features.select(np.array([place]))
        self._designs[pair] = features.design(self.folds, fold)

    def _batches(
        self, places: Sequence[int], settings: HeadSettings
    ) -> list[tuple[Indices, slice]]:
        W = settings.weight_decays.shape[1]
        item = 4 * self.folds.num_fold_train * self.num_classes
        columns = max(1, min(W, BATCH_SETTINGS, SCHEME_BYTES // item))
        size = max(1, BATCH_BYTES // (item * columns))
        # At least two batches, so that two threads have something to do.
        size = min(size, max(1, -(-len(places) // 2)))
        return [
            (np.array(places[start : start + size]), slice(first, first + columns))
            for start in range(0, len(places), size)
            for first in range(0, W, columns)
        ]
