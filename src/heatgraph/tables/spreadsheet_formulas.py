"""Texts that a spreadsheet would run as formulas when it opens a CSV file, such as =1+1.

Spreadsheets take a cell for a formula by its first character, whatever quotation marks are around
it. An apostrophe in front makes it text there, and another text everywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.encoding.column import is_text
from heatgraph.encoding.numbers import is_plain_number

# A tab or line break in front is dropped by some spreadsheets.
_STARTS = r"^[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
MARK = "'"


@dataclass(frozen=True)
class Formulas:
    """How many cells look like formulas, header included, and the first with its column."""

    count: int
    column: str
    first: str


def find_formulas(table: pa.Table) -> Formulas | None:
    """The cells of a table, and names of columns, that look like formulas; None if none do."""
    found = [(name, name) for name in table.column_names if _is_formula(name)]
    count = len(found)
    for name, column in zip(table.column_names, table.itercolumns(), strict=True):
        if is_text(column.type):
            suspects = _suspects(column)
            rows = [text for text in suspects.to_pylist() if _is_formula(text)]
            found += [(name, text) for text in rows[:1]]
            count += len(rows)
    return Formulas(count, *found[0]) if found else None


def guard_formulas(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before each cell that looks like a formula."""
    columns = [
        _guard_column(column) if is_text(column.type) else column for column in table.itercolumns()
    ]
    return pa.table(columns, [_guard(name) for name in table.column_names])


def _guard_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if len(_suspects(column)) == 0:
        return column
    texts = [text if text is None else _guard(text) for text in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, column.type)])


def _suspects(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.filter(pc.fill_null(pc.match_substring_regex(column, _STARTS), False))


def _guard(text: str) -> str:
    return MARK + text if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Whether a text begins like a formula; a number, such as -1.5, is none."""
    is_start = bool(pc.match_substring_regex(pa.scalar(text), _STARTS).as_py())
    return is_start and not is_plain_number(text)
