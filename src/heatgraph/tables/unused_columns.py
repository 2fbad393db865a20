"""Notes on columns that are not read: those of edges, and the index of a data frame."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from heatgraph.tables.columns import (
    COMMON_NAMES,
    INDEX_PREFIX,
    ColumnChoice,
    format_names,
    is_common_id,
)
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.options import TableOptions


def unused_edge_columns(
    table: InputTable, columns: Mapping[str, ColumnChoice], options: TableOptions
) -> list[str]:
    """A note on the columns of edges that nothing reads.

    A number of the row is none of them, nor are weights that the user wants ignored.
    """
    used = {choice.name for choice in columns.values()}
    ignored = COMMON_NAMES["weight"] if options.weight == "" else ()
    unused = [
        name
        for name in table.column_names
        if name not in used and name.lower() not in ignored and not _is_row_number(table, name)
    ]
    if not unused:
        return []
    return [f"{table.name}: not used: {format_names(unused)}"]


def unused_index(table: InputTable, columns: Mapping[str, ColumnChoice]) -> list[str]:
    """A note on the index of a data frame of nodes that nothing reads.

    An index of integers beside a column that is surely the id is what pandas numbers rows with.
    """
    used = {choice.name for choice in columns.values()}
    choice = columns["id"]
    id_is_sure = not choice.detected or is_common_id(choice)
    unused = [
        name
        for name in table.column_names
        if name in table.unnamed
        and name not in used
        and not (id_is_sure and _is_row_number(table, name))
    ]
    if not unused or not any(name.startswith(INDEX_PREFIX) for name in unused):
        return []
    return [
        f"{table.name}: the index of the data frame is not used; the ids are in {choice.name!r}. "
        "If the index has the ids, give it a name such as 'id'"
    ]


def _is_row_number(table: InputTable, name: str) -> bool:
    return name in table.unnamed and bool(pa.types.is_integer(table.column(name).type))
