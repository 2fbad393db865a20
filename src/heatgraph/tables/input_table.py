"""A table that was read, with the means to name a row of it in an error message."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.errors import InputError

# File names with these suffixes are taken for tables or matrices.
_TEXT_SUFFIXES = (
    ".csv", ".tsv", ".txt", ".tab", ".edges", ".edgelist", ".json", ".jsonl", ".ndjson", ".graphml",
    ".gexf", ".mtx", ".svm", ".svmlight", ".libsvm",
)  # fmt: skip
SUFFIXES = (
    *_TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in _TEXT_SUFFIXES),
    ".parquet", ".pq", ".npz", ".npy",
)  # fmt: skip
# Each column takes about 0.1 ms, however few rows it has.
MAX_COLUMNS = 100_000
# Names that pandas gives to an unnamed index: in CSV, in CSV read and written again, in Arrow.
_INDEX_NAME = re.compile(r"$|Unnamed: \d+$|__index_level_\d+__$")


@dataclass(frozen=True)
class InputTable:
    """An Arrow table, its name, and the location of its rows ("nodes.csv, line 17").

    `unnamed` are the columns that had no name in the file, such as the index of a data frame.
    """

    arrow: pa.Table
    name: str
    locate: Callable[[int], str]
    unnamed: frozenset[str] = frozenset()

    @classmethod
    def from_arrow(cls, arrow: pa.Table, name: str, locate: Callable[[int], str]) -> InputTable:
        """Name the unnamed columns, and refuse duplicate names."""
        original = arrow.column_names
        check_width(name, len(original))
        names = clean_column_names(original)
        (repeated, count), *_ = Counter(names).most_common(1) or [("", 0)]
        if count > 1:
            raise InputError(
                f"{name} has {count} columns called {repeated!r}. Rename them: columns are "
                "identified by name."
            )
        unnamed = frozenset(
            name
            for name, before in zip(names, original, strict=True)
            if _INDEX_NAME.match(before.strip())
        )
        return cls(arrow.rename_columns(names), name, locate, unnamed)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self.arrow.num_rows)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, all distinct."""
        return list(self.arrow.column_names)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column as plain values: dictionaries, run-end encoding and extension types removed."""
        column = self.arrow.column(name)
        if isinstance(column.type, pa.BaseExtensionType):
            # A file may name any extension type; only its storage is ever used.
            chunks = [chunk.storage for chunk in column.chunks]
            column = pa.chunked_array(chunks, type=column.type.storage_type)
        if pa.types.is_run_end_encoded(column.type):
            chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
            column = pa.chunked_array(chunks, type=column.type.value_type)
        if pa.types.is_dictionary(column.type):
            kind = column.type.value_type
            kind = pa.string() if kind == pa.string_view() else kind
            column = column.cast(pa.dictionary(column.type.index_type, kind)).cast(kind)
        if column.type == pa.string_view():
            column = column.cast(pa.string())
        return column


def as_input_table(obj: Any, name: str) -> InputTable:
    """Read a data frame of any library, an Arrow table, or a dictionary of columns."""
    try:
        arrow = _to_arrow(obj)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"{name} cannot be read as a table: {error}. Each column needs a name of its own and "
            "values of one type."
        ) from error
    if arrow is None:
        raise InputError(
            f"{name} must be a path, a data frame (pandas, polars, Arrow, or anything that "
            f"exports Arrow) or a dictionary of columns. Got {type(obj).__name__}."
        )
    table = InputTable.from_arrow(arrow, name, lambda row: f"{name}, row {row} (counted from 0)")
    check_texts(table)
    return table


def _to_arrow(obj: Any) -> pa.Table | None:
    if isinstance(obj, pa.Table):
        return obj
    if isinstance(obj, Mapping):
        return pa.table({str(name): column for name, column in obj.items()})
    if hasattr(obj, "__arrow_c_stream__"):
        return pa.table(obj)
    if hasattr(obj, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return from_dataframe(obj)
    return None


def check_width(name: str, num_columns: int) -> None:
    """Refuse a table of more than `MAX_COLUMNS` columns, each of which takes a while to read."""
    if num_columns > MAX_COLUMNS:
        raise InputError(
            f"{name} has {num_columns:,} columns, and a table may have {MAX_COLUMNS:,}. Features "
            "in such numbers are read from a matrix (.npz, .npy, .mtx) or a table of node, feature "
            "and value, named as the features."
        )


def check_texts(table: InputTable) -> None:
    """Refuse text that is not UTF-8, which Arrow's columns may hold, and other invalid columns."""
    for name, column in zip(table.column_names, table.arrow.itercolumns(), strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            row = _first_not_utf8(table.column(name))
            if row is None:
                reason = str(error).splitlines()[0]
                problem = f"{table.name}: column {name!r} is damaged: {reason}."
            else:
                problem = f"{table.locate(row)}: the text in column {name!r} is not UTF-8."
            raise InputError(f"{problem} Write the table again, with text as UTF-8.") from error


def _first_not_utf8(column: pa.ChunkedArray) -> int | None:
    """The first row whose text is not UTF-8; None if there is none, or it is within a list."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    for row, content in enumerate(column.cast(pa.large_binary())):
        try:
            (content.as_py() or b"").decode()
        except UnicodeDecodeError:
            return row
    return None


def is_path(obj: Any) -> bool:
    """Whether an argument names a file."""
    return isinstance(obj, str | os.PathLike)


def has_table_suffix(name: str) -> bool:
    """Whether a file name ends like that of a table or a matrix."""
    return Path(name).name.lower().endswith(SUFFIXES)


def clean_column_names(names: list[str]) -> list[str]:
    """Strip blanks around names, and number the columns without one: ``column_1``, ..."""
    return [name.strip() or f"column_{at}" for at, name in enumerate(names, start=1)]
