"""What a default fit adds to DGC: a second graph, unlabelled nodes, and class offsets.

Every member is a linear model of diffused features, of the same T and relative weight decay:

    plain     r(S) X Theta + b          on the graph as it is: the paper's DGC
    similar   r(S') X Theta' + b'       with edges between similar nodes (`_similar_nodes`)
    student   r(S') X Theta'' + b''     the same, learned from unlabelled nodes too

The student is self-training in one round: unlabelled nodes get the class that the mean of the other
members predicts, weighted by its calibrated probability; together they count STUDENT_WEIGHT times
as much as the labelled ones.

Scores of a member are centred over classes and divided by their root mean square. The model is the
mean of members with weights exp((accuracy - best) / standard error), those of `_selection_rule`, on
held-out nodes: a member that is clearly worse counts for nothing. The mean of linear models is
linear, so explanations stay exact, and predictions take one diffusion of C columns per graph.

Where neighbours differ, models of channels (`heatgraph.learning._channel_models`) may
take the members' place.

Class offsets (`heatgraph.learning.calibration`) are then added to the bias. They learn C numbers
from the labels of held-out nodes, as the temperature learns one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special

from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph._engine.ranges import product_work
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.learning._channel_models import ChannelModel
from heatgraph.learning._channels import HEAT
from heatgraph.learning._scoring import Scoring
from heatgraph.learning._search_space import Setting
from heatgraph.learning._selection_rule import standard_error_weights
from heatgraph.learning._similar_nodes import NUM_SIMILAR, add_similar_edges
from heatgraph.learning._softmax_regression import SoftmaxFit
from heatgraph.learning._task import NodeClassificationTask
from heatgraph.learning.calibration import best_offsets, best_temperature

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
# Scores (m, C) of held-out nodes by a setting fitted to a task, given the scores (n, C) of all.
HeldOutScores = Callable[[NodeClassificationTask, Setting, Array], Array]

EXTENSIONS = ("similar-edges", "self-training", "class-offsets", "channels")
# Total weight of pseudo-labelled nodes in self-training, beside 1 for the labelled ones, and how
# many of them are drawn.
STUDENT_WEIGHT, MAX_PSEUDO_LABELS = 3.0, 3000
# Tolerances of the student's solver and diffusions; its targets are guesses.
STUDENT_TOLERANCE, STUDENT_DIFFUSION_TOLERANCE = 1e-2, 1e-3
# Multiply-adds of a student's diffusions beyond which a default fit trains none, and the iterations
# that it reckons with.
MAX_STUDENT_WORK, STUDENT_ITERATIONS = 2e10, 20


@dataclass(frozen=True)
class Member:
    """A linear model of the mean: on which graph, its weights, and scores of held-out nodes (m, C).

    `scale` is the root mean square of its centred scores over all nodes.
    """

    name: str
    fit: SoftmaxFit
    scale: float
    scores: Array
    held_out: Array

    @classmethod
    def of_fit(cls, name: str, fit: SoftmaxFit, scores: Array, held_out: Array) -> Member:
        centred = _centre(scores)
        scale = float(np.sqrt(np.mean(np.square(centred), dtype=np.float64))) or 1.0
        return cls(name, fit, scale, centred / scale, _centre(held_out) / scale)


@dataclass(frozen=True)
class ExtendedModel:
    """The mean of members: weights Theta (d, C) of either graph, bias (C,), and how it came about.

    `similar` is None without a second graph, and `graph` the one with edges between similar nodes.
    `shares` are the members' weights by name, and `held_out` (m, C) scores of held-out nodes.
    `channels` are the weights (p_c, C) of channels other than heat, whose weights are Theta.
    """

    Theta: Array
    bias: Array
    converged: bool
    shares: dict[str, float]
    held_out: Array
    similar: Array | None = None
    graph: Graph | None = None
    channels: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def of_fit(cls, fit: SoftmaxFit) -> ExtendedModel:
        """The plain fit alone."""
        nobody = np.empty((0, fit.Theta.shape[1]))
        return cls(fit.Theta, fit.bias, fit.converged, {"plain": 1.0}, nobody)

    @classmethod
    def of_channels(cls, model: ChannelModel, num_columns: int) -> ExtendedModel:
        """A model of channels; Theta (num_columns, C) is zero if heat is not among them."""
        C, dtype = len(model.bias), model.bias.dtype
        Theta = model.Thetas.get(HEAT, np.zeros((num_columns, C), dtype=dtype))
        others = {name: part for name, part in model.Thetas.items() if name != HEAT}
        shares, nobody = {"channels": 1.0}, np.empty((0, C))
        return cls(Theta, model.bias, model.converged, shares, nobody, channels=others)


def read_extensions(value: Any) -> tuple[str, ...]:
    """Names of extensions from the parameter: "auto" for all, None, or some of them."""
    if isinstance(value, str) and value == "auto":
        return EXTENSIONS
    names = () if value is None else (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if name not in EXTENSIONS:
            listed = ", ".join(map(repr, EXTENSIONS))
            raise InputError(
                f"extensions must be 'auto', None or a list of {listed}. Got {name!r}."
            )
    return names


def is_student_affordable(task: NodeClassificationTask, setting: Setting) -> bool:
    """Whether self-training takes no more than seconds."""
    degree = len(chebyshev_series(setting.scheme, STUDENT_DIFFUSION_TOLERANCE)[0]) - 1
    edges = len(task.graph.indices) + 2 * NUM_SIMILAR * task.graph.num_nodes
    columns = 2 * STUDENT_ITERATIONS * task.num_classes
    return columns * degree * product_work(task.graph.num_nodes, edges) <= MAX_STUDENT_WORK


def extend(
    task: NodeClassificationTask,
    setting: Setting,
    fit: SoftmaxFit,
    codes: Indices,
    held_out_scores: HeldOutScores,
    *,
    mean_square: float | None,
    self_training: bool,
) -> ExtendedModel:
    """Fit further members beside a plain fit, and average them.

    `mean_square` is that of the diffused features (`NodeClassificationTask.mean_square`), for the
    member with edges between similar nodes; None leaves that one out. `codes` (m,) are the classes
    of held-out nodes. Self-training needs validation nodes: to hold out training nodes as well, it
    would have to be repeated in every fold.
    """
    scores = task.scores(setting, fit)
    members = [Member.of_fit("plain", fit, scores, held_out_scores(task, setting, scores))]
    graph = None
    if mean_square is not None:
        _, scaled = task.scale_features(setting.feature_scaling)
        graph = add_similar_edges(scaled, task.engine["n_threads"])
        task = task.with_scaled_graph(setting.feature_scaling, graph)
        rows = task.training_rows(setting)
        # The same weight decay in units of the features' mean square.
        scale = task.mean_square(setting, rows) / mean_square if mean_square > 0 else 1.0
        setting = replace(setting, weight_decay=setting.weight_decay * scale)
        members.append(_fit_member("similar", task, setting, held_out_scores, rows))
    if self_training:
        teacher = _mean(members, codes, task.scoring)
        student = _student_task(task, teacher, codes)
        if student is not None:
            total = 1 + STUDENT_WEIGHT
            softer = replace(setting, weight_decay=setting.weight_decay / total)
            members.append(_fit_member("student", student, softer, held_out_scores))
    weights = _member_weights(members, codes, task.scoring)
    return _join(members, weights, graph)


def _fit_member(
    name: str,
    task: NodeClassificationTask,
    setting: Setting,
    held_out_scores: HeldOutScores,
    rows: Array | None = None,
) -> Member:
    _, fit = task.fit(setting, rows)
    scores = task.scores(setting, fit)
    return Member.of_fit(name, fit, scores, held_out_scores(task, setting, scores))


def _student_task(
    task: NodeClassificationTask, teacher: tuple[Array, Array], codes: Indices
) -> NodeClassificationTask | None:
    """The task with pseudo-labelled nodes among the training nodes; None if all are labelled."""
    labelled = task.train if task.val is None else np.concatenate([task.train, task.val])
    unlabelled = np.setdiff1d(np.arange(task.graph.num_nodes), labelled)
    if len(unlabelled) == 0:
        return None
    if len(unlabelled) > MAX_PSEUDO_LABELS:
        random = np.random.default_rng(task.seed)
        unlabelled = np.sort(random.choice(unlabelled, MAX_PSEUDO_LABELS, replace=False))
    scores, held_out = teacher
    temperature = best_temperature(held_out, codes)
    offsets = best_offsets(held_out, codes, temperature)
    P = scipy.special.softmax(scores[unlabelled] / temperature + offsets, axis=1)
    pseudo_labels = P.argmax(axis=1)
    class_weights = task.loss_weights.of_classes(task.codes, task.num_classes)
    confidence = P.max(axis=1) * class_weights[pseudo_labels]
    if not confidence.any():
        return None
    labelled_share = 1 / (1 + STUDENT_WEIGHT)
    of_labelled = task.sample_weight
    if of_labelled is None:
        of_labelled = np.full(len(task.train), 1 / len(task.train))
    return replace(
        task,
        regression=replace(task.regression, tolerance=STUDENT_TOLERANCE),
        engine=task.engine | {"tol": max(task.engine["tol"], STUDENT_DIFFUSION_TOLERANCE)},
        train=np.concatenate([task.train, unlabelled]),
        codes=np.concatenate([task.codes, pseudo_labels]),
        sample_weight=np.concatenate(
            [
                labelled_share * of_labelled,
                (1 - labelled_share) * confidence / confidence.sum(),
            ]
        ),
    )


def _member_weights(members: list[Member], codes: Indices, scoring: Scoring) -> Array:
    """Weights (members,) by scores on held-out nodes, adding up to 1."""
    weights = standard_error_weights(*scoring(np.stack([m.held_out for m in members]), codes))
    return np.asarray(weights / weights.sum())


def _mean(members: list[Member], codes: Indices, scoring: Scoring) -> tuple[Array, Array]:
    """The weighted mean of scores, of all nodes (n, C) and of held-out ones (m, C)."""
    weights = _member_weights(members, codes, scoring)
    return (
        np.tensordot(weights, [member.scores for member in members], axes=1),
        np.tensordot(weights, [member.held_out for member in members], axes=1),
    )


def _join(members: list[Member], weights: Array, graph: Graph | None) -> ExtendedModel:
    """Add up the members' weights on each graph."""
    shares = weights / [member.scale for member in members]
    parts = [
        (share * _centre(member.fit.Theta), share * _centre(member.fit.bias))
        for share, member in zip(shares, members, strict=True)
    ]
    on_plain = [True] + [graph is None] * (len(members) - 1)
    Theta = sum(part for (part, _), plain in zip(parts, on_plain, strict=True) if plain)
    similar = sum(part for (part, _), plain in zip(parts, on_plain, strict=True) if not plain)
    dtype = members[0].fit.Theta.dtype
    return ExtendedModel(
        Theta=np.asarray(Theta).astype(dtype),
        similar=None if graph is None else np.asarray(similar).astype(dtype),
        bias=np.sum([bias for _, bias in parts], axis=0).astype(dtype),
        held_out=np.tensordot(weights, [member.held_out for member in members], axes=1),
        converged=all(member.fit.converged for member in members),
        graph=None if graph is None else graph.with_features(None),
        shares={m.name: float(w) for m, w in zip(members, weights, strict=True)},
    )


def _centre(scores: Array) -> Array:
    """Subtract the mean over classes, the last axis: it changes no probability."""
    return np.asarray(scores - scores.mean(axis=-1, keepdims=True))
