"""A column of a table: its values, and how errors name its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.errors import InputError

Array = npt.NDArray[Any]

# What an error about a bad value suggests in the end.
LEAVE_OUT = "or leave the column out (features=, --features)."


class NothingToEncode(Exception):
    """A column holds nothing that a model could learn from; the message says why."""


@dataclass(frozen=True)
class Texts:
    """Values of a column as text: distinct `values`, and the position `codes` (n,) of each row.

    Blanks around values are removed. A missing or blank value has the code -1.
    """

    values: list[str]
    codes: npt.NDArray[np.int64]

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Rows that are not blank, (n,)."""
        return self.codes >= 0


@dataclass(frozen=True)
class Column:
    """A column of Arrow values, without dictionaries or extension types.

    `locate` names a row in errors ("nodes.csv, line 17"), and `is_categorical` says that the values
    came as a dictionary or a categorical type.
    """

    name: str
    values: pa.ChunkedArray
    table: str
    locate: Callable[[int], str]
    is_categorical: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def kind(self) -> pa.DataType:
        """The Arrow type."""
        return self.values.type

    @cached_property
    def texts(self) -> Texts:
        """The values as text; booleans as "true" and "false", whole numbers without a point."""
        column = self.values
        if pa.types.is_floating(column.type):
            column = _whole_numbers(column)
        try:
            column = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise self.wrong_type("text") from None
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.large_string()), column)
        encoded = column.combine_chunks().dictionary_encode()
        codes = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        return Texts(encoded.dictionary.to_pylist(), codes)

    def refuse(self, bad: Any, problem: Callable[[int], str], remedy: str) -> None:
        """Raise an error if any of the rows `bad` (n,) is, with the first one and their number."""
        mask = np.asarray(bad)
        if mask.any():
            row = int(mask.argmax())
            raise InputError(
                f"{self.locate(row)}: column {self.name!r} {problem(row)} "
                f"({np.count_nonzero(mask):,} such in all). {remedy}"
            )

    def refuse_values(self, bad: list[bool], problem: str, remedy: str) -> None:
        """Raise an error if any distinct text is bad, with the first row that has such a value.

        `problem` has a place for the value.
        """
        if any(bad):
            texts = self.texts
            rows = np.append(np.array(bad), False)[texts.codes]
            self.refuse(rows, lambda row: problem.format(repr(texts.values[texts.codes[row]])[:80]),
                        remedy)  # fmt: skip

    def wrong_type(self, expected: str) -> InputError:
        """The error for a column of another type than expected."""
        return InputError(
            f"{self.table}: column {self.name!r} must be {expected}, and has type {self.kind} "
            f"(such as {first_value(self.values)!r}). Convert it, {LEAVE_OUT}"
        )


def _whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floats as integers if all of them are, as a column of integers with blanks often comes."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def first_value(column: Any) -> str:
    """The first value that is not missing, as text; "" if all are."""
    present = column.drop_null()
    if len(present) == 0:
        return ""
    try:
        return str(present[0].as_py()).strip()
    except (ArithmeticError, ValueError):  # a date that Python does not have
        return str(present[0].cast(pa.string()).as_py())


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_numeric(kind: pa.DataType) -> bool:
    """Whether an Arrow type converts to float64."""
    kinds = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal
    return any(is_kind(kind) for is_kind in kinds)


def is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a list."""
    kinds = (
        pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list,
        pa.types.is_list_view, pa.types.is_large_list_view,
    )  # fmt: skip
    return any(is_kind(kind) for is_kind in kinds)


def is_date(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a date, with or without a time of day."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))
