"""Write tables atomically as CSV, gzip-compressed CSV or Parquet, chosen by the file name."""

from __future__ import annotations

import contextlib
import gzip
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import scipy.sparse as sp

from heatgraph._io.atomic_files import atomic_write
from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.learning._labels import Labels

Array = npt.NDArray[Any]

# The path that stands for standard output.
STDOUT = "-"
# Decimal digits of probabilities.
DIGITS = 6

_FORMATS = {
    ".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


def predictions_table(
    graph: Graph,
    id_column: str,
    classes: Array,
    probabilities: Array,
    more: Mapping[str, list[str]] | None = None,
) -> pa.Table:
    """One row per node: id, predicted class, its probability, and the probability of each class.

    `confidence` is the probability of the predicted class and `margin` how much it exceeds that of
    the second. `more` are further columns of text, which stand before the probabilities.
    """
    best = probabilities.argmax(axis=1)
    ranked = np.partition(probabilities, -2, axis=1)
    more = more or {}
    by_class = {
        f"probability_{label}": pa.array(probabilities[:, at].round(DIGITS))
        for at, label in enumerate(classes.tolist())
    }
    table = {
        "prediction": column_of(classes[best]),
        "confidence": pa.array(ranked[:, -1].round(DIGITS)),
        "margin": pa.array((ranked[:, -1] - ranked[:, -2]).round(DIGITS)),
        **{name: pa.array(texts, pa.string()) for name, texts in more.items()},
        **by_class,
    }
    id_column = "id" if id_column in table else id_column
    return pa.table({id_column: column_of(graph.names)} | table)


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a table in the format of the file name, or to standard output as CSV."""
    if str(path) == STDOUT:
        _write_csv(table, sys.stdout.buffer, ",")
        sys.stdout.buffer.flush()
        return
    file_format, compressed = table_format(path)
    with atomic_write(path) as file, _compressing(file, compressed) as inner:
        if file_format == "parquet":
            pa.parquet.write_table(table, inner)
        else:
            _write_csv(table, inner, file_format)


def table_format(path: str | Path) -> tuple[str, bool]:
    """The format that a file name stands for: delimiter or "parquet"; and whether it is gzipped."""
    name = Path(path).name.lower()
    compressed = name.endswith(".gz")
    file_format = _FORMATS.get(Path(name.removesuffix(".gz")).suffix)
    if file_format is None or (compressed and file_format == "parquet"):
        raise InputError(
            f"{path}: the name of a table must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet."
        )
    return file_format, compressed


def write_dataset(data: Dataset, folder: str | Path, suffix: str = ".csv") -> list[Path]:
    """Write a data set as the files nodes, edges and, if they are sparse, features.

    `suffix` chooses their format. Returns their paths.
    """
    folder, graph = Path(folder), data.graph
    ids = graph.names
    names = graph.feature_names or [f"f{at}" for at in range(graph.num_features)]
    nodes = {"id": column_of(ids)}
    if data.labels is not None:
        labels = Labels.read(data.labels, graph.num_nodes)
        values = labels.values.astype(object)
        values[~labels.known] = None
        nodes["label"] = column_of(values)
    if data.splits:
        parts = np.full(graph.num_nodes, None, dtype=object)
        for part in ("train", "val", "test"):
            parts[getattr(data.split, part)] = part
        nodes["split"] = pa.array(parts)
    tables = {}
    if sp.issparse(graph.features):
        X = sp.coo_array(graph.features)
        tables["features"] = pa.table(
            {
                "node": column_of(ids[X.row]),
                "feature": pa.array(np.array(names, dtype=object)[X.col]),
                "value": pa.array(X.data),
            }
        )
    elif graph.features is not None:
        reserved = [name for name in names if name in nodes]
        if reserved:
            raise InputError(
                f"a feature cannot be called {reserved[0]!r}, the name of another column of "
                "the node table. Rename it."
            )
        nodes |= {name: pa.array(graph.features[:, at]) for at, name in enumerate(names)}
    written = sp.triu(graph.adjacency, format="coo")
    if graph.directed_adjacency is not None:
        written = graph.directed_adjacency.tocoo()
    edges = {"source": column_of(ids[written.row]), "target": column_of(ids[written.col])}
    if written.dtype.kind == "f":
        edges["weight"] = pa.array(written.data)
    tables |= {"nodes": pa.table(nodes), "edges": pa.table(edges)}
    paths = {name: folder / (name + suffix) for name in sorted(tables)}
    for name, path in paths.items():
        write_table(tables[name], path)
    return list(paths.values())


def column_of(values: Array) -> pa.Array:
    """Values as an Arrow array; values of several types as strings."""
    try:
        column = pa.array(values.tolist() if values.dtype == object else values)
        if not pa.types.is_nested(column.type):
            return column
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass
    return pa.array([None if value is None else str(value) for value in values.tolist()])


def _write_csv(table: pa.Table, file: Any, delimiter: str) -> None:
    file.write((delimiter.join(map(_quote, table.column_names)) + "\n").encode())
    try:
        # Arrow refuses to write a value without the quotation marks it needs.
        rows = _csv_rows(table, delimiter, "none")
    except pa.ArrowInvalid:
        rows = _csv_rows(table, delimiter, "needed")
    file.write(rows)


def _quote(name: str) -> str:
    """A column name, in quotation marks if it contains a delimiter, a quote or a newline."""
    if name and not any(mark in name for mark in ',;|\t"\r\n\ufeff'):
        return name
    return '"' + name.replace('"', '""') + '"'


def _csv_rows(table: pa.Table, delimiter: str, quoting: str) -> pa.Buffer:
    options = pa.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    written = pa.BufferOutputStream()
    pa.csv.write_csv(table, written, options)
    return written.getvalue()


@contextlib.contextmanager
def _compressing(file: BinaryIO, compressed: bool) -> Iterator[Any]:
    if not compressed:
        yield file
        return
    # Without a name and a time, so that equal tables give equal bytes.
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as inner:
        yield inner
