"""Sections of a fit's report on classes: metrics, confusion, calibration, features and nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.datasets.dataset import Dataset
from heatgraph.learning._labels import Labels
from heatgraph.learning.calibration import expected_calibration_error
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.feature_effects import contrast_with_others, feature_effects
from heatgraph.report.document import (
    MISSING,
    NUM_LEVELS,
    Cell,
    Chart,
    Panel,
    Part,
    Section,
    Series,
    Table,
    literal,
)
from heatgraph.report.fit_result import FitResult
from heatgraph.report.held_out import HeldOut, predict_validation
from heatgraph.report.intervals import Interval, metric_intervals
from heatgraph.report.metrics import ClassificationMetrics, reliability_curve
from heatgraph.report.predictions import node_notes

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Classes up to which the confusion matrix is a table, classes from which on the pairs confused most
# often are listed, and how many.
MAX_CONFUSION, MIN_PAIRS_CLASSES, MAX_PAIRS = 15, 6, 10
# Classes whose features are listed, and features of each; nodes that are listed.
MAX_CLASSES, TOP_FEATURES, TOP_NODES = 30, 8, 15
# Features with less than this share of the largest one are not listed.
LEAST_SHARE = 0.02
PART_TITLES = {
    "test": "test nodes",
    "validation": "validation nodes",
    "out-of-fold": "labelled nodes, each by a model that has not learned from it",
}
# Fields of ClassificationMetrics: heads of columns, and how values are written.
COLUMNS = {
    "accuracy": ("accuracy", "{:.1%}"),
    "balanced_accuracy": ("balanced accuracy", "{:.1%}"),
    "macro_f1": ("macro-F1", "{:.1%}"),
    "roc_auc": ("ROC AUC", "{:.3f}"),
    "average_precision": ("average precision", "{:.3f}"),
    "log_loss": ("log-loss", "{:.3f}"),
    "calibration_error": ("calibration error", "{:.3f}"),
}


def result_section(model: DGCClassifier, data: Dataset, result: FitResult) -> Section:
    """Metrics with intervals, beside those of simpler models and of validation nodes."""
    found, nodes = result.predictions, result.metrics.nodes
    assert found is not None
    compared = {
        "with the graph": found.with_graph,
        "features alone": found.features_alone,
        "labels alone": found.labels_alone,
    }
    rows = [
        _metrics_row(name, model, data, found.nodes, probabilities)
        for name, probabilities in compared.items()
        if probabilities is not None
    ]
    missing = [MISSING] * (len(COLUMNS) - 1)
    rows.append(["largest class", f"{result.largest_class:.1%}", *missing])
    title = f"On {nodes:,} {PART_TITLES[result.part]}"
    parts: list[Part] = [Table(title, *_without_empty_columns(rows), sortable=False)]
    validation = predict_validation(model, data) if result.part == "test" else None
    if validation is not None:
        row = _metrics_row("with the graph", model, data, validation.nodes, validation.with_graph)
        title = f"On {len(validation.nodes):,} validation nodes, which settings were chosen on"
        parts.append(Table(title, *_without_empty_columns([row]), sortable=False))
    parts.append(
        "Small numbers are 95% confidence intervals, over nodes drawn at random. *Features alone* "
        "is the same model with T = 0, *labels alone* is label propagation. Balanced accuracy is "
        "the mean recall of the classes, macro-F1 the mean of their F1; log-loss is in nats, and "
        "the calibration error is the mean distance of confidence and accuracy."
    )
    return Section("result", "Result", parts)


def _metrics_row(
    title: str, model: DGCClassifier, data: Dataset, nodes: Indices, probabilities: Array
) -> list[str | Cell]:
    assert data.labels is not None
    labels = np.asarray(data.labels, dtype=object)[nodes]
    metrics = ClassificationMetrics.measure(probabilities, model.classes_, labels)
    intervals = metric_intervals(metrics, probabilities, model.classes_, labels)
    cells = [metric_cell(name, getattr(metrics, name), intervals.get(name)) for name in COLUMNS]
    return [title, *cells]


def metric_cell(name: str, value: float | None, interval: Interval | None) -> str | Cell:
    """A metric with its interval below it."""
    form = COLUMNS[name][1]
    if value is None:
        return MISSING
    if interval is None:
        return form.format(value)
    low, high = (form.format(bound).removesuffix("%") for bound in interval)
    return Cell(form.format(value), f"{low} to {high}")


def _without_empty_columns(rows: list[list[Any]]) -> tuple[list[str], list[list[Any]]]:
    """The head and the rows of a table, without metrics that do not exist."""
    head = ["", *(title for title, _ in COLUMNS.values())]
    kept = [at for at in range(len(head)) if any(row[at] != MISSING for row in rows)]
    return [head[at] for at in kept], [[row[at] for at in kept] for row in rows]


def classes_section(metrics: ClassificationMetrics) -> Section:
    """The table of classes, and the confusion matrix or the pairs confused most often."""
    rows: list[list[str | Cell]] = []
    for one in sorted(metrics.classes, key=lambda one: -one.support):
        ratios = (one.precision, one.recall, one.f1)
        cells = [MISSING if value is None else f"{value:.1%}" for value in ratios]
        rows.append([literal(one.label), f"{one.support:,}", f"{one.predicted:,}", *cells])
    head = ["label", "nodes", "predicted", "precision", "recall", "F1"]
    parts: list[Part] = [Table("Classes", head, rows)]
    if len(metrics.classes) <= MAX_CONFUSION:
        parts.append(_confusion_table(metrics))
    pairs = _confused_pairs(metrics)
    if pairs.rows and len(metrics.classes) >= MIN_PAIRS_CLASSES:
        parts.append(pairs)
    return Section("classes", "Classes", parts)


def _confusion_table(metrics: ClassificationMetrics) -> Table:
    names = [literal(one.label) for one in metrics.classes]
    heads = [*names, "(unknown)"] if metrics.unknown_labels else names
    rows: list[list[str | Cell]] = []
    for name, counts in zip(heads, metrics.confusion, strict=True):
        total = sum(counts)
        cells = [_shaded(count, total) for count in counts]
        rows.append([name, *cells])
    title = "Confusion matrix: labels in rows, predictions in columns"
    return Table(title, ["", *names], rows, sortable=False)


def _shaded(count: int, total: int) -> Cell:
    share = count / total if total else 0.0
    percent = f"{share:.0%}" if count else ""
    return Cell(f"{count:,}", percent, level=round(share * NUM_LEVELS))


def _confused_pairs(metrics: ClassificationMetrics) -> Table:
    names = [literal(one.label) for one in metrics.classes]
    pairs = [
        (count, label, names[other], count / sum(row))
        for at, (label, row) in enumerate(zip(names, metrics.confusion, strict=False))
        for other, count in enumerate(row)
        if count and other != at
    ]
    largest = sorted(pairs, key=lambda pair: -pair[0])[:MAX_PAIRS]
    rows = [[label, other, f"{count:,}", f"{share:.1%}"] for count, label, other, share in largest]
    return Table("Confused most often", ["label", "predicted as", "nodes", "of the label"], rows, 2)


def calibration_section(model: DGCClassifier, data: Dataset, found: HeldOut) -> Section:
    """The reliability curve before and after calibration."""
    codes = Labels.read(data.labels, data.graph.num_nodes).encode(model.classes_, found.nodes)
    shown = {"after calibration": found.with_graph}
    if found.temperature != 1:
        shown = {"before calibration": found.uncalibrated} | shown
    else:
        shown = {"not calibrated": found.with_graph}
    lines, errors = [Series("perfect", [0, 100], [0, 100], dashed=True, colour=6)], []
    for at, (name, probabilities) in enumerate(shown.items()):
        curve = reliability_curve(probabilities, codes)
        x = [100 * one.confidence for one in curve]
        y = [100 * one.accuracy for one in curve]
        spread = [100 * np.sqrt(one.accuracy * (1 - one.accuracy) / one.nodes) for one in curve]
        lines.append(Series(name, x, y, spread, colour=1 - at if len(shown) == 2 else 0))
        errors.append(f"{expected_calibration_error(probabilities, codes):.3f} {name}")
    least = min(min(line.x) for line in lines[1:])
    start = 10 * np.floor(least / 10)
    lines[0] = Series("perfect", [start, 100], [start, 100], dashed=True, colour=6)
    caption = (
        "Of the nodes that are labelled with a confidence of 80%, 80% should be right. Points "
        "are groups of equally many nodes, with bands of one standard error. Expected calibration "
        f"error: {', '.join(errors)}. Temperature: {found.temperature:.3g}; below 1, probabilities "
        "were too cautious, and above 1 too confident."
    )
    panel = Panel("", lines, "confidence (%)", "accuracy (%)")
    return Section("calibration", "Calibration", [Chart("reliability", caption, [panel], 1)])


def features_section(model: DGCClassifier) -> Section | None:
    """The features that tell the nodes of each class apart from others; None without features."""
    graph = model._graph_to_label(None)
    if graph.features is None:
        return None
    names = np.array(graph.feature_names or range(graph.num_features), dtype=object)
    best = model.decision_function()
    codes = (best > 0).astype(int) if best.ndim == 1 else best.argmax(axis=1)
    members = codes[:, np.newaxis] == np.arange(len(model.classes_))
    shares = feature_effects(model, contrast_with_others(members))
    order = np.argsort(-members.sum(axis=0), kind="stable")[:MAX_CLASSES]
    # With two classes, the features of one are those of the other with the opposite sign.
    order = order[:1] if len(model.classes_) == 2 else order
    rows = [
        [literal(model.classes_.tolist()[code]), *effect_cells(shares[code], names)]
        for code in order
        if members[:, code].any()
    ]
    told = (
        "The mean score of the nodes predicted as a class minus that of all others is a sum over "
        "features, of which these are the largest terms, of the diffused features. Positive ones "
        "speak for the class."
    )
    if model.channel_coefs_:
        told += " Channels of links, which have no features, are left out."
    head = ["class", "speaks for it", "speaks against it"]
    return Section("features", "What matters most", [told, Table("", head, rows, 3)])


def effect_cells(shares: Array, names: Array) -> list[str]:
    """The features with the largest positive and with the largest negative shares."""
    cells, least = [], LEAST_SHARE * np.abs(shares).max(initial=0.0)
    for sign in (1, -1):
        order = np.argsort(-sign * shares, kind="stable")[:TOP_FEATURES]
        kept = [at for at in order.tolist() if sign * shares[at] > least]
        cells.append(", ".join(f"{literal(names[at])} ({shares[at]:+.2g})" for at in kept))
    return [text or MISSING for text in cells]


def nodes_section(
    model: DGCClassifier, data: Dataset, found: HeldOut | None, learned: Indices
) -> Section:
    """The least certain of the nodes not learned from, and the most confident mistakes."""
    graph = data.graph
    P = model.predict_proba()
    others = np.setdiff1d(np.arange(graph.num_nodes), learned)
    nodes = others[np.argsort(P[others].max(axis=1), kind="stable")][:TOP_NODES]
    parts: list[Part] = []
    if len(nodes):
        notes = node_notes(graph, learned)
        degrees = np.diff(graph.indptr)
        rows = []
        for node in nodes.tolist():
            first, second = (_ranked(model, P[node], place) for place in (0, 1))
            rows.append([_name(graph, node), first, second, notes[node], f"{degrees[node]:,}"])
        head = ["node", "predicted", "next", "note", "neighbours"]
        if not any(row[3] for row in rows):
            head, rows = head[:3] + head[4:], [row[:3] + row[4:] for row in rows]
        title = f"Least certain of the {len(others):,} nodes that were not learned from"
        parts.append(Table(title, head, rows, len(head) - 1))
    if found is not None:
        parts += _mistakes(model, data, found)
    return Section("nodes", "Nodes to look at", parts or ["The labels of all nodes were learned."])


def _mistakes(model: DGCClassifier, data: Dataset, found: HeldOut) -> list[Part]:
    labels = Labels.read(data.labels, data.graph.num_nodes)
    codes = labels.encode(model.classes_, found.nodes)
    best, confidence = found.with_graph.argmax(axis=1), found.with_graph.max(axis=1)
    wrong = np.flatnonzero(best != codes)
    wrong = wrong[np.argsort(-confidence[wrong], kind="stable")][:TOP_NODES]
    if not len(wrong):
        return ["None of the nodes that were held out is predicted wrongly."]
    values = labels.values[found.nodes]
    rows = [
        [
            _name(data.graph, int(found.nodes[at])),
            literal(values[at]),
            _ranked(model, found.with_graph[at], 0),
        ]
        for at in wrong.tolist()
    ]
    title = "The most confident mistakes among nodes that were held out"
    return [
        Table(title, ["node", "label", "predicted"], rows, 3),
        "A confident mistake is either a node unlike others of its class, or a wrong label.",
    ]


def _ranked(model: DGCClassifier, probabilities: Array, place: int) -> str:
    """The label at a place of the ranking, and its probability."""
    code = np.argsort(-probabilities, kind="stable")[place]
    return f"{literal(model.classes_.tolist()[code])} ({probabilities[code]:.1%})"


def _name(graph: Any, node: int) -> str:
    return literal(graph.names[node])
