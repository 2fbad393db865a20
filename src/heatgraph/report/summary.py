"""Summaries of tables that were read and of models that were fitted, as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from heatgraph._io.memory import memory_budget_bytes
from heatgraph.datasets.dataset import Dataset
from heatgraph.graph import Graph
from heatgraph.learning._extensions import EXTENSIONS, read_extensions
from heatgraph.learning._labels import Labels
from heatgraph.learning._similar_nodes import why_unaffordable
from heatgraph.learning.neighbours import judge_neighbours, measure_neighbours
from heatgraph.report.target_summary import targets_summary
from heatgraph.tables.from_tables import ReadResult

if TYPE_CHECKING:
    from heatgraph.learning.classifier import DGCClassifier

NEEDED_BY_EXTENSIONS = {
    "similar-edges": "features, a time T > 0, and validation nodes or a search",
    "self-training": "features, a time T > 0, unlabelled nodes, and validation nodes that the "
    "final fit does not learn from",
    "class-offsets": "validation nodes or a search",
    "channels": "edges between labelled nodes, and an advantage on held-out nodes",
}


def read_summary(result: ReadResult) -> dict[str, Any]:
    """Contents of a pair of tables, and which columns were used how."""
    data, graph = result.dataset, result.dataset.graph
    directions = result.directions
    summary: dict[str, Any] = {
        "nodes": graph.num_nodes,
        "edge_rows": result.num_edge_rows,
        "edges": graph.num_edges,
        "duplicates": graph.num_duplicates,
        "both_directions": None if directions is None else directions.both,
        "unequal_directions": None if directions is None else directions.unequal,
        "self_loops": graph.num_self_loops,
        "isolated": graph.num_isolated,
        "weighted": graph.weights is not None,
        "directed": graph.directed_adjacency is not None,
        "features": graph.num_features,
        "columns": {
            key: {"column": choice.name, "guessed": choice.detected}
            for key, choice in result.columns.items()
        },
        "features_from": result.features_origin,
        "column_uses": [asdict(use) for use in result.uses],
        "remarks": result.notes,
    }
    if data.labels is not None and data.task != "classification":
        summary |= targets_summary(data)
    elif data.labels is not None:
        labels = Labels.read(data.labels, graph.num_nodes)
        known = np.flatnonzero(labels.known)
        classes = labels.classes(known)
        counts = np.bincount(labels.encode(classes, known), minlength=len(classes))
        summary["classes"] = dict(zip(map(str, classes.tolist()), counts.tolist(), strict=True))
        summary["unlabelled"] = graph.num_nodes - len(known)
    if data.splits:
        parts = ("train", "val", "test")
        summary["split"] = {part: len(getattr(data.split, part)) for part in parts}
        summary["split_name"] = next(iter(data.splits))
    return summary


def neighbours_summary(data: Dataset) -> dict[str, Any] | None:
    """How labels of neighbours are related; None if too few labelled edges exist to tell.

    Labels of test nodes are not read.
    """
    labels = Labels.read(data.labels, data.graph.num_nodes)
    train, val, _ = data.partition()
    parts = [part for part in (train, val) if part is not None]
    nodes = np.concatenate(parts) if parts else np.flatnonzero(labels.known)
    codes = np.full(data.graph.num_nodes, -1, dtype=np.int64)
    codes[nodes] = labels.encode(labels.classes(nodes), nodes)
    homophily, informativeness = measure_neighbours(data.graph, codes) or (None, None)
    found = judge_neighbours(homophily, informativeness, data.graph.features is not None)
    if found is None or homophily is None or informativeness is None:
        return None
    measured = {"homophily": asdict(homophily), "informativeness": asdict(informativeness)}
    return measured | asdict(found)


def fit_summary(model: DGCClassifier, data: Dataset) -> dict[str, Any]:
    """Settings of a fitted model, and how they were chosen; labels of test nodes are not read.

    How well it predicts is measured by `heatgraph.report.fit_result`.
    """
    train, val, _ = data.partition()
    labels = Labels.read(data.labels, data.graph.num_nodes)
    training = labels.labelled(train, "train")
    validated_by = f"{len(val):,} validation nodes" if val is not None else "cross-validation"
    summary: dict[str, Any] = {
        "T": model.T_,
        "K": model.K_,
        "scheme": type(model.scheme_).__name__,
        "self_loops": bool(model.self_loops_),
        "feature_scaling": model.feature_scaling_ if model.n_features_in_ else None,
        "weight_decay": model.weight_decay_,
        "temperature": model.temperature_,
        "converged": model.converged_,
        "settings_tried": len(model.search_),
        "training_nodes": len(training),
        "validated_by": validated_by if model.validation_accuracy_ is not None else None,
        "scoring": model.scoring,
        "validation_score": model.validation_score_,
        "validation_accuracy": model.validation_accuracy_,
        "hints": [*_hints(model), *_left_out(model, data.graph)],
    }
    return summary | _additions(model, len(training), 0 if val is None else len(val))


def used_extensions(model: DGCClassifier) -> list[str]:
    """Extensions of a fitted model, by the names that its parameter takes."""
    members = model.member_weights_
    is_used = {
        "similar-edges": "similar" in members,
        "self-training": "student" in members,
        "class-offsets": model.class_offsets_ is not None,
        "channels": bool(model.channel_coefs_),
    }
    return [name for name in EXTENSIONS if is_used[name]]


def _additions(model: DGCClassifier, num_train: int, num_val: int) -> dict[str, Any]:
    """What a model adds to DGC, and which labels it has learned from beside training nodes'."""
    offsets, learned = model.class_offsets_, model.final_fit_nodes_
    refitted = learned > num_train
    # A final fit that includes validation nodes has none left, and works in folds.
    source = f"{num_val:,} validation nodes"
    if refitted or not num_val:
        source = f"{learned:,} nodes by cross-validation"
    by_class = None
    if offsets is not None:
        by_class = dict(zip(map(str, model.classes_.tolist()), offsets.tolist(), strict=True))
    before = {"class offsets": offsets is not None, "the final fit": refitted}
    return {
        "extensions": used_extensions(model),
        "member_weights": model.member_weights_,
        "channels": ["heat"] * bool(model.coef_.any()) + list(model.channel_coefs_),
        "class_offsets": by_class,
        "class_offsets_from": None if offsets is None else source,
        "final_fit_nodes": learned,
        "validated_before": [step for step, is_done in before.items() if is_done],
    }


def _hints(model: DGCClassifier) -> list[str]:
    """What a user might change about the search, and requested extensions that were not used."""
    hints = []
    is_list = not (isinstance(model.T, str) or np.isscalar(model.T))
    if is_list and len(set(model.T)) > 1 and max(model.T) == model.T_:
        hints.append(
            f"T = {model.T_:g} is the largest of the candidates: a larger one may be better. Add "
            "larger ones, or leave T to the search."
        )
    requested = () if model.extensions == "auto" else read_extensions(model.extensions)
    hints += [
        f"{name} was not used: it needs {NEEDED_BY_EXTENSIONS[name]}."
        for name in requested
        if name not in used_extensions(model)
    ]
    return hints


def _left_out(model: DGCClassifier, graph: Graph) -> list[str]:
    """Why a default fit has no edges between similar nodes, if only for the size of the graph."""
    is_extended = model.extensions == model.T == "auto" and model.solver == "lbfgs"
    has_none = model.T_ and not model.channel_coefs_ and "similar" not in model.member_weights_
    if graph.features is None or not is_extended or not has_none:
        return []
    reason = why_unaffordable(graph, memory_budget_bytes(model.memory_budget))
    return [] if reason is None else [f"Edges between similar nodes were left out: {reason}"]
