"""Tables into files, whole or not at all: CSV, plain or under gzip, and Parquet, by their names."""

from __future__ import annotations

import contextlib
import gzip
import sys
from collections.abc import Iterator
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

# Written for standard output, where a file would be named.
STANDARD_OUTPUT = "-"
# Probabilities are written with so many digits.
DIGITS = 6

_FORMS = {
    ".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


def predictions_table(
    graph: Graph, id_column: str, classes: Array, probabilities: Array
) -> pa.Table:
    """A row per node: id, likeliest class, how likely it is, and the probability of each class."""
    best = probabilities.argmax(axis=1)
    taken = {"prediction", "probability", *(f"probability_{label}" for label in classes.tolist())}
    id_column = "id" if id_column in taken else id_column
    table = {
        id_column: _column(graph.names),
        "prediction": _column(classes[best]),
        "probability": pa.array(probabilities[np.arange(len(best)), best].round(DIGITS)),
    }
    for at, label in enumerate(classes.tolist()):
        table[f"probability_{label}"] = pa.array(probabilities[:, at].round(DIGITS))
    return pa.table(table)


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a table into a file of the form that its name tells, or to standard output as CSV."""
    if str(path) == STANDARD_OUTPUT:
        _write_csv(table, sys.stdout.buffer, ",")
        sys.stdout.buffer.flush()
        return
    form, zipped = table_form(path)
    with atomic_write(path) as file, _zipping(file, zipped) as inner:
        if form == "parquet":
            pa.parquet.write_table(table, inner)
        else:
            _write_csv(table, inner, form)


def table_form(path: str | Path) -> tuple[str, bool]:
    """How a table is written: its delimiter, or "parquet"; and whether under gzip."""
    name = Path(path).name.lower()
    zipped = name.endswith(".gz")
    form = _FORMS.get(Path(name.removesuffix(".gz")).suffix)
    if form is None or (zipped and form == "parquet"):
        raise InputError(
            f"{path}: the name of a table must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet."
        )
    return form, zipped


def write_dataset(data: Dataset, folder: str | Path, suffix: str = ".csv") -> list[Path]:
    """Write a data set as tables of nodes and edges, and of features if they are sparse.

    They are called nodes, edges and features, with a suffix that tells their form.
    """
    folder, graph = Path(folder), data.graph
    ids = graph.names
    names = graph.feature_names or [f"f{at}" for at in range(graph.num_features)]
    nodes = {"id": _column(ids)}
    if data.labels is not None:
        labels = Labels.read(data.labels, graph.num_nodes)
        values = labels.values.astype(object)
        values[~labels.known] = None
        nodes["label"] = _column(values)
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
                "node": _column(ids[X.row]),
                "feature": pa.array(np.array(names, dtype=object)[X.col]),
                "value": pa.array(X.data),
            }
        )
    elif graph.features is not None:
        taken = [name for name in names if name in nodes]
        if taken:
            raise InputError(
                f"a feature cannot be called {taken[0]!r}, which is the name of another column of "
                "the nodes. Rename it."
            )
        nodes |= {name: pa.array(graph.features[:, at]) for at, name in enumerate(names)}
    upper = sp.triu(graph.adjacency, format="coo")
    edges = {"source": _column(ids[upper.row]), "target": _column(ids[upper.col])}
    if graph.weights is not None:
        edges["weight"] = pa.array(upper.data)
    tables |= {"nodes": pa.table(nodes), "edges": pa.table(edges)}
    paths = {name: folder / (name + suffix) for name in sorted(tables)}
    for name, path in paths.items():
        write_table(tables[name], path)
    return list(paths.values())


def _column(values: Array) -> pa.Array:
    """Values of one kind as they are; of several kinds, as texts."""
    try:
        column = pa.array(values.tolist() if values.dtype == object else values)
        if not pa.types.is_nested(column.type):
            return column
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass
    return pa.array([None if value is None else str(value) for value in values.tolist()])


def _write_csv(table: pa.Table, file: Any, delimiter: str) -> None:
    file.write((delimiter.join(map(_quoted, table.column_names)) + "\n").encode())
    try:
        # Quotation marks only where some value needs them; Arrow refuses to write it without.
        rows = _rows(table, delimiter, "none")
    except pa.ArrowInvalid:
        rows = _rows(table, delimiter, "needed")
    file.write(rows)


def _quoted(name: str) -> str:
    """The name of a column, in quotation marks if it could be taken for something else."""
    if name and not any(mark in name for mark in ',;|\t"\r\n\ufeff'):
        return name
    return '"' + name.replace('"', '""') + '"'


def _rows(table: pa.Table, delimiter: str, quoting: str) -> pa.Buffer:
    options = pa.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    written = pa.BufferOutputStream()
    pa.csv.write_csv(table, written, options)
    return written.getvalue()


@contextlib.contextmanager
def _zipping(file: BinaryIO, zipped: bool) -> Iterator[Any]:
    if not zipped:
        yield file
        return
    # Without a name and a time, which would make every file another.
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as inner:
        yield inner
