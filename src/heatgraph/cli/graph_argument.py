"""What a command's arguments name: two tables, a file or folder of a graph, or a data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from heatgraph.cli.output_files import check_folders

if TYPE_CHECKING:
    from heatgraph.tables.from_tables import ReadResult
    from heatgraph.tables.options import TableOptions


@dataclass(frozen=True)
class GraphArgument:
    """A graph to read: its title in reports, a short name, its files, and how to read it.

    `dataset` is the name of a data set in the catalogue, else "".
    """

    title: str
    name: str
    files: list[Path]
    read: Callable[[TableOptions], ReadResult]
    dataset: str = ""


def find_graph_argument(graph: str, edges: Path | None, data: Path | None) -> GraphArgument:
    """Find out what the arguments name; `data` is the folder of data sets' files."""
    check_folders(data, None)
    path = Path(graph)
    if edges is not None:
        return _two_tables(path, edges)
    from heatgraph.datasets.catalogue import DATASETS

    if graph in DATASETS:
        return _data_set(graph, data)
    if path.is_dir():
        from heatgraph.tables.graph_folders import find_graph

        folder = find_graph(path)
        return GraphArgument(graph, path.absolute().name, folder.files, folder.read)
    if path.is_file():
        return _one_file(path)
    raise typer.BadParameter(_unknown_name(graph, path, list(DATASETS)))


def _two_tables(nodes: Path, edges: Path) -> GraphArgument:
    def read(options: TableOptions) -> ReadResult:
        from heatgraph.tables.from_tables import read_tables

        return read_tables(nodes, edges, options)

    return GraphArgument(f"{nodes} and {edges}", _stem(nodes), [nodes, edges], read)


def _data_set(name: str, data: Path | None) -> GraphArgument:
    def read(options: TableOptions) -> ReadResult:
        from heatgraph.datasets.catalogue import load_dataset
        from heatgraph.tables.named_data import dataset_result

        return dataset_result(load_dataset(name, data).with_named_classes(), options)

    title = f"the data set {name}"
    if Path(name).is_dir():
        title += f" (for the folder, write ./{name})"
    return GraphArgument(title, name, [], read, name)


def _one_file(path: Path) -> GraphArgument:
    """A file that holds nodes and edges."""
    from heatgraph._io.tensor_file import is_tensor_file
    from heatgraph.tables.formats.file_formats import GRAPH_FORMATS, detect_format, read_start
    from heatgraph.tables.graph_folders import planetoid_graph

    if is_tensor_file(path):
        return _saved_graph(path)

    planetoid = planetoid_graph(path)
    if planetoid is not None:
        name = path.name.split(".")[1]
        return GraphArgument(f"{path.parent}/ind.{name}.*", name, planetoid.files, planetoid.read)
    if detect_format(path, read_start(path)) not in GRAPH_FORMATS:
        raise typer.BadParameter(
            f"{path} is one file. For tables, name both: NODES EDGES. A single file may be what "
            "`heatgraph convert` wrote, GraphML, GEXF or a graph in JSON."
        )
    both = _two_tables(path, path)
    return GraphArgument(str(path), both.name, [path], both.read)


def _saved_graph(path: Path) -> GraphArgument:
    def read(options: TableOptions) -> ReadResult:
        from heatgraph.datasets.dataset import Dataset
        from heatgraph.graph import Graph
        from heatgraph.tables.named_data import dataset_result

        return dataset_result(Dataset(path.name, Graph.load(path)), options)

    return GraphArgument(str(path), _stem(path), [path], read)


def _unknown_name(graph: str, path: Path, names: list[str]) -> str:
    from heatgraph.tables.columns import did_you_mean

    if path.is_symlink():
        return f"{graph} is a symbolic link to nothing, or in a circle. Name the file itself."
    files = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = did_you_mean(graph, names) or did_you_mean(path.name, files)
    return (
        f"{graph!r} is not a data set, a file or a folder.{hint} Data sets are: {', '.join(names)}."
    )


def _stem(path: Path) -> str:
    return path.name.split(".")[0]
