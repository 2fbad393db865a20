"""Dates: days and parts, of every type that holds them."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heatgraph.encoding.block import Settings
from heatgraph.encoding.column import NothingToEncode
from heatgraph.encoding.dates import DateEncoding, parse_date, read_dates
from heatgraph.errors import InputError

DAYS = ["2024-05-31", "1969-12-31", "2000-02-29"]


@pytest.mark.parametrize(
    "kind",
    [
        pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"),
        pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.string(), pa.large_string(),
    ],
)  # fmt: skip
def test_every_type_reads_the_same(column, kind):
    values = pa.array([datetime.date.fromisoformat(day) for day in DAYS])
    values = pa.array(DAYS, kind) if kind in (pa.string(), pa.large_string()) else values.cast(kind)
    dates = read_dates(column(values), Settings())
    assert dates.days.tolist() == [19874, -1, 11016]
    assert dates.years.tolist() == [2024, 1969, 2000]
    assert dates.months.tolist() == [5, 12, 2]
    assert dates.weekdays.tolist() == [4, 2, 1]


@given(st.datetimes())
def test_parts_against_the_standard_library(moment):
    days = parse_date(moment.isoformat(timespec="seconds"))
    expected = moment.replace(microsecond=0) - datetime.datetime(1970, 1, 1)
    assert_allclose(days, expected.total_seconds() / 86400, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-02", 1), ("1970-01-01T12:00", 0.5), ("1970-01-01 12:00:00.25", 0.5),
        ("1970-01-01T12:00:00Z", 0.5), ("1970-01-01T12:00+06:00", 0.25),
        ("1970-01-01T12:00-0600", 0.75), ("1970-1-1", None), ("2023-02-29", None),
        ("2023-13-01", None), ("0000-00-00", None), ("31.05.2024", None),
    ],
)  # fmt: skip
def test_texts_of_dates(text, days):
    assert parse_date(text) == days


def test_features(column):
    x = column(["2024-01-01", "2024-03-05", None, "2031-03-05"])
    encoding = DateEncoding.fit(x, np.array([0, 1, 2]), Settings())
    assert encoding.names == [
        "x: days", "x: month=1", "x: month=3", "x: weekday=Mon", "x: weekday=Tue", "x is missing",
    ]  # fmt: skip
    block = encoding.encode(x, Settings(scaled=True))
    expected = [[-1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 1, 0], [0, 0, 0, 0, 0, 1]]
    X = block.values.toarray()
    assert X[:3].tolist() == expected
    assert X[3, 0] > 70
    assert X[3, 1:].tolist() == [0, 1, 0, 0, 0]
    assert block.notes == [
        "t: column 'x' is missing in 1 of 4 nodes: filled in with the training nodes' mean, "
        "2024-02-02, and marked by 'x is missing'",
        "t: column 'x' has in 1 of 4 nodes a year, month or weekday that no training node has: "
        "these features are 0",
    ]
    assert encoding.description == "date"


def test_years_are_one_hot_unless_there_are_many(column, rows):
    few = column([f"{year}-01-01" for year in range(2000, 2005)])
    assert "x: year=2003" in DateEncoding.fit(few, rows(few), Settings()).names
    many = column([f"{year}-01-01" for year in range(1900, 2000)])
    assert not DateEncoding.fit(many, rows(many), Settings()).years


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (
            ["2024-01-01", "soon"],
            None,
            "row 1: column 'x' has 'soon' among dates, which is",
        ),
        (["2024-01-01", "2024-02-30"], None, "row 1: column 'x' has '2024-02-30' among dates"),
        (["2024-01-01T00:00Z", "2024-01-01T00:00"], None, "row 1: .* without a time zone among"),
        ([0, 2**60], pa.timestamp("s"), "row 1: .* outside the years 1 to 9999"),
        ([1], pa.int64(), "column 'x' must be dates, and has type int64"),
        ([datetime.time(1)], None, "column 'x' must be dates, and has type time64"),
    ],
)
def test_bad_dates(column, values, kind, message):
    with pytest.raises(InputError, match=message):
        read_dates(column(values, kind), Settings())


def test_missing_dates(column):
    x = column([None, "2024-01-01"])
    with pytest.raises(InputError, match="row 0: column 'x' is blank, where a date is expected"):
        read_dates(x, Settings("error"))
    with pytest.raises(NothingToEncode, match="blank at every training node"):
        DateEncoding.fit(x, np.array([0]), Settings())
