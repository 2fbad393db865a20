"""``heatgraph evaluate``: how well a model predicts the labels of a graph."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_labelled
from heatgraph.cli.reporter import Reporter
from heatgraph.cli.target_reports import print_target_metrics

if TYPE_CHECKING:
    from heatgraph.datasets.dataset import Dataset
    from heatgraph.report.metrics import ClassificationMetrics, ClassMetrics
    from heatgraph.tables.from_tables import ReadResult

# Width and number of classes up to which a confusion matrix is printed.
MAX_WIDTH, MAX_CONFUSION_CLASSES = 80, 12
# Classes of the table of classes, and labels that the model does not know, that are listed.
MAX_CLASSES_LISTED, MAX_LABELS_LISTED = 40, 5


@options.expand_groups
def evaluate(
    model: options.Model,
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            help="Part of the split to evaluate; by default all labelled nodes.",
            **options.choice(("train", "val", "test")),
        ),
    ] = None,
    data_folder: options.Data = None,
    *,
    columns: options.ColumnOptions,
    labels: options.LabelOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Compare the predictions of a model with the labels of a graph.

    The graph may differ from the one the model was fitted on: features are found by name.
    """
    reporter = Reporter(output_options)
    from heatgraph.learning.model_files import load, task_of
    from heatgraph.report.metrics import ClassificationMetrics
    from heatgraph.report.target_summary import measure_targets

    graph = find_graph_argument(graph_or_nodes, edges, data_folder)
    classifier = load(model).set_params(**resources.parameters())
    task = task_of(classifier)
    table_options = columns.table_options_for(
        classifier, resources.memory, **vars(labels), task=task
    )
    result, summary = read_labelled(reporter, graph, table_options, "evaluate a model")
    data = result.dataset
    chosen = _nodes_to_evaluate(result, part)
    metrics: Any
    with reporter.progress("predicting"):
        if task != "classification":
            metrics = measure_targets(classifier, data, chosen)
        else:
            probabilities = classifier.predict_proba(data.graph, chosen)
            assert data.labels is not None
            metrics = ClassificationMetrics.measure(
                probabilities, classifier.classes_, data.labels[chosen]
            )
    (_print_metrics if task == "classification" else print_target_metrics)(reporter, metrics, part)
    final_fit = getattr(classifier, "final_fit", "train")
    learned = ("train", "val") if final_fit == "train+val" else ("train",)
    _print_learned_nodes(reporter, data, [name for name in learned if part in (None, name)])
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(
        {
            "read": summary,
            "part": part,
            "metrics": dataclasses.asdict(metrics),
            "warnings": reporter.warnings,
            "seconds": reporter.seconds,
        }
    )


def _nodes_to_evaluate(result: ReadResult, part: str | None) -> Any:
    """Indices of labelled nodes, all or of a part of the split."""
    import numpy as np

    from heatgraph.errors import InputError

    data = result.dataset
    chosen = np.flatnonzero(data.labelled)
    if len(chosen) == 0:
        column = f"column {result.columns['label'].name!r} of " if result.columns else ""
        raise InputError(
            f"labels are needed to evaluate a model, and {column}{data.name} is blank in every "
            "row. Name another with --label."
        )
    if part is None:
        return chosen
    if not data.splits:
        raise InputError(
            f"--part {part} needs a column with train, val or test, and no column of {data.name} "
            "was detected or named for that. Name it with --split."
        )
    chosen = np.intersect1d(chosen, getattr(data.split, part))
    if len(chosen) == 0:
        raise InputError(f"--part {part}: no node of that part has a label in {data.name}.")
    return chosen


def _print_learned_nodes(reporter: Reporter, data: Dataset, parts: list[str]) -> None:
    """Tell how many nodes are of parts of the split that the model has learned from."""
    count = sum(len(getattr(data.split, part)) for part in parts) if data.splits else 0
    if count:
        kinds = " or ".join({"train": "training", "val": "validation"}[part] for part in parts)
        reporter.print(
            f"{count:,} of these are {kinds} nodes of the split, which a model learns from: "
            "--part test leaves them out."
        )


def _print_metrics(reporter: Reporter, metrics: ClassificationMetrics, part: str | None) -> None:
    low, high = metrics.accuracy_interval
    rows = [
        ("accuracy", f"{metrics.accuracy:.1%}", f"95% confidence interval {low:.1%} to {high:.1%}"),
        ("largest class", f"{metrics.largest_class:.1%}", "share of the most frequent label"),
        ("balanced accuracy", f"{metrics.balanced_accuracy:.1%}", "mean recall of the classes"),
        ("macro-F1", f"{metrics.macro_f1:.1%}", "mean F1 of the classes"),
    ]
    if metrics.roc_auc is not None:
        several = len(metrics.classes) > 2
        meaning = "mean of one class against the rest" * several or "of the second class"
        rows.append(("ROC AUC", f"{metrics.roc_auc:.3f}", meaning))
    if metrics.log_loss is not None:
        rows.append(("log-loss", f"{metrics.log_loss:.3f}", "of the true class, in nats"))
    distance = "mean distance of confidence and accuracy"
    rows.append(("calibration error", f"{metrics.calibration_error:.3f}", distance))
    of = f" of the part {part!r}" if part else ""
    reporter.table(rows, f"Evaluated {metrics.nodes:,} labelled nodes{of}")
    if metrics.unknown_labels:
        reporter.print(_unknown_sentence(metrics.unknown_labels))
    _print_classes(reporter, metrics.classes)
    _print_confusion(reporter, metrics)


def _unknown_sentence(unknown: dict[str, int]) -> str:
    listed = [f"{label} ({count:,})" for label, count in unknown.items()]
    more = ", ..." if len(listed) > MAX_LABELS_LISTED else ""
    return (
        f"{sum(unknown.values()):,} nodes have labels that the model does not know, and count as "
        f"wrong: {', '.join(listed[:MAX_LABELS_LISTED])}{more}"
    )


def _print_classes(reporter: Reporter, classes: tuple[ClassMetrics, ...]) -> None:
    largest = sorted(classes, key=lambda one: -one.support)[:MAX_CLASSES_LISTED]
    rows: list[tuple[str, ...]] = [("label", "nodes", "predicted", "precision", "recall", "F1")]
    for one in largest:
        ratios = (_percent(value) for value in (one.precision, one.recall, one.f1))
        rows.append((str(one.label), f"{one.support:,}", f"{one.predicted:,}", *ratios))
    reporter.table(_align_right(rows), "Classes, the largest first")
    if len(largest) < len(classes):
        reporter.print(f"  ... and {len(classes) - len(largest):,} more, which --json lists")


def _print_confusion(reporter: Reporter, metrics: ClassificationMetrics) -> None:
    """Print the matrix if it is small enough to be read."""
    names = [str(one.label) for one in metrics.classes]
    heads = [*names, "(unknown)"] if metrics.unknown_labels else names
    rows = [("", *names)]
    rows += [
        (head, *(f"{count:,}" if count else "." for count in counts))
        for head, counts in zip(heads, metrics.confusion, strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if len(names) > MAX_CONFUSION_CLASSES or sum(widths) + 2 * len(widths) > MAX_WIDTH:
        reporter.print("The confusion matrix is too wide to print; --json has it.")
        return
    reporter.table(_align_right(rows), "Confusion matrix: labels in rows, predictions in columns")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _align_right(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Pad all columns but the first on the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (row[0], *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)))
        for row in rows
    ]
