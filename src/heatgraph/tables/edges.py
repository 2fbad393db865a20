"""Edges: pairs of ids, found among the nodes, with weights that do not contradict each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.graph._validation import CSRBuilder, Merge
from heatgraph.tables import columns
from heatgraph.tables.source import Source

Array = npt.NDArray[Any]


def positions(
    table: Source, names: list[str], ids: pa.ChunkedArray, nodes: str
) -> list[npt.NDArray[np.int64]]:
    """Rows of the nodes that columns of ids name; unknown ids are an error."""
    # A thread each: Arrow reads and looks up ids on one.
    with ThreadPoolExecutor(len(names)) as pool:
        read = list(pool.map(lambda name: columns.read_ids(table, name), names))
        found = list(pool.map(lambda column: columns.find(column, ids), read))
    if any(places.null_count for places in found):
        _refuse_unknown(table, names, read, found, nodes, ids)
    return [places.to_numpy().astype(np.int64) for places in found]


def _refuse_unknown(
    table: Source,
    names: list[str],
    read: list[pa.ChunkedArray],
    found: list[pa.ChunkedArray],
    nodes: str,
    ids: pa.ChunkedArray,
) -> None:
    missing = [pc.is_null(places).to_numpy() for places in found]
    rows = np.logical_or.reduce(missing)
    row = int(rows.argmax())
    at = next(at for at, column in enumerate(missing) if column[row])
    unknown = pa.chunked_array(
        chunk
        for column, bad in zip(read, missing, strict=True)
        for chunk in column.filter(pa.array(bad)).cast(pa.string()).chunks
    ).unique()
    examples = ", ".join(repr(value) for value in unknown[:3].to_pylist())
    more = ", ..." if len(unknown) > 3 else ""
    trimmed = columns.find(
        pc.utf8_trim_whitespace(unknown), pc.utf8_trim_whitespace(ids.cast(pa.string()))
    )
    hint = " Some differ by blanks only." if len(trimmed) > trimmed.null_count else ""
    raise InputError(
        f"{table.place(row)}: {read[at][row].as_py()!r} in column {names[at]!r} is no id of "
        f"{nodes}. {len(unknown):,} unknown ids ({examples}{more}) in {rows.sum():,} rows: add "
        f"these nodes, or drop these rows.{hint}"
    )


def check_conflicts(
    links: Source, ids: pa.ChunkedArray, src: Array, dst: Array, weight: Array
) -> None:
    """Refuse an edge that is listed several times with different weights."""
    order = np.lexsort((np.arange(len(src)), dst, src))
    s, d, w = src[order], dst[order], weight[order]
    conflicts = np.flatnonzero((s[1:] == s[:-1]) & (d[1:] == d[:-1]) & (w[1:] != w[:-1]))
    if len(conflicts):
        at = conflicts[order[conflicts + 1].argmin()]
        raise InputError(
            f"{links.place(int(order[at + 1]))}: edge {_name(ids, s[at])} -> {_name(ids, d[at])} "
            f"has weight {w[at + 1]:g}, and had {w[at]:g} before ({len(conflicts):,} such in all). "
            "Drop one, or let duplicates (--duplicates) be 'sum' or 'max'."
        )


def check_both_ways(
    links: Source,
    ids: pa.ChunkedArray,
    src: Array,
    dst: Array,
    weight: Array | None,
    duplicates: Literal["error"] | Merge,
) -> None:
    """Refuse an edge whose other direction is missing or has another weight."""
    values = np.ones(len(src), dtype=bool) if weight is None else weight
    entries = CSRBuilder.from_coordinates(src, dst, values, (len(ids), len(ids)), "edge")
    entries.merge_duplicates("max" if weight is None else duplicates)
    A = entries.matrix
    uneven = sp.coo_array(A - A.T)
    uneven.eliminate_zeros()
    if uneven.nnz:
        v, w = int(uneven.row[0]), int(uneven.col[0])
        raise InputError(
            f"{links.name}: edge {_name(ids, v)} -> {_name(ids, w)} has no counterpart of equal "
            f"weight ({uneven.nnz // 2:,} such pairs in all). List both directions, or let "
            "directed (--directed) be 'max' or 'sum'."
        )


def _name(ids: pa.ChunkedArray, row: int) -> str:
    return repr(ids[int(row)].as_py())
