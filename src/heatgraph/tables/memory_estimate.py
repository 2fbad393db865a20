"""How much memory it takes to read tables: upper estimates, compared with the budget beforehand.

Constants are bytes that were measured per byte of text, per value and per row
(`tests/tables/test_memory_estimate.py` measures them again), rounded up.
"""

from __future__ import annotations

from collections.abc import Container

import pyarrow as pa
import pyarrow.compute as pc

from heatgraph._io.formatting import format_bytes
from heatgraph.encoding.column import first_value, is_date, is_numeric, is_text
from heatgraph.encoding.lists import looks_like_list
from heatgraph.errors import MemoryBudgetError
from heatgraph.tables.input_table import InputTable

# Of CSV: its text, mapped or decompressed, and Arrow's copies; offsets and numbers per value.
CSV_BYTE, CSV_VALUE = 3, 16
# Of a table of nodes: ids, which are hashed; labels; features. Text becomes Python objects, lists
# in text their items, and dates up to fifty features.
NODE_ROW, NODE_NUMBER, NODE_DATE, NODE_TEXT = 250, 30, 450, 60
NODE_TEXT_BYTE, NODE_LIST_BYTE = 30, 60
OFFSET = 4
# Of a table of edges: the graph, whose edges are sorted.
EDGE_ROW, EDGE_NUMBER, EDGE_TEXT_BYTE = 100, 30, 10


def csv_bytes(num_bytes: int, num_values: int) -> float:
    """Memory for parsing CSV with at most that many values."""
    return float(CSV_BYTE * num_bytes + CSV_VALUE * num_values)


def node_table_bytes(table: InputTable, names: Container[str | None] | None = None) -> float:
    """Memory for turning columns of a table of nodes, by default all, into ids and features."""
    needed = float(NODE_ROW * table.num_rows)
    for name, column in zip(table.column_names, table.arrow.itercolumns(), strict=True):
        if names is not None and name not in names:
            needed += column.nbytes
        elif is_numeric(column.type):
            needed += NODE_NUMBER * len(column)
        elif is_date(column.type):
            needed += NODE_DATE * len(column)
        else:
            is_list = is_text(column.type) and looks_like_list(first_value(column))
            per_byte = NODE_LIST_BYTE if is_list else NODE_TEXT_BYTE
            needed += NODE_TEXT * len(column) + per_byte * _content_bytes(column)
    return needed


def _content_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of texts, or of other values; those of a dictionary are counted wherever they occur."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or not (
        is_text(kind.value_type) or kind.value_type == pa.string_view()
    ):
        return max(int(column.nbytes) - OFFSET * len(column), 0)
    count = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary.cast(pa.large_string()))
        count += int(pc.sum(lengths.take(chunk.indices)).as_py() or 0)
    return count


def edge_table_bytes(table: InputTable) -> float:
    """Memory for turning a table of edges into a graph."""
    needed = float(EDGE_ROW * table.num_rows)
    for column in table.arrow.itercolumns():
        is_number = is_numeric(column.type)
        needed += EDGE_NUMBER * len(column) + (
            0 if is_number else EDGE_TEXT_BYTE * _content_bytes(column)
        )
    return needed


def require_budget(table: InputTable, needed: float, budget: float) -> None:
    """Raise an error if reading a table needs more than is left of the budget."""
    if needed > budget:
        raise MemoryBudgetError(
            f"{table.name} has {table.num_rows:,} rows and {len(table.column_names):,} columns, "
            f"which take about {format_bytes(needed)} to read; the memory budget leaves "
            f"{format_bytes(budget)}. Raise the budget (memory_budget=, --memory), or leave out "
            "rows and columns."
        )
