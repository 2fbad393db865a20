"""Edges in Parquet files that exceed memory, converted to a graph file within a memory budget.

Nodes are integers 0, ..., n - 1, or ids that a node table lists. Of that table the ids alone are
read, and they have to fit into the budget.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from heatgraph._io.formatting import format_bytes
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError
from heatgraph.graph._out_of_core import (
    ConversionReport,
    EdgeBatch,
    EdgeSource,
    Progress,
    write_graph_from_edges,
)
from heatgraph.graph._validation import Merge
from heatgraph.tables.columns import (
    ColumnChoice,
    find_edge_columns,
    find_node_columns,
    require_column,
)
from heatgraph.tables.formats.file_errors import missing_file
from heatgraph.tables.formats.file_formats import detect_format, read_start
from heatgraph.tables.formats.node_files import open_node_table
from heatgraph.tables.ids import check_unique, find_ids, read_ids
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.options import TableOptions
from heatgraph.tables.values import is_text, to_numpy

Array = npt.NDArray[Any]

# Bytes of a column chunk that are read at a time.
BUFFER_BYTES = 1 << 20
# Bytes that an id takes: with its lookup, or as a Python string.
INTEGER_ID_BYTES, TEXT_ID_BYTES = 40, 250
# What Arrow takes beside batches.
ARROW_BYTES = 40_000_000
# Options of the reader that say something about edges out of core.
_OPTIONS = ("id", "source", "target", "weight", "directed", "duplicates", "memory_budget")


@dataclass(frozen=True)
class Conversion:
    """What was written, and the columns of edges that it was read from."""

    report: ConversionReport
    columns: dict[str, ColumnChoice]
    num_edge_rows: int


def convert_edges(
    edges: Sequence[str | Path],
    output: str | Path,
    *,
    nodes: str | Path | None = None,
    num_nodes: int | None = None,
    features: str | Path | None = None,
    options: TableOptions | None = None,
    blocks: int | None = None,
    progress: Progress | None = None,
) -> Conversion:
    """Convert Parquet files of edges, or folders of such files, to a graph file.

    The number of nodes is that of the rows of `nodes`, a table with ids, or `num_nodes`, or that of
    the rows of `features`, a ``.npy`` file. Of `options`, those that are about edges apply; the
    memory budget is that of the whole process.
    """
    options = options or TableOptions()
    _refuse_options(options)
    files = find_parquet_files(edges)
    if features is not None:
        if Path(features).suffix != ".npy":
            raise InputError(f"features out of core are a NumPy file, X.npy. Got '{features}'.")
        if not Path(features).is_file():
            raise missing_file(Path(features))
    lookup = None
    if nodes is not None:
        if num_nodes is not None:
            raise InputError("the nodes table tells the number of nodes. Leave out num_nodes.")
        lookup = NodeLookup.read(nodes, options)
    data = _EdgeFiles.open(files, options, lookup)
    report = write_graph_from_edges(
        output,
        EdgeSource(data.num_rows, data.weight_dtype, data.read),
        num_nodes if lookup is None else len(lookup.ids),
        features=features,
        node_ids=None if lookup is None else to_numpy(lookup.ids),
        symmetrize=_symmetrize(options),
        duplicates=options.duplicates,
        blocks=blocks,
        memory_budget=_available(options.memory_bytes - (0 if lookup is None else lookup.nbytes)),
        progress=progress,
    )
    return Conversion(report, data.columns, data.num_rows)


def _available(budget: float) -> float:
    """The part of a budget for the process that it does not take yet."""
    taken = psutil.Process().memory_info().rss + ARROW_BYTES
    if budget <= taken:
        raise MemoryBudgetError(
            f"the program itself takes {format_bytes(taken)}, budget {format_bytes(budget)}. Raise "
            "memory_budget=."
        )
    return float(budget - taken)


def find_parquet_files(paths: Sequence[str | Path]) -> list[Path]:
    """Files, and those in folders by name, each checked to be Parquet."""
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found = sorted(
                file
                for suffix in ("parquet", "pq")
                for file in path.rglob(f"*.{suffix}")
                if not file.name.startswith(("_", "."))
            )
            if not found:
                raise InputError(f"{path} holds no Parquet files, *.parquet or *.pq.")
            files += found
        elif path.exists():
            files.append(path)
        else:
            raise missing_file(path)
    for file in files:
        if detect_format(file, read_start(file)) != "parquet":
            raise InputError(
                f"{file} is not a Parquet file, which edges out of core are read from. Write it as "
                "Parquet, or give NODES EDGES, which are read into memory."
            )
    return files


@dataclass(frozen=True)
class NodeLookup:
    """The ids of a node table, and the positions of other ids among them."""

    ids: pa.ChunkedArray
    table: str
    _sorted: Array | None
    _order: Array | None

    @classmethod
    def read(cls, path: str | Path, options: TableOptions) -> NodeLookup:
        """Read the column of ids; MemoryBudgetError if they do not fit."""
        table = _id_table(Path(path), options)
        choice = find_node_columns(table, options)["id"]
        ids = read_ids(table, str(choice.name))
        each = TEXT_ID_BYTES if is_text(ids.type) else INTEGER_ID_BYTES
        if each * len(ids) > options.memory_bytes:
            raise MemoryBudgetError(
                f"{len(ids):,} ids of {path} need {format_bytes(each * len(ids))}, budget "
                f"{format_bytes(options.memory_bytes)}. Raise memory_budget=, or number the nodes "
                "0, 1, ... in the edges and leave out the table."
            )
        check_unique(table, ids, choice)
        if is_text(ids.type):
            return cls(ids, str(path), None, None)
        values = ids.to_numpy()
        order = np.argsort(values, kind="stable")
        return cls(ids, str(path), values[order], order)

    @property
    def nbytes(self) -> int:
        """Bytes that the lookup takes."""
        each = TEXT_ID_BYTES if self._sorted is None else INTEGER_ID_BYTES
        return each * len(self.ids)

    def find(self, edges: InputTable, column: str) -> Array:
        """Positions (b,) of a column of ids, all of which must be known."""
        wanted = read_ids(edges, column)
        if len(wanted) == 0:
            return np.empty(0, dtype=np.int64)
        if self._sorted is not None and self._order is not None and not is_text(wanted.type):
            values = wanted.to_numpy()
            at = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
            positions, known = self._order[at], self._sorted[at] == values
        else:
            found = find_ids(wanted, self.ids)
            known = found.is_valid().to_numpy()
            positions = found.fill_null(0).to_numpy().astype(np.int64)
        if not known.all():
            row = int(known.argmin())
            raise InputError(
                f"{edges.locate(row)}: {wanted[row].as_py()!r} in column {column!r} is not an id "
                f"of {self.table}. Add such nodes, or drop such rows."
            )
        return np.asarray(positions)


@dataclass(frozen=True)
class _EdgeFiles:
    """Parquet files with the same columns, read in batches."""

    files: list[Path]
    columns: dict[str, ColumnChoice]
    num_rows: int
    weight_dtype: np.dtype[Any] | None
    lookup: NodeLookup | None

    @classmethod
    def open(
        cls, files: list[Path], options: TableOptions, lookup: NodeLookup | None
    ) -> _EdgeFiles:
        """Find the columns in the first file, and check those of all."""
        num_rows = 0
        columns: dict[str, ColumnChoice] = {}
        weight_dtypes: dict[np.dtype[Any] | None, Path] = {}
        for file in files:
            with _open_parquet(file) as parquet:
                num_rows += parquet.metadata.num_rows
                table = _batch_table(parquet.schema_arrow.empty_table(), file, 0)
            columns = columns or find_edge_columns(table, options)
            for choice in columns.values():
                if choice.name is not None:
                    require_column(choice.name, table.column_names, table.name)
            if lookup is None:
                _check_integers(table, columns)
            weight_dtypes[_weight_dtype(table, columns["weight"].name)] = file
        if len(weight_dtypes) > 1:
            listed = ", ".join(f"{dtype} in {file}" for dtype, file in weight_dtypes.items())
            raise InputError(f"weights must have the same type in all files. Got {listed}.")
        return cls(files, columns, num_rows, next(iter(weight_dtypes)), lookup)

    def read(self, size: int) -> Iterator[EdgeBatch]:
        """Yield the rows in order, at most `size` at a time."""
        names = [str(choice.name) for choice in self.columns.values() if choice.name is not None]
        for file in self.files:
            start = 0
            with _open_parquet(file) as parquet:
                batches = parquet.iter_batches(size, columns=names, use_threads=False)
                while (batch := _next_batch(batches, file)) is not None:
                    arrow = pa.Table.from_batches([batch])
                    yield self._to_arrays(_batch_table(arrow, file, start))
                    start += batch.num_rows
        pa.default_memory_pool().release_unused()

    def _to_arrays(self, table: InputTable) -> EdgeBatch:
        ends = []
        for purpose in ("source", "target"):
            column = str(self.columns[purpose].name)
            if self.lookup is None:
                ends.append(read_ids(table, column).to_numpy())
            else:
                ends.append(self.lookup.find(table, column))
        weights = None
        if self.weight_dtype is not None:
            column = str(self.columns["weight"].name)
            values = table.column(column)
            if values.null_count:
                row = int(values.is_null().to_numpy().argmax())
                raise InputError(f"{table.locate(row)}: column {column!r} is blank. Fill it in.")
            weights = values.to_numpy()
        return EdgeBatch(ends[0], ends[1], weights)


@contextlib.contextmanager
def _open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """A file whose column chunks are streamed, since a row group may exceed memory."""
    try:
        file = pq.ParquetFile(path, buffer_size=BUFFER_BYTES, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error
    with file:
        yield file


def _next_batch(batches: Iterator[pa.RecordBatch], path: Path) -> pa.RecordBatch | None:
    try:
        return next(batches, None)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _batch_table(arrow: pa.Table, path: Path, start: int) -> InputTable:
    """A table whose rows are counted from `start` on."""
    return InputTable.from_arrow(
        arrow, str(path), lambda row: f"{path}, row {start + row} (counted from 0)"
    )


def _check_integers(table: InputTable, columns: dict[str, ColumnChoice]) -> None:
    for purpose in ("source", "target"):
        name = str(columns[purpose].name)
        kind = table.column(name).type
        if not pa.types.is_integer(kind):
            raise InputError(
                f"{table.name}: column {name!r} has type {kind}. Edges out of core have integers "
                "0, 1, ..., or ids that a table of nodes lists: name it with --nodes."
            )


def _weight_dtype(table: InputTable, column: str | None) -> np.dtype[Any] | None:
    if column is None:
        return None
    kind = table.column(column).type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise InputError(
            f"{table.name}: weights must be numbers, and column {column!r} has type {kind}."
        )
    dtype: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    return dtype


def _id_table(path: Path, options: TableOptions) -> InputTable:
    """A node table; of a Parquet file, the column of ids alone."""
    if detect_format(path, read_start(path)) != "parquet":
        return open_node_table(path, options)[0]
    with _open_parquet(path) as file:
        empty = _batch_table(file.schema_arrow.empty_table(), path, 0)
        column = find_node_columns(empty, options)["id"].name
        try:
            arrow = file.read(columns=[column])
        except (pa.ArrowException, OSError) as error:
            raise _damaged(path, error) from error
    return _batch_table(arrow, path, 0)


def _damaged(path: Path, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{path} is not a complete Parquet file: {str(error).splitlines()[0]} Write it again."
    )


def _symmetrize(options: TableOptions) -> Merge | None:
    if options.directed == "keep":
        raise InputError(
            "directed='keep' needs the edges in memory. Choose 'max', 'sum' or 'refuse'."
        )
    return None if options.directed == "refuse" else options.directed


def _refuse_options(options: TableOptions) -> None:
    """Refuse options that would have no effect."""
    _symmetrize(options)
    for option in fields(options):
        given = getattr(options, option.name)
        if option.name not in _OPTIONS and given != option.default:
            flag = "--" + option.name.replace("_", "-")
            raise InputError(f"{flag} needs the tables in memory. Leave it out.")
