"""``heatgraph explain``: which nodes and features a score is made of."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.console import Voice
from heatgraph.cli.reading import read


@options.grouped
def explain(
    model: options.Model,
    nodes: options.Nodes,
    edges: options.Edges,
    node: Annotated[str, typer.Option("--node", help="Id of the node.")],
    class_label: Annotated[
        str | None, typer.Option("--class", help="Class to explain; else the predicted one.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many of the largest shares.")] = 10,
    *,
    tables: options.Tables,
    machine: options.Machine,
    report: options.Report,
) -> None:
    """Tell which source nodes and features a node's score is made of, exactly."""
    voice = Voice(report)
    from heatgraph.learning.classifier import load

    classifier = load(model).set_params(**machine.parameters())
    reading, _ = read(voice, nodes, edges, tables.reading_for(classifier, machine.memory))
    graph = reading.data.graph
    position = _find(graph.names.tolist(), node, str(nodes))
    label = None if class_label is None else _class(classifier.classes_.tolist(), class_label)
    with voice.working("explaining"):
        explanation = classifier.explain(position, label, top, graph)
    voice.say()
    voice.say(repr(explanation))
    told = dataclasses.asdict(explanation)
    voice.json({key: told[key] for key in told if not key.endswith("_shares")})


def _find(ids: list[Any], node: str, table: str) -> int:
    from heatgraph.errors import InputError
    from heatgraph.tables.roles import hint

    names = [str(name) for name in ids]
    if node not in names:
        raise InputError(f"--node: {table} has no node {node!r}.{hint(node, names)}")
    return names.index(node)


def _class(classes: list[Any], wanted: str) -> Any:
    from heatgraph.errors import InputError

    for label in classes:
        if str(label) == wanted:
            return label
    listed = ", ".join(map(str, classes))
    raise InputError(f"--class: the model knows the classes {listed}. Got {wanted!r}.")
