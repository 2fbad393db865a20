"""Read the folder of a node data set as the Open Graph Benchmark publishes it.

Its files are CSV without a header, plain or compressed; row i is node i:

    raw/edge.csv.gz            the two ends of a link, numbers of nodes
    raw/node-feat.csv.gz       d numbers; may be absent
    raw/node-label.csv.gz      a class; blank or nan if unknown
    split/NAME/train.csv.gz    numbers of nodes; valid.csv.gz and test.csv.gz too
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from heatgraph.errors import FileFormatError, InputError
from heatgraph.tables.columns import format_names
from heatgraph.tables.formats.file_formats import read_content
from heatgraph.tables.formats.files import SHARE_OF_MEMORY
from heatgraph.tables.from_tables import ReadResult, read_tables
from heatgraph.tables.options import TableOptions

FILES = ("edge", "node-label", "node-feat")
PARTS = {"train": "train", "valid": "val", "test": "test"}


def find_ogb_files(folder: Path) -> dict[str, Path] | None:
    """The files of a data set in a folder, or in `raw` within it; None if there are none."""
    for place in (folder, folder / "raw"):
        found = {name: path for name in FILES if (path := _csv_file(place, name)) is not None}
        if "edge" in found and "node-label" in found:
            return found
    return None


def read_ogb(files: dict[str, Path], options: TableOptions) -> ReadResult:
    """Read the files that `find_ogb_files` found, and the first split beside them."""
    limit = options.memory_bytes * SHARE_OF_MEMORY
    labels = _read_numbers(files["node-label"], limit)
    if labels.shape[1] != 1:
        raise InputError(
            f"{files['node-label']} has {labels.shape[1]} columns, where one of classes is "
            "expected. Read it in Python, and give DGCMultilabelClassifier the columns of 0 and 1."
        )
    n = len(labels)
    # Whole numbers as text, blank where unknown: what a column of a CSV file would hold.
    texts = ["" if np.isnan(label) else f"{label:.17g}" for label in labels[:, 0]]
    nodes = {"id": np.arange(n), "label": texts}
    split, notes = _read_split(files["node-label"].parent.parent, n, limit)
    if split is not None:
        nodes["split"] = split
    edges = _read_nodes(files["edge"], limit, n)
    if edges.shape[1] != 2:
        raise FileFormatError(
            f"{files['edge']} has {edges.shape[1]} columns. Expected two, the ends of links."
        )
    if "node-feat" in files and options.features is None:
        options = replace(options, features=_read_numbers(files["node-feat"], limit))
    result = read_tables(nodes, {"source": edges[:, 0], "target": edges[:, 1]}, options)
    named = replace(result.dataset, name=str(files["edge"].parent))
    return replace(result, dataset=named, notes=notes + result.notes)


def _csv_file(folder: Path, name: str) -> Path | None:
    paths = (folder / f"{name}.csv.gz", folder / f"{name}.csv")
    return next((path for path in paths if path.is_file()), None)


def _read_numbers(path: Path, limit: float) -> npt.NDArray[np.float64]:
    """A file of numbers without a header, (rows, columns); NaN where blank."""
    content = pa.BufferReader(read_content(path, limit))
    read = pa.csv.ReadOptions(autogenerate_column_names=True)
    skip = pa.csv.ParseOptions(ignore_empty_lines=False)
    try:
        table = pa.csv.read_csv(content, read, skip)
        columns = [column.cast(pa.float64()).to_numpy() for column in table.itercolumns()]
    except pa.ArrowException as error:
        raise FileFormatError(f"{path}: expected numbers without a header. {error}.") from error
    return np.column_stack(columns)


def _read_nodes(path: Path, limit: float, num_nodes: int) -> npt.NDArray[np.int64]:
    """A file of node numbers, (rows, columns)."""
    numbers = _read_numbers(path, limit)
    is_node = (numbers >= 0) & (numbers < num_nodes) & (numbers == np.floor(numbers))
    rows, columns = np.nonzero(~is_node)
    if len(rows):
        raise FileFormatError(
            f"{path}, line {rows[0] + 1}: {numbers[rows[0], columns[0]]:g} is no node, 0 to "
            f"{num_nodes - 1} ({len(rows):,} such in all). Get the file again."
        )
    return numbers.astype(np.int64)


def _read_split(
    folder: Path, num_nodes: int, limit: float
) -> tuple[npt.NDArray[np.object_] | None, list[str]]:
    """The part of each node by the first split, None without one, and a note on others."""
    found = sorted(path for path in folder.glob("split/*") if _csv_file(path, "train"))
    if not found:
        return None, []
    parts = np.full(num_nodes, "", dtype=object)
    for name, part in PARTS.items():
        path = _csv_file(found[0], name)
        if path is None:
            raise FileFormatError(f"{found[0]} lacks {name}.csv.gz. Get it again.")
        parts[_read_nodes(path, limit, num_nodes)[:, 0]] = part
    names = [path.name for path in found]
    used = f"{folder}: the split {names[0]!r} is used"
    return parts, [used + (f", the first of {format_names(names)}" if len(names) > 1 else "")]
