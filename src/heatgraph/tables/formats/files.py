"""Open table files in any format that has tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heatgraph.errors import FileFormatError, InputError
from heatgraph.tables.columns import find_columns
from heatgraph.tables.formats import csv_files, parquet_files
from heatgraph.tables.formats.csv_files import TextColumns
from heatgraph.tables.formats.file_formats import (
    GRAPH_FORMATS,
    MATRIX_FORMATS,
    TITLES,
    detect_format,
    read_start,
)
from heatgraph.tables.formats.graph_files import read_graph_file, read_json_table
from heatgraph.tables.formats.json_files import read_json_lines
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
    text_columns = text_columns_for(text_purposes, options, str(obj))
    return read_table_file(obj, text_columns, options.memory_bytes, options.decimal)


def read_table_file(
    path: str | Path, text_columns: TextColumns, memory: float, decimal: str | None = None
) -> InputTable:
    """Read a file within a memory budget in bytes; CSV has no types, so see `TextColumns`."""
    path = Path(path)
    start = read_start(path)
    file_format = detect_format(path, start)
    limit = memory * SHARE_OF_MEMORY
    if file_format == "parquet":
        return parquet_files.read_parquet(path, limit)
    if path.suffix.lower() in (".parquet", ".pq"):
        raise FileFormatError(
            f"{path} is not a Parquet file: it starts with {start[:4]!r}, and Parquet with "
            f"{parquet_files.MAGIC!r}. Write it again, or rename it after its actual format."
        )
    if file_format == "json lines":
        return read_json_lines(path, limit)
    if file_format == "json":
        return read_json_table(path, limit)
    if file_format in GRAPH_FORMATS:
        return read_graph_file(path, file_format, limit).nodes
    if file_format in MATRIX_FORMATS:
        raise InputError(
            f"{path} is {TITLES[file_format]}, where a table with named columns is expected. A "
            "matrix of features is named by --features, and an adjacency matrix as the edges."
        )
    return csv_files.read_csv(path, text_columns, limit, decimal=decimal)


def text_columns_for(purposes: Sequence[str], options: TableOptions, name: str) -> TextColumns:
    """The columns of a table, called `name` in errors, that are read as text for some purposes."""

    def text_columns(names: list[str]) -> list[str]:
        choices = find_columns(purposes, options, names, name).values()
        chosen = [choice.name for choice in choices if choice.name is not None]
        if "id" in purposes and options.model_encoder is not None:
            # Otherwise the category 007 of a model would be read as the number 7.
            chosen += [text for text in options.model_encoder.text_columns if text in names]
        return list(dict.fromkeys(chosen))

    return text_columns
