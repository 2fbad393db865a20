"""``heatgraph explain``: the contributions of nodes and features to a score."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_and_report
from heatgraph.cli.reporter import Reporter


@options.expand_groups
def explain(
    model: options.Model,
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    data_folder: options.Data = None,
    *,
    node: Annotated[str, typer.Option("--node", help="Id of the node.")],
    class_label: Annotated[
        str | None, typer.Option("--class", help="Class to explain; by default the predicted one.")
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=1, help="Number of the largest contributions.")
    ] = 10,
    columns: options.ColumnOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Print the exact contributions of source nodes and features to a node's score."""
    reporter = Reporter(output_options)
    from heatgraph.learning.model_files import load, task_of

    source = find_graph_argument(graph_or_nodes, edges, data_folder)
    classifier = load(model).set_params(**resources.parameters())
    result, _ = read_and_report(
        reporter, source, columns.table_options_for(classifier, resources.memory)
    )
    graph = result.dataset.graph
    position = _position(graph.names.tolist(), node, result.dataset.name)
    arguments: dict[str, Any] = {"top": top, "graph": graph}
    if class_label is not None:
        if task_of(classifier) == "regression":
            raise typer.BadParameter("--class: the model predicts a number, and has no classes.")
        arguments["label"] = _find_class(classifier.classes_.tolist(), class_label)
    with reporter.progress("explaining"):
        explanation = classifier.explain(position, **arguments)
    reporter.print()
    reporter.print(repr(explanation))
    values = dataclasses.asdict(explanation)
    reporter.json({key: values[key] for key in values if not key.endswith("_shares")})


def _position(ids: list[Any], node: str, table: str) -> int:
    from heatgraph.errors import InputError
    from heatgraph.tables.columns import did_you_mean

    names = [str(name) for name in ids]
    if node not in names:
        raise InputError(f"--node: {table} has no node {node!r}.{did_you_mean(node, names)}")
    return names.index(node)


def _find_class(classes: list[Any], name: str) -> Any:
    from heatgraph.errors import InputError

    for label in classes:
        if str(label) == name:
            return label
    listed = ", ".join(map(str, classes))
    raise InputError(f"--class: the model knows the classes {listed}. Got {name!r}.")
