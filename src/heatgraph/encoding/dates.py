"""Columns of dates: days since the mean of the training nodes, and years, months and weekdays.

Days are standardised. A part of the date is one-hot, if training nodes have several values of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from heatgraph.encoding.block import Block, Settings
from heatgraph.encoding.categories import describe_unknown, one_hot
from heatgraph.encoding.column import LEAVE_OUT, Column, NothingToEncode, is_date, is_text
from heatgraph.encoding.numbers import describe_filled, mean_and_scale, missing_name

ISO_DATE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:[.,][0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MICROSECONDS_PER_DAY = 86_400_000_000
# Days from 1970-01-01 to the first day of the year 1, and to that of the year 10000.
FIRST_DAY, END_DAY = -719_162, 2_932_897
# More years than this are not one-hot: days say the same.
MAX_YEARS = 30


@dataclass(frozen=True)
class Dates:
    """Days since 1970, (n,), NaN where missing; year, month and weekday, -1 where missing."""

    days: npt.NDArray[np.float64]
    years: npt.NDArray[np.int64]
    months: npt.NDArray[np.int64]
    weekdays: npt.NDArray[np.int64]


@dataclass(frozen=True)
class DateEncoding:
    """A column of dates; `mean` in days since 1970, and parts that training nodes have."""

    kind: ClassVar[str] = "date"
    column: str
    mean: float
    scale: float
    years: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    has_indicator: bool

    def __post_init__(self) -> None:
        in_range = (
            all(1 <= at <= 12 for at in self.months),
            all(0 <= at < 7 for at in self.weekdays),
        )
        if not all(in_range) or not self.scale > 0:
            raise ValueError("months, weekdays or the scale of dates are out of range")

    @classmethod
    def fit(cls, column: Column, train: npt.NDArray[np.int64], settings: Settings) -> DateEncoding:
        """Learn the mean, the deviation and the parts from the training nodes."""
        dates = read_dates(column, settings)
        days = dates.days[train]
        present = train[~np.isnan(days)]
        if len(present) == 0:
            raise NothingToEncode("blank at every training node")
        mean, scale = mean_and_scale(dates.days[present])
        years, months, weekdays = (
            _several(part[present]) for part in (dates.years, dates.months, dates.weekdays)
        )
        return cls(
            column.name,
            float(mean),
            float(scale),
            years if len(years) <= MAX_YEARS else (),
            months,
            weekdays,
            settings.missing == "indicator" and len(present) < len(days),
        )

    @property
    def names(self) -> list[str]:
        """``when: days``, ``when: year=2024``, ``when: month=3``, ``when: weekday=Mon``."""
        return [
            f"{self.column}: days",
            *(f"{self.column}: year={year}" for year in self.years),
            *(f"{self.column}: month={month}" for month in self.months),
            *(f"{self.column}: weekday={WEEKDAYS[weekday]}" for weekday in self.weekdays),
            *[missing_name(self.column)] * self.has_indicator,
        ]

    @property
    def description(self) -> str:
        """What the column is used as."""
        return "date"

    def encode(self, column: Column, settings: Settings) -> Block:
        """Days, parts and the indicator (n, k)."""
        dates = read_dates(column, settings)
        missing = np.isnan(dates.days)
        filled = unknown_note = ""
        if missing.any():
            mean = np.datetime64(0, "D") + int(self.mean)
            filled = describe_filled(column, missing, self.has_indicator, str(mean))
        days = np.where(missing, 0.0, (dates.days - self.mean) / self.scale)
        unknown = np.zeros(len(days), dtype=bool)
        parts = [sp.csr_array(days[:, np.newaxis].astype(np.float32))]
        for values, known in (
            (dates.years, self.years), (dates.months, self.months), (dates.weekdays, self.weekdays),
        ):  # fmt: skip
            if known:
                positions = _positions(values, known)
                unknown |= ~missing & (positions < 0)
                parts.append(one_hot(positions, len(known)))
        if unknown.any():
            what = "a year, month or weekday that no training node has: these features are 0"
            unknown_note = describe_unknown(column, unknown, what)
        if self.has_indicator:
            parts.append(sp.csr_array(missing[:, np.newaxis].astype(np.float32)))
        return Block(sp.hstack(parts, format="csr"), filled, unknown=unknown_note)


def read_dates(column: Column, settings: Settings) -> Dates:
    """Dates and times of a column, of text in ISO 8601 too; refused if one is missing or wrong."""
    if is_text(column.kind):
        days = _parse_dates(column)
    elif is_date(column.kind) or pa.types.is_null(column.kind):
        days = _days(column)
    else:
        raise column.wrong_type("dates")
    missing = np.isnan(days)
    if settings.missing == "error":
        column.refuse(
            missing, lambda row: "is blank, where a date is expected",
            "Fill it in, or set missing (--missing) to 'indicator' or 'mean'.",
        )  # fmt: skip
    column.refuse(
        (days < FIRST_DAY) | (days >= END_DAY),
        lambda row: f"is {days[row]:.0f} days from 1970, outside the years 1 to 9999",
        f"Correct it, {LEAVE_OUT}",
    )
    whole = np.where(missing, 0, np.floor(days)).astype(np.int64)
    dates = whole.astype("datetime64[D]")
    years = dates.astype("datetime64[Y]").astype(np.int64) + 1970
    months = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    weekdays = (whole + 3) % 7  # 1970-01-01 was a Thursday
    return Dates(days, *(np.where(missing, -1, part) for part in (years, months, weekdays)))


def _days(column: Column) -> npt.NDArray[np.float64]:
    """Days since 1970 of Arrow's dates and timestamps, NaN where missing."""
    kind, values = column.kind, column.values
    if pa.types.is_timestamp(kind):
        per_day = {"s": 86_400, "ms": 86_400_000, "us": MICROSECONDS_PER_DAY}
        per = per_day.get(kind.unit, 1000 * MICROSECONDS_PER_DAY)
    elif pa.types.is_date64(kind):
        per = 86_400_000
    else:
        per = 1
        values = values.cast(pa.int32())
    numbers = values.cast(pa.int64()).cast(pa.float64(), safe=False)
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64) / per


def _parse_dates(column: Column) -> npt.NDArray[np.float64]:
    """Days since 1970 of texts in ISO 8601; times with a zone in UTC."""
    texts = column.texts
    parsed = [parse_date(text) for text in texts.values]
    column.refuse_values(
        [day is None for day in parsed], "has {} among dates, which is no date such as 2024-05-31",
        f"Correct it, {LEAVE_OUT}",
    )  # fmt: skip
    matches = [ISO_DATE.fullmatch(text) for text in texts.values]
    zones = [match is not None and match[3] is not None for match in matches]
    if any(zones) and not all(zones):
        column.refuse_values(
            [not has_zone for has_zone in zones], "has {} without a time zone among times with one",
            "Give all of them a zone, or none.",
        )  # fmt: skip
    return np.array([*parsed, np.nan], dtype=np.float64)[texts.codes]


def parse_date(text: str) -> float | None:
    """Days since 1970 of a date in ISO 8601; None if it is none."""
    found = ISO_DATE.fullmatch(text)
    if found is None:
        return None
    day, time, zone = found.groups()
    try:
        moment = np.datetime64(f"{day}T{time}" if time else day, "us").astype(np.int64)
    except ValueError:  # such as February 30
        return None
    days = float(moment) / MICROSECONDS_PER_DAY
    if zone and zone != "Z":
        minutes = 60 * int(zone[1:3]) + int(zone[-2:])
        days -= (-1 if zone[0] == "-" else 1) * minutes / 1440
    return days


def _several(values: npt.NDArray[np.int64]) -> tuple[int, ...]:
    """The distinct values, or none if there is only one."""
    distinct = np.unique(values).tolist()
    return tuple(distinct) if len(distinct) > 1 else ()


def _positions(values: npt.NDArray[np.int64], known: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Position of each value among the known ones, -1 if it is not."""
    ordered = np.array(known)
    at = np.searchsorted(ordered, values).clip(max=len(ordered) - 1)
    return np.where(ordered[at] == values, at, -1)
