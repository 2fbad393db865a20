"""Columns as NumPy arrays."""

import numpy as np
import pyarrow as pa
import pytest

from heatgraph.errors import InputError
from heatgraph.tables.input_table import as_input_table
from heatgraph.tables.values import first_value, is_number, read_numbers, refuse_rows, to_numpy


@pytest.mark.parametrize(
    "column",
    [[1, 2], [0.5, 2.0], [True, False], pa.array([1, 2], pa.decimal128(5, 1)), [2**60 + 1, 2]],
)
def test_numbers_are_float64(column):
    numbers = read_numbers(as_input_table(pa.table({"x": column}), "nodes"), "x")
    assert numbers.dtype == np.float64
    assert numbers.tolist() == [float(value) for value in pa.array(column).to_pylist()]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [1, None, None],
            r"nodes, row 1 \(counted from 0\): column 'x' is blank \(2 such in all\)",
        ),
        (
            [None, None],
            r"nodes, row 0 .* is blank \(2 such in all\). Missing values are not imputed",
        ),
        (["1", "u", "2"], r"nodes, row 1 .* has 'u' among numbers \(1 such in all\)"),
        (["1", "2,5"], r"has '2,5' .* Set decimal \(--decimal\) to ',' to read '2,5' as 2.5."),
        (["1", "1_000"], r"Set decimal \(--decimal\) to '.' to read '1_000' as 1000."),
        (["1", " ", None], r"row 1 .* is blank \(2 such in all\)"),
        ([b"1"], r"column 'x' must be numeric, and has type binary"),
    ],
)
def test_other_columns_are_refused(column, message):
    with pytest.raises(InputError, match=message):
        read_numbers(as_input_table({"x": column}, "nodes"), "x")


@pytest.mark.parametrize(
    ("decimal", "texts"),
    [(None, ["1.5", " 2e3"]), (",", ["1,5", "2.000"]), (".", ["1.5", "2_000"])],
)
def test_numbers_in_text(decimal, texts):
    table = as_input_table({"x": texts}, "nodes")
    assert read_numbers(table, "x", decimal).tolist() == [1.5, 2000]


def test_refused_rows_are_located_and_counted():
    table = as_input_table({"x": [1, 2, 3]}, "nodes")
    refuse_rows(table, pa.chunked_array([[False, False], [False]]), "problem", "Remedy.")
    with pytest.raises(InputError, match=r"row 2 \(counted from 0\): problem \(1 such in all\). R"):
        refuse_rows(table, pa.chunked_array([[False, False], [True]]), "problem", "Remedy.")


@pytest.mark.parametrize("values", [[1, 2], ["u", "v"], ["u", None], [1, None], [True, None]])
def test_arrays_keep_values_and_types(values):
    array = to_numpy(pa.chunked_array([values]))
    assert array.tolist() == values
    assert [type(value) for value in array.tolist()] == [type(value) for value in values]


def test_the_first_value():
    assert first_value(pa.chunked_array([[None], [" u ", "v"]], pa.string())) == "u"
    assert first_value(pa.chunked_array([[None]], pa.string())) == ""


@pytest.mark.parametrize(
    ("text", "expected"), [("1e3", True), ("-0.5", True), ("nan", True), ("x", False), ("", False)]
)
def test_numbers_as_text(text, expected):
    assert is_number(text) == expected
