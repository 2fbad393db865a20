"""A table as it came, with the means to say where in it something is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from heatgraph.errors import InputError

# Files that are read as tables, by how their names end.
SUFFIXES = (".csv", ".tsv", ".txt", ".tab", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet", ".pq")


@dataclass(frozen=True)
class Source:
    """A table, what errors call it, and how they call a row of it ("nodes.csv, line 17")."""

    table: pa.Table
    name: str
    place: Callable[[int], str]

    def column(self, name: str) -> pa.ChunkedArray:
        """A column by name, without Arrow's wrappings of its values."""
        column = self.table.column(name)
        if isinstance(column.type, pa.ExtensionType):
            # What a file calls an extension type is its storage with a name: never more than that.
            column = pa.chunked_array([chunk.storage for chunk in column.chunks])
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.type == pa.string_view():
            column = column.cast(pa.string())
        return column


def source_of(thing: Any, name: str) -> Source:
    """Read a data frame of any library, an Arrow table, or a dictionary of columns."""
    try:
        if isinstance(thing, pa.Table):
            table = thing
        elif isinstance(thing, Mapping):
            table = pa.table(dict(thing))
        elif hasattr(thing, "__arrow_c_stream__"):
            table = pa.table(thing)
        elif hasattr(thing, "__dataframe__"):
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(thing)
        else:
            raise InputError(
                f"{name} must be a path, a data frame (pandas, polars, Arrow, or anything that "
                f"exports Arrow) or a dictionary of columns. Got {type(thing).__name__}."
            )
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"{name} cannot be read as a table: {error}. A column must have values of one kind."
        ) from error
    return checked(Source(table, name, lambda row: f"{name}, row {row} (counted from 0)"))


def is_path(thing: Any) -> bool:
    """Whether this names a file."""
    return isinstance(thing, str | os.PathLike)


def is_table_name(text: str) -> bool:
    """Whether this is the name of a file that holds a table."""
    return Path(text).name.lower().endswith(SUFFIXES)


def column_names(names: list[str]) -> list[str]:
    """Names without blanks around them, and a name for those without."""
    return [name.strip() or f"column_{at}" for at, name in enumerate(names, start=1)]


def checked(source: Source) -> Source:
    """Name columns without a name, and refuse columns of the same name."""
    names = column_names(source.table.column_names)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"{source.name} has several columns called {repeated[0]!r}. Rename them: a column is "
            "found by its name."
        )
    return Source(source.table.rename_columns(names), source.name, source.place)
