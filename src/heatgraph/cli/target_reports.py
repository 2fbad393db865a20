"""Metrics of numbers and of several labels per node, as rows of a report."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from heatgraph._io.formatting import format_number
from heatgraph.cli.reporter import Reporter

if TYPE_CHECKING:
    from heatgraph.report.target_metrics import MultilabelMetrics, RegressionMetrics

# Labels that are listed with metrics of their own, and labels that the model does not know.
MAX_LABELS_LISTED, MAX_UNKNOWN_LISTED = 40, 5


def target_rows(metrics: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of name, value and meaning, from `RegressionMetrics` or `MultilabelMetrics` as JSON."""
    if "micro_f1" in metrics:
        return [
            ("micro-F1", f"{metrics['micro_f1']:.1%}", "over all pairs of node and label"),
            ("macro-F1", f"{metrics['macro_f1']:.1%}", "mean F1 of the labels"),
            ("subset accuracy", f"{metrics['subset_accuracy']:.1%}", "nodes with all labels right"),
            ("log-loss", f"{metrics['log_loss']:.3f}", "of a label, in nats"),
        ]
    r2 = "-" if metrics["r2"] is None else f"{metrics['r2']:.3f}"
    of_mean = f"{format_number(metrics['rmse_of_mean'])} if the mean is predicted"
    rows: list[tuple[str, ...]] = [
        ("R2", r2, "share of the variance that is predicted"),
        ("MAE", format_number(metrics["mae"]), "mean absolute error"),
        ("RMSE", format_number(metrics["rmse"]), of_mean),
    ]
    if metrics["coverage"] is not None:
        width = format_number(metrics["interval_width"])
        width = f"nodes within intervals of 90%, {width} wide"
        rows.append(("coverage", f"{metrics['coverage']:.1%}", width))
    return rows


def print_target_metrics(
    reporter: Reporter, metrics: RegressionMetrics | MultilabelMetrics, part: str | None
) -> None:
    """Print metrics and, of several labels, those of each."""
    of = f" of the part {part!r}" if part else ""
    rows = target_rows(dataclasses.asdict(metrics))
    reporter.table(rows, f"Evaluated {metrics.nodes:,} labelled nodes{of}")
    labels = getattr(metrics, "labels", ())
    if not labels:
        return
    unknown = getattr(metrics, "unknown_labels", {})
    if unknown:
        listed = [f"{label} ({count:,})" for label, count in unknown.items()]
        more = ", ..." if len(listed) > MAX_UNKNOWN_LISTED else ""
        reporter.print(
            "Labels that the model does not know count as missed: "
            f"{', '.join(listed[:MAX_UNKNOWN_LISTED])}{more}"
        )
    largest = sorted(labels, key=lambda one: -one.support)[:MAX_LABELS_LISTED]
    table: list[tuple[str, ...]] = [("label", "nodes", "predicted", "precision", "recall", "F1")]
    for one in largest:
        ratios = ("-" if v is None else f"{v:.1%}" for v in (one.precision, one.recall, one.f1))
        table.append((str(one.label), f"{one.support:,}", f"{one.predicted:,}", *ratios))
    reporter.table(table, "Labels, the most frequent first", numbers=True)
    if len(largest) < len(labels):
        reporter.print(f"  ... and {len(labels) - len(largest):,} more, which --json lists")
