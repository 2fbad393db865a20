"""From a task to a fitted model: search, last fit, extensions, calibration.

A fit has two passes at most. The first one chooses settings on held-out nodes, fits them to the
training nodes, extends the model (`heatgraph.learning._extensions`, or channels where neighbours
differ) and calibrates it. If the final fit is to learn from validation nodes too, the second pass
repeats all of it with both kinds of nodes, for the T and the scaling that were chosen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._io.memory import memory_budget_bytes
from heatgraph.errors import ConvergenceWarning, warn
from heatgraph.graph import Graph
from heatgraph.learning._channel_models import (
    are_channels_worth_comparing,
    channel_scores,
    fit_channels,
)
from heatgraph.learning._channels import HEAT, LINKS
from heatgraph.learning._extensions import (
    EXTENSIONS,
    ExtendedModel,
    extend,
    is_student_affordable,
    read_extensions,
)
from heatgraph.learning._scoring import read_scoring
from heatgraph.learning._search import SearchOutcome, search
from heatgraph.learning._search_space import SearchSpace, Setting
from heatgraph.learning._serialization import FittedModel
from heatgraph.learning._shift import GraphProfile
from heatgraph.learning._similar_nodes import remember_similar_edges, why_unaffordable
from heatgraph.learning._softmax_regression import SoftmaxFit
from heatgraph.learning._task import NodeClassificationTask
from heatgraph.learning.calibration import best_offsets, best_temperature
from heatgraph.learning.progress import Progress, StageProgress

Array = npt.NDArray[Any]

# Scores in which rare classes count as much as common ones.
MACRO = ("balanced_accuracy", "f1_macro")


@dataclass(frozen=True)
class Training:
    """Fits a classifier with the given constructor parameters, which have been validated."""

    parameters: dict[str, Any]

    def run(
        self,
        task: NodeClassificationTask,
        space: SearchSpace,
        classes: Array,
        progress: Progress | None,
    ) -> FittedModel:
        """Choose a setting of the space, if there are several, and learn from the task."""
        setting = space.single_setting()
        outcome = SearchOutcome(setting, []) if setting else search(task, space, progress)
        stage = StageProgress(progress, "fit", 2)
        names = self._extensions_to_try(task, space, outcome.setting)
        fitted = self._learn(task, outcome, names, classes)
        stage.report(1)
        if task.val is not None and self.parameters["final_fit"] == "train+val":
            task = task.with_validation_nodes()
            outcome = search(task, space.at(outcome.setting))
            names = self._extensions_to_try(task, space, outcome.setting)
            fitted = replace(
                self._learn(task, outcome, names, classes),
                validation_accuracy=fitted.validation_accuracy,
                validation_score=fitted.validation_score,
                search=fitted.search,
            )
        stage.report(2)
        return fitted

    def _learn(
        self,
        task: NodeClassificationTask,
        outcome: SearchOutcome,
        names: tuple[str, ...],
        classes: Array,
    ) -> FittedModel:
        """Fit a chosen setting to all training nodes, extend it, and calibrate it."""
        graph, setting = task.graph, outcome.setting
        mean_square, rows = None, outcome.rows
        if "similar-edges" in names:
            rows = task.training_rows(setting) if rows is None else rows
            mean_square = task.mean_square(setting, rows)
        scaling, fit = task.fit(setting, rows)  # overwrites the rows
        model = ExtendedModel.of_fit(fit)
        held_out = self._held_out(task, outcome, fit)
        channels = fit_channels(task, setting) if "channels" in names else None
        if channels is not None:
            setting = replace(setting, weight_decay=channels.weight_decay)
            model = ExtendedModel.of_channels(channels, len(fit.Theta))
            held_out = channels.held_out
            if task.val is not None and task.val_codes is not None:
                held_out = channel_scores(task, setting, channels)[task.val], task.val_codes
        elif held_out and {"similar-edges", "self-training"} & set(names):
            model, held_out = self._extend(task, setting, fit, held_out, mean_square, names)
        # Only the model in use counts: channels may have replaced the plain fit.
        if not model.converged:
            warn(
                f"softmax regression did not converge: with weight_decay={setting.weight_decay:g} "
                "the optimum is very far away or does not exist. Choose a larger weight_decay.",
                ConvergenceWarning,
            )
        if model.graph is not None:
            remember_similar_edges(graph, scaling, model.graph)
        fitted = FittedModel(
            parameters=self.parameters,
            classes=classes,
            setting=setting,
            scaling=scaling,
            coef=model.Theta.T,
            similar_coef=None if model.similar is None else model.similar.T,
            channel_coefs={name: Theta.T for name, Theta in model.channels.items()},
            intercept=model.bias,
            converged=model.converged,
            temperature=1.0,
            num_features=graph.num_features,
            feature_names=graph.feature_names,
            feature_encoder=graph.feature_encoder,
            nodes_digest=nodes_digest(graph) if _knows_nodes(graph, model.channels) else None,
            validation_accuracy=None,
            validation_score=None,
            search=[result.record() for result in outcome.results],
            member_weights=model.shares,
            class_offsets=None,
            final_fit_nodes=len(task.train),
        )
        if held_out is None:
            return fitted
        if channels is None or HEAT in channels.Thetas:
            fitted = replace(fitted, profile=_graph_profile(task, setting, model))
        return self._calibrate(fitted, *held_out, "class-offsets" in names)

    def _held_out(
        self, task: NodeClassificationTask, outcome: SearchOutcome, fit: SoftmaxFit
    ) -> tuple[Array, Array] | None:
        """Scores (m, C) and classes (m,) of held-out nodes; None if they are of no use."""
        if task.val is not None and task.val_codes is not None:
            return task.scores(outcome.setting, fit)[task.val], task.val_codes
        calibrate, extensions = self.parameters["calibrate"], self.parameters["extensions"]
        is_wanted = (calibrate != "auto" and calibrate) or (
            extensions != "auto" and read_extensions(extensions)
        )
        if outcome.held_out is None and is_wanted:
            outcome = search(task, SearchSpace.of_setting(outcome.setting))
        return outcome.held_out

    def _extensions_to_try(
        self, task: NodeClassificationTask, space: SearchSpace, setting: Setting
    ) -> tuple[str, ...]:
        """Names of the extensions that apply to a task and a setting."""
        graph, names = task.graph, set(read_extensions(self.parameters["extensions"]))
        if self.parameters["extensions"] == "auto":
            if self.parameters["solver"] != "lbfgs" or space.schemes is not None:
                return ()
            budget = memory_budget_bytes(self.parameters["memory_budget"])
            if graph.features is not None and why_unaffordable(graph, budget) is not None:
                names -= {"similar-edges"}
            if not is_student_affordable(task, setting):
                names -= {"self-training"}
            if space.weight_decays is not None:
                names -= {"channels"}
            if self.parameters["class_weight"] is not None or self.parameters["scoring"] in MACRO:
                # They would move predictions back to the shares of classes among held-out nodes.
                names -= {"class-offsets"}
        if task.val is None:
            names -= {"self-training"}
        if "channels" in names and not are_channels_worth_comparing(task):
            names -= {"channels"}
        # Without features, nodes are not similar; without diffusion, further edges change nothing.
        if graph.features is None or setting.T == 0 or len(graph.indices) == 0:
            names &= {"class-offsets", "channels"}
        return tuple(name for name in EXTENSIONS if name in names)

    def _extend(
        self,
        task: NodeClassificationTask,
        setting: Setting,
        fit: SoftmaxFit,
        held_out: tuple[Array, Array],
        mean_square: float | None,
        names: tuple[str, ...],
    ) -> tuple[ExtendedModel, tuple[Array, Array]]:
        """Average the plain fit with further ones; also returns held-out scores of the mean."""

        def held_out_scores(
            other: NodeClassificationTask, setting: Setting, scores: Array
        ) -> Array:
            if task.val is not None:
                return np.asarray(scores[task.val])
            if other is task:
                return held_out[0]
            found = search(other, SearchSpace.of_setting(setting)).held_out
            assert found is not None
            return found[0]

        model = extend(
            task,
            setting,
            fit,
            held_out[1],
            held_out_scores,
            mean_square=mean_square,
            self_training="self-training" in names,
        )
        return model, (model.held_out, held_out[1])

    def _calibrate(
        self, fitted: FittedModel, scores: Array, codes: Array, uses_offsets: bool
    ) -> FittedModel:
        """Add validation accuracy, class offsets and temperature, from scores of held-out nodes."""
        # With one node per class, no fold has the class that it holds out: all codes are -1.
        if (codes >= 0).any():
            accuracy = float((scores.argmax(axis=1) == codes).mean())
            score = float(read_scoring(self.parameters["scoring"])(scores, codes)[0])
            fitted = replace(fitted, validation_accuracy=accuracy, validation_score=score)
        if uses_offsets:
            temperature = best_temperature(scores, codes)
            offsets = temperature * best_offsets(scores, codes, temperature)
            intercept = (fitted.intercept + offsets).astype(fitted.intercept.dtype)
            fitted = replace(fitted, intercept=intercept, class_offsets=offsets)
            scores = scores + offsets
        if self.parameters["calibrate"]:
            fitted = replace(fitted, temperature=best_temperature(scores, codes))
        return fitted


def _graph_profile(
    task: NodeClassificationTask, setting: Setting, model: ExtendedModel
) -> GraphProfile:
    """The profile of the fitted graph, as the plain term of a model sees it."""
    _, graph = task.scale_features(setting.feature_scaling)
    undiffused = task.undiffused(setting, model.Theta)
    diffused = task.diffuse(graph._with_features(undiffused), setting)
    return GraphProfile.measure(task.graph.degrees, undiffused, diffused)


def _knows_nodes(graph: Graph, channels: Iterable[str]) -> bool:
    """Whether a model of a graph knows nodes by position: without features, or by links."""
    return graph.features is None or not set(LINKS).isdisjoint(channels)


def nodes_digest(graph: Graph) -> str | None:
    """A hash of the node ids in order; None without ids."""
    if graph.node_ids is None:
        return None
    return hashlib.sha256(json.dumps(graph.node_ids.tolist(), default=repr).encode()).hexdigest()
