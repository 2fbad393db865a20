"""Edges whose ends are not in the node table: refused, dropped, or their nodes added."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.tables.ids import find_ids, find_node_positions, refuse_unknown, to_integers
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.options import UnknownEdges

Array = npt.NDArray[Any]

MAX_IDS_LISTED = 3


@dataclass(frozen=True)
class EdgeEnds:
    """Positions of the ends of edges among `ids`, and the table without the rows dropped.

    `ids` are the nodes of the node table, then those added.
    """

    table: InputTable
    source: Array
    target: Array
    ids: pa.ChunkedArray
    notes: list[str] = field(default_factory=list)


def read_edge_ends(
    table: InputTable,
    names: list[str],
    ids: pa.ChunkedArray,
    nodes: str,
    how: UnknownEdges,
    advice: str = "",
) -> EdgeEnds:
    """Read the two columns of ids; `nodes` names the node table in errors and notes.

    `advice` ends the error about unknown ids.
    """
    columns, positions = find_node_positions(table, names, ids)
    missing = [pc.is_null(column).to_numpy() for column in positions]
    notes = []
    unknown = _unknown_ids(columns, missing)
    if len(unknown):
        if how == "error":
            refuse_unknown(table, names, columns, positions, nodes, ids, advice)
        rows = np.logical_or.reduce(missing)
        listed = _list_ids(unknown)
        if how == "drop":
            notes.append(
                f"{table.name}: dropped {rows.sum():,} rows with {len(unknown):,} ids that {nodes} "
                f"lacks ({listed})"
            )
            table = _filter(table, ~rows)
            positions = [column.filter(pa.array(~rows)) for column in positions]
        else:
            notes.append(
                f"{table.name}: added {len(unknown):,} nodes that {nodes} lacks ({listed}), "
                "without labels; their features are 0"
            )
            ids = _append(ids, unknown)
            positions = [find_ids(column, ids) for column in columns]
    source, target = (column.to_numpy().astype(np.int64) for column in positions)
    return EdgeEnds(table, source, target, ids, notes)


def _unknown_ids(columns: list[pa.ChunkedArray], missing: list[Array]) -> pa.Array:
    """Distinct ids that no node has, in the order of the columns."""
    chunks = [
        chunk
        for column, bad in zip(columns, missing, strict=True)
        if bad.any()
        for chunk in column.filter(pa.array(bad)).cast(pa.string()).chunks
    ]
    return pa.chunked_array(chunks, pa.string()).unique()


def _append(ids: pa.ChunkedArray, unknown: pa.Array) -> pa.ChunkedArray:
    """Ids with others behind them: integers if all of them are, else strings."""
    if pa.types.is_integer(ids.type):
        integers = to_integers(pa.chunked_array([unknown]))
        if pa.types.is_integer(integers.type):
            return pa.chunked_array([*ids.cast(pa.int64()).chunks, *integers.chunks])
    return pa.chunked_array([*ids.cast(pa.string()).chunks, unknown])


def _filter(table: InputTable, kept: Array) -> InputTable:
    """Some rows of a table, which errors call by their place in the file."""
    rows = np.flatnonzero(kept)
    return InputTable(
        table.arrow.filter(pa.array(kept)),
        table.name,
        lambda row: table.locate(int(rows[row])),
        table.unnamed,
    )


def _list_ids(ids: pa.Array) -> str:
    listed = ", ".join(repr(value) for value in ids[:MAX_IDS_LISTED].to_pylist())
    return listed + ", ..." * (len(ids) > MAX_IDS_LISTED)
