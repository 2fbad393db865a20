"""Columns of equally long lists of numbers: one feature for each position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heatgraph.encoding.block import Block, Settings
from heatgraph.encoding.column import Column, NothingToEncode, is_list, is_text
from heatgraph.encoding.lists import read_lists
from heatgraph.encoding.numbers import (
    check_float32,
    describe_filled,
    mean_and_scale,
    missing_name,
    standardise,
)
from heatgraph.errors import InputError


@dataclass(frozen=True)
class VectorEncoding:
    """A column of vectors, with the mean and the deviation (d,) of the training nodes."""

    kind: ClassVar[str] = "vector"
    column: str
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    has_indicator: bool

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.scale):
            raise ValueError("an encoding of vectors must have a mean and a scale for each number")

    @classmethod
    def fit(
        cls, column: Column, train: npt.NDArray[np.int64], settings: Settings
    ) -> VectorEncoding:
        """Learn the length, the mean and the deviation from the training nodes."""
        X = read_vectors(column, settings)[train]
        missing = np.isnan(X)
        if missing.any():
            blank = missing.all(axis=0)
            if blank.any():
                raise NothingToEncode(
                    f"blank at every training node in position {blank.argmax()} of the list"
                )
            mean = np.nanmean(X, axis=0)
            scale = np.nanstd(X, axis=0)
            scale = np.where(scale > 0, scale, 1.0)
        else:
            mean, scale = mean_and_scale(X)
        has_indicator = settings.missing == "indicator" and bool(missing.any())
        return cls(column.name, tuple(mean.tolist()), tuple(scale.tolist()), has_indicator)

    @property
    def names(self) -> list[str]:
        """``embedding[0]``, ``embedding[1]`` and so on, and the indicator."""
        numbers = [f"{self.column}[{at}]" for at in range(len(self.mean))]
        return numbers + [missing_name(self.column)] * self.has_indicator

    @property
    def description(self) -> str:
        """What the column is used as."""
        return f"vector of {len(self.mean):,} numbers"

    def encode(self, column: Column, settings: Settings) -> Block:
        """The numbers (n, d), or with their indicator (n, d + 1)."""
        X = read_vectors(column, settings, len(self.mean))
        mean = np.array(self.mean)
        gaps = np.isnan(X)
        missing, filled = np.asarray(gaps.any(axis=1)), ""
        if missing.any():
            filled = describe_filled(column, missing, self.has_indicator, "by position")
            X = np.where(gaps, mean, X)
        if settings.scaled:
            X = standardise(column, X, mean, np.array(self.scale))
        return Block(np.column_stack([X, missing]) if self.has_indicator else X, filled)


def read_vectors(
    column: Column, settings: Settings, expected: int | None = None
) -> npt.NDArray[np.float64]:
    """A matrix (n, d) of the lists, with NaN where a number or a list is missing.

    Lists must have the `expected` length, or that of the first one.
    """
    if not (is_list(column.kind) or is_text(column.kind)):
        raise column.wrong_type("lists of numbers")
    lists = read_lists(column)
    if not lists.has_numbers and len(lists.items):
        raise InputError(
            f"{column.table}: the lists in column {column.name!r} must be numeric, and hold "
            f"{lists.items.type}."
        )
    present = ~lists.missing
    if settings.missing == "error":
        column.refuse(
            lists.missing, lambda row: "is blank",
            "Fill it in, or set missing (--missing) to 'indicator' or 'mean'.",
        )  # fmt: skip
    d = expected
    if d is None:
        d = int(lists.lengths[present][0]) if present.any() else 0
    first = "the first has" if expected is None else "the model expects"
    column.refuse(
        present & (lists.lengths != d),
        lambda row: f"has a list of {lists.lengths[row]} numbers, and {first} {d}",
        "All must have the same length: pad or correct them. (Lists of whole numbers or words may "
        "differ in length; they are read as bags of items.)",
    )
    if d == 0:
        raise InputError(
            f"{column.table}: the lists in column {column.name!r} are empty. Fill them in, or "
            "leave the column out (features=, --features)."
        )
    X = np.full((len(column), d), np.nan)
    X[present] = _to_floats(lists.items).reshape(-1, d)
    if settings.missing == "error":
        column.refuse(
            np.isnan(X).any(axis=1), lambda row: "is nan in the list",
            "Fill it in, or set missing (--missing) to 'indicator' or 'mean'.",
        )  # fmt: skip
    check_float32(column, X)
    return X


def _to_floats(items: pa.Array) -> npt.NDArray[Any]:
    floats = items.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(floats, dtype=np.float64)
