"""What the explorer page shows, as JSON values and arrays.

The page computes the shares of source nodes itself, exactly: for a node v it applies the kernel
r(S) to a unit vector by the Chebyshev series of the model, and multiplies by the columns X Theta
(n, C). So it has the whole graph, the coefficients, and those columns of each term of the model.
Shares of features are computed beforehand (`heatgraph.explorer.feature_shares`), the largest few of
each node.

Shapes: n nodes that are shown, m edges, C classes, F times, k features per node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import heatgraph
from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.explorer.feature_shares import largest_feature_shares
from heatgraph.explorer.layout import graph_layout
from heatgraph.explorer.sample import sample_nodes
from heatgraph.explorer.time_sweep import TimeSweep, plateau, standard_errors, time_sweep
from heatgraph.graph import Graph
from heatgraph.learning._channels import DIRECTED, HOPS, LINKS
from heatgraph.learning._labels import Labels
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.report.metrics import encode_labels
from heatgraph.report.palette import DARK, LIGHT, class_colours
from heatgraph.report.summary import used_extensions

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
# Called with what is being done, how far it is, and how far it goes.
ExploreProgress = Callable[[str, int, int], object]

# Larger graphs are shown by a sample of so many nodes.
MAX_NODES = 50_000
# Classes that fit in a byte, beside the mark for none.
MAX_CLASSES, NO_CLASS = 255, 255
NUM_FEATURES = 8
# Bound on the error of the series by which the page diffuses.
TOLERANCE = 1e-9
PARTS = ("none", "train", "val", "test")
RELIABILITY_BINS = 10


@dataclass(frozen=True)
class PageData:
    """JSON values and arrays of a page."""

    values: dict[str, Any]
    arrays: dict[str, Array]


@dataclass(frozen=True)
class _Explored:
    """A model on a graph: what it predicts, the true classes, and which nodes are shown.

    `codes` (n,) are true classes: indices, -1 for a label that the model does not know, and -2 for
    none. `parts` (n,) are indices into `PARTS`.
    """

    model: DGCClassifier
    graph: Graph
    data: Dataset
    scores: Array
    probabilities: Array
    codes: Indices
    parts: Indices
    shown: Indices

    @property
    def is_whole(self) -> bool:
        return len(self.shown) == self.graph.num_nodes

    @property
    def learned_validation(self) -> bool:
        """Whether the last fit of the model included the validation nodes."""
        return self.model.final_fit == "train+val" and bool((self.parts == 2).any())


def page_data(
    model: DGCClassifier,
    data: Dataset,
    max_nodes: int = MAX_NODES,
    progress: ExploreProgress | None = None,
) -> PageData:
    """Compute all that the page of a classifier on a graph shows."""
    report = progress or (lambda stage, done, total: None)
    explored = _predict(model, data, max_nodes)
    sweep = time_sweep(
        model,
        explored.graph,
        data,
        explored.probabilities,
        lambda done, total: report("fitting at other times", done, total),
    )
    report("laying out the graph", 0, 1)
    graph, shown = explored.graph, explored.shown
    positions = graph_layout(graph if explored.is_whole else graph.subgraph(shown))
    report("explaining", 0, 1)
    values = _values(explored, sweep)
    arrays: dict[str, Array] = {
        "positions": np.round((positions + 1) / 2 * 65535).astype(np.uint16),
        "predictions": sweep.predictions[:, shown].astype(np.uint8),
        "confidences": np.round(255 * sweep.confidences[:, shown]).astype(np.uint8),
        "codes": np.where(explored.codes < 0, NO_CLASS, explored.codes)[shown].astype(np.uint8),
        "parts": explored.parts[shown].astype(np.uint8),
        "scores": explored.scores[shown].astype(np.float32),
    }
    arrays |= _edge_arrays("edge", graph.adjacency[shown][:, shown])
    arrays |= _feature_arrays(explored)
    if explored.is_whole:
        terms, term_arrays = _terms(explored)
        values["terms"] = terms
        arrays |= term_arrays
    return PageData(values, arrays)


def _predict(model: DGCClassifier, data: Dataset, max_nodes: int) -> _Explored:
    if len(model.classes_) > MAX_CLASSES:
        raise InputError(
            f"the explorer shows models of up to {MAX_CLASSES} classes. This one has "
            f"{len(model.classes_):,}."
        )
    graph = model._graph_to_label(data.graph)
    n = graph.num_nodes
    scores = model._scores(graph, None)
    codes = np.full(n, -2)
    if data.labels is not None:
        known = np.flatnonzero(Labels.read(data.labels, n).known)
        codes[known] = encode_labels(np.asarray(data.labels)[known], model.classes_)[0]
    # Without a split, all labelled nodes were learned from.
    parts = np.zeros(n, dtype=np.int64) if data.splits else (codes > -2).astype(np.int64)
    for number, nodes in enumerate(data.partition(), start=1):
        if nodes is not None:
            parts[nodes] = number
    return _Explored(
        model=model,
        graph=graph,
        data=data,
        scores=scores,
        probabilities=model._probabilities(scores),
        codes=codes,
        parts=parts,
        shown=sample_nodes(graph, max_nodes),
    )


def _values(explored: _Explored, sweep: TimeSweep) -> dict[str, Any]:
    model, graph, shown = explored.model, explored.graph, explored.shown
    names = graph.names[shown] if graph.node_ids is not None or not explored.is_whole else None
    curves = _curves(explored, sweep)
    val = curves.get("val")
    return {
        "version": heatgraph.__version__,
        "title": explored.data.name,
        "classes": [str(label) for label in model.classes_.tolist()],
        "colours": {
            "light": class_colours(len(model.classes_), LIGHT),
            "dark": class_colours(len(model.classes_), DARK),
        },
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "shown": len(shown),
        "ids": None if names is None else [str(name) for name in names.tolist()],
        "features": graph.feature_names,
        "model": {
            "T": model.T_,
            "scheme": str(model.scheme_),
            "scaling": model.feature_scaling_,
            "weightDecay": model.weight_decay_,
            "temperature": model.temperature_,
            "extensions": used_extensions(model),
            "selfLoops": model.self_loops_,
            "bias": model.intercept_.astype(float).tolist(),
        },
        "times": list(sweep.times),
        "chosen": sweep.chosen,
        "chosenMeaning": "chosen by the fit" if model.search_ else "of the model",
        "note": sweep.note,
        "curves": curves,
        "plateau": val and plateau(np.array(val["accuracy"]), np.array(val["error"])),
        "reliability": _reliability(explored),
        "parts": [
            "in no part",
            "training",
            "validation" + ", learned from" * explored.learned_validation,
            "test",
        ],
        "otherFeatures": "all other features"
        + ", and links" * (not set(LINKS).isdisjoint(model.channel_coefs_)),
        "terms": None,
    }


def _curves(explored: _Explored, sweep: TimeSweep) -> dict[str, Any]:
    """Accuracy over T of validation and test nodes, with standard errors."""
    curves = {}

    def add(key: str, name: str, accuracy: Any, num_nodes: int) -> None:
        accuracy = np.asarray(accuracy)
        curves[key] = {
            "name": name,
            "nodes": num_nodes,
            "accuracy": accuracy.tolist(),
            "error": standard_errors(accuracy, num_nodes).tolist(),
        }

    val, test = _evaluated(explored, "val"), _evaluated(explored, "test")
    if sweep.validation and len(val):
        add("val", "validation", sweep.validation, len(val))
    elif sweep.validation:
        add("val", "cross-validation", sweep.validation, explored.model.final_fit_nodes_)
    if len(test):
        add("test", "test", sweep.accuracies(explored.codes, test), len(test))
    return curves


def _evaluated(explored: _Explored, part: str) -> Indices:
    """Labelled nodes of a part of the split."""
    return np.flatnonzero((explored.parts == PARTS.index(part)) & (explored.codes > -2))


def _reliability(explored: _Explored) -> dict[str, Any] | None:
    """Confidence and accuracy by bins of confidence, with and without temperature scaling.

    Of test nodes, or else of validation nodes unless the model has learned from them, or else of
    labelled nodes that are in no part.
    """
    candidates = ("test", "none") if explored.learned_validation else ("test", "val", "none")
    for part in candidates if explored.data.splits else ():
        nodes = _evaluated(explored, part)
        if len(nodes):
            break
    else:
        return None
    scores, codes = explored.scores[nodes].astype(np.float64), explored.codes[nodes]
    return {
        "part": part,
        "nodes": len(nodes),
        "before": _bins(_softmax(scores), codes),
        "after": _bins(explored.probabilities[nodes], codes),
    }


def _softmax(scores: Array) -> Array:
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def _bins(probabilities: Array, codes: Indices) -> list[dict[str, Any]]:
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == codes
    index = np.minimum((confidence * RELIABILITY_BINS).astype(int), RELIABILITY_BINS - 1)
    return [
        {
            "confidence": float(confidence[index == number].mean()),
            "accuracy": float(correct[index == number].mean()),
            "nodes": int((index == number).sum()),
        }
        for number in np.unique(index).tolist()
    ]


def _edge_arrays(name: str, matrix: Any) -> dict[str, Array]:
    """Edges i <= j of a symmetric matrix: their number at each i, steps between the j, weights.

    Weights are left out if all are 1.
    """
    upper = sp.csr_array(sp.triu(matrix, format="csr"))
    upper.eliminate_zeros()
    upper.sort_indices()
    counts = np.diff(upper.indptr)
    steps = np.diff(upper.indices, prepend=0)
    first = upper.indptr[:-1][counts > 0]
    # The first of a row counts from the diagonal.
    steps[first] = upper.indices[first] - np.flatnonzero(counts > 0)
    arrays = {f"{name}Counts": counts.astype(np.uint32), f"{name}Steps": steps.astype(np.uint32)}
    if (upper.data != 1).any():
        arrays[f"{name}Weights"] = upper.data.astype(np.float32)
    return arrays


def _feature_arrays(explored: _Explored) -> dict[str, Array]:
    """The largest shares of features in the score of the predicted class."""
    codes = explored.scores.argmax(axis=1)
    found, shares = largest_feature_shares(explored.model, explored.graph, codes, NUM_FEATURES)
    dtype = np.uint16 if explored.graph.num_features < 1 << 16 else np.uint32
    return {
        "features": found[explored.shown].astype(dtype),
        "featureShares": shares[explored.shown].astype(np.float32),
    }


def _terms(explored: _Explored) -> tuple[list[dict[str, Any]] | None, dict[str, Array]]:
    """Terms of the scores, from which the page computes shares of source nodes.

    None if the model reads directions of edges, which the page does not have.
    """
    model, graph = explored.model, explored.graph
    if not set(DIRECTED).isdisjoint(model.channel_coefs_):
        return None, {}
    coefficients = chebyshev_series(model.scheme_, TOLERANCE)[0].tolist()
    terms: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    for on, coef in model._terms(graph):
        name = f"columns{len(terms)}"
        arrays[name] = model._undiffused(graph, coef).astype(np.float32)
        terms.append({"columns": name, "coefficients": coefficients, "added": None})
        if on is not graph:
            terms[-1]["added"] = "added"
            arrays |= _edge_arrays("added", sp.csr_array(on.adjacency - graph.adjacency))
    for channel, coef in model.channel_coefs_.items():
        name = f"columns{len(terms)}"
        columns = coef.T if channel in LINKS else model._undiffused(graph, coef)
        arrays[name] = columns.astype(np.float32)
        terms.append({"columns": name, "hops": len(HOPS[channel])})
    return terms, arrays
