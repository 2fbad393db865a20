"""``heatgraph datasets``: list the data sets, load one, and export it as tables."""

from __future__ import annotations

import dataclasses
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.output_files import name_in_errors
from heatgraph.cli.reporter import Reporter

if TYPE_CHECKING:
    from heatgraph.datasets.catalogue import CatalogueEntry


class Format(str, Enum):
    """File formats of tables."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"


@options.expand_groups
def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Data set to load and summarize.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Folder to write its node and edge tables to."),
    ] = None,
    format: Annotated[
        Format,
        typer.Option(
            "--format", metavar="csv|tsv|parquet", help="File format of the exported tables."
        ),
    ] = Format.csv,
    *,
    output_options: options.OutputOptions,
) -> None:
    """List the data sets, or load one and print its statistics."""
    reporter = Reporter(output_options)
    from heatgraph.datasets.catalogue import DATASETS

    if name is not None and name not in DATASETS:
        from heatgraph.tables.columns import did_you_mean

        raise typer.BadParameter(
            f"there is no data set {name!r}.{did_you_mean(name, DATASETS)} There are "
            f"{', '.join(DATASETS)}."
        )
    if name is None:
        if export is not None:
            raise typer.BadParameter("--export needs the name of a data set.")
        _list(reporter, list(DATASETS.values()))
    else:
        _show(reporter, name, export, f".{format.value}")


def _list(reporter: Reporter, entries: list[CatalogueEntry]) -> None:
    rows: list[tuple[str, ...]] = [("name", "nodes", "edges", "features", "classes", "where")]
    for entry in entries:
        counts = (entry.nodes, entry.edges, entry.features, entry.classes)
        rows.append((entry.name, *(f"{count:,}" for count in counts), entry.place))
    reporter.table(rows, numbers=True)
    reporter.print()
    about = [(entry.name, "; ".join(filter(None, (entry.title, entry.how)))) for entry in entries]
    reporter.table(about)
    reporter.print('\nIn Python: heatgraph.load_dataset("citeseer")')
    reporter.json([_to_json(entry) for entry in entries])


def _to_json(entry: CatalogueEntry) -> dict[str, Any]:
    values = {
        field.name: getattr(entry, field.name)
        for field in dataclasses.fields(entry)
        if field.name not in ("read", "published")
    }
    published = entry.published and dataclasses.asdict(entry.published)
    return values | {"published": published}


def _show(reporter: Reporter, name: str, export: Path | None, suffix: str) -> None:
    from heatgraph.datasets.catalogue import load_dataset
    from heatgraph.errors import InputError
    from heatgraph.tables.writing import write_dataset

    if export is not None and export.exists() and not export.is_dir():
        raise InputError(f"--export: {export} is a file. Name a folder.")
    with reporter.progress(f"loading {name}") as progress:
        data = load_dataset(name, progress=progress)
    statistics = data.statistics
    splits = statistics.pop("splits")
    rows = [(key.replace("_", " "), f"{value:,}") for key, value in statistics.items()]
    for split, parts in splits.items():
        named = zip(("train", "val", "test"), parts, strict=True)
        rows.append((f"split {split}", ", ".join(f"{part} {count:,}" for part, count in named)))
    if data.class_names:
        rows.append(("class names", ", ".join(data.class_names.values())))
    reporter.table(rows, name)
    for title in ("licence", "citation", "source", "notes"):
        if getattr(data, title):
            reporter.print(f"{title}: " + getattr(data, title).replace("\n", " "))
    written = []
    if export is not None:
        with reporter.progress("writing tables"), name_in_errors(export):
            export.mkdir(parents=True, exist_ok=True)
            written = [
                str(path) for path in write_dataset(data.with_named_classes(), export, suffix)
            ]
        reporter.print(f"Wrote {', '.join(written)}. To learn from them:\n")
        reporter.verbatim(f"  {_fit_command(export, suffix)}")
    provenance = {key: getattr(data, key) for key in ("licence", "citation", "source", "notes")}
    reporter.json({"name": name, **statistics, "splits": splits, **provenance, "wrote": written})


def _fit_command(folder: Path, suffix: str) -> str:
    """The command that fits the exported tables."""
    nodes, edges, features = (folder / (n + suffix) for n in ("nodes", "edges", "features"))
    command = f'heatgraph fit "{nodes}" "{edges}"'
    return f'{command} --features "{features}"' if features.exists() else command
