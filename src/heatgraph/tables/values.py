"""Values of a column as NumPy arrays: checked, and refused with the row of the first bad value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.encoding.block import Decimal, Settings
from heatgraph.encoding.column import first_value as first_value
from heatgraph.encoding.column import is_numeric as is_numeric
from heatgraph.encoding.column import is_text as is_text
from heatgraph.encoding.numbers import decimal_hint, parse_number
from heatgraph.errors import InputError
from heatgraph.tables.input_table import InputTable

Array = npt.NDArray[Any]


def read_numbers(table: InputTable, name: str, decimal: Decimal | None = None) -> Array:
    """A column as float64 without missing values; numbers in text have this decimal mark."""
    column = table.column(name)
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    if is_text(column.type):
        column = _parse_numbers(table, name, column, decimal)
    if not is_numeric(column.type):
        raise InputError(
            f"{table.name}: column {name!r} must be numeric, and has type {column.type} (such as "
            f"{first_value(column)!r})."
        )
    refuse_rows(
        table, pc.is_null(column), f"column {name!r} is blank",
        "Missing values are not imputed: fill them in, or drop the row or column.",
    )  # fmt: skip
    # A safe cast would refuse integers that float64 rounds.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _parse_numbers(
    table: InputTable, name: str, column: pa.ChunkedArray, decimal: Decimal | None
) -> pa.ChunkedArray:
    """Numbers that are written as text; another text is refused, with what would read it."""
    settings = Settings(missing="error", decimal=decimal)
    texts = [text and text.strip() for text in column.to_pylist()]
    numbers = [parse_number(text, settings) if text else None for text in texts]
    bad = [row for row, text in enumerate(texts) if text and numbers[row] is None]
    if bad:
        distinct = list(dict.fromkeys(str(texts[row]) for row in bad))
        hint = decimal_hint(distinct) if decimal is None else ""
        raise InputError(
            f"{table.locate(bad[0])}: column {name!r} has {texts[bad[0]]!r} among numbers "
            f"({len(bad):,} such in all). {hint}Correct it, or leave the column out."
        )
    return pa.chunked_array([pa.array(numbers, pa.float64())])


def refuse_rows(table: InputTable, bad: pa.ChunkedArray, problem: str, remedy: str) -> None:
    """Raise an error if any row is bad, with the first one and their number."""
    count = pc.sum(bad).as_py() or 0
    if count:
        row = pc.index(bad, True).as_py()
        raise InputError(f"{table.locate(row)}: {problem} ({count:,} such in all). {remedy}")


def to_numpy(column: pa.ChunkedArray) -> Array:
    """A NumPy array of the same type; for text or missing values, of objects with None."""
    if column.null_count == 0 and not is_text(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def is_number(text: str) -> bool:
    """Whether a text parses as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
