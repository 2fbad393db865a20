"""Search for T, weight decay and other open parameters, on validation nodes or in folds.

If T is "auto", the search has four rounds:

1. Each combination of other candidates (scaling, self-loops, kind of scheme) is tried at a few T by
   ridge regression. The one of largest weight goes on.
2. Ridge regression tries it on a grid of T from 0 to 20, and beyond while the largest is the best.
3. Softmax regression is fitted where ridge regression is not clearly behind. T is the centre of the
   plateau, or 0 if the graph does not help.
4. Weight decay is chosen at that T.

Ridge regression is the first step of the solver (`heatgraph.learning._lbfgs`). Its accuracies
follow those of softmax regression closely over T, and cost next to nothing once the Gram matrix of
the diffused features is there. If T is given, softmax regression compares all settings.

No labels are read but those of training and validation nodes. `_selection_rule` has the rule by
which settings are chosen, `_folds` the nodes that are held out, and `_evaluation` the heads.
"""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._engine.threads import SingleBlasThread
from heatgraph._io.memory import memory_budget_bytes
from heatgraph.errors import CollapseWarning
from heatgraph.learning._evaluation import Evaluator, Head, HeadSettings
from heatgraph.learning._folds import Folds, SampleSize
from heatgraph.learning._labelled_features import (
    LabelledFeatures,
    bytes_per_scheme,
    features_from_rows,
    fold_centres,
    is_gram_cheaper,
    labelled_features,
)
from heatgraph.learning._search_space import Combination, SchemeFamily, SearchSpace, Setting
from heatgraph.learning._selection_rule import (
    ValidationResult,
    decay_scale_at,
    heaviest_group,
    plateau_center,
    plateau_weights,
    rank,
)
from heatgraph.learning._task import NodeClassificationTask
from heatgraph.learning.progress import FitProgress, Progress
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Sizes of the samples that combinations of candidates are screened on, and that T and weight decay
# are chosen on. The best T changes little with the number of labels.
SCREENING, DECIDING = SampleSize(320, 0.015), SampleSize(1000, 0.007)
# Places in the grid of T at which combinations are screened: T = 0, 1, 2.7 and 6.2.
SCREENED_TIMES = (0, 3, 5, 7)
# Values of T per extension of the grid.
NUM_EXTENDED = 4
# Softmax regression is not fitted to schemes at which ridge regression has less than this weight at
# best (see `_selection_rule`).
MIN_WEIGHT = 0.03
# Weight decays relative to the mean squared norm of features over the number of rows: the grid on
# which weight decay is chosen, and every second of them for all else.
RELATIVE_DECAYS = np.logspace(-4, 2, 16)
COARSE_DECAYS = RELATIVE_DECAYS[::2]
# Error of the diffusions in a search, which accuracies do not notice.
DIFFUSION_TOLERANCE = 3e-3
# Steps of progress for a scheme that is diffused, and for one that a head is fitted to; and the
# number of schemes that diffusing all training nodes counts for.
DIFFUSION_STEPS, EVALUATION_STEPS, FINAL_DIFFUSION = 8, 2, 5
# Bytes of diffused features held in memory at a time, unless those of all training nodes take more.
CHUNK_BYTES = 64 << 20


@dataclass(frozen=True)
class SearchOutcome:
    """The setting that a search chose, and what it found on the way.

    `held_out` are scores (m, C) of nodes that folds of the training nodes hold out, by the chosen
    setting, and codes (m,) of their classes; None if there are validation nodes. `rows`
    (n_train, p) are diffused features of all training nodes by the chosen scheme, if the search
    needed them.
    """

    setting: Setting
    results: list[ValidationResult]
    held_out: tuple[Array, Indices] | None = None
    rows: Array | None = None


def search(
    task: NodeClassificationTask, space: SearchSpace, progress: Progress | None = None
) -> SearchOutcome:
    """Evaluate the settings of `space` and choose one, by the rule of `_selection_rule`."""
    # Our own threads share the work. BLAS's would compete with them, since they spin for a while
    # after each product.
    with SingleBlasThread():
        return Search(task, space, progress).run()


class Search:
    """One search: its sample of nodes, its results so far, and its rounds."""

    def __init__(
        self, task: NodeClassificationTask, space: SearchSpace, progress: Progress | None
    ) -> None:
        self.task, self.space = task, space
        self.head = self._last_head()
        self.folds = hold_out(task, DECIDING)
        self.results: list[ValidationResult] = []
        self.progress = _SearchProgress(progress)

    def _last_head(self) -> Head:
        """The head whose settings are chosen; ridge regression screens them, but not Adam's."""
        return "softmax" if self.task.regression.solver == "lbfgs" else "adam"

    def run(self) -> SearchOutcome:
        """Choose a setting, in one round or in four."""
        space = self.space
        if space.schemes is None:
            family, combination = self._choose_combination()
            setting = self._choose_weight_decay(*self._choose_time(family, combination))
            return self._outcome(setting)
        combinations = space.combinations()
        pairs = len(combinations) * len(space.schemes)
        self.progress.expect(diffused=pairs, evaluated=pairs)
        if pairs == 1:
            evaluator, rows = self._final_evaluator(combinations[0], space.schemes[0])
            self._fit(self.head, evaluator, RELATIVE_DECAYS)
            return self._outcome(self._plateau_center(self.results), evaluator, rows)
        for combination in combinations:
            for schemes in self._chunks(space.schemes):
                evaluator = self._evaluator(self.folds, combination, schemes, self.head)
                self._fit(self.head, evaluator, RELATIVE_DECAYS)
        return self._outcome(self._plateau_center(self.results))

    def _choose_combination(self) -> tuple[SchemeFamily, Combination]:
        """Round 1: choose the kind of scheme and the combination of other candidates."""
        families, combinations = self.space.families, self.space.combinations()
        if len(families) * len(combinations) == 1:
            return families[0], combinations[0]
        folds = hold_out(self.task, SCREENING)
        pairs = len(families) * len(combinations) * len(SCREENED_TIMES)
        self.progress.expect(diffused=pairs, evaluated=pairs)
        results = []
        for family, combination in itertools.product(families, combinations):
            grid = family.grid()
            schemes = [grid[place] for place in SCREENED_TIMES if place < len(grid)]
            evaluator = self._evaluator(folds, combination, schemes, "ridge")
            results += self._fit("ridge", evaluator, COARSE_DECAYS)
        ignoring_decay = replace(self.space, weight_decays=None)
        best = heaviest_group(ignoring_decay, results)[0].setting
        family = SchemeFamily.from_scheme(best.scheme)
        return family, Combination(best.self_loops, best.feature_scaling)

    def _choose_time(
        self, family: SchemeFamily, combination: Combination
    ) -> tuple[Setting, list[ValidationResult], Evaluator]:
        """Rounds 2 and 3: choose T. Returns its setting, all results and the last evaluator."""
        head: Head = "adam" if self.head == "adam" else "ridge"
        results: list[ValidationResult] = []
        grid = family.grid()
        while grid:
            self.progress.expect(diffused=len(grid), evaluated=len(grid))
            for schemes in self._chunks(grid):
                evaluator = self._evaluator(self.folds, combination, schemes, self.head)
                results += self._fit(head, evaluator, COARSE_DECAYS)
            grid = _extend_grid(family, results)
        if head != self.head:
            results, evaluator = self._decide(results, evaluator)
        return self._plateau_center(results), results, evaluator

    def _decide(
        self, screened: list[ValidationResult], evaluator: Evaluator
    ) -> tuple[list[ValidationResult], Evaluator]:
        """Results by softmax regression, or by ridge regression where that is clearly behind.

        Schemes that the evaluator lacks are diffused again.
        """
        weights = plateau_weights(screened)
        promising = list(
            dict.fromkeys(
                result.setting.scheme
                for result, weight in zip(screened, weights, strict=True)
                if weight >= MIN_WEIGHT
            )
        )
        combination, decided = evaluator.combination, []
        self.progress.expect(evaluated=len(promising))
        for schemes in self._chunks(promising):
            if not set(schemes) <= set(evaluator.schemes):
                self.progress.expect(diffused=len(schemes))
                evaluator = self._evaluator(self.folds, combination, schemes, self.head)
            places = [list(evaluator.schemes).index(scheme) for scheme in schemes]
            decided += self._fit(self.head, evaluator, COARSE_DECAYS, places)
        behind = [result for result in screened if result.setting.scheme not in promising]
        return decided + behind, evaluator

    def _choose_weight_decay(
        self, setting: Setting, results: list[ValidationResult], evaluator: Evaluator
    ) -> Setting:
        """Round 4: choose the weight decay at the T of the grid that is nearest to the chosen T.

        Relative to the features' mean square, which is interpolated, it hardly depends on T.
        """
        if self.space.weight_decays is not None:
            return setting
        distances = [abs(result.setting.log_time - setting.log_time) for result in results]
        nearest = results[int(np.argmin(distances))].setting.scheme
        if nearest not in evaluator.schemes:
            self.progress.expect(diffused=1)
            evaluator = self._evaluator(self.folds, evaluator.combination, [nearest], self.head)
        self.progress.expect(evaluated=1)
        place = list(evaluator.schemes).index(nearest)
        refined = self._fit(self.head, evaluator, RELATIVE_DECAYS, [place])
        at_nearest = self._plateau_center(refined)
        relative_decay = at_nearest.weight_decay / refined[0].decay_scale
        weight_decay = relative_decay * decay_scale_at(setting, results)
        return replace(setting, weight_decay=weight_decay, learning_rate=at_nearest.learning_rate)

    def _plateau_center(self, results: list[ValidationResult]) -> Setting:
        group = heaviest_group(self.space, results)
        return plateau_center(self.space, group, self.folds.num_held_out)

    def _outcome(
        self, setting: Setting, evaluator: Evaluator | None = None, rows: Array | None = None
    ) -> SearchOutcome:
        """The chosen setting and, without validation nodes, held-out scores by it."""
        held_out = None
        if self.task.val is None:
            if evaluator is None:
                self.progress.expect(diffused=FINAL_DIFFUSION)
                combination = Combination(setting.self_loops, setting.feature_scaling)
                evaluator, rows = self._final_evaluator(combination, setting.scheme)
            held_out = evaluator.held_out_scores(
                self.head, setting.weight_decay, setting.learning_rate
            )
        if self.space.weight_decays is None:
            # J has the mean of the losses: rescale the penalty, so that its weight relative to
            # their sum stays.
            share = self.folds.num_fold_train / len(self.task.train)
            setting = replace(setting, weight_decay=setting.weight_decay * share)
        self.progress.finish()
        return SearchOutcome(setting, self.results, held_out, rows)

    def _evaluator(
        self, folds: Folds, combination: Combination, schemes: Sequence[Scheme], head: Head
    ) -> Evaluator:
        """Diffuse features at the nodes of folds."""
        task = self.task
        scaling, graph = task.scale_features(combination.feature_scaling)
        tolerance = max(task.engine["tol"], DIFFUSION_TOLERANCE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            features = labelled_features(
                graph,
                schemes,
                folds,
                combination.self_loops,
                task.engine | {"tol": tolerance},
                is_centred=scaling.shift is not None,
                as_rows=head == "adam",
                report=self.progress.diffusing(len(schemes)),
            )
        return self._evaluator_of(combination, schemes, features, folds)

    def _final_evaluator(
        self, combination: Combination, scheme: Scheme
    ) -> tuple[Evaluator, Array | None]:
        """The features of the chosen scheme; with those of all training nodes, if that is no waste.

        The last fit then takes no diffusion of its own.
        """
        task, folds = self.task, self.folds
        setting = Setting(scheme, combination.self_loops, combination.feature_scaling, 0.0, 0.0)
        scaling, graph = task.scale_features(combination.feature_scaling)
        if not task.fits_rows(setting) or (
            self.head != "adam"
            and is_gram_cheaper(graph, [scheme], folds, task.engine["tol"], rows_have_use=True)
        ):
            return self._evaluator(folds, combination, [scheme], self.head), None
        nodes = np.concatenate([task.train, np.setdiff1d(folds.nodes, task.train)])
        place = np.empty(graph.num_nodes, dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        report = self.progress.diffusing(FINAL_DIFFUSION)
        rows = task.diffuse(graph, setting, nodes, lambda done, total: report(done / total))
        centres = None
        if scaling.shift is not None and len(folds.folds) > 1:
            options = task.engine | {"self_loops": combination.self_loops}
            centres = fold_centres(graph, [scheme], folds, options)
        sample = rows[np.newaxis, place[folds.nodes]]
        features = features_from_rows(
            sample, folds, centres, task.engine["n_threads"], as_rows=self.head == "adam"
        )
        evaluator = self._evaluator_of(combination, [scheme], features, folds)
        return evaluator, rows[: len(task.train)]

    def _evaluator_of(
        self,
        combination: Combination,
        schemes: Sequence[Scheme],
        features: LabelledFeatures,
        folds: Folds,
    ) -> Evaluator:
        task = self.task
        n_threads = task.engine["n_threads"]
        return Evaluator(
            combination,
            schemes,
            features,
            folds,
            task.num_classes,
            task.regression,
            n_threads,
            task.scoring,
        )

    def _fit(
        self,
        head: Head,
        evaluator: Evaluator,
        relative_decays: Array,
        places: Sequence[int] | None = None,
    ) -> list[ValidationResult]:
        """Results of a head for all its settings, at all schemes or at some places among them."""
        rates = self.space.learning_rates if head == "adam" else self.space.learning_rates[:1]
        scales, settings = self._head_settings(evaluator, relative_decays, rates)
        if places is None:
            places = range(len(evaluator.schemes))

        def report(batch: Indices, scores: Array, accuracies: Array) -> None:
            schemes = [evaluator.schemes[place] for place in batch]
            self.progress.evaluated(schemes, scores, accuracies)

        figures = evaluator.evaluate(head, settings, places, report)
        results = [
            self._result(
                Setting(
                    evaluator.schemes[place],
                    evaluator.combination.self_loops,
                    evaluator.combination.feature_scaling,
                    float(settings.weight_decays[place, column]),
                    float(settings.learning_rates[column]),
                ),
                float(scales[place]),
                figures.at(place, column),
                head,
            )
            for place in places
            for column in range(figures.scores.shape[1])
        ]
        self.results += results
        return results

    def _result(
        self,
        setting: Setting,
        scale: float,
        figures: tuple[float, float, float, float],
        head: Head,
    ) -> ValidationResult:
        """A result from its score, standard error, accuracy and log-loss."""
        return ValidationResult(setting, scale, *figures, head)

    def _head_settings(
        self, evaluator: Evaluator, relative_decays: Array, rates: tuple[float, ...]
    ) -> tuple[Array, HeadSettings]:
        """Decay scales (M,), and every weight decay with every learning rate.

        Each T has a grid of weight decays of its own, because features shrink as they diffuse.
        """
        squares = evaluator.features.mean_squares
        if self.space.weight_decays is None:
            scales = np.where(squares > 0, squares, 1.0) / evaluator.folds.num_fold_train
            decays = scales[:, np.newaxis] * relative_decays
        else:
            scales = np.ones(len(squares))
            decays = scales[:, np.newaxis] * np.asarray(self.space.weight_decays)
        repeated = np.repeat(decays, len(rates), axis=1)
        return scales, HeadSettings(repeated, np.tile(rates, decays.shape[1]))

    def _chunks(self, schemes: Sequence[Scheme]) -> Iterator[Sequence[Scheme]]:
        """Split schemes so that the features of each chunk fit in memory."""
        task = self.task
        training = len(task.train) * task.graph.num_features * task.dtype.itemsize
        allowed = memory_budget_bytes(task.engine["memory_budget"]) / 4
        budget = min(max(CHUNK_BYTES, training), allowed)
        needed = bytes_per_scheme(task.graph, self.folds, task.dtype)
        size = max(1, int(budget // needed))
        for start in range(0, len(schemes), size):
            yield schemes[start : start + size]


def hold_out(task: NodeClassificationTask, size: SampleSize) -> Folds:
    """The folds of a task, sampled to a size."""
    if task.val is None or task.val_codes is None:
        folds = Folds.hold_out_training(task.train, task.codes, size, task.seed)
    else:
        folds = Folds.hold_out_validation(
            task.train, task.codes, task.val, task.val_codes, size, task.seed
        )
    return folds.with_weights(task.train, task.sample_weight)


def _extend_grid(family: SchemeFamily, results: list[ValidationResult]) -> list[Scheme]:
    """If the best T is the largest one tried, schemes up to four times as long; else none."""
    longest = max(result.setting.T for result in results)
    if longest > min(results, key=rank).setting.T or longest >= family.max_time:
        return []
    return family.grid_between(longest, 4 * longest, NUM_EXTENDED + 1)[1:]


class _SearchProgress:
    """Counts diffused and evaluated schemes across threads, and reports them with the best."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._state = FitProgress("search", 0, 0)
        self._begun = time.perf_counter()
        self._lock = threading.Lock()
        self._best = -np.inf

    def expect(self, *, diffused: int = 0, evaluated: int = 0) -> None:
        """Announce schemes that will be diffused and evaluated."""
        steps = DIFFUSION_STEPS * diffused + EVALUATION_STEPS * evaluated
        self._state = replace(self._state, total=self._state.total + steps)

    def diffusing(self, count: int) -> Callable[[float], None]:
        """A callback that takes the share of these schemes that has been diffused."""
        begun_at = self._state.done

        def report(share: float) -> None:
            done = begun_at + round(share * count * DIFFUSION_STEPS)
            with self._lock:
                if done > self._state.done:
                    self._report(done=done)

        return report

    def evaluated(self, schemes: Sequence[Scheme], scores: Array, accuracies: Array) -> None:
        """Report that settings (G, W) of G schemes have been evaluated."""
        with self._lock:
            at = np.unravel_index(scores.argmax(), scores.shape)
            best: dict[str, Any] = {}
            if scores[at] > self._best:
                self._best = float(scores[at])
                T = getattr(schemes[int(at[0])], "T", None)
                best = {"accuracy": float(accuracies[at]), "T": T}
            done = self._state.done + EVALUATION_STEPS * len(schemes)
            self._report(done=done, settings=self._state.settings + scores.size, **best)

    def finish(self) -> None:
        """Report the end."""
        self._report(done=self._state.total)

    def _report(self, done: int, **changes: Any) -> None:
        seconds, done = time.perf_counter() - self._begun, min(done, self._state.total)
        self._state = replace(self._state, done=done, seconds=seconds, **changes)
        if self._progress is not None:
            self._progress(self._state)
