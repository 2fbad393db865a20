"""Channels: features that a linear model reads beside, or instead of, diffused ones.

Diffusion averages over neighbours, which blurs what tells classes apart where neighbours differ. A
model of channels c adds up blocks of columns Z_c (n, p_c), each with weights Theta_c (p_c, C):

    scores  =  sum_c Z_c Theta_c + b,    Z_c = B_c F_c.

With W = D^-1 A (n, n), the mean over neighbours without self-loops, the channels are

    heat            r(S) X     (n, d)    diffused features, as DGC has them
    features        X          (n, d)    a node's own
    neighbours      W X        (n, d)    the mean of its neighbours'
    links           W          (n, n)    which neighbours a node has
    two-hop-links   W W        (n, n)    which neighbours these have,

that is B_c = W^k with k = 0, 1, 2 hops, except for heat, and F_c = X or I. Each block is divided by
the root mean square of its training rows' norms, so that one weight decay serves all.

A few sets of channels are compared with heat alone on held-out nodes, by the Gram matrices of their
sampled rows: that of a set is the sum over its blocks. A set is taken if it is more accurate than
heat by more than the standard error of the difference, sqrt(nodes that one of both has right) / m.
Where labelled neighbours clearly agree, nothing is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.sparse_products import sparse_times_dense
from heatgraph._engine.threads import SingleBlasThread
from heatgraph.graph import Graph
from heatgraph.learning._design_matrices import (
    DesignMatrix,
    JoinedMatrix,
    OrthogonalMatrix,
    RowMatrix,
)
from heatgraph.learning._evaluation import Evaluator, HeadSettings
from heatgraph.learning._folds import Folds, SampleSize
from heatgraph.learning._labelled_features import GramFeatures, RowFeatures, labelled_features
from heatgraph.learning._search import DIFFUSION_TOLERANCE, RELATIVE_DECAYS, hold_out
from heatgraph.learning._search_space import Combination, Setting
from heatgraph.learning._selection_rule import standard_error
from heatgraph.learning._softmax_regression import FEW_NODES
from heatgraph.learning._task import NodeClassificationTask
from heatgraph.learning.neighbours import MIN_LABELLED_EDGES, measure_neighbours

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

HEAT = "heat"
# Powers of W, and the channels whose columns are nodes instead of features.
HOPS = {"features": 0, "neighbours": 1, "links": 1, "two-hop-links": 2}
LINKS = ("links", "two-hop-links")
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
# Adjusted homophily of labelled nodes from which on nothing is compared: that of citation graphs is
# 0.65 and more, and DGC is the most accurate set well below.
CLEARLY_AGREEING = 0.4
# Nodes on which sets are compared.
COMPARING = SampleSize(600, 0.01)
# Links are left out if their weights, one per node and class, are more than this, and two-hop links
# if W W could have more entries.
MAX_LINK_WEIGHTS, MAX_TWO_HOP_ENTRIES = 20_000_000, 20_000_000
# Entries of the dense block of rows by which sparse rows are multiplied at a time.
BLOCK_ENTRIES = 1 << 22


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


def neighbours_may_differ(task: NodeClassificationTask) -> bool:
    """Whether enough edges join labelled nodes, and these do not clearly agree."""
    codes = np.full(task.graph.num_nodes, -1)
    codes[task.train] = task.codes
    if task.val is not None:
        codes[task.val] = task.val_codes
    measured = measure_neighbours(task.graph, codes)
    if measured is None:
        return False
    homophily, _ = measured
    return homophily.edges >= MIN_LABELLED_EDGES and homophily.value < CLEARLY_AGREEING


def mean_operator(graph: Graph, dtype: np.dtype[Any]) -> sp.csr_array:
    """W = D^-1 A (n, n) without self-loops; rows of isolated nodes are zero."""
    A = graph.adjacency.astype(np.float64)
    if graph.num_self_loops:
        A = sp.csr_array(A - sp.diags_array(A.diagonal()))
        A.eliminate_zeros()
    degrees = np.asarray(A.sum(axis=1)).ravel()
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    A.data *= np.repeat(inverse, np.diff(A.indptr))
    return A.astype(dtype)


def apply_channel(name: str, W: sp.csr_array, columns: Array, n_threads: int | None) -> Array:
    """B_c times columns F_c Theta_c (n, C)."""
    for _ in range(HOPS[name]):
        columns = sparse_times_dense(W, columns, n_threads)
    return columns


def channel_row(name: str, graph: Graph, node: int) -> npt.NDArray[np.float64]:
    """The row (n,) of B_c at a node, in float64."""
    W = mean_operator(graph, np.dtype(np.float64))
    row = sp.csr_array(([1.0], ([0], [node])), shape=(1, graph.num_nodes))
    for _ in range(HOPS[name]):
        row = row @ W
    return np.asarray(row.toarray()[0])


def channel_rows(name: str, W: sp.csr_array, X: Any, nodes: Indices, n_threads: int | None) -> Any:
    """Rows (m, p_c) of Z_c at some nodes: dense if they are features and these are."""
    ones = np.ones(len(nodes), dtype=W.dtype)
    units = (ones, (np.arange(len(nodes)), nodes))
    rows = sp.csr_array(units, shape=(len(nodes), W.shape[0]))
    for _ in range(HOPS[name]):
        rows = sp.csr_array(rows @ W)
    if name in LINKS:
        return rows
    if sp.issparse(X):
        return sp.csr_array(rows @ X.astype(W.dtype, copy=False))
    return sparse_times_dense(rows, X.astype(W.dtype, copy=False), n_threads)


def candidate_sets(task: NodeClassificationTask, setting: Setting) -> list[tuple[str, ...]]:
    """The sets to compare for a task, heat alone first."""
    graph, left_out = task.graph, set[str]()
    if graph.features is None:
        left_out |= {"features", "neighbours"}
    if graph.num_nodes * task.num_classes > MAX_LINK_WEIGHTS:
        left_out |= set(LINKS)
    # Every path of two edges is an entry of W W at most.
    if np.square(np.diff(graph.indptr), dtype=np.float64).sum() > MAX_TWO_HOP_ENTRIES:
        left_out |= {"two-hop-links"}
    sets = [names for names in SETS if not left_out & set(names)]
    if setting.T == 0:  # heat is the features
        sets = [n for n in sets if n != ("features",) and not {HEAT, "features"} <= set(n)]
    return sets


def fit_channels(task: NodeClassificationTask, setting: Setting) -> ChannelModel | None:
    """The most accurate set of channels, fitted; None if that is heat alone, or not clearly not."""
    with SingleBlasThread():
        sets = candidate_sets(task, setting)
        chosen = _Comparison(task, setting, sets).choose() if len(sets) > 1 else None
        if chosen is None:
            return None
        names, weight_decay, held_out = chosen
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

    def choose(self) -> tuple[tuple[str, ...], float, tuple[Array, Indices] | None] | None:
        """The set, weight decay and out-of-fold scores; None if none is better than the first."""
        m = self.folds.num_held_out
        settings = HeadSettings(self.decays, np.ones(self.decays.shape[1]))
        evaluator = self._evaluator(np.arange(len(self.sets)))
        accuracies, _ = evaluator.evaluate(
            "softmax", settings, range(len(self.sets)), lambda batch, found: None
        )
        error = standard_error(float(accuracies.max()), m)
        weights = np.exp((accuracies - accuracies.max()) / error).sum(axis=1)
        best = 1 + int(weights[1:].argmax())
        decays = [self._plateau_decay(place, accuracies[place]) for place in (0, best)]
        by_heat, by_best = (
            self._evaluator(np.array([place])).held_out_scores("softmax", decay, 1.0)
            for place, decay in zip((0, best), decays, strict=True)
        )
        if not is_clearly_better(by_best[0], by_heat[0], by_best[1]):
            return None
        # As in a search, the penalty keeps its weight relative to the sum of the losses.
        weight_decay = decays[1] * self.folds.num_fold_train / len(self.task.train)
        return self.sets[best], weight_decay, by_best if self.task.val is None else None

    def _plateau_decay(self, place: int, accuracies: Array) -> float:
        best = float(accuracies.max())
        weights = np.exp((accuracies - best) / standard_error(best, self.folds.num_held_out))
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
        )


def is_clearly_better(scores: Array, others: Array, codes: Indices) -> bool:
    """Whether scores (m, C) are more accurate than others by more than the standard error."""
    is_right, other_is_right = (found.argmax(axis=1) == codes for found in (scores, others))
    gain = int(is_right.sum()) - int(other_is_right.sum())
    return bool(gain > np.sqrt((is_right != other_is_right).sum()))


def _sampled_grams(
    task: NodeClassificationTask, setting: Setting, names: Sequence[str], folds: Folds
) -> dict[str, Array]:
    """Gram matrices (R, L) of each block at the nodes of folds, with a mean square of 1.

    Scales and the means of standardised features are those of all sampled training nodes. A search
    centres each fold anew, but it may have a handful of nodes, and channels have dozens.
    """
    _, graph = task.scale_features(setting.feature_scaling)
    n_threads, L = task.engine["n_threads"], folds.num_train_nodes
    W = mean_operator(graph, task.dtype)
    grams = {}
    for name in names:
        if name == HEAT:
            gram = _heat_gram(task, graph, setting, folds)
        else:
            rows = channel_rows(name, W, graph.features, folds.nodes, n_threads)
            gram = block_gram(rows, L, n_threads)
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


def block_gram(rows: Any, L: int, n_threads: int | None) -> Array:
    """Inner products (R, L) of rows (R, p) with the first L of them."""
    if not sp.issparse(rows):
        return np.asarray(rows @ rows[:L].T)
    gram = np.empty((rows.shape[0], L), dtype=rows.dtype)
    step = max(1, BLOCK_ENTRIES // max(1, rows.shape[1]))
    for start in range(0, L, step):
        columns = rows[start : min(start + step, L)].toarray().T
        gram[:, start : start + step] = sparse_times_dense(rows, columns, n_threads)
    return gram


def fit_set(
    task: NodeClassificationTask,
    setting: Setting,
    names: Sequence[str],
    weight_decay: float,
    held_out: tuple[Array, Indices] | None = None,
) -> ChannelModel:
    """Fit a set of channels to all training nodes."""
    _, graph = task.scale_features(setting.feature_scaling)
    W, n_threads = mean_operator(graph, task.dtype), task.engine["n_threads"]
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
            rows = channel_rows(name, W, graph.features, task.train, n_threads)
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
    W = mean_operator(graph, task.dtype)
    scores = np.tile(model.bias, (graph.num_nodes, 1))
    for name, Theta in model.Thetas.items():
        columns = Theta if name in LINKS else task.undiffused(setting, Theta)
        if name == HEAT:
            scores += task.diffuse(graph.with_features(columns), setting)
        else:
            scores += apply_channel(name, W, columns, task.engine["n_threads"])
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
