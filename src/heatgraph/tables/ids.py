"""Read node ids exactly, as strings or integers, and look them up among the nodes.

Type inference would turn 007 into 7 and a number of 20 digits into a float, so ids are read as
strings and become integers only if every one of them is written the way Python writes it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.errors import InputError
from heatgraph.tables.columns import ColumnChoice, is_common_id
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.values import is_text, refuse_rows

# Why a column that is no id may be taken for one.
LOST_INDEX = "no column is called id; if ids were an index, reset_index() makes it a column"
_POWERS_OF_TEN = np.array([10**power for power in range(1, 20)], dtype=np.uint64)


def read_ids(table: InputTable, name: str) -> pa.ChunkedArray:
    """A column of ids, strings or integers, without missing values."""
    column = table.column(name)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if not (is_text(column.type) or pa.types.is_integer(column.type)):
        raise InputError(
            f"{table.name}: ids must be strings or integers, and column {name!r} has type "
            f"{column.type}. Store them as strings: a float cannot represent every long integer."
        )
    column = column.cast(pa.string()) if is_text(column.type) else column
    missing = pc.is_null(column)
    if is_text(column.type):
        missing = pc.or_(missing, pc.equal(pc.fill_null(column, ""), ""))
    refuse_rows(table, missing, f"column {name!r} is blank, where an id is expected", "Fill it in.")
    # Integers are looked up faster than strings.
    return to_integers(column) if is_text(column.type) else column


def check_unique(table: InputTable, ids: pa.ChunkedArray, choice: ColumnChoice) -> None:
    """Refuse a node that has several rows."""
    first = find_ids(ids, ids).to_numpy()
    repeated = np.flatnonzero(first != np.arange(len(first)))
    if len(repeated):
        row = int(repeated[0])
        detected = f" {choice.name!r} was detected as the id." if choice.detected else ""
        if choice.detected and not is_common_id(choice):
            detected = (
                f" {choice.name!r} was detected as the id ({LOST_INDEX}). The table of nodes "
            )
            detected += "comes before that of edges."
        raise InputError(
            f"{table.locate(row)}: id {ids[row].as_py()!r} occurs again "
            f"({len(repeated):,} repeated ids in all). Each node has one row.{detected}"
        )


def find_ids(ids: pa.ChunkedArray, among: pa.ChunkedArray) -> pa.ChunkedArray:
    """Positions of ids among others, null where there is none; 7 and "7" are the same id."""
    if ids.type != among.type:
        ids, among = ids.cast(pa.string()), among.cast(pa.string())
    return pc.index_in(ids, value_set=among)


def describe_id_table(table: InputTable, choice: ColumnChoice) -> str:
    """How an error about an unknown id names the node table."""
    if choice.detected and not is_common_id(choice):
        return f"{table.name}, where {choice.name!r} was detected as the id ({LOST_INDEX})"
    return table.name


def read_node_positions(
    table: InputTable, names: list[str], ids: pa.ChunkedArray, nodes: str
) -> list[npt.NDArray[np.int64]]:
    """Read columns of ids as positions in `ids`; `nodes` names the node table in errors."""
    columns, positions = find_node_positions(table, names, ids)
    if any(column.null_count for column in positions):
        refuse_unknown(table, names, columns, positions, nodes, ids)
    return [column.to_numpy().astype(np.int64) for column in positions]


def find_node_positions(
    table: InputTable, names: list[str], ids: pa.ChunkedArray
) -> tuple[list[pa.ChunkedArray], list[pa.ChunkedArray]]:
    """Columns of ids, and their positions in `ids`, null where there is none."""
    # One thread per column: Arrow casts and looks up on one.
    with ThreadPoolExecutor(len(names)) as pool:
        columns = list(pool.map(lambda name: read_ids(table, name), names))
        positions = list(pool.map(lambda column: find_ids(column, ids), columns))
    return columns, positions


def refuse_unknown(
    table: InputTable,
    names: list[str],
    columns: list[pa.ChunkedArray],
    positions: list[pa.ChunkedArray],
    nodes: str,
    ids: pa.ChunkedArray,
    advice: str = "",
) -> None:
    """Raise the error for ids that no node has; `positions` are null for these.

    `advice` is a further sentence for the user.
    """
    missing = [pc.is_null(column).to_numpy() for column in positions]
    rows = np.logical_or.reduce(missing)
    row = int(rows.argmax())
    at = next(at for at, column in enumerate(missing) if column[row])
    unknown = pa.chunked_array(
        chunk
        for column, bad in zip(columns, missing, strict=True)
        for chunk in column.filter(pa.array(bad)).cast(pa.string()).chunks
    ).unique()
    examples = ", ".join(repr(value) for value in unknown[:3].to_pylist())
    more = ", ..." if len(unknown) > 3 else ""
    stripped = find_ids(
        pc.utf8_trim_whitespace(unknown), pc.utf8_trim_whitespace(ids.cast(pa.string()))
    )
    hint = " Some differ in whitespace only." if len(stripped) > stripped.null_count else ""
    raise InputError(
        f"{table.locate(row)}: {columns[at][row].as_py()!r} in column {names[at]!r} is not an id "
        f"of {nodes}. {len(unknown):,} unknown ids ({examples}{more}) in {rows.sum():,} rows: add "
        f"these nodes, or drop these rows (--unknown-edges drop or add).{hint}{advice}"
    )


def to_integers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Strings as int64 if that loses nothing, not even a leading zero; else the strings."""
    try:
        integers = pc.cast(texts, pa.int64())
    except pa.ArrowInvalid:
        return texts
    # Anything else that Arrow parses (007, +7, -0) is longer than the integer printed, except for
    # hexadecimal numbers.
    same_length = pc.sum(pc.binary_length(texts)) == _printed_length(integers)
    hexadecimal = pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py()
    return integers if same_length and not hexadecimal else texts


def _printed_length(integers: pa.ChunkedArray) -> pa.Scalar:
    """Total number of characters of the integers in decimal, signs included."""
    values = integers.drop_null().to_numpy()
    negative = values < 0
    sizes = np.where(negative, ~values, values).astype(np.uint64) + negative
    digits = np.searchsorted(_POWERS_OF_TEN, sizes, side="right") + 1
    return pa.scalar(int(digits.sum() + negative.sum()))
