"""Sort the entries of an adjacency matrix that exceeds memory: buckets of rows in files.

An edge i -> j is an entry in row i, column j of A, and one in row j, column i of A^T. Both go into
the bucket of their row, as the key

    2 ((row - first row of the bucket) n + column) + (0 for an entry of A, 1 for one of A^T)

of 63 bits, with the weight, if there is one, in a second file. In the order of keys, rows are
sorted and the two directions of an edge are neighbours; equal keys keep the order of the list.

A bucket that does not fit into memory is split at quantiles of its keys, and so on: the rows of a
hub are split by columns. All that has to fit is an edge with its repetitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heatgraph.errors import MemoryBudgetError

Array = npt.NDArray[Any]
Keys = npt.NDArray[np.int64]

# Room for buckets that are larger than the average.
MARGIN = 1.25
# Buckets that a bucket is split into at most.
MAX_SPLIT = 256
# Keys in the sample whose quantiles split a bucket, at most.
SAMPLE = 1 << 14
LARGEST_KEY = np.iinfo(np.int64).max
KEY_BYTES = np.dtype(np.int64).itemsize


class SortedEntries(NamedTuple):
    """Entries with sorted keys; rows are counted from `first_row`."""

    first_row: int
    keys: Keys
    weights: Array | None


def fewest_buckets(num_nodes: int) -> int:
    """Buckets that are needed for keys to have 63 bits."""
    most_rows = LARGEST_KEY // (2 * num_nodes)
    return -(-num_nodes // most_rows)


class EdgeBuckets:
    """Files of entries in a folder, one for each of `count` ranges of rows.

    `capacity` is the number of entries that are sorted at once.
    """

    def __init__(
        self,
        folder: Path,
        num_nodes: int,
        count: int,
        weight_dtype: np.dtype[Any] | None,
        capacity: int,
    ) -> None:
        self.folder, self.num_nodes, self.capacity = folder, num_nodes, capacity
        self.weight_dtype = weight_dtype
        self.rows_each = -(-num_nodes // count)
        self.count = -(-num_nodes // self.rows_each)

    def add(self, sources: Array, targets: Array, weights: Array | None) -> None:
        """Append edges between nodes in 0..n - 1."""
        for transposed, (rows, columns) in enumerate(((sources, targets), (targets, sources))):
            buckets = rows // self.rows_each
            keys = rows - buckets * self.rows_each
            keys *= self.num_nodes
            keys += columns
            keys *= 2
            keys += transposed
            self._distribute("", buckets, self.count, keys, weights)

    def sorted_parts(self) -> Iterator[SortedEntries]:
        """Yield all entries in order, and delete the files; the parts never divide an edge."""
        for bucket in range(self.count):
            for stem in self._fitting_files(str(bucket)):
                yield SortedEntries(bucket * self.rows_each, *self._sort(stem))

    def _fitting_files(self, stem: str) -> Iterator[str]:
        """The file of a bucket, or those that it is split into, in the order of their keys."""
        if self._size(stem) <= self.capacity:
            yield stem
            return
        for part in range(self._split(stem)):
            yield from self._fitting_files(f"{stem}.{part}")

    def _sort(self, stem: str) -> tuple[Keys, Array | None]:
        keys, weights = next(self._read(stem, self.capacity), (np.empty(0, dtype=np.int64), None))
        self._delete(stem)
        if weights is None:
            keys.sort()
            return keys, None
        order = np.argsort(keys, kind="stable")
        return keys[order], weights[order]

    def _split(self, stem: str) -> int:
        """Split a file at quantiles of its keys; return the number of parts."""
        chunk = max(1, self.capacity // 4)
        bounds = self._quantiles(stem, chunk)
        for keys, weights in self._read(stem, chunk):
            parts = np.searchsorted(bounds, keys, side="right")
            self._distribute(f"{stem}.", parts, len(bounds) + 1, keys, weights)
        self._delete(stem)
        return len(bounds) + 1

    def _quantiles(self, stem: str, chunk: int) -> Keys:
        """Keys where parts begin, such that no part is empty and none divides an edge."""
        size = self._size(stem)
        step = -(-size // min(SAMPLE, self.capacity))
        sample: list[Keys] = []
        low, high, seen = LARGEST_KEY, 0, 0
        for keys, _ in self._read(stem, chunk):
            sample.append(keys[-seen % step :: step].copy())
            low, high, seen = (
                min(low, int(keys.min())),
                max(high, int(keys.max())),
                seen + len(keys),
            )
        ordered = np.sort(np.concatenate(sample)) & ~1
        parts = min(MAX_SPLIT, 1 + int(MARGIN * size / self.capacity))
        quantiles = ordered[np.arange(1, parts) * len(ordered) // parts]
        # The end of an edge that is frequent separates it from those behind.
        bounds = np.unique(np.concatenate([quantiles, quantiles + 2]))
        bounds = bounds[(bounds > low) & (bounds <= high)]
        if len(bounds) == 0:
            bucket = int(stem.split(".")[0])
            row, column = divmod(low // 2, self.num_nodes)
            row += bucket * self.rows_each
            raise MemoryBudgetError(
                f"edge {row} - {column} is listed {size:,} times, too often for the memory "
                "budget. Raise it, or merge these edges first."
            )
        return bounds

    def _distribute(
        self, prefix: str, parts: Array, count: int, keys: Keys, weights: Array | None
    ) -> None:
        """Append entries to the files of their parts, in order."""
        # NumPy sorts 16 bits in linear time.
        small = parts.astype(np.uint16 if count <= 1 << 16 else np.uint64)
        order = np.argsort(small, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(small, minlength=count))])
        for part, (start, stop) in enumerate(pairwise(ends.tolist())):
            if start < stop:
                chosen = order[start:stop]
                self._append(f"{prefix}{part}.keys", keys[chosen])
                if weights is not None:
                    self._append(f"{prefix}{part}.weights", weights[chosen])

    def _append(self, name: str, values: Array) -> None:
        # Opened for each write, since a process may not hold as many open files as there are parts.
        with (self.folder / name).open("ab", buffering=0) as file:
            file.write(values.data)

    def _size(self, stem: str) -> int:
        """Entries in a file, which does not exist if there are none."""
        path = self.folder / f"{stem}.keys"
        return path.stat().st_size // KEY_BYTES if path.exists() else 0

    def _read(self, stem: str, count: int) -> Iterator[tuple[Keys, Array | None]]:
        """The entries of a file, `count` at a time."""
        for start in range(0, self._size(stem), count):
            keys = np.fromfile(
                self.folder / f"{stem}.keys", dtype=np.int64, count=count, offset=start * KEY_BYTES
            )
            weights = None
            if self.weight_dtype is not None:
                weights = np.fromfile(
                    self.folder / f"{stem}.weights",
                    dtype=self.weight_dtype,
                    count=count,
                    offset=start * self.weight_dtype.itemsize,
                )
            yield keys, weights

    def _delete(self, stem: str) -> None:
        for suffix in ("keys", "weights"):
            (self.folder / f"{stem}.{suffix}").unlink(missing_ok=True)
