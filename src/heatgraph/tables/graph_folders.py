"""Read a folder that holds one graph, in any layout that is known by the names of its files."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from heatgraph.datasets.catalogue import TWITCH_FEATURES
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.geom_gcn import EDGES_FILE, NODES_FILE, read_geom_gcn
from heatgraph.datasets.musae import read_musae
from heatgraph.datasets.planetoid import read_planetoid
from heatgraph.datasets.text_files import text_lines
from heatgraph.errors import InputError
from heatgraph.tables.columns import format_names
from heatgraph.tables.from_tables import ReadResult, read_tables
from heatgraph.tables.input_table import has_table_suffix
from heatgraph.tables.named_data import dataset_result
from heatgraph.tables.ogb_folders import find_ogb_files, read_ogb
from heatgraph.tables.options import TableOptions

LOOKED_FOR = (
    "tables nodes.* and edges.* (and perhaps features.*); Planetoid's files ind.NAME.*; Geom-GCN's "
    f"{NODES_FILE} and {EDGES_FILE}; MUSAE's *_edges.csv, *_features.json and *_target.csv; "
    "the Open Graph Benchmark's edge.csv.gz and node-label.csv.gz, also in raw/"
)
PLANETOID_PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
# Columns of classes in MUSAE's graphs.
MUSAE_LABELS = ("page_type", "mature", "ml_target", "target")

_PLANETOID = re.compile(r"ind\.(.+)\.graph")


@dataclass(frozen=True)
class GraphFolder:
    """Files of a folder that make one graph, and the function that reads them."""

    files: list[Path]
    read: Callable[[TableOptions], ReadResult]


def find_graph(folder: Path) -> GraphFolder:
    """Recognise the files of a folder."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    for find in (_find_tables, _find_planetoid, _find_geom_gcn, _find_musae, _find_ogb):
        found = find(folder, names)
        if found is not None:
            return found
    folders = sorted(path.name for path in folder.iterdir() if path.is_dir())
    inside = f", and the folders {format_names(folders)}: name one of them" if folders else ""
    raise InputError(
        f"{folder} holds no graph that is recognised. Looked for {LOOKED_FOR}. Found "
        f"{format_names(names) or 'no files'}{inside}."
    )


def planetoid_graph(graph_file: Path) -> GraphFolder | None:
    """The data set whose file ``ind.NAME.graph`` is named; None if the name is another."""
    match = _PLANETOID.fullmatch(graph_file.name)
    if match is None:
        return None
    folder, name = graph_file.parent, match[1]
    files = [folder / f"ind.{name}.{part}" for part in PLANETOID_PARTS]

    def read() -> Dataset:
        missing = [path.name for path in files if not path.is_file()]
        if missing:
            raise InputError(
                f"{folder} lacks {', '.join(missing)} of Planetoid's data set {name!r}. Get it."
            )
        return read_planetoid(folder, name)

    return _dataset_folder(files, read)


def _dataset_folder(files: list[Path], read: Callable[[], Dataset]) -> GraphFolder:
    return GraphFolder(files, lambda options: dataset_result(read(), options))


def _find_tables(folder: Path, names: list[str]) -> GraphFolder | None:
    tables = {
        part: [name for name in names if name.split(".")[0] == part and has_table_suffix(name)]
        for part in ("nodes", "edges", "features")
    }
    if not tables["nodes"] or not tables["edges"]:
        return None
    for part, found in tables.items():
        if len(found) > 1:
            raise InputError(
                f"{folder} holds several tables of {part}: {', '.join(found)}. Name the two files "
                "of nodes and edges."
            )
    nodes, edges = folder / tables["nodes"][0], folder / tables["edges"][0]
    features = [folder / name for name in tables["features"]]

    def read(options: TableOptions) -> ReadResult:
        if features and options.features is None and not options.model_reads_columns_only:
            options = replace(options, features=features[0])
        return read_tables(nodes, edges, options)

    return GraphFolder([nodes, edges, *features], read)


def _find_planetoid(folder: Path, names: list[str]) -> GraphFolder | None:
    found = [name for name in names if _PLANETOID.fullmatch(name)]
    if len(found) > 1:
        raise InputError(
            f"{folder} holds several of Planetoid's data sets. Name one: "
            f"{', '.join(str(folder / name) for name in found)}."
        )
    return planetoid_graph(folder / found[0]) if found else None


def _find_ogb(folder: Path, names: list[str]) -> GraphFolder | None:
    files = find_ogb_files(folder)
    if files is None:
        return None
    return GraphFolder(list(files.values()), lambda options: read_ogb(files, options))


def _find_geom_gcn(folder: Path, names: list[str]) -> GraphFolder | None:
    if NODES_FILE not in names and EDGES_FILE not in names:
        return None
    files = [folder / NODES_FILE, folder / EDGES_FILE]
    return _dataset_folder(files, lambda: read_geom_gcn(folder))


def _find_musae(folder: Path, names: list[str]) -> GraphFolder | None:
    suffixes = ("_edges.csv", "_features.json", "_target.csv")
    found = [name for name in names if name.endswith(suffixes) and not name.startswith(".")]
    if not any(name.endswith("_target.csv") for name in found):
        return None
    files = [folder / name for name in found]
    target = next(path for path in files if path.name.endswith("_target.csv"))

    def read(options: TableOptions) -> ReadResult:
        columns = _header(target)
        label = options.label or next((name for name in MUSAE_LABELS if name in columns), None)
        if label is None:
            raise InputError(
                f"{target} has no column of classes that is recognised. It has "
                f"{format_names(columns)}. Name it with --label."
            )
        data = read_musae(
            folder,
            label,
            node_id="new_id" if "new_id" in columns else "id",
            num_features=TWITCH_FEATURES if label == "mature" else None,
        )
        return dataset_result(data, replace(options, label="" if options.label == "" else None))

    return GraphFolder(files, read)


def _header(path: Path) -> list[str]:
    """The names of the columns of a CSV file."""
    row = next(csv.reader(text_lines(path)), [])
    return [name.strip() for name in row]
