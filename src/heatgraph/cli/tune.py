"""``heatgraph tune``: every setting tried, as a table and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.console import Voice
from heatgraph.cli.fit import make_classifier, tell_choice
from heatgraph.cli.reading import read
from heatgraph.cli.writing import check_outputs, is_standard, writing


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
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Try settings on validation data, and show how accuracy depends on T.

    The test nodes of a split are left aside.
    """
    given = dict(locals())
    voice = Voice(as_json=as_json, quiet=quiet, taken=is_standard(output))
    import pyarrow as pa

    from heatgraph.report.plots import check_plot_name, plot_search
    from heatgraph.report.summary import fit_summary, training_parts
    from heatgraph.tables.writing import table_form, write_table

    check_outputs([nodes, edges, features], [output, plot])
    if output is not None and not is_standard(output):
        table_form(output)
    if plot is not None:
        check_plot_name(plot)
    options.check_numbers(given)
    _check_choice(given)
    reading, summary = read(voice, nodes, edges, options.table_options(given))
    options.need_labels(reading)
    classifier = make_classifier(given)
    data = reading.data
    train, val, _ = training_parts(data)
    before = voice.seconds
    with voice.working("trying settings") as progress:
        classifier.fit(data.graph, data.labels, train, val, progress=progress)
    chosen = fit_summary(classifier, data, None) | {"seconds": voice.seconds - before}
    for key in ("test_nodes", "test_accuracy"):
        chosen.pop(key, None)
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


def _check_choice(given: dict[str, Any]) -> None:
    """Refuse what leaves nothing to try, or nothing to plot."""
    fixed = [isinstance(options.numbers(given[key], key), float) for key in ("T", "weight_decay")]
    if all(fixed):
        raise typer.BadParameter(
            "there is nothing to try: --T and --weight-decay have one value each. Leave one out, "
            "or list candidates with commas between."
        )
    if fixed[0] and given["plot"] is not None:
        raise typer.BadParameter(
            "there is nothing to plot: --T has one value. Leave it out, or list candidates with "
            "commas between."
        )
