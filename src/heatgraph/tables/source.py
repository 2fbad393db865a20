"""A table as it came, with the means to say where in it something is wrong."""

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

# Files that are read as tables, by how their names end.
SUFFIXES = (".csv", ".tsv", ".txt", ".tab", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet", ".pq")
# What pandas calls an index without a name: in CSV, in CSV that was read and written, in Arrow.
_INDEX = re.compile(r"$|Unnamed: \d+$|__index_level_\d+__$")


@dataclass(frozen=True)
class Source:
    """A table, what errors call it, and how they call a row of it ("nodes.csv, line 17").

    `unnamed` are columns that came without a name, such as a data frame's index.
    """

    table: pa.Table
    name: str
    place: Callable[[int], str]
    unnamed: frozenset[str] = frozenset()

    def column(self, name: str) -> pa.ChunkedArray:
        """A column by name, without Arrow's wrappings of its values."""
        column = self.table.column(name)
        if isinstance(column.type, pa.BaseExtensionType):
            # What a file calls an extension type is its storage with a name: never more than that.
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


def source_of(thing: Any, name: str) -> Source:
    """Read a data frame of any library, an Arrow table, or a dictionary of columns."""
    try:
        table = _arrow_table(thing)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"{name} cannot be read as a table: {error}. A column must have a name of its own and "
            "values of one kind."
        ) from error
    if table is None:
        raise InputError(
            f"{name} must be a path, a data frame (pandas, polars, Arrow, or anything that "
            f"exports Arrow) or a dictionary of columns. Got {type(thing).__name__}."
        )
    return checked(Source(table, name, lambda row: f"{name}, row {row} (counted from 0)"))


def _arrow_table(thing: Any) -> pa.Table | None:
    if isinstance(thing, pa.Table):
        return thing
    if isinstance(thing, Mapping):
        return pa.table({str(name): column for name, column in thing.items()})
    if hasattr(thing, "__arrow_c_stream__"):
        return pa.table(thing)
    if hasattr(thing, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return from_dataframe(thing)
    return None


def is_path(thing: Any) -> bool:
    """Whether this names a file."""
    return isinstance(thing, str | os.PathLike)


def is_table_name(text: str) -> bool:
    """Whether this is the name of a file that holds a table."""
    return Path(text).name.lower().endswith(SUFFIXES)


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def column_names(names: list[str]) -> list[str]:
    """Names without blanks around them, and a name for those without."""
    return [name.strip() or f"column_{at}" for at, name in enumerate(names, start=1)]


def checked(source: Source) -> Source:
    """Name columns without a name, and refuse columns of the same name."""
    given = source.table.column_names
    names = column_names(given)
    (name, count), *_ = Counter(names).most_common(1) or [("", 0)]
    if count > 1:
        raise InputError(
            f"{source.name} has {count} columns called {name!r}. Rename them: a column is "
            "found by its name."
        )
    unnamed = frozenset(
        name for name, was in zip(names, given, strict=True) if _INDEX.match(was.strip())
    )
    return Source(source.table.rename_columns(names), source.name, source.place, unnamed)
