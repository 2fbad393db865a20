"""``heatgraph fit``: learn from two tables, label every node, keep the model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from heatgraph.cli import NOT_CONVERGED, options
from heatgraph.cli.console import Voice
from heatgraph.cli.reading import read
from heatgraph.cli.writing import check_outputs, is_standard, writing


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
    id: options.Id = None,
    label: options.Label = None,
    features: options.Features = None,
    split: options.SplitColumn = None,
    source: options.SourceColumn = None,
    target: options.TargetColumn = None,
    weight: options.Weight = None,
    directed: options.Directed = options.Direction.max,
    duplicates: options.DuplicateEdges = options.Duplicates.error,
    T: options.T = None,
    K: options.K = None,
    scheme: options.Scheme = None,
    self_loops: options.SelfLoops = True,
    feature_scaling: options.Scaling = options.Scalings.auto,
    weight_decay: options.WeightDecay = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    memory: options.Memory = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Learn from the labelled nodes, choose T from the data, and label every node.

    Settings are chosen on the nodes that the split calls val, or by cross-validation.
    """
    given = dict(locals())
    voice = Voice(as_json=as_json, quiet=quiet, taken=is_standard(predictions))
    from heatgraph.report.summary import fit_summary, training_parts
    from heatgraph.tables.writing import predictions_table, table_form, write_table

    check_outputs([nodes, edges, features], [model, predictions])
    if is_standard(model):
        raise typer.BadParameter("a model is not a text: --model must name a file.")
    if predictions is not None and not is_standard(predictions):
        table_form(predictions)
    options.check_numbers(given)
    reading, summary = read(voice, nodes, edges, options.table_options(given))
    options.need_labels(reading)
    classifier = make_classifier(given)
    data = reading.data
    train, val, _ = training_parts(data)
    before = voice.seconds
    with voice.working("fitting") as progress:
        classifier.fit(data.graph, data.labels, train, val, progress=progress)
        alone = None
        if data.graph.num_features and classifier.validation_accuracy_ is not None:
            alone = make_classifier(given | {"T": "0", "K": None, "scheme": None})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the same has been said of the first model
                alone.fit(data.graph, data.labels, train, val, progress=progress)
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


def make_classifier(given: dict[str, Any]) -> Any:
    """The classifier that a command's options ask for."""
    from heatgraph.classifier import DGCClassifier

    return DGCClassifier(
        T=options.numbers(given["T"], "--T"),
        K=given["K"],
        scheme=given["scheme"] and given["scheme"].value,
        self_loops=given["self_loops"],
        feature_scaling=given["feature_scaling"].value,
        weight_decay=options.numbers(given["weight_decay"], "--weight-decay"),
        random_state=given["seed"],
        n_threads=given["threads"],
        memory_budget=given["memory"],
    )


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
