"""``heatgraph fit``: fit a model to a graph, and label every node."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.exit_codes import NOT_CONVERGED
from heatgraph.cli.fit_targets import fit_targets
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_labelled
from heatgraph.cli.output_files import check_outputs, is_stdout, name_in_errors
from heatgraph.cli.reporter import Reporter

# Models that the weights and scores of an extended model are the mean of.
MEMBER_TITLES = {"plain": "DGC", "similar": "similar edges", "student": "self-training"}


@options.expand_groups
def fit(
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="File to write the model to (.safetensors)."),
    ] = None,
    with_graph: Annotated[
        bool,
        typer.Option(
            "--with-graph",
            help="Write the graph into the model too, for `heatgraph predict --new`.",
        ),
    ] = False,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions",
            "-o",
            "-p",
            help="File to write predictions to: .csv, .tsv, .parquet, or -.",
        ),
    ] = None,
    final_fit: Annotated[
        str | None,
        typer.Option(
            "--final-fit",
            help="Nodes that the last fit learns from, after settings are chosen; by default "
            "train+val if there are validation nodes.",
            **options.choice(("train", "train+val")),
        ),
    ] = None,
    data_folder: options.Data = None,
    task: options.Task = None,
    strict: options.Strict = False,
    *,
    columns: options.ColumnOptions,
    labels: options.LabelOptions,
    settings: options.ModelOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Learn from the labelled nodes, choose T from the data, and label every node.

    Settings are chosen on the validation nodes of the split, or by cross-validation. The last fit
    then learns from validation nodes too.
    """
    reporter = Reporter(output_options, stdout_taken=is_stdout(predictions))
    from heatgraph._io.formatting import format_bytes
    from heatgraph.report.summary import fit_summary, neighbours_summary
    from heatgraph.tables.writing import predictions_table, table_format, write_table

    graph = find_graph_argument(graph_or_nodes, edges, data_folder)
    check_outputs([*graph.files, *columns.feature_parts], [model, predictions])
    if is_stdout(model):
        raise typer.BadParameter("a model cannot be printed: --model must name a file.")
    if with_graph and model is None:
        raise typer.BadParameter("--with-graph needs --model, the file to write it into.")
    if predictions is not None and not is_stdout(predictions):
        table_format(predictions)
    parameters = settings.parameters() | resources.parameters()
    table_options = columns.table_options(resources.memory, **vars(labels), task=task or "auto")
    result, summary = read_labelled(reporter, graph, table_options)
    if result.dataset.task != "classification":
        parameters |= {"final_fit": final_fit, "with_graph": with_graph}
        fit_targets(reporter, result, summary, parameters, model, predictions, strict)
        return
    neighbours = neighbours_summary(result.dataset)
    if neighbours is not None:
        _print_neighbours(reporter, neighbours, searched=parameters["T"] == "auto")
    # A slow import, which an error in the tables should not wait for.
    from heatgraph.baselines.schemes import fit_features_alone
    from heatgraph.learning.classifier import DGCClassifier

    data = result.dataset
    train, val, _ = data.partition()
    parameters["final_fit"] = final_fit or ("train" if val is None else "train+val")
    classifier = DGCClassifier(**parameters)
    before = reporter.seconds
    with reporter.fit_progress() as progress:
        classifier.fit(data.graph, data.labels, train, val, progress=progress)
        alone = fit_features_alone(
            classifier, data.graph, data.labels, train, val, progress=progress
        )
    chosen = fit_summary(classifier, data, alone) | {"seconds": reporter.seconds - before}
    print_fit_summary(reporter, chosen)
    if predictions is not None:
        with reporter.progress("predicting"):
            probabilities = classifier.predict_proba()
            classes = classifier.classes_
            table = predictions_table(data.graph, result.id_column, classes, probabilities)
            with name_in_errors(predictions):
                write_table(table, predictions)
    if model is not None:
        with name_in_errors(model):
            classifier.save(model, graph=with_graph)
    written = {"model": _path_text(model), "predictions": _path_text(predictions)}
    for name, path in written.items():
        if path is not None and path != "-":
            carried = with_graph and name == "model"
            size = f" with its graph, {format_bytes(Path(path).stat().st_size)}" if carried else ""
            reporter.print(f"Wrote {name} to {path}{size}")
    if model is None and predictions is None:
        reporter.print("Nothing was written: give --predictions or --model.")
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(
        {
            "read": summary,
            "neighbours": neighbours,
            "chosen": chosen,
            "wrote": written,
            "seconds": reporter.seconds,
        }
    )
    if strict and not classifier.converged_:
        raise typer.Exit(NOT_CONVERGED)


def _print_neighbours(reporter: Reporter, neighbours: dict[str, Any], searched: bool) -> None:
    """Tell if neighbours differ or tell nothing and, if settings are searched, what is done."""
    if neighbours["relation"] in ("differ", "independent"):
        told = [neighbours["finding"], neighbours["consequence"]]
        reporter.print(" ".join(told if searched else told[:1]))


def print_fit_summary(reporter: Reporter, chosen: dict[str, Any]) -> None:
    """Print the settings chosen, and the accuracy beside that of simple baselines."""
    by = chosen["validated_by"]
    by = by and (f"by {by}" if by == "cross-validation" else f"on {by}")
    title = f"Fitted {chosen['training_nodes']:,} labelled nodes in {chosen['seconds']:.1f} s"
    if chosen["settings_tried"]:
        title += f"; chose among {chosen['settings_tried']:,} settings" + (f" {by}" if by else "")
    rows = [("T", f"{chosen['T']:.3g}" if chosen["T"] is not None else chosen["scheme"])]
    if chosen["K"] is not None:
        rows.append(("K", str(chosen["K"])))
    rows.append(("weight decay", f"{chosen['weight_decay']:.3g}"))
    if chosen["feature_scaling"]:
        rows.append(("feature scaling", chosen["feature_scaling"]))
    reporter.table(rows + _addition_rows(chosen), title)
    for hint in chosen["hints"]:
        reporter.print(hint)
    accuracies = [
        ("with the graph", chosen["validation_accuracy"]),
        ("features alone", chosen["features_alone_accuracy"]),
        ("largest class", chosen["majority_accuracy"]),
    ]
    if chosen["validation_accuracy"] is not None:
        shown = [(name, f"{value:.1%}") for name, value in accuracies if value is not None]
        reporter.table(shown, f"Accuracy {by}")
        if chosen["validated_before"]:
            steps = " and ".join(chosen["validated_before"])
            reporter.print(f"Measured before {steps} learned from the labels of these nodes.")
    if "test_accuracy" in chosen:
        reporter.table(
            [("with the graph", f"{chosen['test_accuracy']:.1%}")],
            f"Accuracy on {chosen['test_nodes']:,} test nodes",
        )


def _addition_rows(chosen: dict[str, Any]) -> list[tuple[str, str]]:
    """What was added to DGC, and which nodes the last fit learned from, if not training nodes."""
    rows = []
    weights, offsets = chosen["member_weights"], chosen["class_offsets"]
    if len(weights) > 1:
        parts = [f"{MEMBER_TITLES[name]} {weight:.0%}" for name, weight in weights.items()]
        rows.append(("mean of", ", ".join(parts)))
    if "channels" in chosen["extensions"]:
        rows.append(("channels", ", ".join(chosen["channels"])))
    if offsets is not None:
        source = f"learned like the temperature from the labels of {chosen['class_offsets_from']}"
        rows.append(("class offsets", f"{len(offsets)} numbers, {source}"))
    if chosen["final_fit_nodes"] > chosen["training_nodes"]:
        learned = f"{chosen['final_fit_nodes']:,} labelled nodes, including validation nodes"
        rows.append(("final fit", learned))
    return rows


def _path_text(path: Path | None) -> str | None:
    return None if path is None else str(path)
