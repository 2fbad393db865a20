"""The arrays of a CSR matrix in files, which grow as entries in row-major order are appended."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from heatgraph._io.tensor_file import StoredArray
from heatgraph.graph._entry_merger import MergedEntries
from heatgraph.graph._validation import degree_error

Array = npt.NDArray[Any]

# Rows whose ends are written at a time.
BLOCK_ROWS = 1 << 14


class CSRFiles:
    """Files of indptr, indices and weights of n rows in a folder; a context manager.

    `weight_dtype` is None if entries have no weights; weights that are all 1 are left out.
    """

    def __init__(
        self,
        folder: Path,
        num_rows: int,
        index_dtype: np.dtype[Any],
        weight_dtype: np.dtype[Any] | None,
    ) -> None:
        self.folder, self.num_rows = folder, num_rows
        self.index_dtype, self.weight_dtype = index_dtype, weight_dtype
        self.num_entries = 0
        self.num_linked = 0  # rows with an entry
        self._all_ones = True
        self._row = 0  # the first row whose end is not written
        self._last_row, self._last_degree = -1, 0.0
        self._overflow: int | None = None
        self._files: dict[str, BinaryIO] = {}

    def __enter__(self) -> CSRFiles:
        with ExitStack() as stack:
            for name in ("indptr", "indices", "weights"):
                file: BinaryIO = (self.folder / name).open("wb")
                self._files[name] = stack.enter_context(file)
            self._stack = stack.pop_all()
        self._write("indptr", np.zeros(1, dtype=np.int64))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def append(self, entries: MergedEntries) -> None:
        """Append entries whose positions follow those before."""
        rows, columns, weights = entries
        if len(rows) == 0:
            return
        self._end_rows(int(rows[-1]), rows)
        self._write("indices", columns.astype(self.index_dtype, copy=False))
        if weights is not None:
            self._write("weights", weights)
            self._all_ones &= bool((weights == 1).all())
        self._sum_rows(rows, weights)
        self.num_entries += len(rows)

    def finish(self) -> tuple[StoredArray, StoredArray, StoredArray | None]:
        """Close the files, and return the arrays; weights that add up to infinity are an error."""
        if self._overflow is not None:
            raise degree_error(self._overflow)
        self._end_rows(self.num_rows, np.empty(0, dtype=np.int64))
        self._stack.close()
        indptr = StoredArray(self.folder / "indptr", np.dtype(np.int64), (self.num_rows + 1,))
        shape = (self.num_entries,)
        indices = StoredArray(self.folder / "indices", self.index_dtype, shape)
        weights = None
        if self.weight_dtype is not None and not self._all_ones:
            weights = StoredArray(self.folder / "weights", self.weight_dtype, shape)
        return indptr, indices, weights

    def _end_rows(self, row: int, rows: Array) -> None:
        """Write where the rows before `row` end; `rows` are those of the entries to come."""
        for start in range(self._row, row, BLOCK_ROWS):
            ended = np.arange(start, min(start + BLOCK_ROWS, row))
            self._write("indptr", self.num_entries + np.searchsorted(rows, ended, side="right"))
        self._row = row

    def _sum_rows(self, rows: Array, weights: Array | None) -> None:
        """Count rows with entries, and note the first whose weights add up to infinity."""
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        continues = bool(rows[0] == self._last_row)
        self.num_linked += len(starts) - continues
        if weights is not None:
            with np.errstate(over="ignore"):
                degrees = np.add.reduceat(weights, starts, dtype=np.float64)
                degrees[0] += self._last_degree if continues else 0.0
            infinite = np.flatnonzero(~np.isfinite(degrees))
            if self._overflow is None and len(infinite):
                self._overflow = int(rows[starts[infinite[0]]])
            self._last_degree = float(degrees[-1])
        self._last_row = int(rows[-1])

    def _write(self, name: str, values: Array) -> None:
        self._files[name].write(np.ascontiguousarray(values).data)
