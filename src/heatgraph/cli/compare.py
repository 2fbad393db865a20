"""``heatgraph compare``: methods side by side on one graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.console import Voice
from heatgraph.cli.reading import read_to_learn
from heatgraph.cli.writing import check_folders, tell_tables

if TYPE_CHECKING:
    from heatgraph.datasets.dataset import Dataset

# Seconds after which something is said in any case.
PATIENCE = 30


@options.grouped
def compare(
    what: Annotated[
        str,
        typer.Argument(
            metavar="DATASET|NODES",
            help="A data set by name (see `heatgraph datasets`), or a table of nodes.",
        ),
    ],
    edges: Annotated[
        Path | None, typer.Argument(metavar="[EDGES]", help="Table of edges, if NODES is a table.")
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            help="Names with commas between, or linear, gnn, all; by default "
            "dgc,sgc,features,label-propagation,gcn,gat,appnp. DGC is always there.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Runs of every method that is random.")
    ] = 5,
    splits: Annotated[
        int | None,
        typer.Option(
            "--splits", min=1, help="So many random splits; by default the data's own, if any."
        ),
    ] = None,
    noise: Annotated[
        float,
        typer.Option(
            "--noise", min=0.0, help="Standard deviation of noise that is added to features."
        ),
    ] = 0.0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for all that is written; by default heatgraph-compare-...",
        ),
    ] = None,
    data: options.Data = None,
    again: options.Again = False,
    *,
    tables: options.Tables,
    labels: options.Labels,
    machine: options.Machine,
    report: options.Report,
) -> None:
    """Compare methods on one graph: accuracy, calibration, time, memory, and whether it is chance.

    Every run has a process of its own. What is done is kept in the folder and not done again, so a
    comparison can be stopped and gone on with.
    """
    voice = Voice(report)
    from heatgraph.errors import InputError
    from heatgraph.experiments.compare.methods import DEFAULT_METHODS, METHODS, parse_methods

    wanted = parse_methods(DEFAULT_METHODS if models is None else models)
    check_folders(data, output)
    dataset = (
        _named(voice, what, data)
        if edges is None
        else _read(voice, Path(what), edges, tables, labels, machine)
    )
    from heatgraph.experiments.compare.comparison import Comparison, run_comparison
    from heatgraph.experiments.compare.report import CSV_FILE, JSON_FILE, write_comparison
    from heatgraph.experiments.compare.splits import comparison_splits
    from heatgraph.experiments.compare.summary import summarize_methods
    from heatgraph.experiments.results import RESULTS_FILE, ResultStore
    from heatgraph.report.folder import PAGE

    there = [name for name in wanted if METHODS[name].is_installed]
    if dataset.graph.features is None:
        if noise:
            raise InputError("--noise: there are no features that noise could disturb.")
        needy = [METHODS[name].title for name in there if METHODS[name].needs_features]
        if needy:
            voice.say(f"There are no features, so {', '.join(needy)} are left out.")
        there = [name for name in there if not METHODS[name].needs_features]
    comparison = Comparison(
        there,
        dataset,
        comparison_splits(dataset, splits),
        seeds,
        noise,
        recipe_dataset=what if edges is None else "",
        threads=machine.threads,
        memory=machine.memory,
    )
    folder = output or Path(f"heatgraph-compare-{_plain(dataset.name)}")
    folder.mkdir(parents=True, exist_ok=True)
    results = ResultStore(folder, "compare", _command(what, edges, wanted, seeds, splits, noise))
    with voice.working("starting") as bar:
        last = voice.seconds

        def progress(at: str, stage: str, share: float, done: int, total: int) -> None:
            nonlocal last
            bar(f"{at}: {stage} ({done} of {total} runs)", int(1000 * (done + share)), 1000 * total)
            if voice.seconds - last > PATIENCE:
                last = voice.seconds
                voice.say(f"{done} of {total} runs, {last:.0f} s; {at}")

        status = run_comparison(comparison, results, progress, rerun=again)
        bar("writing the report", 0, 1)
        document = write_comparison(folder, comparison, results)
    found = summarize_methods(comparison, results)
    tell_tables(voice, document.sections[0])
    for method, why in status.failed.items():
        voice.say(f"{METHODS[method].title} failed: {why}")
        if "does not read edge weights" in why and edges is not None:
            voice.say("  To leave weights aside: --weight ''")
    missing = _missing(wanted)
    for extra, names in missing.items():
        voice.say(
            f'Not run: {", ".join(names)}. To have them too: pip install "heatgraph[{extra}]"'
        )
    voice.say(
        f"{status.completed} runs, {status.stored} known before. The report is "
        f"{folder / PAGE}; beside it are {CSV_FILE} and {JSON_FILE}, and {RESULTS_FILE} with every "
        "run."
    )
    voice.say(f"Done in {voice.seconds:.0f} s")
    voice.json(
        {
            "folder": str(folder),
            "run": status.completed,
            "known": status.stored,
            "not_installed": missing,
            "methods": found,
            "seconds": voice.seconds,
        }
    )
    if not any(row["runs"] for row in found):
        raise InputError("every method failed; see above for the reasons.")


def _named(voice: Voice, name: str, data: Path | None) -> Dataset:
    """A data set by name."""
    from heatgraph.datasets.catalogue import DATASETS, load_dataset
    from heatgraph.errors import InputError

    if name not in DATASETS:
        table = " For tables, name both: NODES EDGES." if Path(name).exists() else ""
        raise InputError(f"data sets are: {', '.join(DATASETS)}. Got {name!r}.{table}")
    with voice.working(f"loading {name}"):
        return load_dataset(name, data)


def _read(
    voice: Voice,
    nodes: Path,
    edges: Path,
    tables: options.Tables,
    labels: options.Labels,
    machine: options.Machine,
) -> Dataset:
    from dataclasses import replace

    reading, _ = read_to_learn(voice, nodes, edges, tables, labels, machine.memory)
    return replace(reading.data, name=nodes.name.split(".")[0])


def _missing(wanted: list[str]) -> dict[str, list[str]]:
    """Methods that are not installed, by the extra that they need."""
    from heatgraph.experiments.compare.methods import METHODS

    found: dict[str, list[str]] = {}
    for name in wanted:
        method = METHODS[name]
        if method.extra and not method.is_installed:
            found.setdefault(method.extra, []).append(method.title)
    return found


def _plain(name: str) -> str:
    """A name that any system takes for a folder."""
    return re.sub(r"[^\w.-]+", "-", name)


def _command(
    what: str,
    edges: Path | None,
    wanted: list[str],
    seeds: int,
    splits: int | None,
    noise: float,
) -> str:
    """What was typed, but for paths, columns and the machine."""
    data = Path(what).name if edges is None else f"{Path(what).name} {edges.name}"
    more = "" if splits is None else f" --splits {splits}"
    more += f" --noise {noise:g}" if noise else ""
    return f"heatgraph compare {data} --models {','.join(wanted)} --seeds {seeds}{more}"
