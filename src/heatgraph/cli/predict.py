"""``heatgraph predict``: label the nodes of two tables with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.console import Voice
from heatgraph.cli.reading import read
from heatgraph.cli.writing import check_outputs, is_standard, writing


@options.grouped
def predict(
    model: options.Model,
    nodes: options.Nodes,
    edges: options.Edges,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where predictions go: .csv, .parquet, or -.")
    ],
    *,
    tables: options.Tables,
    machine: options.Machine,
    report: options.Report,
) -> None:
    """Label every node of a graph with a model that `heatgraph fit` wrote.

    The graph may be another than the one that was fitted: features are found by their names.
    """
    voice = Voice(report, taken=is_standard(output))
    from heatgraph.learning.classifier import load
    from heatgraph.tables.writing import predictions_table, table_form, write_table

    check_outputs([model, nodes, edges, tables.features], [output])
    if not is_standard(output):
        table_form(output)
    classifier = load(model).set_params(**machine.parameters())
    reading, summary = read(voice, nodes, edges, tables.reading_for(classifier, machine.memory))
    graph = reading.data.graph
    with voice.working("predicting"):
        probabilities = classifier.predict_proba(graph)
        classes = classifier.classes_
        table = predictions_table(graph, reading.id_column, classes, probabilities)
        with writing(output):
            write_table(table, output)
    if not is_standard(output):
        voice.say(f"Wrote predictions of {graph.num_nodes:,} nodes to {output}")
    voice.say(f"Done in {voice.seconds:.1f} s")
    voice.json({"read": summary, "wrote": {"predictions": str(output)}, "seconds": voice.seconds})
