"""``heatgraph datasets``: what can be loaded by name, and one of them as tables."""

from __future__ import annotations

import dataclasses
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.console import Voice
from heatgraph.cli.writing import writing

if TYPE_CHECKING:
    from heatgraph.datasets.catalogue import CatalogueEntry


class Format(str, Enum):
    """Forms of tables."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"


@options.grouped
def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One of them, to load and look at.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write it as tables of nodes and edges into this folder."),
    ] = None,
    format: Annotated[
        Format, typer.Option("--format", help="Of the tables that are exported.")
    ] = Format.csv,
    *,
    report: options.Report,
) -> None:
    """List the data sets that are known by name, or load one and tell about it."""
    voice = Voice(report)
    from heatgraph.datasets.catalogue import DATASETS

    if name is None:
        if export is not None:
            raise typer.BadParameter("--export needs the name of a data set.")
        _list(voice, list(DATASETS.values()))
    else:
        _show(voice, name, export, f".{format.value}")


def _list(voice: Voice, entries: list[CatalogueEntry]) -> None:
    rows: list[tuple[str, ...]] = [
        ("name", "nodes", "edges", "features", "classes", "where", "what")
    ]
    for entry in entries:
        counts = (entry.nodes, entry.edges, entry.features, entry.classes)
        rows.append((entry.name, *(f"{count:,}" for count in counts), entry.place, entry.title))
    voice.table(rows)
    voice.say()
    for entry in entries:
        if entry.how:
            voice.say(f"  {entry.name}: {entry.how}")
    voice.say('\nIn Python: heatgraph.load_dataset("citeseer")')
    voice.json([_described(entry) for entry in entries])


def _described(entry: CatalogueEntry) -> dict[str, Any]:
    described = {
        field.name: getattr(entry, field.name)
        for field in dataclasses.fields(entry)
        if field.name not in ("read", "published")
    }
    published = entry.published and dataclasses.asdict(entry.published)
    return described | {"published": published}


def _show(voice: Voice, name: str, export: Path | None, suffix: str) -> None:
    from heatgraph.datasets.catalogue import load_dataset
    from heatgraph.errors import InputError
    from heatgraph.tables.writing import write_dataset

    if export is not None and export.exists() and not export.is_dir():
        raise InputError(f"--export: {export} is a file. Name a folder.")
    with voice.working(f"loading {name}") as progress:
        data = load_dataset(name, progress=progress)
    statistics = data.statistics
    splits = statistics.pop("splits")
    rows = [(key.replace("_", " "), f"{value:,}") for key, value in statistics.items()]
    for split, parts in splits.items():
        named = zip(("train", "val", "test"), parts, strict=True)
        rows.append((f"split {split}", ", ".join(f"{part} {count:,}" for part, count in named)))
    voice.table(rows, name)
    for title in ("licence", "citation", "source", "notes"):
        if getattr(data, title):
            voice.say(f"{title}: " + getattr(data, title).replace("\n", " "))
    written = []
    if export is not None:
        with voice.working("writing tables"), writing(export):
            export.mkdir(parents=True, exist_ok=True)
            written = [str(path) for path in write_dataset(data, export, suffix)]
        voice.say(
            f"Wrote {', '.join(written)}. To learn from them:\n\n  {_fit_command(export, suffix)}"
        )
    texts = {key: getattr(data, key) for key in ("licence", "citation", "source", "notes")}
    voice.json({"name": name, **statistics, "splits": splits, **texts, "wrote": written})


def _fit_command(folder: Path, suffix: str) -> str:
    """What to type to fit the tables in a folder."""
    nodes, edges, features = (folder / (n + suffix) for n in ("nodes", "edges", "features"))
    command = f'heatgraph fit "{nodes}" "{edges}"'
    return f'{command} --features "{features}"' if features.exists() else command
