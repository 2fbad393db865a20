"""Print metrics of predictions: of classes one by one, and the confusion matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from heatgraph.cli.reporter import Reporter
from heatgraph.cli.text_layout import GAP, INDENT

if TYPE_CHECKING:
    from heatgraph.report.metrics import ClassificationMetrics, ClassMetrics

# Classes up to which all are listed, with their confusion matrix; of more, as many of the worst.
MAX_CLASSES = 12
# Pairs of classes that are confused most often, and labels that the model does not know.
MAX_PAIRS_LISTED, MAX_LABELS_LISTED = 5, 5


def metric_rows(metrics: ClassificationMetrics) -> list[tuple[str, ...]]:
    """Names, values and meanings of the metrics of all classes together."""
    low, high = metrics.accuracy_interval
    rows: list[tuple[str, ...]] = [
        ("accuracy", f"{metrics.accuracy:.1%}", f"95% confidence interval {low:.1%} to {high:.1%}"),
        ("largest class", f"{metrics.largest_class:.1%}", "share of the most frequent label"),
        ("balanced accuracy", f"{metrics.balanced_accuracy:.1%}", "mean recall of the classes"),
        ("macro-F1", f"{metrics.macro_f1:.1%}", "mean F1 of the classes"),
    ]
    if metrics.roc_auc is not None:
        several = len(metrics.classes) > 2
        meaning = "mean of one class against the rest" if several else "0.5 by chance"
        rows.append(("ROC AUC", f"{metrics.roc_auc:.3f}", meaning))
    if metrics.average_precision is not None:
        rarer = metrics.rarer_class
        meaning = (
            f"of {rarer.label}, the rarer class; {rarer.support / metrics.nodes:.3f} by chance"
        )
        rows.append(("average precision", f"{metrics.average_precision:.3f}", meaning))
    if metrics.log_loss is not None:
        rows.append(("log-loss", f"{metrics.log_loss:.3f}", "of the true class, in nats"))
    distance = "mean distance of confidence and accuracy"
    rows.append(("calibration error", f"{metrics.calibration_error:.3f}", distance))
    return rows


def print_classes(reporter: Reporter, metrics: ClassificationMetrics) -> None:
    """Print the table of classes and the confusion matrix, as far as they can be read."""
    if metrics.unknown_labels:
        reporter.print(_unknown_sentence(metrics.unknown_labels))
    _print_table(reporter, metrics.classes)
    if len(metrics.classes) <= MAX_CLASSES:
        _print_confusion(reporter, metrics)
    else:
        _print_confused_pairs(reporter, metrics)


def _unknown_sentence(unknown: dict[str, int]) -> str:
    listed = [f"{label} ({count:,})" for label, count in unknown.items()]
    more = ", ..." if len(listed) > MAX_LABELS_LISTED else ""
    return (
        f"{sum(unknown.values()):,} nodes have labels that the model does not know, and count as "
        f"wrong: {', '.join(listed[:MAX_LABELS_LISTED])}{more}"
    )


def _print_table(reporter: Reporter, classes: tuple[ClassMetrics, ...]) -> None:
    shown, title = sorted(classes, key=lambda one: -one.support), "Classes, the largest first"
    if len(classes) > MAX_CLASSES:
        occurring = [one for one in shown if one.support]
        shown = sorted(occurring, key=lambda one: one.f1 or 0.0)[:MAX_CLASSES]
        title = f"Classes, the worst {len(shown)} of {len(classes):,} by F1 (--json has all)"
    rows: list[tuple[str, ...]] = [("label", "nodes", "predicted", "precision", "recall", "F1")]
    for one in shown:
        ratios = (_percent(value) for value in (one.precision, one.recall, one.f1))
        rows.append((str(one.label), f"{one.support:,}", f"{one.predicted:,}", *ratios))
    reporter.table(rows, title, numbers=True)


def _print_confusion(reporter: Reporter, metrics: ClassificationMetrics) -> None:
    """Print the matrix, with numbers for classes if their names do not fit."""
    names = [str(one.label) for one in metrics.classes]
    heads = [*names, "(unknown)"] if metrics.unknown_labels else names
    cells = [[f"{count:,}" if count else "." for count in counts] for counts in metrics.confusion]
    columns = list(zip(names, *cells, strict=True))
    widths = [max(map(cell_len, heads)), *(max(map(cell_len, column)) for column in columns)]
    if INDENT + sum(widths) + GAP * len(names) > reporter.width:
        numbers = [str(number) for number in range(1, len(names) + 1)]
        heads = [f"{number} {name}" for number, name in zip(numbers, names, strict=True)] + heads[
            len(names) :
        ]
        names = numbers
    rows = [("", *names), *((head, *row) for head, row in zip(heads, cells, strict=True))]
    title = "Confusion matrix: labels in rows, predictions in columns"
    reporter.table(rows, title, numbers=True)


def _print_confused_pairs(reporter: Reporter, metrics: ClassificationMetrics) -> None:
    names = [str(one.label) for one in metrics.classes]
    pairs = [
        (count, label, predicted)
        for at, (label, row) in enumerate(zip(names, metrics.confusion, strict=False))
        for other, (predicted, count) in enumerate(zip(names, row, strict=True))
        if count and other != at
    ]
    largest = sorted(pairs, key=lambda pair: -pair[0])[:MAX_PAIRS_LISTED]
    if largest:
        rows = [(label, predicted, f"{count:,}") for count, label, predicted in largest]
        title = "Confused most often (--json has the whole matrix)"
        reporter.table([("label", "predicted as", "nodes"), *rows], title)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
