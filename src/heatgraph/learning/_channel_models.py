"""Linear models of channels: which set of them, and the fit to all training nodes.

A few sets of channels (`heatgraph.learning._channels`) are compared with heat alone on held-out
nodes, by the Gram matrices of their sampled rows: that of a set is the sum over its blocks. Each
block is divided by the root mean square of its training rows' norms, so that one weight decay
serves all. A set is taken if it is more accurate than heat, on m held-out nodes, by more than the
standard error of the difference,

    sqrt(number of nodes on which exactly one of both is right) / m,

and by more than twice that where labelled neighbours clearly agree.

Links learn a weight for every node, so they gain more than other channels from more labels: a
sample does not tell how good they are. With more training nodes than are sampled, the sets with
links and the best one without are therefore fitted to all of them, and the best of these on
held-out nodes is compared with heat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.threads import SingleBlasThread
from heatgraph.graph import Graph
from heatgraph.learning._channels import HEAT, HOPS, LINKS, Channels, block_gram
from heatgraph.learning._design_matrices import (
    DesignMatrix,
    JoinedMatrix,
    OrthogonalMatrix,
    RowMatrix,
)
from heatgraph.learning._evaluation import Evaluator, HeadSettings
from heatgraph.learning._folds import Folds, SampleSize
from heatgraph.learning._labelled_features import GramFeatures, RowFeatures, labelled_features
from heatgraph.learning._scoring import Scoring, accuracy
from heatgraph.learning._search import DIFFUSION_TOLERANCE, RELATIVE_DECAYS, hold_out
from heatgraph.learning._search_space import Combination, Setting
from heatgraph.learning._selection_rule import standard_error_weights
from heatgraph.learning._softmax_regression import FEW_NODES
from heatgraph.learning._task import NodeClassificationTask
from heatgraph.learning.neighbours import MIN_LABELLED_EDGES, measure_neighbours

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Sets that are compared, the first of which is DGC.
SETS: tuple[tuple[str, ...], ...] = (
    (HEAT,),
    ("features",),
    (HEAT, "features"),
    ("features", "neighbours"),
    (HEAT, "features", "neighbours"),
    ("links",),
    ("features", "links"),
    (HEAT, "features", "links"),
    ("links", "two-hop-links"),
    ("features", "links", "two-hop-links"),
)
# Further sets for graphs with directed edges, both directions side by side. The undirected ones are
# compared too: where directions tell nothing, they have half as many weights to learn.
DIRECTED_SETS: tuple[tuple[str, ...], ...] = (
    ("features", "out-neighbours", "in-neighbours"),
    (HEAT, "features", "out-neighbours", "in-neighbours"),
    ("out-links", "in-links"),
    ("features", "out-links", "in-links"),
    ("out-links", "in-links", "two-hop-out-links", "two-hop-in-links"),
    ("features", "out-links", "in-links", "two-hop-out-links", "two-hop-in-links"),
)
# Adjusted homophily of labelled nodes from which on neighbours clearly agree.
CLEARLY_AGREEING = 0.6
# Standard errors by which a set must be better. Where neighbours clearly agree, DGC is rarely
# behind, and its other extensions, which channels replace, gain most.
GAIN, GAIN_IF_AGREEING = 1.0, 2.0
# Nodes on which sets are compared.
COMPARING = SampleSize(600, 0.01)
# Fits to all training nodes are compared if their multiply-adds, with the number of iterations that
# are reckoned with, are no more than this: some ten seconds.
MAX_FINAL_WORK, FINAL_ITERATIONS = 2e9, 40
# Gradient tolerance of the fits that are compared.
FINAL_TOLERANCE = 1e-3
# Links are left out if their weights, one per node and class, are more than this, and two-hop links
# if W W, or that of either direction, could have more entries.
MAX_LINK_WEIGHTS, MAX_TWO_HOP_ENTRIES = 20_000_000, 20_000_000


@dataclass(frozen=True)
class ChannelModel:
    """Weights Theta (p_c, C) of each channel of a set, bias (C,), and scores of held-out nodes.

    `held_out` are out-of-fold scores (m, C) and codes (m,), or None with validation nodes.
    """

    Thetas: dict[str, Array]
    bias: Array
    converged: bool
    weight_decay: float
    held_out: tuple[Array, Indices] | None = None


def neighbours_clearly_agree(task: NodeClassificationTask) -> bool | None:
    """Whether neighbours do, by the edges between labelled nodes; None if these are too few."""
    codes = np.full(task.graph.num_nodes, -1)
    codes[task.train] = task.codes
    if task.val is not None:
        codes[task.val] = task.val_codes
    measured = measure_neighbours(task.graph, codes)
    if measured is None or measured[0].edges < MIN_LABELLED_EDGES:
        return None
    return bool(measured[0].value >= CLEARLY_AGREEING)


def are_channels_worth_comparing(task: NodeClassificationTask) -> bool:
    """Whether channels may be more accurate than heat, and finding out takes no more than seconds.

    Where neighbours clearly agree, it is links that may be, and a sample does not show that.
    """
    agree = neighbours_clearly_agree(task)
    return agree is not None and (not agree or _is_final_affordable(task))


def _is_final_affordable(task: NodeClassificationTask) -> bool:
    """Whether fits of all sets with links to all training nodes take no more than seconds."""
    graph, X = task.graph, task.graph.features
    entries = 0.0 if X is None else float(X.nnz if sp.issparse(X) else X.size)
    # Rows of features, of their means over neighbours (dense, at worst), of links and of two hops.
    entries *= 2
    for A in (graph.adjacency, graph.directed_adjacency):
        if A is not None:
            two_hops = _count_two_hops(A)
            entries += A.nnz + (two_hops if two_hops <= MAX_TWO_HOP_ENTRIES else 0.0)
    share = len(task.train) / graph.num_nodes
    return bool(2 * FINAL_ITERATIONS * task.num_classes * share * entries <= MAX_FINAL_WORK)


def candidate_sets(task: NodeClassificationTask, setting: Setting) -> list[tuple[str, ...]]:
    """The sets to compare for a task, heat alone first."""
    graph, all_sets, left_out = task.graph, SETS, set[str]()
    if graph.features is None:
        left_out |= set(HOPS) - set(LINKS)
    if graph.num_nodes * task.num_classes > MAX_LINK_WEIGHTS:
        left_out |= set(LINKS)
    if _count_two_hops(graph.adjacency) > MAX_TWO_HOP_ENTRIES:
        left_out |= {"two-hop-links"}
    if graph.directed_adjacency is not None:
        all_sets += DIRECTED_SETS
        if _count_two_hops(graph.directed_adjacency) > MAX_TWO_HOP_ENTRIES:
            left_out |= {"two-hop-out-links", "two-hop-in-links"}
    sets = [names for names in all_sets if not left_out & set(names)]
    if setting.T == 0:  # heat is the features
        sets = [n for n in sets if n != ("features",) and not {HEAT, "features"} <= set(n)]
    return sets


def _count_two_hops(A: sp.csr_array) -> float:
    """Paths of two edges in A; A A and A^T A^T have at most as many entries."""
    entering = np.bincount(A.indices, minlength=A.shape[0])
    return float(np.dot(np.diff(A.indptr).astype(np.float64), entering))


def fit_channels(task: NodeClassificationTask, setting: Setting) -> ChannelModel | None:
    """The most accurate set of channels, fitted; None if that is heat alone, or not clearly not."""
    with SingleBlasThread():
        sets = candidate_sets(task, setting)
        if len(sets) == 1:
            return None
        agree = bool(neighbours_clearly_agree(task))
        least_gain = GAIN_IF_AGREEING if agree else GAIN
        comparison = _Comparison(task, setting, sets)
        if not comparison.has_all_nodes and _is_final_affordable(task):
            finalists = comparison.finalists(only_best_links=agree)
            return _fit_best(task, setting, finalists, least_gain)
        chosen = comparison.choose(least_gain)
        if chosen is None:
            return None
        return fit_set(task, setting, *chosen)


def _fit_best(
    task: NodeClassificationTask,
    setting: Setting,
    finalists: Sequence[tuple[tuple[str, ...], float]],
    least_gain: float,
) -> ChannelModel | None:
    """The best of some sets, each with its weight decay, if it is clearly better than heat.

    All are fitted to all training nodes, or to those that are not held out for validation.
    """
    validated = task if task.val is not None else task.with_held_out_nodes(COMPARING.max_held_out)
    assert validated.val is not None
    assert validated.val_codes is not None
    nodes, codes = validated.val, validated.val_codes
    rough = replace(validated.regression, tolerance=FINAL_TOLERANCE)
    validated = replace(validated, regression=rough)

    def held_out_scores(names: Sequence[str], weight_decay: float) -> Array:
        model = fit_set(validated, setting, names, weight_decay)
        return np.asarray(channel_scores(validated, setting, model)[nodes])

    scores = [held_out_scores(*finalist) for finalist in finalists]
    best = int(task.scoring(np.stack(scores), codes)[0].argmax())
    _, heat = validated.fit(setting)
    by_heat = validated.scores(setting, heat)[nodes]
    if not is_clearly_better(scores[best], by_heat, codes, task.scoring, least_gain):
        return None
    names, weight_decay = finalists[best]
    held_out = (scores[best], codes) if task.val is None else None
    return fit_set(task, setting, names, weight_decay, held_out)


class _Comparison:
    """Sets of channels on the nodes of folds, by Gram matrices (M, R, L) of M sets."""

    def __init__(
        self, task: NodeClassificationTask, setting: Setting, sets: Sequence[tuple[str, ...]]
    ) -> None:
        self.task, self.setting, self.sets = task, setting, sets
        self.folds = hold_out(task, COMPARING)
        grams = _sampled_grams(task, setting, sorted({n for names in sets for n in names}),
                               self.folds)  # fmt: skip
        K = np.stack([np.sum([grams[name] for name in names], axis=0) for names in sets])
        squares = np.array([float(len(names)) for names in sets])
        self.features = GramFeatures(K, squares, 8 * float(np.finfo(K.dtype).eps))
        # Weight decays (M, W) relative to the mean square of a set's rows, as in a search.
        self.decays = squares[:, np.newaxis] / self.folds.num_fold_train * RELATIVE_DECAYS

    @property
    def has_all_nodes(self) -> bool:
        """Whether all training nodes are among those that sets are compared on."""
        return self.folds.num_train_nodes == len(self.task.train)

    def choose(
        self, least_gain: float
    ) -> tuple[tuple[str, ...], float, tuple[Array, Indices] | None] | None:
        """The set, weight decay and out-of-fold scores; None if none is better than the first."""
        weights, decays_of = self._evaluate()
        best = 1 + int(weights[1:].argmax())
        decays = [float(decays_of[place]) for place in (0, best)]
        by_heat, by_best = (
            self._evaluator(np.array([place])).held_out_scores("softmax", decay, 1.0)
            for place, decay in zip((0, best), decays, strict=True)
        )
        if not is_clearly_better(by_best[0], by_heat[0], by_best[1], self.task.scoring, least_gain):
            return None
        held_out = by_best if self.task.val is None else None
        return self.sets[best], self._for_all_nodes(decays[1]), held_out

    def finalists(self, only_best_links: bool) -> list[tuple[tuple[str, ...], float]]:
        """The sets with links and the best one without, each with its weight decay.

        With `only_best_links`, the best set with links alone: where neighbours agree, nothing else
        is likely to be ahead, and other fits would be wasted.
        """
        weights, decays = self._evaluate()
        has_links = np.array([not set(LINKS).isdisjoint(names) for names in self.sets])
        is_heat = np.arange(len(self.sets)) == 0
        linked, others = np.flatnonzero(has_links), np.flatnonzero(~has_links & ~is_heat)
        if only_best_links and len(linked):
            places = [int(linked[weights[linked].argmax()])]
        else:
            places = linked.tolist()
            if len(others):
                places.append(int(others[weights[others].argmax()]))
        return [(self.sets[place], self._for_all_nodes(float(decays[place]))) for place in places]

    def _evaluate(self) -> tuple[Array, Array]:
        """The weights (M,) of sets, and the weight decays (M,) in the middle of their plateaus."""
        settings = HeadSettings(self.decays, np.ones(self.decays.shape[1]))
        evaluator = self._evaluator(np.arange(len(self.sets)))
        found = evaluator.evaluate("softmax", settings, range(len(self.sets)), lambda *_: None)
        weights = standard_error_weights(found.scores, found.errors).sum(axis=1)
        places = range(len(self.sets))
        decays = [self._plateau_decay(m, found.scores[m], found.errors[m]) for m in places]
        return weights, np.array(decays)

    def _for_all_nodes(self, decay: float) -> float:
        """A weight decay of the sample for all training nodes.

        As in a search, the penalty keeps its weight relative to the sum of the losses.
        """
        return decay * self.folds.num_fold_train / len(self.task.train)

    def _plateau_decay(self, place: int, scores: Array, errors: Array) -> float:
        weights = standard_error_weights(scores, errors)
        return float(np.exp(weights @ np.log(self.decays[place]) / weights.sum()))

    def _evaluator(self, places: Indices) -> Evaluator:
        task, setting = self.task, self.setting
        return Evaluator(
            Combination(setting.self_loops, setting.feature_scaling),
            [setting.scheme] * len(places),
            self.features.select(places),
            self.folds,
            task.num_classes,
            task.regression,
            task.engine["n_threads"],
            task.scoring,
        )


def is_clearly_better(
    scores: Array,
    others: Array,
    codes: Indices,
    scoring: Scoring = accuracy,
    least_gain: float = GAIN,
) -> bool:
    """Whether scores (m, C) are better than others by more than so many standard errors.

    For the accuracy, those of the paired difference; for other scorings, those of a score.
    """
    if scoring is not accuracy:
        value, error = scoring(np.stack([others, scores]), codes)
        return bool(value[1] > value[0] + least_gain * error[1])
    is_right, other_is_right = (found.argmax(axis=1) == codes for found in (scores, others))
    gain = int(is_right.sum()) - int(other_is_right.sum())
    return bool(gain > least_gain * np.sqrt((is_right != other_is_right).sum()))


def _sampled_grams(
    task: NodeClassificationTask, setting: Setting, names: Sequence[str], folds: Folds
) -> dict[str, Array]:
    """Gram matrices (R, L) of each block at the nodes of folds, with a mean square of 1.

    Scales and the means of standardised features are those of all sampled training nodes. A search
    centres each fold anew, but it may have a handful of nodes, and channels have dozens.
    """
    _, graph = task.scale_features(setting.feature_scaling)
    n_threads, L = task.engine["n_threads"], folds.num_train_nodes
    channels = Channels(graph, task.dtype, n_threads)
    grams = {}
    for name in names:
        if name == HEAT:
            gram = _heat_gram(task, graph, setting, folds)
        else:
            gram = block_gram(channels.rows(name, folds.nodes), L, n_threads)
        square = float(np.trace(gram[:L], dtype=np.float64)) / L
        grams[name] = gram / gram.dtype.type(square if square > 0 else 1.0)
    return grams


def _heat_gram(task: NodeClassificationTask, graph: Graph, setting: Setting, folds: Folds) -> Array:
    tolerance = max(task.engine["tol"], DIFFUSION_TOLERANCE)
    found = labelled_features(
        graph, [setting.scheme], folds, setting.self_loops, task.engine | {"tol": tolerance}
    )
    if isinstance(found, RowFeatures):
        return block_gram(found.Z[0], folds.num_train_nodes, task.engine["n_threads"])
    assert isinstance(found, GramFeatures)
    return np.asarray(found.K[0])


def fit_set(
    task: NodeClassificationTask,
    setting: Setting,
    names: Sequence[str],
    weight_decay: float,
    held_out: tuple[Array, Indices] | None = None,
) -> ChannelModel:
    """Fit a set of channels to all training nodes."""
    _, graph = task.scale_features(setting.feature_scaling)
    n_threads = task.engine["n_threads"]
    channels = Channels(graph, task.dtype, n_threads)
    is_few = len(task.train) <= FEW_NODES
    blocks: list[Any] = []
    scales: list[float] = []
    for name in names:
        if name == HEAT and not is_few and not task.fits_rows(setting):
            blocks.append(task.operator(graph, setting))
            scales.append(np.sqrt(task.mean_square(setting)) or 1.0)
            continue
        if name == HEAT:
            rows = task.diffuse(graph, setting, rows=task.train)
        else:
            rows = channels.rows(name, task.train)
        scales.append(_root_mean_square(rows))
        blocks.append(rows if is_few else RowMatrix.from_features(rows, True, n_threads))
    fit = _fit_few if is_few else _fit_many
    Thetas, bias, converged = fit(task, blocks, np.array(scales), weight_decay)
    by_name = {
        name: np.asarray(Theta / scale).astype(task.dtype)
        for name, Theta, scale in zip(names, Thetas, scales, strict=True)
    }
    return ChannelModel(by_name, bias.astype(task.dtype), converged, weight_decay, held_out)


def channel_scores(task: NodeClassificationTask, setting: Setting, model: ChannelModel) -> Array:
    """Scores (n, C) of all nodes."""
    _, graph = task.scale_features(setting.feature_scaling)
    channels = Channels(graph, task.dtype, task.engine["n_threads"])
    scores = np.tile(model.bias, (graph.num_nodes, 1))
    for name, Theta in model.Thetas.items():
        columns = Theta if name in LINKS else task.undiffused(setting, Theta)
        if name == HEAT:
            scores += task.diffuse(graph._with_features(columns), setting)
        else:
            scores += channels.apply(name, columns)
    return scores


def _root_mean_square(rows: Any) -> float:
    """The root mean square of the norms of rows, 1 if all are zero."""
    entries = rows.data if sp.issparse(rows) else rows
    squares = np.square(entries, dtype=np.float64)
    return float(np.sqrt(squares.sum() / rows.shape[0])) or 1.0


def _fit_few(
    task: NodeClassificationTask, blocks: Sequence[Any], scales: Array, weight_decay: float
) -> tuple[list[Array], Array, bool]:
    """Weights of scaled blocks by dual weights alpha (L, C): Theta_c = Z_c^T alpha / scale."""
    L, n_threads = len(task.train), task.engine["n_threads"]
    precise = [block.astype(np.float64) for block in blocks]
    terms = [
        block_gram(block, L, n_threads) / scale**2
        for block, scale in zip(precise, scales, strict=True)
    ]
    gram = np.sum(terms, axis=0)[np.newaxis] + 1
    design = OrthogonalMatrix.from_gram(gram, np.dtype(np.float64))
    weights, converged = task.regression.minimize(
        design, task.codes, task.num_classes, weight_decay, task.sample_weight
    )
    alpha = design.to_basis(weights)[0, 0].T
    Thetas = [block.T @ alpha / scale for block, scale in zip(precise, scales, strict=True)]
    return Thetas, alpha.sum(axis=0), converged


def _fit_many(
    task: NodeClassificationTask,
    blocks: Sequence[DesignMatrix],
    scales: Array,
    weight_decay: float,
) -> tuple[list[Array], Array, bool]:
    """Weights of scaled blocks by L-BFGS on a design matrix that joins them."""
    design = JoinedMatrix(tuple(blocks), tuple(scales.tolist()))
    fit = task.regression.fit_design(
        design, task.codes, task.num_classes, weight_decay, task.sample_weight
    )
    return np.split(fit.Theta, design.bounds[1:-1]), fit.bias, fit.converged
