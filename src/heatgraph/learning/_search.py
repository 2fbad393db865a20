"""Choosing T, weight decay and whatever else is left open, on validation nodes or in folds.

One set of Chebyshev vectors serves all values of T, only the rows of labelled nodes are diffused,
and all weight decays are fitted at once, so that hundreds of settings cost about as much as a few.
No labels are looked at but those of the training and the validation nodes.
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
from heatgraph.learning._featureless import can_stand_in, node_weights, stand_in_features
from heatgraph.learning._search_space import SOFT_TIME, SchemeFamily, SearchSpace, Setting
from heatgraph.learning._softmax_regression import Fit, SoftmaxRegression, sets_at_once
from heatgraph.learning.calibration import log_loss
from heatgraph.learning.scaling import Scaling
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]
# r(S) 1 at the rows of a search (M, R, 1), and each fold's centre (folds, p); None if not centred.
Centres = tuple[Array, Array] | None

# One step to either side of the T that the grid suggests, this many more are tried.
NUM_REFINED = 9
# Beyond the grid, this many at a time.
NUM_LONGER = 8
# The grid of weight decays, in units of the diffused features' mean square over their number.
DECAYS = np.logspace(-4, 2, 16)
FOLDS = 5
# A search learns from no more nodes than this, and checks on no more than that.
MOST_LEARNING, MOST_CHECKING = 2000, 5000
# Gram matrices of a final fit are computed to this.
FINE_TOL = 1e-12
# Diffused features that are kept at a time.
CHUNK_BYTES = 512 << 20


@dataclass(frozen=True)
class ValidationResult:
    """What a setting came to on the nodes it was checked on.

    `unit` is the weight decay that the grid calls 1 at this T; 1 where there is no grid.
    """

    setting: Setting
    unit: float
    accuracy: float
    log_loss: float

    def record(self) -> dict[str, Any]:
        """A row of the table of a search."""
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


@dataclass(frozen=True)
class Task:
    """What is learned from what, and by which means.

    `codes` (n_train,) and `val_codes` (n_val,) are classes as numbers below `num_classes`, or -1
    for a validation node whose class has no training node. `engine` goes to `diffuse_many`.
    """

    graph: Graph
    train: Indices
    codes: Indices
    val: Indices | None
    val_codes: Indices | None
    num_classes: int
    head: SoftmaxRegression
    engine: dict[str, Any]
    seed: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the work."""
        return working_dtype(self.engine["dtype"])

    def scaled(self, name: str) -> tuple[Scaling, Graph]:
        """The scaling of that name, learned from the training nodes, and the graph under it."""
        X = self.graph.features
        scaling = Scaling.learn(name, X, self.train)
        if X is None or name == "none":
            return scaling, self.graph
        return scaling, self.graph.with_features(scaling.apply(X, self.dtype))

    def fit(self, setting: Setting) -> tuple[Scaling, Fit]:
        """Train one setting on all training nodes."""
        scaling, graph = self.scaled(setting.feature_scaling)
        settings = ([setting.weight_decay], [setting.learning_rate])
        n, loops = len(self.train), setting.self_loops
        limited = SingleBlasThread() if self.engine["n_threads"] == 1 else nullcontext()
        if not self.stands_in(graph, [setting.scheme], n):
            X = self.features(graph, [setting.scheme], loops, self.train, n)
            with limited:
                fit = self.head.fit(X, self.codes, self.num_classes, *settings)
        else:
            fine = self.engine | {"dtype": np.float64, "tol": min(self.engine["tol"], FINE_TOL)}
            F, turned = stand_in_features(graph, [setting.scheme], self.train, n, loops, fine)
            with limited:
                fit = self.head.fit(F, self.codes, self.num_classes, *settings)
            alpha = turned[0] @ fit.Theta[0, 0]
            Theta = node_weights(graph, setting.scheme, self.train, alpha, loops, self.engine)
            bias = fit.bias.astype(self.dtype)
            fit = Fit(Theta[np.newaxis, np.newaxis], bias, fit.converged)
        if not (np.isfinite(fit.Theta).all() and np.isfinite(fit.bias).all()):
            raise InputError(
                f"training ended in numbers that exceed {self.dtype}, with learning_rate="
                f"{setting.learning_rate:g} and weight_decay={setting.weight_decay:g}. Choose "
                "smaller ones, or scale features down."
            )
        return scaling, fit

    def features(
        self,
        graph: Graph,
        schemes: Sequence[Scheme],
        self_loops: bool,
        rows: Indices,
        num_learning: int,
    ) -> Array:
        """Diffused features (M, R, p) of `rows`, the first of which are learned from.

        Without features, others with the same Gram matrix stand in for them.
        """
        if self.stands_in(graph, schemes, num_learning):
            return stand_in_features(graph, schemes, rows, num_learning, self_loops, self.engine)[0]
        return diffuse_many(graph, schemes, self_loops=self_loops, rows=rows, **self.engine)

    def stands_in(self, graph: Graph, schemes: Sequence[Scheme], num_learning: int) -> bool:
        """Whether other features stand in for rows of the kernel."""
        # Adam starts from random weights of all nodes, and sees more than the Gram matrix.
        return self.head.solver == "lbfgs" and can_stand_in(graph, schemes, num_learning)

    def held_out_scores(self, setting: Setting) -> tuple[Array, Indices]:
        """Scores (m, C) of training nodes by heads that did not learn from them, and their codes.

        One setting is trained in each fold of a cross-validation.
        """
        trial = _Trial.of(replace(self, val=None, val_codes=None))
        X, centres = trial.features([setting.scheme], setting.self_loops, setting.feature_scaling)
        scores = np.empty((len(trial.rows), self.num_classes), dtype=X.dtype)
        codes = trial.codes.copy()
        for fold, (learning, checking) in enumerate(trial.folds):
            scores[checking] = trial.scores(
                X, centres, fold, [setting.weight_decay], [setting.learning_rate]
            )[0, 0]
            # Of a class that a fold did not learn, its scores say nothing.
            codes[checking[~np.isin(codes[checking], codes[learning])]] = -1
        return scores, codes


def search(
    task: Task, space: SearchSpace, progress: Progress | None = None
) -> tuple[Setting, list[ValidationResult]]:
    """Try the combinations in `space`, then more of T around the best; give the setting to use.

    An accuracy measured on m nodes has a standard error e = sqrt(a (1 - a) / m), so the best of
    hundreds of settings is best by luck. Each setting gets the weight exp((accuracy - best) / e)
    instead. What is given as candidates is chosen by the sum of weights; T and weight decay, where
    they are "auto", are the weighted means of their logarithms: the middle of the plateau, and not
    its highest spike.
    """
    trial = _Trial.of(task)
    pairs = list(itertools.product(space.self_loops, space.scalings))
    grid = space.grid()
    refined = NUM_REFINED if space.schemes is None else 0
    tally = _Tally(progress, len(pairs) * len(grid) + refined)
    outcomes: list[ValidationResult] = []
    for pair in pairs:
        outcomes += trial.run(space, grid, *pair, tally)
    group = _best_group(space, outcomes, trial.num_checked)
    if space.schemes is None:
        best = group[0].setting
        kind = SchemeFamily.of(best.scheme)
        # Whatever else was a choice between candidates is settled now.
        open_still = replace(
            space,
            decays=None if space.decays is None else (best.weight_decay,),
            rates=(best.learning_rate,),
        )
        pair = (best.self_loops, best.feature_scaling)
        while longer := _longer(kind, group):
            tally.total += len(longer)
            more = trial.run(open_still, longer, *pair, tally)
            group, outcomes = group + more, outcomes + more
        T = _time(_middle(space, group, trial.num_checked))
        group = trial.run(open_still, kind.around(T, NUM_REFINED), *pair, tally)
        outcomes += group
    setting = _middle(space, group, trial.num_checked)
    if space.decays is None:
        # The penalty keeps its weight against the sum of losses, of which there are more now.
        learned = len(trial.folds[0][0])
        setting = replace(setting, weight_decay=setting.weight_decay * learned / len(task.train))
    return setting, outcomes


class _Tally:
    """Counts schemes that were tried, on whichever thread, and reports them."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress = progress
        self.done, self.total = 0, total
        self._lock = threading.Lock()
        self.count(0)

    def count(self, more: int) -> None:
        with self._lock:
            self.done += more
            if self.progress is not None:
                self.progress("search", self.done, self.total)


@dataclass(frozen=True)
class _Trial:
    """The nodes of a search: which to learn from and which to check on, in each of its folds."""

    task: Task
    rows: Indices
    codes: Indices
    folds: list[tuple[Indices, Indices]]

    @classmethod
    def of(cls, task: Task) -> _Trial:
        rng = np.random.default_rng(task.seed)
        learning = _sample(task.codes, MOST_LEARNING, rng)
        if task.val is None or task.val_codes is None:
            codes = task.codes[learning]
            part = stratified_parts(codes, min(FOLDS, len(codes)), rng)
            folds = [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in set(part)]
            return cls(task, task.train[learning], codes, folds)
        checking = _sample(task.val_codes, MOST_CHECKING, rng)
        n, m = len(learning), len(checking)
        return cls(
            task,
            np.concatenate([task.train[learning], task.val[checking]]),
            np.concatenate([task.codes[learning], task.val_codes[checking]]),
            [(np.arange(n), np.arange(n, n + m))],
        )

    @property
    def num_learning(self) -> int:
        """Number of rows, the first ones, among which those are that are learned from."""
        return 1 + max(int(learning.max()) for learning, _ in self.folds)

    def features(
        self, schemes: Sequence[Scheme], self_loops: bool, scaling: str
    ) -> tuple[Array, Centres]:
        """Diffused features (M, R, p) of all rows of the search, and the folds' centres.

        Features that are standardised have the mean of all training nodes taken away, also of those
        that a fold leaves out. With few nodes that gives their labels away: of two, one is the
        other's negative. So every fold gets a centre of its own, which is diffused like the rest:
        r(S) (X - 1 s^T) = r(S) X - (r(S) 1) s^T.
        """
        task = self.task
        learned, graph = task.scaled(scaling)
        X = task.features(graph, schemes, self_loops, self.rows, self.num_learning)
        if learned.shift is None or task.val is not None:
            return X, None
        undiffused = np.asarray(graph.features[self.rows], dtype=np.float64)
        shifts = np.stack([undiffused[learning].mean(axis=0) for learning, _ in self.folds])
        ones = graph.with_features(np.ones((graph.num_nodes, 1), dtype=np.float32))
        spread = diffuse_many(ones, schemes, self_loops=self_loops, rows=self.rows, **task.engine)
        return X, (spread, shifts.astype(X.dtype))

    @property
    def num_checked(self) -> int:
        """Number of nodes that settings are checked on."""
        return sum(len(checking) for _, checking in self.folds)

    def run(
        self,
        space: SearchSpace,
        schemes: Sequence[Scheme],
        self_loops: bool,
        scaling: str,
        tally: _Tally,
    ) -> list[ValidationResult]:
        """Try all schemes, weight decays and learning rates with one scaling and one Laplacian."""
        task = self.task
        tried: dict[Scheme, tuple[Array, ...]] = {}
        for chunk in self._chunks(schemes):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CollapseWarning)
                X, centres = self.features(chunk, self_loops, scaling)

            def check(
                batch: slice,
                X: Array = X,
                centres: Centres = centres,
                chunk: Sequence[Scheme] = chunk,
            ) -> None:
                own = None if centres is None else (centres[0][batch], centres[1])
                figures = self._check(X[batch], own, space, lambda: crew.stopping)
                tried.update(zip(chunk[batch], zip(*figures, strict=True), strict=True))
                tally.count(len(chunk[batch]))

            # A few T for each thread, rather than all threads for small products.
            settings = len(DECAYS if space.decays is None else space.decays) * len(space.rates)
            with SingleBlasThread(), WorkerThreads(thread_count(task.engine["n_threads"])) as crew:
                crew.map(check, self._batches(len(chunk), settings))
        rates = itertools.cycle(space.rates)
        return [
            ValidationResult(
                Setting(scheme, self_loops, scaling, float(decay), next(rates)),
                float(unit),
                float(accuracy),
                float(loss),
            )
            for scheme in schemes
            for unit, decay, accuracy, loss in zip(*tried[scheme], strict=True)
        ]

    def _check(
        self, X: Array, centres: Centres, space: SearchSpace, stopping: Callable[[], bool]
    ) -> tuple[Array, Array, Array, Array]:
        """Units and weight decays (G, W), accuracies and log-losses of heads trained with them.

        Heads are trained in each fold, and checked at the nodes left out of it. Every T has a grid
        of weight decays of its own: the longer features diffuse, the shorter they get.
        """
        units = np.ones((len(X), 1))
        decays: Array = np.asarray(space.decays)
        if space.decays is None:
            squares = np.square(X[:, : self.num_learning], dtype=np.float64).sum(axis=(1, 2))
            squares[squares == 0] = self.num_learning
            units[:, 0] = squares / self.num_learning / len(self.folds[0][0])
            decays = DECAYS
        decays = np.repeat(units * decays, len(space.rates), axis=1)
        rates = list(space.rates) * (decays.shape[1] // len(space.rates))
        right = losses = np.zeros(decays.shape)
        for fold, (_, checking) in enumerate(self.folds):
            scores = self.scores(X, centres, fold, decays, rates, stopping)
            codes = self.codes[checking]
            right = right + (scores.argmax(axis=-1) == codes).sum(axis=-1)
            losses = losses + log_loss(scores, codes) * len(checking)
        units = np.broadcast_to(units, decays.shape)
        return units, decays, right / self.num_checked, losses / self.num_checked

    def scores(
        self,
        X: Array,
        centres: Centres,
        fold: int,
        decays: npt.ArrayLike,
        rates: Sequence[float],
        stopping: Callable[[], bool] = lambda: False,
    ) -> Array:
        """Scores (G, W, m, C) of a fold's rows of X (G, R, p) by heads that learned from others."""
        learning, checking = self.folds[fold]
        known, others = X[:, learning], X[:, checking]
        if centres is not None:
            spread, shifts = centres
            known = known - spread[:, learning] * shifts[fold]
            others = others - spread[:, checking] * shifts[fold]
        codes = self.codes[learning]
        return self.task.head.scores(
            known, codes, self.task.num_classes, decays, rates, others, stopping
        )

    def _batches(self, count: int, settings: int) -> list[slice]:
        size = sets_at_once(len(self.folds[0][0]), self.task.num_classes, settings)
        return [slice(start, start + size) for start in range(0, count, size)]

    def _chunks(self, schemes: Sequence[Scheme]) -> Iterator[Sequence[Scheme]]:
        """Cut a list of schemes so that their diffused features fit in memory together."""
        graph = self.task.graph
        columns = graph.num_features or graph.num_nodes
        if self.task.stands_in(graph, schemes, self.num_learning):
            columns = self.num_learning
        budget = min(CHUNK_BYTES, memory_budget_bytes(self.task.engine["memory_budget"]) / 4)
        size = max(1, int(budget // (len(self.rows) * columns * self.task.dtype.itemsize)))
        for start in range(0, len(schemes), size):
            yield schemes[start : start + size]


def _longer(kind: SchemeFamily, outcomes: list[ValidationResult]) -> list[Scheme]:
    """Schemes with T beyond those tried, up to four times as long, if the best is the longest."""
    longest = max(_time(outcome.setting) for outcome in outcomes)
    if _time(min(outcomes, key=_rank).setting) < longest or longest >= kind.longest_time:
        return []
    return kind.between(longest, 4 * longest, NUM_LONGER + 1)[1:]


def _time(setting: Setting) -> float:
    return float(getattr(setting.scheme, "T", 0.0))


def _rank(outcome: ValidationResult) -> tuple[float, float]:
    """Order by accuracy, and among equals by log-loss."""
    return -outcome.accuracy, outcome.log_loss


def _weights(outcomes: list[ValidationResult], checked: int) -> Array:
    accuracy = np.array([outcome.accuracy for outcome in outcomes])
    best = accuracy.max()
    # With all or none right, the error is not zero but unknown: as if half a node were not.
    share = min(max(best, 0.5 / checked), 1 - 0.5 / checked)
    weights: Array = np.exp((accuracy - best) / np.sqrt(share * (1 - share) / checked))
    return weights


def _best_group(
    space: SearchSpace, outcomes: list[ValidationResult], checked: int
) -> list[ValidationResult]:
    """Outcomes that agree in everything but what is "auto", with the most weight together."""
    groups: dict[Any, list[ValidationResult]] = {}
    weights: dict[Any, float] = {}
    for outcome, weight in zip(outcomes, _weights(outcomes, checked), strict=True):
        setting = outcome.setting
        key = (
            SchemeFamily.of(setting.scheme) if space.schemes is None else setting.scheme,
            setting.self_loops,
            setting.feature_scaling,
            None if space.decays is None else setting.weight_decay,
            setting.learning_rate,
        )
        groups.setdefault(key, []).append(outcome)
        weights[key] = weights.get(key, 0.0) + float(weight)
    heaviest = max(weights.values())
    equals = [group for key, group in groups.items() if weights[key] >= heaviest * (1 - 1e-12)]
    return min(equals, key=lambda group: min(map(_rank, group)))


def _middle(space: SearchSpace, group: list[ValidationResult], checked: int) -> Setting:
    """The weighted mean of a group in log(T + SOFT_TIME) and the logarithm of weight decay.

    The latter in units of the grid; the unit at that T is read from between its neighbours.
    """
    setting = group[0].setting
    weights = _weights(group, checked)
    weights /= weights.sum()
    steps = np.log([_time(outcome.setting) + SOFT_TIME for outcome in group])
    step = weights @ steps
    if space.schemes is None:
        T = np.clip(np.exp(step) - SOFT_TIME, 0, max(_time(o.setting) for o in group))
        setting = replace(setting, scheme=SchemeFamily.of(setting.scheme).at(float(T)))
    if space.decays is None:
        units = np.log([outcome.unit for outcome in group])
        decays = np.log([outcome.setting.weight_decay for outcome in group])
        order = np.argsort(steps)
        middle = weights @ (decays - units) + np.interp(step, steps[order], units[order])
        setting = replace(setting, weight_decay=float(np.exp(middle)))
    return setting


def stratified_parts(codes: Indices, parts: int, rng: np.random.Generator) -> Indices:
    """Deal nodes into parts in which every class has about the same share."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    part = np.empty(len(codes), dtype=np.int64)
    part[order] = np.arange(len(codes)) % parts
    return part


def _sample(codes: Indices, most: int, rng: np.random.Generator) -> Indices:
    """Positions of at most so many nodes, with every class in about its share."""
    parts = -(-len(codes) // most)
    return np.flatnonzero(stratified_parts(codes, parts, rng) == 0)
