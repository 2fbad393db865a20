"""``heatgraph explore``: a page that shows a model on its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heatgraph._io.formatting import format_bytes
from heatgraph.cli import options
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_and_report
from heatgraph.cli.output_files import check_outputs, name_in_errors
from heatgraph.cli.reporter import Reporter


@options.expand_groups
def explore(
    model: options.Model,
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    data_folder: options.Data = None,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Page to write, such as explore.html.")
    ],
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    columns: options.ColumnOptions,
    labels: options.LabelOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Write a page to look at a model on its graph, by class, confidence and error, over T.

    It is one HTML file, which opens from disk and loads nothing from elsewhere.
    """
    reporter = Reporter(output_options)
    from heatgraph.explorer.explore import check_explorable, explore
    from heatgraph.learning.model_files import load

    source = find_graph_argument(graph_or_nodes, edges, data_folder)
    check_outputs([model, *source.files, *columns.feature_parts], [output])
    classifier = load(model)
    check_explorable(classifier)
    classifier.set_params(**resources.parameters())
    table_options = columns.table_options_for(
        classifier, resources.memory, **vars(labels), task="classification"
    )
    result, summary = read_and_report(reporter, source, table_options)
    with reporter.progress("exploring") as show, name_in_errors(output):
        explore(classifier, result.dataset, output, progress=show)
    size = output.stat().st_size
    reporter.print(f"Wrote {output} ({format_bytes(size)}) in {reporter.seconds:.1f} s")
    if open_page:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())
    reporter.json(
        {
            "read": summary,
            "page": str(output),
            "bytes": size,
            "warnings": reporter.warnings,
            "seconds": reporter.seconds,
        }
    )
