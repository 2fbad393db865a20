"""Numbers: as they are written, missing ones, and their scale."""

import decimal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heatgraph.encoding.block import Settings
from heatgraph.encoding.column import NothingToEncode
from heatgraph.encoding.numbers import (
    NumberEncoding,
    has_leading_zero,
    parse_number,
    read_numbers,
    to_ascii,
    unusual_number,
)
from heatgraph.errors import InputError


@pytest.mark.parametrize(
    ("text", "mark", "expected"),
    [
        ("1.5", None, 1.5), ("-.5e3", None, -500), ("1,5", None, None), ("1_000", None, None),
        ("0x10", None, None), ("1,5", ",", 1.5), ("-1.234,5", ",", -1234.5), ("1.5", ",", None),
        ("1.234.567", ",", 1234567), ("1 234,5", ",", 1234.5), ("1'234.5", ".", 1234.5),
        ("1,234,567.8", ".", 1234567.8), ("1,23,456", ".", None), ("1_000", ".", 1000),
        ("12_34", ".", 1234), ("1\N{NO-BREAK SPACE}234", ".", 1234), ("٣,2", ",", 3.2),
        ("\u0661\u066c\u0660\u0660\u0660\u066b\u0665", ".", 1000.5),
        ("\u0661\u066c\u0660\u0660\u0660\u066b\u0665", ",", 1000.5),
        ("\uff0d\uff11\uff0c\uff15", ",", -1.5),
        ("\uff11\uff3f\uff10\uff10\uff10", ".", 1000), ("5²", ".", None),
        ("\N{MINUS SIGN}5", ".", -5), ("1,2,3", ",", None), ("word", ".", None), ("5", ",", 5),
    ],
)  # fmt: skip
def test_texts_of_numbers(text, mark, expected):
    assert parse_number(text, Settings(decimal=mark)) == expected


@pytest.mark.parametrize("word", ["NA", "N/A", "NaN", "nan", "null", "None", "?"])
def test_words_for_missing_numbers(word):
    assert np.isnan(parse_number(word, Settings()))
    assert parse_number(word, Settings("error")) is None


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("1.5", None), ("word", None), ("1,5", "decimal commas"), ("1.234,5", "decimal commas"),
        ("1_000", "'_' between digits"), ("1,234,567", "marks between groups of digits"),
        ("١٢", "digits or marks that are not ASCII"), ("1 000", "marks between groups of digits"),
    ],
)  # fmt: skip
def test_unusual_numbers(text, how):
    assert unusual_number(text) == how


def test_small_helpers():
    assert has_leading_zero("007")
    assert not has_leading_zero("0")
    assert not has_leading_zero("0.5")
    assert to_ascii("٣a") == "3a"


@pytest.mark.parametrize(
    "values", [[1.0, 4.0], [1, 4], ["1", "4"], [decimal.Decimal(v) for v in "14"]]
)
def test_every_type_reads_the_same(column, values):
    assert read_numbers(column(values), Settings()).tolist() == [1, 4]


def test_means_are_of_training_nodes_alone(column):
    x = column([1.0, 3.0, 1000.0, None])
    encoding = NumberEncoding.fit(x, np.array([0, 1]), Settings())
    assert (encoding.mean, encoding.scale, encoding.names) == (2, 1, ["x"])
    block = encoding.encode(x, Settings())
    assert block.values.ravel().tolist() == [1, 3, 1000, 2]
    assert block.notes == [
        "t: column 'x' is missing in 1 of 4 nodes: filled in with the training nodes' mean, 2"
    ]
    assert encoding.encode(x, Settings(scaled=True)).values.ravel().tolist() == [-1, 1, 998, 0]


def test_missing_values_are_marked_if_training_nodes_have_some(column, rows):
    x = column([1.0, np.nan, None, 3.0])
    encoding = NumberEncoding.fit(x, rows(x), Settings())
    assert encoding.names == ["x", "x is missing"]
    block = encoding.encode(x, Settings())
    assert_array_equal(block.values, [[1, 0], [2, 1], [2, 1], [3, 0]])
    assert "in 2 of 4 nodes" in block.notes[0]
    assert "marked by 'x is missing'" in block.notes[0]
    without = NumberEncoding.fit(x, rows(x), Settings("mean"))
    assert without.names == ["x"]
    assert_array_equal(without.encode(x, Settings("mean")).values, [[1], [2], [2], [3]])
    for bad in (column([1.0, np.nan]), column([1.0, None])):
        with pytest.raises(InputError, match=r"t, row 1: column 'x' is (nan|blank) \(1 such"):
            NumberEncoding.fit(bad, rows(bad), Settings("error"))


def test_a_constant_or_huge_column_has_a_finite_scale(column, rows):
    for values in ([5.0, 5.0], [3e38, -3e38], [1e-40, 2e-40]):
        x = column(values)
        encoding = NumberEncoding.fit(x, rows(x), Settings())
        scaled = encoding.encode(x, Settings(scaled=True)).values.ravel()
        assert_allclose(scaled, [0, 0] if values[0] == 5 else np.sign(values - np.mean(values)))


def test_a_value_far_beyond_the_training_nodes(column):
    encoding = NumberEncoding("x", 0.0, 1e-300, False, False)
    with pytest.raises(InputError, match="t, row 1: column 'x' is inf"):
        encoding.encode(column([0.0, 1e38]), Settings(scaled=True))


def test_nothing_to_learn_from(column):
    with pytest.raises(NothingToEncode, match="blank at every training node"):
        NumberEncoding.fit(column([None, 1.0]), np.array([0]), Settings())


def test_yes_or_no(column, rows):
    x = column([True, False, None])
    encoding = NumberEncoding.fit(x, rows(x), Settings())
    assert encoding.description == "yes or no"
    assert encoding.encode(x, Settings()).values.tolist() == [[1, 0], [0, 0], [0.5, 1]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.inf], "t, row 1: column 'x' is inf"),
        (["1", "2", "oops"], "t, row 2: column 'x' has 'oops' among numbers"),
        ([[1.0]], r"column 'x' must be numeric, and has type list<item: double> .*Convert it"),
        (["1e39"], "t, row 0: column 'x' is 1e"),
    ],
)
def test_bad_values(column, values, message):
    with pytest.raises(InputError, match=message):
        read_numbers(column(values), Settings())


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("15,783", "Set decimal (--decimal) to '.' to read '15,783' as 15783. Correct it"),
        ("1,5", "Set decimal (--decimal) to ',' to read '1,5' as 1.5. Correct it"),
        ("oops", "(1 such in all). Correct it"),
    ],
)
def test_the_option_that_reads_a_number_is_named(column, text, hint):
    with pytest.raises(InputError) as error:
        read_numbers(column(["1", text]), Settings())
    assert hint in str(error.value)
