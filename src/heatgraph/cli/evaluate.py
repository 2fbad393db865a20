"""``heatgraph evaluate``: how well a model predicts the labels of a graph."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_labelled
from heatgraph.cli.metrics_report import metric_rows, print_classes
from heatgraph.cli.predictions import check_rescaling, rescale
from heatgraph.cli.reporter import Reporter
from heatgraph.cli.target_reports import print_target_metrics

if TYPE_CHECKING:
    from heatgraph.datasets.dataset import Dataset
    from heatgraph.tables.from_tables import ReadResult


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
    rescale_features: options.RescaleFeatures = False,
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
    if rescale_features:
        check_rescaling(task)
    table_options = columns.table_options_for(
        classifier, resources.memory, **vars(labels), task=task
    )
    result, summary = read_labelled(reporter, graph, table_options, "evaluate a model")
    data = result.dataset
    chosen = _nodes_to_evaluate(result, part)
    if rescale_features:
        classifier = rescale(reporter, classifier, data.graph)
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
    if task != "classification":
        print_target_metrics(reporter, metrics, part)
    else:
        of = f" of the part {part!r}" if part else ""
        reporter.table(metric_rows(metrics), f"Evaluated {metrics.nodes:,} labelled nodes{of}")
        print_classes(reporter, metrics)
    final_fit = getattr(classifier, "final_fit", "train")
    learned = ("train", "val") if final_fit == "train+val" else ("train",)
    _print_learned_nodes(reporter, data, [name for name in learned if part in (None, name)])
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(
        {
            "read": summary,
            "part": part,
            "rescaled_features": rescale_features,
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
