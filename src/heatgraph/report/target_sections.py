"""Sections of a fit's report on numbers, and on several labels per node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._io.formatting import format_number
from heatgraph.datasets.dataset import Dataset
from heatgraph.learning.feature_effects import contrast_with_others, feature_effects
from heatgraph.report.class_sections import MAX_CLASSES, PART_TITLES, TOP_NODES, effect_cells
from heatgraph.report.document import (
    MISSING,
    Cell,
    Chart,
    KeyFigures,
    Notice,
    Panel,
    Part,
    Section,
    Series,
    Table,
    literal,
)
from heatgraph.report.intervals import Interval, mean_interval
from heatgraph.report.target_metrics import MultilabelMetrics, RegressionMetrics
from heatgraph.report.target_result import TargetResult, f1_terms

Array = npt.NDArray[Any]

# Labels that have a row of their own, and groups of nodes in the chart of predictions.
MAX_LABELS, NUM_GROUPS = 100, 20


UNKNOWN = "How well it predicts is unknown: too few nodes are labelled to hold some out."


def target_verdict(model: Any, result: TargetResult) -> str:
    """The result in one sentence."""
    metrics, alone = result.metrics, result.features_alone
    on = f"on {metrics.nodes:,} {PART_TITLES[result.part]}"
    if isinstance(metrics, MultilabelMetrics):
        start = f"Micro-F1 is {metrics.micro_f1:.1%} {on}"
        other = f"{alone.micro_f1:.1%}" if isinstance(alone, MultilabelMetrics) else ""
    else:
        r2 = MISSING if metrics.r2 is None else f"{metrics.r2:.3f}"
        start = f"R² is {r2} {on}, and the mean absolute error {format_number(metrics.mae)}"
        if metrics.r2 is not None and metrics.r2 <= 0:
            return f"{start}: no better than predicting the mean for every node."
        other = f"{format_number(alone.mae)}" if isinstance(alone, RegressionMetrics) else ""
    if result.gain is None:
        return f"{start}{'' if model.n_features_in_ else ', from the graph and its labels alone'}."
    helps = "does harm" if result.gain.is_clear_loss else "does not help"
    helps = "helps" if result.gain.is_clear else helps
    return f"{start}, by the features alone {other}: the graph {helps}."


def target_preface(model: Any, result: TargetResult) -> list[Part]:
    """The numbers to read first, and findings."""
    figures = []
    if isinstance(result.metrics, MultilabelMetrics):
        shown = {"micro-F1": "micro_f1", "macro-F1": "macro_f1"}
    else:
        shown = {"R²": "r2", "mean absolute error": "mae"}

    def form(value: float) -> str:
        return f"{value:.1%}" if "micro-F1" in shown else format_number(value, 3)

    for name, field in shown.items():
        value, other = (
            getattr(metrics, field, None) for metrics in (result.metrics, result.features_alone)
        )
        remark = "" if other is None else f"features alone {form(other)}"
        figures.append((name, MISSING if value is None else form(value), remark))
    figures.append(("T", MISSING if model.T_ is None else f"{model.T_:.3g}", "diffusion time"))
    notices = [Notice(literal(one.text), one.is_warning) for one in result.findings]
    return [KeyFigures(figures), *notices]


def target_result_sections(model: Any, data: Dataset, result: TargetResult) -> list[Section]:
    """Metrics, labels or residuals, features, and nodes to look at."""
    is_multilabel = isinstance(result.metrics, MultilabelMetrics)
    sections = [_label_metrics(model, data, result)] if is_multilabel else []
    if not is_multilabel:
        sections = [_number_metrics(data, result)]
    features = features_section(model)
    sections += [features] if features is not None else []
    nodes = _uncertain_nodes(model, data) if is_multilabel else _largest_errors(data, result)
    return [*sections, Section("nodes", "Nodes to look at", nodes)]


def _number_metrics(data: Dataset, result: TargetResult) -> Section:
    assert data.labels is not None
    truth = np.asarray(data.labels[result.nodes], dtype=float)
    rows = [_number_row("with the graph", result.metrics, result.predictions, truth)]
    if result.features_alone is not None and result.alone is not None:
        rows.append(_number_row("features alone", result.features_alone, result.alone, truth))
    metrics = result.metrics
    assert isinstance(metrics, RegressionMetrics)
    of_mean = float(np.abs(truth - truth.mean()).mean())
    of_mean_square = format_number(metrics.rmse_of_mean)
    rows.append(["the mean", "0.000", format_number(of_mean), of_mean_square, MISSING, MISSING])
    head = ["", "R²", "MAE", "RMSE", "coverage", "interval width"]
    if metrics.coverage is None:
        head, rows = head[:4], [row[:4] for row in rows]
    title = f"On {metrics.nodes:,} {PART_TITLES[result.part]}"
    parts: list[Part] = [
        Table(title, head, rows, sortable=False),
        "Small numbers are 95% confidence intervals, over nodes drawn at random. R² is the share "
        "of the variance that is predicted, MAE the mean absolute error, RMSE the root of the mean "
        "squared error, and coverage the share of numbers within the intervals of 90%.",
        _prediction_chart(result.predictions, truth),
    ]
    return Section("result", "Result", parts)


def _number_row(title: str, metrics: Any, predictions: Array, truth: Array) -> list[str | Cell]:
    errors = predictions - truth
    squares = errors**2
    low, high = mean_interval(float(squares.mean()), squares)
    rmse = float(np.sqrt(max(low, 0.0))), float(np.sqrt(high))
    cells: list[str | Cell] = [title, _r2_cell(metrics, squares, truth)]
    cells.append(_number_cell(metrics.mae, mean_interval(metrics.mae, np.abs(errors))))
    cells.append(_number_cell(metrics.rmse, rmse))
    if metrics.coverage is None:
        return [*cells, MISSING, MISSING]
    return [*cells, f"{metrics.coverage:.1%}", format_number(metrics.interval_width)]


def _r2_cell(metrics: Any, squares: Array, truth: Array) -> str | Cell:
    """R^2 = 1 - sum e^2 / sum (y - mean)^2, with the interval by its influences."""
    if metrics.r2 is None:
        return MISSING
    variance = float(truth.var())
    deviations = (truth - truth.mean()) ** 2
    influences = -(squares - (1 - metrics.r2) * deviations) / variance
    low, high = mean_interval(metrics.r2, influences)
    return Cell(f"{metrics.r2:.3f}", f"{low:.3f} to {min(high, 1.0):.3f}")


def _number_cell(value: float, interval: Interval) -> Cell:
    low, high = (format_number(bound, 3) for bound in interval)
    return Cell(format_number(value), f"{low} to {high}")


def _prediction_chart(predictions: Array, truth: Array) -> Chart:
    """Mean true number over mean predicted number, in groups of nodes."""
    order = np.argsort(predictions, kind="stable")
    groups = np.array_split(order, max(1, min(NUM_GROUPS, len(order) // 5)))
    x = [float(predictions[group].mean()) for group in groups]
    y = [float(truth[group].mean()) for group in groups]
    spread = [float(truth[group].std()) for group in groups]
    lines = [
        Series("perfect", [x[0], x[-1]], [x[0], x[-1]], dashed=True, colour=6),
        Series("mean of a group of nodes", x, y, spread, colour=0),
    ]
    caption = (
        "True numbers over predicted ones, in groups of equally many nodes; the band is one "
        "standard deviation of the true numbers."
    )
    panel = Panel("", lines, "predicted", "true")
    return Chart("predictions", caption, [panel], 1)


def _label_metrics(model: Any, data: Dataset, result: TargetResult) -> Section:
    assert data.labels is not None
    truth = data.labels[result.nodes]
    rows = [_label_set_row("with the graph", model, result.metrics, result.predictions, truth)]
    if result.features_alone is not None and result.alone is not None:
        row = _label_set_row("features alone", model, result.features_alone, result.alone, truth)
        rows.append(row)
    head = ["", "micro-F1", "macro-F1", "all labels right", "wrong pairs", "log-loss"]
    title = f"On {result.metrics.nodes:,} {PART_TITLES[result.part]}"
    metrics = result.metrics
    assert isinstance(metrics, MultilabelMetrics)
    ordered = sorted(metrics.labels, key=lambda one: -one.support)
    labels: list[list[str | Cell]] = []
    for one in ordered[:MAX_LABELS]:
        ratios = (one.precision, one.recall, one.f1)
        cells = [MISSING if value is None else f"{value:.1%}" for value in ratios]
        labels.append([literal(one.label), f"{one.support:,}", f"{one.predicted:,}", *cells])
    parts: list[Part] = [
        Table(title, head, rows, sortable=False),
        "Small numbers are 95% confidence intervals, over nodes drawn at random. Micro-F1 counts "
        "all pairs of node and label, macro-F1 is the mean of the labels; log-loss is in nats.",
        Table("Labels", ["label", "nodes", "predicted", "precision", "recall", "F1"], labels),
    ]
    if len(ordered) > MAX_LABELS:
        parts.append(f"And {len(ordered) - MAX_LABELS:,} more.")
    return Section("result", "Result", parts)


def _label_set_row(
    title: str, model: Any, metrics: Any, probabilities: Array, truth: Any
) -> list[str | Cell]:
    low, high = mean_interval(metrics.micro_f1, f1_terms(truth, model.classes_, probabilities))
    interval = f"{100 * low:.1f} to {100 * min(high, 1.0):.1f}"
    return [
        title,
        Cell(f"{metrics.micro_f1:.1%}", interval),
        f"{metrics.macro_f1:.1%}",
        f"{metrics.subset_accuracy:.1%}",
        f"{metrics.hamming_loss:.1%}",
        f"{metrics.log_loss:.3f}",
    ]


def features_section(model: Any) -> Section | None:
    """The features behind large numbers, or behind each label; None without features."""
    graph = model._graph_to_label(None)
    if graph.features is None:
        return None
    names = np.array(graph.feature_names or range(graph.num_features), dtype=object)
    if hasattr(model, "classes_"):
        members = model.predict().astype(bool)
        shares = feature_effects(model, contrast_with_others(members))
        order = np.argsort(-members.sum(axis=0), kind="stable")[:MAX_CLASSES]
        labels = model.classes_.tolist()
        rows = [
            [literal(labels[at]), *effect_cells(shares[at], names)]
            for at in order
            if members[:, at].any()
        ]
        told = (
            "The mean score of the nodes predicted to have a label minus that of all others is a "
            "sum over features, of which these are the largest terms."
        )
        table = Table("", ["label", "speaks for it", "speaks against it"], rows, 3)
        return Section("features", "What matters most", [told, table])
    predictions = model.predict().reshape(graph.num_nodes, -1)
    contrasts = contrast_with_others(predictions >= np.median(predictions, axis=0))
    (larger, smaller) = effect_cells(feature_effects(model, contrasts)[0], names)
    told = (
        "The mean prediction of the upper half of the nodes minus that of the lower half is a sum "
        "over features, of which these are the largest terms."
    )
    table = Table("", ["makes them differ", "makes them alike"], [[larger, smaller]], 2)
    return Section("features", "What matters most", [told, table])


def _largest_errors(data: Dataset, result: TargetResult) -> list[Part]:
    assert data.labels is not None
    truth = np.asarray(data.labels[result.nodes], dtype=float)
    errors, degrees = result.predictions - truth, np.diff(data.graph.indptr)
    order = np.argsort(-np.abs(errors), kind="stable")[:TOP_NODES]
    rows = [
        [
            literal(data.graph.names[result.nodes[at]]),
            format_number(float(truth[at])),
            format_number(float(result.predictions[at])),
            format_number(float(errors[at])),
            f"{degrees[result.nodes[at]]:,}",
        ]
        for at in order.tolist()
    ]
    head = ["node", "number", "predicted", "error", "neighbours"]
    return [Table("The largest errors among nodes that were held out", head, rows)]


def _uncertain_nodes(model: Any, data: Dataset) -> list[Part]:
    P = model.predict_proba()
    margin = np.abs(P - 0.5).min(axis=1)
    train, _, _ = data.partition()
    learned = np.flatnonzero(data.labelled) if train is None else train
    others = np.setdiff1d(np.arange(len(P)), learned)
    order = others[np.argsort(margin[others], kind="stable")][:TOP_NODES]
    labels = model.classes_.tolist()
    rows = []
    for node in order.tolist():
        at = int(np.abs(P[node] - 0.5).argmin())
        has = ", ".join(literal(labels[c]) for c in np.flatnonzero(P[node] > 0.5))
        rows.append(
            [
                literal(data.graph.names[node]),
                has or MISSING,
                literal(labels[at]),
                f"{P[node, at]:.1%}",
            ]
        )
    if not rows:
        return ["The labels of all nodes were learned."]
    head = ["node", "predicted labels", "least certain label", "probability"]
    title = f"Least certain of the {len(others):,} nodes that were not learned from"
    return [Table(title, head, rows, 3)]
