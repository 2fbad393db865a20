"""Columns of lists of ids or words, of any length: how often each item occurs in a row.

The items are those of the training nodes. Beside features of other kinds, rows have unit length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from heatgraph.encoding.block import Block, Settings
from heatgraph.encoding.categories import describe_blank, describe_unknown, most_frequent
from heatgraph.encoding.column import LEAVE_OUT, Column, NothingToEncode, is_list, is_text
from heatgraph.encoding.lists import Lists, read_lists

# Items that become features; of more, the most frequent ones.
MAX_ITEMS = 20_000


@dataclass(frozen=True)
class BagEncoding:
    """A column of bags, with the items of the training nodes in alphabetical order."""

    kind: ClassVar[str] = "bag"
    column: str
    items: tuple[str, ...]

    @classmethod
    def fit(cls, column: Column, train: npt.NDArray[np.int64], settings: Settings) -> BagEncoding:
        """Learn the items of the training nodes."""
        lists = read_bags(column)
        values, codes = _items(column, lists)
        is_train = np.zeros(len(column), dtype=bool)
        is_train[train] = True
        items = most_frequent(values, codes[is_train[lists.rows] & (codes >= 0)], MAX_ITEMS)
        if not items:
            raise NothingToEncode("empty lists at every training node")
        return cls(column.name, tuple(items))

    @property
    def names(self) -> list[str]:
        """``tags=sport`` and so on."""
        return [f"{self.column}={item}" for item in self.items]

    @property
    def description(self) -> str:
        """What the column is used as."""
        return f"bag of {len(self.items):,} item{'s' * (len(self.items) != 1)}"

    def encode(self, column: Column, settings: Settings) -> Block:
        """Counts (n, k) of the items; other items are ignored."""
        lists = read_bags(column)
        values, codes = _items(column, lists)
        position = {item: at for at, item in enumerate(self.items)}
        columns = np.array([*(position.get(value, -1) for value in values), -1])[codes]
        known, rows = columns >= 0, lists.rows
        X = sp.csr_array(
            (np.ones(np.count_nonzero(known), dtype=np.float32), (rows[known], columns[known])),
            shape=(len(column), len(self.items)),
        )
        blank = describe_blank(column, lists.missing)
        unknown, unknown_note = ~known & (codes >= 0), ""
        if unknown.any():
            with_unknown = np.bincount(rows[unknown], minlength=len(column)) > 0
            first = values[codes[unknown.argmax()]]
            what = f"items that no training node has (such as {first!r}): they are ignored"
            unknown_note = describe_unknown(column, with_unknown, what)
        X = unit_rows(X) if settings.scaled else X
        return Block(X, blank=blank, unknown=unknown_note)


def read_bags(column: Column) -> Lists:
    """Lists of whole numbers or strings."""
    if not (is_list(column.kind) or is_text(column.kind)):
        raise column.wrong_type("lists")
    lists = read_lists(column)
    if lists.has_numbers and not pa.types.is_integer(lists.items.type):
        numbers = np.asarray(lists.items.cast(pa.float64()).to_numpy(zero_copy_only=False))
        numbers = np.where(np.isnan(numbers), 0, numbers)
        bad = np.bincount(lists.rows[numbers != np.round(numbers)], minlength=len(column)) > 0
        column.refuse(
            bad, lambda row: "has a fraction in a list of ids or words",
            f"Items of a bag are whole numbers or strings: correct it, {LEAVE_OUT}",
        )  # fmt: skip
    return lists


def unit_rows(X: sp.csr_array) -> sp.csr_array:
    """Rows divided by their Euclidean length; rows of zeros stay."""
    lengths = np.sqrt(np.asarray((X**2).sum(axis=1)).ravel())
    lengths[lengths == 0] = 1
    return sp.csr_array(sp.diags_array((1 / lengths).astype(np.float32)) @ X)


def _items(column: Column, lists: Lists) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Distinct items, and the code of each, -1 where missing."""
    items = Column(column.name, pa.chunked_array([lists.items]), column.table, column.locate)
    texts = items.texts
    return texts.values, texts.codes
