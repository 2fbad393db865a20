"""Open table files. The first bytes, not the name, decide between CSV, gzip and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heatgraph.errors import FileFormatError, InputError
from heatgraph.tables import csv_files, parquet_files
from heatgraph.tables.columns import find_columns
from heatgraph.tables.csv_files import TextColumns
from heatgraph.tables.file_errors import missing_file
from heatgraph.tables.input_table import InputTable, as_input_table, is_path
from heatgraph.tables.options import TableOptions

# Share of the memory budget that a file may take; the rest is for the graph and the model.
SHARE_OF_MEMORY = 0.5


def open_table(
    obj: Any, name: str, text_purposes: Sequence[str], options: TableOptions
) -> InputTable:
    """Read a file or a data frame; `name` is what errors call a data frame.

    In a CSV file, the columns for `text_purposes` ("id", "label", ...) are read as text.
    """
    if not is_path(obj):
        return as_input_table(obj, name)

    def text_columns(names: list[str]) -> list[str]:
        choices = find_columns(text_purposes, options, names, str(obj)).values()
        return list(dict.fromkeys(choice.name for choice in choices if choice.name is not None))

    return read_table_file(obj, text_columns, options.memory_bytes)


def read_table_file(path: str | Path, text_columns: TextColumns, memory: float) -> InputTable:
    """Read a file within a memory budget in bytes; CSV has no types, so see `TextColumns`."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name a file.")
    if path.exists() and not path.is_file():
        raise InputError(
            f"{path} is a pipe or a device, and a table is read more than once. Save it in a file."
        )
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}.") from error
    limit = memory * SHARE_OF_MEMORY
    if start == parquet_files.MAGIC:
        return parquet_files.read_parquet(path, limit)
    if path.suffix.lower() in (".parquet", ".pq"):
        raise FileFormatError(
            f"{path} is not a Parquet file: it starts with {start!r}, and Parquet with "
            f"{parquet_files.MAGIC!r}. Write it again, or rename it after its actual format."
        )
    return csv_files.read_csv(path, text_columns, limit)
