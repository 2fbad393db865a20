"""Search for T, weight decay and other open parameters, on validation nodes or in folds.

One set of Chebyshev vectors serves all values of T, only the rows of labelled nodes are diffused,
and all weight decays are fitted in one batch, so that hundreds of settings cost little more than a
few. No labels are read but those of training and validation nodes. `_selection_rule` chooses among
the results.
"""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import working_dtype
from heatgraph._engine.threads import SingleBlasThread, WorkerThreads, thread_count
from heatgraph._io.memory import memory_budget_bytes
from heatgraph.diffusion import diffuse_many
from heatgraph.errors import CollapseWarning, InputError
from heatgraph.graph import Graph
from heatgraph.learning._featureless import empirical_kernel_map, has_kernel_map, node_weights
from heatgraph.learning._search_space import SchemeFamily, SearchSpace, Setting
from heatgraph.learning._selection_rule import (
    ValidationResult,
    heaviest_group,
    plateau_center,
    rank,
)
from heatgraph.learning._softmax_regression import (
    SoftmaxFit,
    SoftmaxRegression,
    feature_sets_per_batch,
)
from heatgraph.learning.calibration import log_loss
from heatgraph.learning.scaling import Scaling
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]

# Values of T tried in the last round, within one grid step of the plateau's centre.
NUM_REFINED = 9
# Values of T per extension of the grid.
NUM_EXTENDED = 8
# The grid of weight decays, relative to the mean squared norm of features over the number of rows.
RELATIVE_DECAYS = np.logspace(-4, 2, 16)
NUM_FOLDS = 5
# A search samples its nodes down to these numbers.
MAX_TRAIN_NODES, MAX_HELD_OUT_NODES = 2000, 5000
# Tolerance of the Gram matrix of a final fit without features, whose smallest eigenvalues matter.
GRAM_TOL = 1e-12
# Diffused features held in memory at a time.
CHUNK_BYTES = 512 << 20


@dataclass(frozen=True)
class NodeClassificationTask:
    """A graph, its training and validation nodes, and how to fit them.

    `codes` (n_train,) and `val_codes` (n_val,) are class indices below `num_classes`, or -1 for a
    validation node whose class has no training node. `engine` are options of `diffuse_many`.
    """

    graph: Graph
    train: Indices
    codes: Indices
    val: Indices | None
    val_codes: Indices | None
    num_classes: int
    regression: SoftmaxRegression
    engine: dict[str, Any]
    seed: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of diffused features and weights."""
        return working_dtype(self.engine["dtype"])

    def scale_features(self, name: str) -> tuple[Scaling, Graph]:
        """The scaling of that name, fitted to the training nodes, and the scaled graph."""
        X = self.graph.features
        scaling = Scaling.learn(name, X, self.train)
        if X is None or name == "none":
            return scaling, self.graph
        return scaling, self.graph.with_features(scaling.apply(X, self.dtype))

    def fit(self, setting: Setting) -> tuple[Scaling, SoftmaxFit]:
        """Fit one setting to all training nodes."""
        scaling, graph = self.scale_features(setting.feature_scaling)
        if self.uses_kernel_map(graph, [setting.scheme], len(self.train)):
            fit = self._fit_kernel_map(graph, setting)
        else:
            X = self.diffused_features(
                graph, [setting.scheme], setting.self_loops, self.train, len(self.train)
            )
            fit = self._fit_regression(X, setting)
        if not (np.isfinite(fit.Theta).all() and np.isfinite(fit.bias).all()):
            raise InputError(
                f"training ended in numbers that exceed {self.dtype}, with learning_rate="
                f"{setting.learning_rate:g} and weight_decay={setting.weight_decay:g}. Choose "
                "smaller ones, or scale features down."
            )
        return scaling, fit

    def _fit_regression(self, X: Array, setting: Setting) -> SoftmaxFit:
        weight_decay, learning_rate = [setting.weight_decay], [setting.learning_rate]
        with SingleBlasThread() if self.engine["n_threads"] == 1 else nullcontext():
            return self.regression.fit(X, self.codes, self.num_classes, weight_decay, learning_rate)

    def _fit_kernel_map(self, graph: Graph, setting: Setting) -> SoftmaxFit:
        scheme, loops = setting.scheme, setting.self_loops
        precise = self.engine | {"dtype": np.float64, "tol": min(self.engine["tol"], GRAM_TOL)}
        F, whitening = empirical_kernel_map(
            graph, [scheme], self.train, len(self.train), loops, precise
        )
        fit = self._fit_regression(F, setting)
        alpha = whitening[0] @ fit.Theta[0, 0]
        Theta = node_weights(graph, scheme, self.train, alpha, loops, self.engine)
        bias = fit.bias.astype(self.dtype)
        return SoftmaxFit(Theta[np.newaxis, np.newaxis], bias, fit.converged)

    def diffused_features(
        self,
        graph: Graph,
        schemes: Sequence[Scheme],
        self_loops: bool,
        rows: Indices,
        num_train: int,
    ) -> Array:
        """Diffused features (M, R, p) of `rows`, the first `num_train` of which are for training.

        Without node features, kernel features with the same Gram matrix take their place.
        """
        if self.uses_kernel_map(graph, schemes, num_train):
            return empirical_kernel_map(graph, schemes, rows, num_train, self_loops, self.engine)[0]
        return diffuse_many(graph, schemes, self_loops=self_loops, rows=rows, **self.engine)

    def uses_kernel_map(self, graph: Graph, schemes: Sequence[Scheme], num_train: int) -> bool:
        """Whether kernel features replace rows of the kernel."""
        # Adam's random initial weights have one entry per node, so it needs the rows themselves.
        return self.regression.solver == "lbfgs" and has_kernel_map(graph, schemes, num_train)


def search(
    task: NodeClassificationTask, space: SearchSpace, progress: Progress | None = None
) -> tuple[Setting, list[ValidationResult]]:
    """Evaluate the settings of `space` and choose one, by the rule of `_selection_rule`.

    If T is "auto", the grid is extended while its largest T is the best, and then refined around
    the centre of the plateau. Returns the chosen setting and all results.
    """
    cross_validation = CrossValidation.from_task(task)
    num_held_out = cross_validation.num_held_out
    pairs = list(itertools.product(space.self_loops, space.scalings))
    grid = space.grid()
    num_refined = NUM_REFINED if space.schemes is None else 0
    counter = _ProgressCounter(progress, len(pairs) * len(grid) + num_refined)
    results: list[ValidationResult] = []
    for self_loops, scaling in pairs:
        results += cross_validation.evaluate(space, grid, self_loops, scaling, counter)
    group = heaviest_group(space, results, num_held_out)
    if space.schemes is None:
        best = group[0].setting
        family = SchemeFamily.from_scheme(best.scheme)
        # Candidates of the other parameters have been chosen with the group.
        narrowed = replace(
            space,
            weight_decays=None if space.weight_decays is None else (best.weight_decay,),
            learning_rates=(best.learning_rate,),
        )

        def evaluate(schemes: list[Scheme]) -> list[ValidationResult]:
            return cross_validation.evaluate(
                narrowed, schemes, best.self_loops, best.feature_scaling, counter
            )

        while extension := _extend_grid(family, group):
            counter.total += len(extension)
            extended = evaluate(extension)
            group, results = group + extended, results + extended
        center = plateau_center(space, group, num_held_out)
        group = evaluate(family.grid_around(center.T, NUM_REFINED))
        results += group
    setting = plateau_center(space, group, num_held_out)
    if space.weight_decays is None:
        # J has the mean of the losses: rescale the penalty, so that its weight relative to their
        # sum stays.
        weight_decay = setting.weight_decay * cross_validation.num_fold_train / len(task.train)
        setting = replace(setting, weight_decay=weight_decay)
    return setting, results


def cross_validated_scores(task: NodeClassificationTask, setting: Setting) -> tuple[Array, Indices]:
    """Out-of-fold scores (m, C) of training nodes with one setting, and their codes (m,).

    The code is -1 where the node's class is missing from the training part of its fold.
    """
    cross_validation = CrossValidation.from_task(replace(task, val=None, val_codes=None))
    features = cross_validation.diffuse(
        [setting.scheme], setting.self_loops, setting.feature_scaling
    )
    scores = np.empty((len(cross_validation.rows), task.num_classes), dtype=features.X.dtype)
    codes = cross_validation.codes.copy()
    for fold, (train, held_out) in enumerate(cross_validation.folds):
        scores[held_out] = cross_validation.fold_scores(
            features, fold, [setting.weight_decay], [setting.learning_rate]
        )[0, 0]
        codes[held_out[~np.isin(codes[held_out], codes[train])]] = -1
    return scores, codes


class _ProgressCounter:
    """Counts evaluated schemes across threads and reports them."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress = progress
        self.done, self.total = 0, total
        self._lock = threading.Lock()
        self.add(0)

    def add(self, count: int) -> None:
        with self._lock:
            self.done += count
            if self.progress is not None:
                self.progress("search", self.done, self.total)


@dataclass(frozen=True)
class FoldFeatures:
    """Diffused features X (M, R, p) of the nodes of a search, centred for each fold.

    Standardised features have the mean of all training nodes subtracted, including those that a
    fold holds out. With few nodes that leaks their labels: of two nodes, one is the other's
    negative. So each fold subtracts the mean s of its own training part, which diffuses too:
    r(S) (X - 1 s^T) = r(S) X - (r(S) 1) s^T.

    `diffused_ones` (M, R, 1) is r(S) 1 and `fold_means` (folds, p) are the s; None if features are
    not centred.
    """

    X: Array
    diffused_ones: Array | None = None
    fold_means: Array | None = None

    def select_schemes(self, schemes: slice) -> FoldFeatures:
        """The features of some of the M schemes."""
        ones = None if self.diffused_ones is None else self.diffused_ones[schemes]
        return FoldFeatures(self.X[schemes], ones, self.fold_means)

    def for_fold(self, fold: int, rows: Indices) -> Array:
        """Features of some rows as a fold sees them."""
        if self.diffused_ones is None or self.fold_means is None:
            return self.X[:, rows]
        return np.asarray(self.X[:, rows] - self.diffused_ones[:, rows] * self.fold_means[fold])


@dataclass(frozen=True)
class CrossValidation:
    """The nodes of a search, and its folds.

    `rows` (R,) are nodes and `codes` (R,) their classes. A fold is a pair of positions among them:
    training part and held-out part. Given validation nodes, there is one fold, which holds them
    out.
    """

    task: NodeClassificationTask
    rows: Indices
    codes: Indices
    folds: list[tuple[Indices, Indices]]

    @classmethod
    def from_task(cls, task: NodeClassificationTask) -> CrossValidation:
        """Sample the nodes of a search and assign them to folds."""
        rng = np.random.default_rng(task.seed)
        train = stratified_sample(task.codes, MAX_TRAIN_NODES, rng)
        if task.val is None or task.val_codes is None:
            codes = task.codes[train]
            part = stratified_parts(codes, min(NUM_FOLDS, len(codes)), rng)
            folds = [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in set(part)]
            return cls(task, task.train[train], codes, folds)
        held_out = stratified_sample(task.val_codes, MAX_HELD_OUT_NODES, rng)
        n, m = len(train), len(held_out)
        return cls(
            task,
            np.concatenate([task.train[train], task.val[held_out]]),
            np.concatenate([task.codes[train], task.val_codes[held_out]]),
            [(np.arange(n), np.arange(n, n + m))],
        )

    @property
    def num_train_rows(self) -> int:
        """Number of leading rows that contain the training parts of all folds."""
        return 1 + max(int(train.max()) for train, _ in self.folds)

    @property
    def num_fold_train(self) -> int:
        """Number of nodes in a fold's training part."""
        return len(self.folds[0][0])

    @property
    def num_held_out(self) -> int:
        """Number of held-out nodes of all folds."""
        return sum(len(held_out) for _, held_out in self.folds)

    def diffuse(self, schemes: Sequence[Scheme], self_loops: bool, scaling: str) -> FoldFeatures:
        """Diffused features of all rows."""
        task = self.task
        learned, graph = task.scale_features(scaling)
        X = task.diffused_features(graph, schemes, self_loops, self.rows, self.num_train_rows)
        if learned.shift is None or task.val is not None:
            return FoldFeatures(X)
        undiffused = np.asarray(graph.features[self.rows], dtype=np.float64)
        means = np.stack([undiffused[train].mean(axis=0) for train, _ in self.folds])
        ones = graph.with_features(np.ones((graph.num_nodes, 1), dtype=np.float32))
        diffused = diffuse_many(ones, schemes, self_loops=self_loops, rows=self.rows, **task.engine)
        return FoldFeatures(X, diffused, means.astype(X.dtype))

    def evaluate(
        self,
        space: SearchSpace,
        schemes: Sequence[Scheme],
        self_loops: bool,
        scaling: str,
        counter: _ProgressCounter,
    ) -> list[ValidationResult]:
        """Evaluate all schemes, weight decays and learning rates with one scaling and Laplacian."""
        results = []
        for chunk in self._chunks(schemes):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CollapseWarning)
                features = self.diffuse(chunk, self_loops, scaling)
            for scheme, figures in zip(
                chunk, self._evaluate_chunk(features, space, counter), strict=True
            ):
                for decay_scale, weight_decay, rate, accuracy, loss in zip(*figures, strict=True):
                    setting = Setting(scheme, self_loops, scaling, float(weight_decay), rate)
                    result = ValidationResult(
                        setting, float(decay_scale), float(accuracy), float(loss)
                    )
                    results.append(result)
        return results

    def _evaluate_chunk(
        self, features: FoldFeatures, space: SearchSpace, counter: _ProgressCounter
    ) -> list[tuple[Any, ...]]:
        """Per scheme, its columns of `_evaluate_batch`; threads share the batches."""
        num_decays = len(RELATIVE_DECAYS if space.weight_decays is None else space.weight_decays)
        size = feature_sets_per_batch(
            self.num_fold_train, self.task.num_classes, num_decays * len(space.learning_rates)
        )
        starts = range(0, len(features.X), size)
        figures: dict[int, list[tuple[Any, ...]]] = {}

        def evaluate_batch(start: int) -> None:
            batch = features.select_schemes(slice(start, start + size))
            figures[start] = self._evaluate_batch(batch, space, lambda: workers.stopping)
            counter.add(len(batch.X))

        # One BLAS thread per batch: the products are too small to share between threads.
        threads = thread_count(self.task.engine["n_threads"])
        with SingleBlasThread(), WorkerThreads(threads) as workers:
            workers.map(evaluate_batch, starts)
        return [columns for start in starts for columns in figures[start]]

    def _evaluate_batch(
        self, features: FoldFeatures, space: SearchSpace, should_stop: Callable[[], bool]
    ) -> list[tuple[Any, ...]]:
        """Per scheme: decay scales, weight decays, learning rates, accuracies, log-losses (W,)."""
        scales, weight_decays = self._weight_decays(features.X, space)
        num_rates = len(space.learning_rates)
        weight_decays = np.repeat(weight_decays, num_rates, axis=1)
        rates = list(space.learning_rates) * (weight_decays.shape[1] // num_rates)
        num_correct, losses = np.zeros(weight_decays.shape), np.zeros(weight_decays.shape)
        for fold, (_, held_out) in enumerate(self.folds):
            scores = self.fold_scores(features, fold, weight_decays, rates, should_stop)
            codes = self.codes[held_out]
            num_correct += (scores.argmax(axis=-1) == codes).sum(axis=-1)
            losses += log_loss(scores, codes) * len(held_out)
        accuracies, losses = num_correct / self.num_held_out, losses / self.num_held_out
        scales = np.broadcast_to(scales, weight_decays.shape)
        all_rates = [rates] * len(scales)
        return list(zip(scales, weight_decays, all_rates, accuracies, losses, strict=True))

    def _weight_decays(self, X: Array, space: SearchSpace) -> tuple[Array, Array]:
        """Decay scales (G, 1) and weight decays (G, W) for features X (G, R, p).

        Each T has a grid of its own, because features shrink as they diffuse.
        """
        if space.weight_decays is not None:
            scales = np.ones((len(X), 1))
            return scales, scales * np.asarray(space.weight_decays)
        squares = np.square(X[:, : self.num_train_rows], dtype=np.float64).sum(axis=(1, 2))
        squares[squares == 0] = self.num_train_rows
        scales = (squares / self.num_train_rows / self.num_fold_train)[:, np.newaxis]
        return scales, scales * RELATIVE_DECAYS

    def fold_scores(
        self,
        features: FoldFeatures,
        fold: int,
        weight_decays: npt.ArrayLike,
        learning_rates: Sequence[float],
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Array:
        """Scores (G, W, m, C) of a fold's held-out nodes by weights fitted to its training part."""
        train, held_out = self.folds[fold]
        return self.task.regression.held_out_scores(
            features.for_fold(fold, train),
            self.codes[train],
            self.task.num_classes,
            weight_decays,
            learning_rates,
            features.for_fold(fold, held_out),
            should_stop,
        )

    def _chunks(self, schemes: Sequence[Scheme]) -> Iterator[Sequence[Scheme]]:
        """Split schemes so that the diffused features of each chunk fit in memory."""
        graph = self.task.graph
        columns = graph.num_features or graph.num_nodes
        if self.task.uses_kernel_map(graph, schemes, self.num_train_rows):
            columns = self.num_train_rows
        budget = min(CHUNK_BYTES, memory_budget_bytes(self.task.engine["memory_budget"]) / 4)
        size = max(1, int(budget // (len(self.rows) * columns * self.task.dtype.itemsize)))
        for start in range(0, len(schemes), size):
            yield schemes[start : start + size]


def _extend_grid(family: SchemeFamily, results: list[ValidationResult]) -> list[Scheme]:
    """If the best T is the largest one tried, schemes up to four times as long; else none."""
    longest = max(result.setting.T for result in results)
    if longest > min(results, key=rank).setting.T or longest >= family.max_time:
        return []
    return family.grid_between(longest, 4 * longest, NUM_EXTENDED + 1)[1:]


def stratified_parts(codes: Indices, parts: int, rng: np.random.Generator) -> Indices:
    """Assign nodes to parts at random, with equal shares of every class and equal sizes.

    Both hold to within one node. scikit-learn's StratifiedKFold needs as many nodes of a class as
    there are parts, warns otherwise, and does not equalise sizes.
    """
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    part = np.empty(len(codes), dtype=np.int64)
    part[order] = np.arange(len(codes)) % parts
    return part


def stratified_sample(codes: Indices, max_size: int, rng: np.random.Generator) -> Indices:
    """Positions of at most `max_size` nodes, with every class in about its share."""
    parts = -(-len(codes) // max_size)
    return np.flatnonzero(stratified_parts(codes, parts, rng) == 0)
