"""``heatgraph fit``: learn from two tables, label every node, keep the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heatgraph.cli import NOT_CONVERGED, options
from heatgraph.cli.console import Voice
from heatgraph.cli.reading import read_to_learn
from heatgraph.cli.writing import check_outputs, is_standard, writing


@options.grouped
def fit(
    nodes: options.Nodes,
    edges: options.Edges,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Where the model goes (.safetensors).")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions", "-o", "-p", help="Where predictions go: .csv, .tsv, .parquet, or -."
        ),
    ] = None,
    strict: options.Strict = False,
    *,
    tables: options.Tables,
    labels: options.Labels,
    settings: options.Settings,
    machine: options.Machine,
    report: options.Report,
) -> None:
    """Learn from the labelled nodes, choose T from the data, and label every node.

    Settings are chosen on the nodes that the split calls val, or by cross-validation.
    """
    voice = Voice(report, taken=is_standard(predictions))
    from heatgraph.report.summary import fit_summary
    from heatgraph.tables.writing import predictions_table, table_form, write_table

    check_outputs([nodes, edges, tables.features], [model, predictions])
    if is_standard(model):
        raise typer.BadParameter("a model is not a text: --model must name a file.")
    if predictions is not None and not is_standard(predictions):
        table_form(predictions)
    parameters = settings.parameters() | machine.parameters()
    reading, summary = read_to_learn(voice, nodes, edges, tables, labels, machine.memory)
    # Only now, since it takes a second, and an error in the tables should not wait for it.
    from heatgraph.baselines.schemes import fit_features_alone
    from heatgraph.learning.classifier import DGCClassifier

    classifier = DGCClassifier(**parameters)
    data = reading.data
    train, val, _ = data.partition()
    before = voice.seconds
    with voice.working("fitting") as progress:
        classifier.fit(data.graph, data.labels, train, val, progress=progress)
        alone = fit_features_alone(
            classifier, data.graph, data.labels, train, val, progress=progress
        )
    chosen = fit_summary(classifier, data, alone) | {"seconds": voice.seconds - before}
    tell_choice(voice, chosen)
    if predictions is not None:
        with voice.working("predicting"):
            probabilities = classifier.predict_proba()
            classes = classifier.classes_
            table = predictions_table(data.graph, reading.id_column, classes, probabilities)
            with writing(predictions):
                write_table(table, predictions)
    if model is not None:
        with writing(model):
            classifier.save(model)
    written = {"model": _text(model), "predictions": _text(predictions)}
    for what, path in written.items():
        if path is not None and path != "-":
            voice.say(f"Wrote {what} to {path}")
    if model is None and predictions is None:
        voice.say("Nothing was written: --predictions and --model say where to.")
    voice.say(f"Done in {voice.seconds:.1f} s")
    voice.json({"read": summary, "chosen": chosen, "wrote": written, "seconds": voice.seconds})
    if strict and not classifier.converged_:
        raise typer.Exit(NOT_CONVERGED)


def tell_choice(voice: Voice, chosen: dict[str, Any]) -> None:
    """Report what was chosen, and how it compares."""
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
    voice.table(rows, title)
    accuracies = [
        ("with the graph", chosen["validation_accuracy"]),
        ("features alone", chosen["features_alone_accuracy"]),
        ("largest class", chosen["majority_accuracy"]),
    ]
    if chosen["validation_accuracy"] is not None:
        shown = [(name, f"{value:.1%}") for name, value in accuracies if value is not None]
        voice.table(shown, f"Accuracy {by}")
    if "test_accuracy" in chosen:
        voice.table(
            [("with the graph", f"{chosen['test_accuracy']:.1%}")],
            f"Accuracy on {chosen['test_nodes']:,} test nodes",
        )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
