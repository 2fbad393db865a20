"""Columns of numbers: one feature, and one more that marks missing values.

A missing number becomes the mean of the training nodes. Beside features of other kinds, numbers are
standardised: (x - mean) / deviation, both of the training nodes.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.encoding.block import Block, Decimal, Settings, count_nodes
from heatgraph.encoding.column import (
    LEAVE_OUT,
    Column,
    NothingToEncode,
    is_numeric,
    is_text,
)
from heatgraph.errors import InputError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# Texts that stand for a missing number.
MISSING_WORDS = frozenset({"NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None", "?"})
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf")
# Numbers with a mark between groups of three digits, and a fraction or none.
_GROUPED = {
    ".": re.compile(r"[+-]?[0-9]{1,3}(?:([,_ '])[0-9]{3})(?:\1[0-9]{3})*(?:\.[0-9]*)?"),
    ",": re.compile(r"[+-]?[0-9]{1,3}(?:([._ '])[0-9]{3})(?:\1[0-9]{3})*(?:,[0-9]*)?"),
}
_UNDERSCORES = re.compile(r"[+-]?[0-9]+(_[0-9]+)+")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
# Marks in numbers of other scripts. The Arabic decimal separator becomes the decimal mark.
_MARKS = str.maketrans(
    {
        "\N{NO-BREAK SPACE}": " ",
        "\N{NARROW NO-BREAK SPACE}": " ",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{ARABIC THOUSANDS SEPARATOR}": "'",
        "\N{MINUS SIGN}": "-",
        "\N{FULLWIDTH HYPHEN-MINUS}": "-",
        "\N{FULLWIDTH PLUS SIGN}": "+",
        "\N{FULLWIDTH COMMA}": ",",
        "\N{FULLWIDTH FULL STOP}": ".",
        "\N{FULLWIDTH LOW LINE}": "_",
    }
)


@dataclass(frozen=True)
class NumberEncoding:
    """A column of numbers, with the statistics of the training nodes."""

    kind: ClassVar[str] = "number"
    column: str
    mean: float
    scale: float
    has_indicator: bool
    is_boolean: bool

    @classmethod
    def fit(
        cls, column: Column, train: npt.NDArray[np.int64], settings: Settings
    ) -> NumberEncoding:
        """Learn mean, deviation and whether values are missing from the training nodes."""
        values = read_numbers(column, settings)[train]
        present = values[~np.isnan(values)]
        if len(present) == 0:
            raise NothingToEncode("blank at every training node")
        has_indicator = settings.missing == "indicator" and len(present) < len(values)
        mean, scale = mean_and_scale(present)
        return cls(column.name, float(mean), float(scale), has_indicator,
                   bool(pa.types.is_boolean(column.kind)))  # fmt: skip

    @property
    def names(self) -> list[str]:
        """The column's name, and that of the indicator."""
        return [self.column, *[missing_name(self.column)] * self.has_indicator]

    @property
    def description(self) -> str:
        """What the column is used as."""
        return "yes or no" if self.is_boolean else "number"

    def encode(self, column: Column, settings: Settings) -> Block:
        """The numbers (n, 1), or with their indicator (n, 2)."""
        values = read_numbers(column, settings)
        missing = np.isnan(values)
        filled = ""
        if missing.any():
            filled = describe_filled(column, missing, self.has_indicator, f"{self.mean:.6g}")
            values[missing] = self.mean
        if settings.scaled:
            values = standardise(column, values, self.mean, self.scale)
        parts = [values, *[missing] * self.has_indicator]
        return Block(np.column_stack(parts) if len(parts) > 1 else values[:, np.newaxis], filled)


def mean_and_scale(values: Floats) -> tuple[Any, Any]:
    """Mean and deviation over the rows; the deviation is 1 where values do not differ."""
    with np.errstate(over="ignore"):
        # Squares of values in the range of float32 do not overflow float64.
        scale = values.std(axis=0)
    return values.mean(axis=0), np.where(scale > 0, scale, 1.0)


def standardise(column: Column, values: Floats, mean: Any, scale: Any) -> Floats:
    """(x - mean) / scale, refused where it exceeds float32."""
    with np.errstate(over="ignore"):
        scaled: Floats = (values - mean) / scale
    check_float32(column, scaled)
    return scaled


def missing_name(column: str) -> str:
    """Name of the feature that marks missing values of a column."""
    return f"{column} is missing"


def describe_filled(column: Column, missing: Array, has_indicator: bool, value: str) -> str:
    """The note on missing values that were filled in."""
    marked = f", and marked by {missing_name(column.name)!r}" if has_indicator else ""
    return (
        f"{column.table}: column {column.name!r} is missing in {count_nodes(missing)}: filled in "
        f"with the training nodes' mean, {value}{marked}"
    )


def read_numbers(column: Column, settings: Settings) -> Floats:
    """A column as float64, with NaN where a value is missing; refused if that is an error."""
    if is_text(column.kind):
        values = _parse_column(column, settings)
    elif is_numeric(column.kind) or pa.types.is_null(column.kind):
        # A safe cast would refuse integers that float64 rounds.
        floats = column.values.cast(pa.float64(), safe=False)
        values = np.array(floats.to_numpy(zero_copy_only=False), dtype=np.float64)
    else:
        raise column.wrong_type("numeric")
    if settings.missing == "error":
        blank = pc.is_null(column.values).to_numpy(zero_copy_only=False)
        column.refuse(
            np.isnan(values), lambda row: "is blank" if blank[row] else "is nan",
            "Fill it in, drop the row or column, or set missing (--missing) to 'indicator' or "
            "'mean'.",
        )  # fmt: skip
    check_float32(column, values)
    return values


def check_float32(column: Column, values: Floats) -> None:
    """Refuse values, of shape (n,) or (n, d), that are infinite or exceed float32."""
    bad = np.abs(values) > np.finfo(np.float32).max
    if bad.any():
        first = np.unravel_index(bad.argmax(), bad.shape)
        raise InputError(
            f"{column.locate(int(first[0]))}: column {column.name!r} is {values[first]:g} "
            f"({np.count_nonzero(bad):,} such values in all). Features must be finite, and below "
            "3.4e38: correct it, or drop the row or column."
        )


def _parse_column(column: Column, settings: Settings) -> Floats:
    """Numbers that are written as text."""
    texts = column.texts
    parsed = [parse_number(text, settings) for text in texts.values]
    bad = [text for text, number in zip(texts.values, parsed, strict=True) if number is None]
    convention = decimal_hint(bad)
    if settings.decimal is not None:
        convention = f"The decimal mark {settings.decimal!r} holds for all columns. "
    column.refuse_values(
        [number is None for number in parsed], "has {} among numbers",
        f"{convention}Correct it, {LEAVE_OUT}",
    )  # fmt: skip
    return np.array([*parsed, np.nan], dtype=np.float64)[texts.codes]


def parse_number(text: str, settings: Settings) -> float | None:
    """A number that is written as text, NaN if it stands for a missing one; None if neither."""
    if settings.missing != "error" and text in MISSING_WORDS:
        return np.nan
    if settings.decimal is None:
        return float(text) if _NUMBER.fullmatch(text) else None
    text = to_ascii(text, settings.decimal)
    group, point = (",", ".") if settings.decimal == "." else (".", ",")
    if _GROUPED[point].fullmatch(text):
        text = re.sub(rf"[_ '{group}]", "", text)
    elif _UNDERSCORES.fullmatch(text):
        text = text.replace("_", "")
    if group in text:
        return None
    text = text.replace(",", ".")
    return float(text) if _NUMBER.fullmatch(text) else None


def decimal_hint(texts: list[str]) -> str:
    """A sentence that names the option which reads all `texts` as numbers; "" if none does."""
    for mark in (".", ","):
        numbers = [parse_number(text, Settings(decimal=mark)) for text in texts]
        if texts and not any(number is None for number in numbers):
            return (
                f"Set decimal (--decimal) to {mark!r} to read {texts[0]!r} as {numbers[0]:.15g}. "
            )
    return ""


def is_plain_number(text: str) -> bool:
    """Whether a text is a number as programs write it, such as 1.5e3."""
    return _NUMBER.fullmatch(text) is not None


def has_leading_zero(text: str) -> bool:
    """Whether a number starts like a code such as 007, which is no quantity."""
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def unusual_number(text: str) -> str | None:
    """How a number deviates from the way programs write it; None if it does not, or is none."""
    if is_plain_number(text):
        return None
    if not text.isascii() and parse_number(text, Settings(decimal=".")) is not None:
        return "digits or marks that are not ASCII"
    text = to_ascii(text)
    if _UNDERSCORES.fullmatch(text):
        return "'_' between digits"
    if _GROUPED["."].fullmatch(text):
        return "marks between groups of digits"
    if _DECIMAL_COMMA.fullmatch(text) or _GROUPED[","].fullmatch(text):
        return "decimal commas"
    return None


def to_ascii(text: str, point: Decimal = ".") -> str:
    """Digits and marks of other scripts as those of ASCII; `point` is the decimal mark."""
    if text.isascii():
        return text
    text = text.translate(_MARKS).replace("\N{ARABIC DECIMAL SEPARATOR}", point)
    digits = (unicodedata.decimal(mark, None) for mark in text)
    return "".join(
        mark if digit is None else str(digit) for mark, digit in zip(text, digits, strict=True)
    )
