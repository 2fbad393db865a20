"""Read Parquet files, in batches whose decoded size is bounded before they are decoded.

A column that repeats a value takes a few bytes however many rows it has: dictionaries and run
lengths expand when they are decoded. So rows are counted times the width of their values, not the
size of the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from heatgraph.errors import FileFormatError, HeatgraphError
from heatgraph.tables.formats.file_errors import out_of_memory, too_large
from heatgraph.tables.input_table import InputTable, check_texts, check_width

# The first bytes of every Parquet file.
MAGIC = b"PAR1"
# Bytes of a value in memory; of text, those of its offset. Values of lists are copied once more,
# and have levels beside them.
_WIDTHS = {"BOOLEAN": 1 / 8, "INT32": 4, "FLOAT": 4, "INT96": 12, "BYTE_ARRAY": 4}
_WIDEST_NUMBER, _LEVELS = 8, 4
# Rows of a batch at most, and the share of the limit that a batch may take.
MAX_BATCH_ROWS, BATCH_SHARE = 1 << 16, 1 / 4


def read_parquet(path: Path, limit: float) -> InputTable:
    """Read a file that takes at most `limit` bytes in memory."""
    batches, size = [], 0
    try:
        with pa.parquet.ParquetFile(path) as file:
            check_width(str(path), file.metadata.num_columns)
            if _least_bytes(file) > limit:
                raise too_large(path, limit)
            schema = file.schema_arrow
            for batch in file.iter_batches(_batch_rows(file, limit)):
                batches.append(batch)
                size += batch.nbytes
                if size > limit:
                    raise too_large(path, limit)
        arrow = pa.Table.from_batches(batches, schema=schema)
    except HeatgraphError:
        raise
    except pa.ArrowMemoryError as error:
        raise out_of_memory(path) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FileFormatError(
            f"{path} is not a complete Parquet file: {reason} Write it again."
        ) from error
    table = InputTable.from_arrow(
        arrow, str(path), lambda row: f"{path}, row {row} (counted from 0)"
    )
    check_texts(table)
    return table


def _row_groups(file: Any) -> list[Any]:
    return [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]


def _least_bytes(file: Any) -> float:
    """Memory for decoding, without the characters of texts: that is what run lengths expand to."""
    groups = _row_groups(file)
    num_rows = sum(group.num_rows for group in groups)
    needed, leaves_of_lists = 0.0, {}
    for at in range(file.metadata.num_columns):
        leaf = file.schema.column(at)
        width = _WIDTHS.get(leaf.physical_type, _WIDEST_NUMBER)
        if leaf.max_repetition_level:
            leaves_of_lists[at] = 2 * width + _LEVELS
        else:
            needed += num_rows * width
    if leaves_of_lists:
        # Raises an error if what follows would: there, Arrow ends the process with damaged files.
        names = {file.schema.column(at).path.split(".")[0] for at in leaves_of_lists}
        file.scan_contents(sorted(names))
    for group in groups:
        needed += sum(group.column(at).num_values * leaves_of_lists[at] for at in leaves_of_lists)
    return needed


def _batch_rows(file: Any, limit: float) -> int:
    """Rows of a batch that takes a share of the limit, if all have the longest text of a column.

    That may be all of the column's uncompressed bytes, once in a dictionary.
    """
    leaves = [file.schema.column(at) for at in range(file.metadata.num_columns)]
    if not any(leaf.physical_type == "BYTE_ARRAY" for leaf in leaves):
        return MAX_BATCH_ROWS
    longest = max((group.total_byte_size for group in _row_groups(file)), default=0)
    return int(min(max(BATCH_SHARE * limit / max(longest, 1), 1), MAX_BATCH_ROWS))
