"""Merge sorted entries of A and A^T into those of a symmetric matrix, as `Graph` does.

Entries come in parts (`heatgraph.graph._edge_buckets`). Errors that name the number of bad entries
are raised at the end, by `EntryMerger.check`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from heatgraph.graph._edge_buckets import SortedEntries
from heatgraph.graph._validation import MERGES, Merge, asymmetry_error, conflict_error

Array = npt.NDArray[Any]


class MergedEntries(NamedTuple):
    """Entries of a symmetric matrix in row-major order, each position once."""

    rows: Array
    columns: Array
    weights: Array | None


@dataclass
class _Violations:
    """Entries that break a rule: how many, and the first of them."""

    count: int = 0
    first: tuple[int, int] | None = None

    def add(self, rows: Array, columns: Array, are_bad: Array) -> None:
        found = np.flatnonzero(are_bad)
        self.count += len(found)
        if self.first is None and len(found):
            self.first = int(rows[found[0]]), int(columns[found[0]])


@dataclass
class EntryMerger:
    """Merges the duplicates of each direction, then the two directions of each edge.

    With `symmetrize` None they must be equal. `num_duplicates` are entries of A that were merged,
    `num_entries` those that remain.
    """

    num_nodes: int
    symmetrize: Merge | None
    duplicates: Literal["error"] | Merge
    num_duplicates: int = 0
    num_entries: int = 0
    num_self_loops: int = 0
    _conflicts: _Violations = field(default_factory=_Violations)
    _one_way: int = 0
    _single: _Violations = field(default_factory=_Violations)
    _uneven: _Violations = field(default_factory=_Violations)

    def merge(self, part: SortedEntries) -> MergedEntries:
        """Merge entries with sorted keys; weights of zero are no entries."""
        keys, weights = self._merge_duplicates(part)
        self.num_entries += _count_listed(keys)
        positions = keys >> 1
        starts = _starts(positions)
        rows, columns = self._coordinates(positions[starts], part.first_row)
        if self.symmetrize is None:
            self._compare_directions(keys, weights, starts, rows, columns)
        on_diagonal = rows == columns
        self.num_self_loops += int(np.count_nonzero(on_diagonal))
        if weights is not None and len(starts):
            first = weights[starts]
            weights = MERGES[self.symmetrize or "max"].reduceat(weights, starts)
            if self.symmetrize == "sum":
                weights[on_diagonal] -= first[on_diagonal]
        return MergedEntries(rows, columns, weights)

    def check(self) -> None:
        """Raise the error for duplicates, or else for directions, that differ."""
        if self._conflicts.first is not None:
            row, column = self._conflicts.first
            raise conflict_error(f"edge {row} -> {column}", self._conflicts.count)
        first = self._single.first or self._uneven.first
        if first is not None:
            raise asymmetry_error(self._one_way, self.num_entries, self._uneven.count, first)

    def _merge_duplicates(self, part: SortedEntries) -> tuple[Array, Array | None]:
        _, keys, weights = part
        starts = _starts(keys)
        if len(starts) < len(keys):
            distinct = keys[starts]
            self.num_duplicates += _count_listed(keys) - _count_listed(distinct)
            keys = distinct
            if weights is not None:
                if self.duplicates == "error":
                    differ = np.minimum.reduceat(weights, starts) < np.maximum.reduceat(
                        weights, starts
                    )
                    coordinates = self._coordinates(keys >> 1, part.first_row)
                    self._conflicts.add(*coordinates, differ & (keys & 1 == 0))
                weights = MERGES[self.duplicates].reduceat(weights, starts)
        if weights is not None and not weights.all():
            nonzero = weights != 0
            keys, weights = keys[nonzero], weights[nonzero]
        return keys, weights

    def _compare_directions(
        self, keys: Array, weights: Array | None, starts: Array, rows: Array, columns: Array
    ) -> None:
        """Count positions with an entry of A or of A^T alone, and those where they differ."""
        is_single = np.diff(starts, append=len(keys)) == 1
        self._single.add(rows, columns, is_single)
        self._one_way += int(np.count_nonzero(is_single & (keys[starts] & 1 == 0)))
        if weights is not None and len(starts):
            other = weights[starts + ~is_single]
            self._uneven.add(rows, columns, weights[starts] != other)

    def _coordinates(self, positions: Array, first_row: int) -> tuple[Array, Array]:
        rows = positions // self.num_nodes
        columns = positions - rows * self.num_nodes
        return rows + first_row, columns


def _starts(ordered: Array) -> Array:
    """Where runs of equal numbers begin."""
    is_start = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_start[1:])
    return np.flatnonzero(is_start)


def _count_listed(keys: Array) -> int:
    """Entries of A, not of A^T."""
    return len(keys) - int(np.count_nonzero(keys & 1))
