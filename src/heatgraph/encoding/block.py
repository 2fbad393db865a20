"""What an encoding of a column makes of it, and how encodings are written to files."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from heatgraph.encoding.column import Column

Array = npt.NDArray[Any]

Missing = Literal["indicator", "mean", "error"]
Decimal = Literal[".", ","]


@dataclass(frozen=True)
class Settings:
    """How all columns are encoded.

    `missing` says what becomes of missing numbers and dates, `decimal` which mark separates the
    fraction of a number (None if that was not said), and `scaled` whether numbers are standardised,
    which features of several kinds need beside each other.
    """

    missing: Missing = "indicator"
    decimal: Decimal | None = None
    scaled: bool = False


@dataclass(frozen=True)
class Block:
    """Features (n, k) of a column, dense or sparse, and sentences for the user; "" if none.

    `filled` tells of missing values that were filled in, `blank` of those that became zeros, and
    `unknown` of values that no training node has.
    """

    values: Any
    filled: str = ""
    blank: str = ""
    unknown: str = ""

    @property
    def notes(self) -> list[str]:
        """The sentences that are not empty."""
        return [note for note in (self.filled, self.blank, self.unknown) if note]


class Encoding(Protocol):
    """The fitted encoding of one column; fields are JSON values."""

    kind: ClassVar[str]
    column: str

    @property
    def names(self) -> list[str]:
        """Names of the features, k of them."""

    @property
    def description(self) -> str:
        """What the column is used as, for a report."""

    def encode(self, column: Column, settings: Settings) -> Block:
        """Features of a column of the same or of another table."""


E = TypeVar("E")


def to_record(encoding: Any) -> dict[str, Any]:
    """The fields of an encoding as JSON values."""
    values = {entry.name: getattr(encoding, entry.name) for entry in fields(encoding)}
    plain = {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
    return {"kind": encoding.kind, **plain}


def from_record(cls: type[E], record: dict[str, Any]) -> E:
    """An encoding from its record, read from a file; ValueError if a field does not fit."""
    hints = get_type_hints(cls)
    names = list(inspect.signature(cls).parameters)
    if set(record) != {"kind", *names}:
        raise ValueError(f"an encoding must have the fields {names}, not {sorted(record)}")
    values = {name: _check_value(name, record[name], hints[name]) for name in names}
    return cls(**values)


def _check_value(name: str, value: Any, hint: Any) -> Any:
    if get_args(hint):
        if not isinstance(value, list):
            raise ValueError(f"{name} of an encoding must be a list")
        return tuple(_check_value(name, entry, get_args(hint)[0]) for entry in value)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not hint or (hint is float and not math.isfinite(value)):
        raise ValueError(f"{name} of an encoding must be a finite {hint.__name__}")
    return value


def count_nodes(rows: npt.NDArray[np.bool_]) -> str:
    """The number of rows that are True, and of all, for a note."""
    return f"{np.count_nonzero(rows):,} of {len(rows):,} nodes"
