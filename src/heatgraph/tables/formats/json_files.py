"""Read tables in JSON: lines with an object each, or one list of objects.

Values have the types that JSON gives them, so nothing is inferred: 7 is a number, "007" a text.
"""

from __future__ import annotations

import codecs
import json
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from heatgraph.errors import FileFormatError
from heatgraph.tables.formats.file_errors import empty_file
from heatgraph.tables.formats.file_formats import read_content
from heatgraph.tables.input_table import InputTable

# Bytes of Python objects per byte of JSON, roughly.
MEMORY_PER_BYTE = 8
_QUOTED = 60


def read_json_lines(path: Path, limit: float) -> InputTable:
    """Read a file with one object per line; parsed, it takes at most `limit` bytes."""
    content = read_content(path, limit / MEMORY_PER_BYTE).removeprefix(codecs.BOM_UTF8)
    numbers, records = array("q"), []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            numbers.append(number)
            records.append(_parse_line(f"{path}, line {number}", line))
    if not records:
        raise empty_file(path)
    return table_from_records(records, str(path), lambda row: f"{path}, line {numbers[row]}")


def read_json_document(path: Path, limit: float) -> Any:
    """Read a file that is one JSON value."""
    content = read_content(path, limit / MEMORY_PER_BYTE)
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_distinct)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: byte 0x{content[error.start]:02X} is not UTF-8. Save the file "
            "as UTF-8."
        ) from error
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{path}, line {error.lineno}: this is not JSON ({error.msg}, at position "
            f"{error.colno}). Is the file complete?"
        ) from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} cannot be read as JSON: {error}. Correct it.") from error


def _parse_line(where: str, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"), object_pairs_hook=_distinct)
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{where}: byte 0x{line[error.start]:02X} at position {error.start + 1} is not UTF-8. "
            "Save the file as UTF-8."
        ) from error
    except (ValueError, RecursionError) as error:
        shown = line[:_QUOTED].decode("utf-8", "replace").strip()
        raise FileFormatError(
            f"{where} is not a JSON object: {shown!r} ({error}). Expected one object per line, "
            'such as {"id": "a"}; is the file complete?'
        ) from error
    if not isinstance(record, dict):
        raise FileFormatError(
            f'{where} is {_kind(record)}, where an object such as {{"id": "a"}} is expected.'
        )
    return record


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has the name {twice!r} twice")
    return record


def table_from_records(
    records: Iterable[Any], name: str, locate: Callable[[int], str]
) -> InputTable:
    """A table with a column for each name; a name that an object lacks is a missing value."""
    columns: dict[str, list[Any]] = {}
    size = 0
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            raise FileFormatError(f"{locate(row)} is {_kind(record)}, where an object is expected.")
        for key, value in record.items():
            column = columns.setdefault(key, [])
            column.extend([None] * (row - len(column)))
            column.append(value)
        size = row + 1
    for column in columns.values():
        column.extend([None] * (size - len(column)))
    arrays = {key: _column(key, values, locate) for key, values in columns.items()}
    return InputTable.from_arrow(pa.table(arrays), name, locate)


def _column(name: str, values: list[Any], locate: Callable[[int], str]) -> pa.Array:
    """Values of one type as they are; texts beside integers, or huge integers, as text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            first = next(value for value in values if value is not None)
            raise FileFormatError(
                f"{locate(row)}: {name!r} is {_kind(value)}, where the first is {_kind(first)}. "
                "The values of a column must be of one type."
            )
    return pa.array([None if value is None else str(value) for value in values])


def _kind(value: Any) -> str:
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list",
             dict: "an object", type(None): "null"}  # fmt: skip
    return kinds.get(type(value), type(value).__name__)
