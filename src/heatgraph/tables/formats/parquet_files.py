"""Read Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from heatgraph.errors import FileFormatError
from heatgraph.tables.formats.file_errors import too_large
from heatgraph.tables.input_table import InputTable

# The first bytes of every Parquet file.
MAGIC = b"PAR1"


def read_parquet(path: Path, limit: float) -> InputTable:
    """Read a file that takes at most `limit` bytes in memory."""
    batches, size = [], 0
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            for batch in file.iter_batches():
                batches.append(batch)
                size += batch.nbytes
                if size > limit:
                    raise too_large(path, limit)
        arrow = pa.Table.from_batches(batches, schema=schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileFormatError(
            f"{path} is not a complete Parquet file: {str(error).splitlines()[0]} Write it again."
        ) from error
    return InputTable.from_arrow(
        arrow, str(path), lambda row: f"{path}, row {row} (counted from 0)"
    )
