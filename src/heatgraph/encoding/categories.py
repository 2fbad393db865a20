"""Columns of categories: a feature of zeros and ones for each value of the training nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.encoding.block import Block, Settings, count_nodes
from heatgraph.encoding.column import Column, NothingToEncode

# Values that become features; of more, the most frequent ones.
MAX_VALUES = 10_000


@dataclass(frozen=True)
class CategoryEncoding:
    """A column of categories, with the values of the training nodes in alphabetical order."""

    kind: ClassVar[str] = "category"
    column: str
    values: tuple[str, ...]

    @classmethod
    def fit(
        cls, column: Column, train: npt.NDArray[np.int64], settings: Settings
    ) -> CategoryEncoding:
        """Learn the values of the training nodes."""
        texts = column.texts
        values = most_frequent(texts.values, texts.codes[train][texts.present[train]], MAX_VALUES)
        if not values:
            raise NothingToEncode("blank at every training node")
        return cls(column.name, tuple(values))

    @property
    def names(self) -> list[str]:
        """``country=FR`` and so on."""
        return [f"{self.column}={value}" for value in self.values]

    @property
    def description(self) -> str:
        """What the column is used as."""
        return f"category of {len(self.values):,} value{'s' * (len(self.values) != 1)}"

    def encode(self, column: Column, settings: Settings) -> Block:
        """One-hot features (n, k); a row of zeros for a value that is blank or not known."""
        texts = column.texts
        position = {value: at for at, value in enumerate(self.values)}
        columns = np.array([*(position.get(value, -1) for value in texts.values), -1])[texts.codes]
        blank = describe_blank(column, ~texts.present)
        unknown, unknown_note = texts.present & (columns < 0), ""
        if unknown.any():
            first = texts.values[texts.codes[unknown.argmax()]]
            what = f"a value that no training node has (such as {first!r}): all its features are 0"
            unknown_note = describe_unknown(column, unknown, what)
        return Block(one_hot(columns, len(self.values)), blank=blank, unknown=unknown_note)


def one_hot(columns: npt.NDArray[np.int64], num_columns: int) -> sp.csr_array:
    """A row for each entry, with a one in its column, or zeros if it is negative."""
    known = columns >= 0
    indptr = np.concatenate([[0], np.cumsum(known)])
    data = np.ones(indptr[-1], dtype=np.float32)
    return sp.csr_array((data, columns[known], indptr), shape=(len(columns), num_columns))


def most_frequent(values: list[str], codes: npt.NDArray[np.int64], limit: int) -> list[str]:
    """The distinct values that occur among codes, at most `limit`, in alphabetical order."""
    counts = np.bincount(codes, minlength=len(values))
    found = np.flatnonzero(counts)
    if len(found) > limit:
        found = found[np.argsort(-counts[found], kind="stable")[:limit]]
    return sorted(values[at] for at in found)


def describe_blank(column: Column, rows: npt.NDArray[np.bool_]) -> str:
    """The note on rows without a value, which are zeros; "" if there are none."""
    if not rows.any():
        return ""
    where = count_nodes(rows)
    return (
        f"{column.table}: column {column.name!r} is blank in {where}: all its features are 0 there"
    )


def describe_unknown(column: Column, rows: npt.NDArray[np.bool_], what: str) -> str:
    """The note on rows whose values were not among those of the training nodes."""
    return f"{column.table}: column {column.name!r} has in {count_nodes(rows)} {what}"
