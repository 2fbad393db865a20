"""``heatgraph tune``: every setting tried, as a table and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.console import Voice
from heatgraph.cli.fit import tell_choice
from heatgraph.cli.reading import read_to_learn
from heatgraph.cli.writing import check_outputs, is_standard, writing


@options.grouped
def tune(
    nodes: options.Nodes,
    edges: options.Edges,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Table of all settings tried: .csv, .parquet, or -."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Plot of accuracy over T: .png, .svg or .pdf.")
    ] = None,
    *,
    tables: options.Tables,
    labels: options.Labels,
    settings: options.Settings,
    machine: options.Machine,
    report: options.Report,
) -> None:
    """Try settings on validation data, and show how accuracy depends on T.

    The test nodes of a split are left aside.
    """
    voice = Voice(report, taken=is_standard(output))
    import pyarrow as pa

    from heatgraph.report.plots import check_plot_name, plot_search
    from heatgraph.report.summary import fit_summary
    from heatgraph.tables.writing import table_form, write_table

    check_outputs([nodes, edges, tables.features], [output, plot])
    if output is not None and not is_standard(output):
        table_form(output)
    if plot is not None:
        check_plot_name(plot)
    parameters = settings.parameters() | machine.parameters()
    _check_choice(parameters, plot)
    reading, summary = read_to_learn(voice, nodes, edges, tables, labels, machine.memory)
    # Only now, since it takes a second, and an error in the tables should not wait for it.
    from heatgraph.learning.classifier import DGCClassifier

    classifier = DGCClassifier(**parameters)
    data = reading.data
    train, val, _ = data.partition()
    before = voice.seconds
    with voice.working("trying settings") as progress:
        classifier.fit(data.graph, data.labels, train, val, progress=progress)
    chosen = fit_summary(classifier, data, score_test=False) | {"seconds": voice.seconds - before}
    tell_choice(voice, chosen)
    if output is not None:
        with writing(output):
            write_table(pa.Table.from_pylist(classifier.search_), output)
        if not is_standard(output):
            voice.say(f"Wrote {len(classifier.search_):,} settings to {output}")
    if plot is not None:
        with writing(plot):
            plot_search(classifier.search_, classifier.T_, plot, nodes.name)
        voice.say(f"Wrote the plot to {plot}")
    voice.say(f"Done in {voice.seconds:.1f} s")
    voice.json({"read": summary, "chosen": chosen, "seconds": voice.seconds})


def _check_choice(parameters: dict[str, Any], plot: Path | None) -> None:
    """Refuse what leaves nothing to try, or nothing to plot."""
    fixed = [isinstance(parameters[key], float) for key in ("T", "weight_decay")]
    if all(fixed):
        raise typer.BadParameter(
            "there is nothing to try: --T and --weight-decay have one value each. Leave one out, "
            "or list candidates with commas between."
        )
    if fixed[0] and plot is not None:
        raise typer.BadParameter(
            "there is nothing to plot: --T has one value. Leave it out, or list candidates with "
            "commas between."
        )
