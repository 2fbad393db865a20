"""Read Parquet files, in batches whose decoded size is bounded before they are decoded.

A column that repeats a value takes a few bytes however many rows it has: dictionaries and run
lengths expand when they are decoded. So rows are counted times the width of their values, not the
size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
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
            for batch in file.iter_batches(_batch_rows(file.metadata, limit)):
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


def _chunks(metadata: Any) -> Iterator[list[Any]]:
    """The column chunks of each row group."""
    for at in range(metadata.num_row_groups):
        group = metadata.row_group(at)
        yield [group.column(column) for column in range(group.num_columns)]


def _least_bytes(file: Any) -> float:
    """Memory for decoding, without the characters of texts: that is what run lengths expand to."""
    needed = 0.0
    for chunks in _chunks(file.metadata):
        for at, chunk in enumerate(chunks):
            width = _WIDTHS.get(chunk.physical_type, _WIDEST_NUMBER)
            if file.schema.column(at).max_repetition_level:
                width = 2 * width + _LEVELS
            needed += chunk.num_values * width
    return needed


def _batch_rows(metadata: Any, limit: float) -> int:
    """Rows of a batch that takes a share of the limit, if all have the longest text of a column.

    That may be all of the column's uncompressed bytes, once in a dictionary.
    """
    longest = max(
        (
            sum(c.total_uncompressed_size for c in chunks if c.physical_type == "BYTE_ARRAY")
            for chunks in _chunks(metadata)
        ),
        default=0,
    )
    return int(min(max(BATCH_SHARE * limit / max(longest, 1), 1), MAX_BATCH_ROWS))
