"""Lists: of Arrow, and as JSON or Python writes them."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatgraph.encoding.column import Column
from heatgraph.encoding.lists import looks_like_list, read_lists
from heatgraph.errors import InputError


def as_column(values, kind=None):
    array = pa.chunked_array([pa.array(values, kind)])
    return Column("x", array, "t", lambda row: f"t, row {row}")


def to_python(lists):
    """The lists row by row, None where missing."""
    items = iter(lists.items.to_pylist())
    rows = [[next(items) for _ in range(length)] for length in lists.lengths]
    return [None if gone else row for gone, row in zip(lists.missing, rows, strict=True)]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()), pa.large_list(pa.string()), pa.list_(pa.large_string()),
        pa.list_view(pa.string()), pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.list_(pa.string_view()),
    ],
)  # fmt: skip
def test_lists_of_arrow(kind):
    rows = [["a", "b"], [], None, ["a"]]
    assert to_python(read_lists(as_column(rows, kind))) == rows


def test_fixed_sizes_with_missing_rows():
    lists = read_lists(as_column([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)))
    assert to_python(lists) == [[1, 2], None, [3, 4]]
    assert lists.has_numbers
    assert lists.rows.tolist() == [0, 0, 2, 2]


@given(st.lists(st.lists(st.text() | st.integers(-(2**60), 2**60), max_size=4), min_size=1))
def test_json_and_python_write_the_same(rows):
    expected = [[str(item) for item in row] for row in rows]
    assert read_strings([json.dumps(row, ensure_ascii=False) for row in rows]) == expected
    plain = [[item for item in row if str(item).isprintable()] for row in rows]
    expected = [[str(item) for item in row] for row in plain]
    assert read_strings([repr(row) for row in plain]) == expected


def read_strings(texts):
    return [[str(item) for item in row] for row in to_python(read_lists(as_column(texts)))]


def test_numbers_as_text():
    lists = read_lists(as_column(["[1, 2]", " [ 3 ] ", "[]", None, ""]))
    assert pa.types.is_integer(lists.items.type)
    assert to_python(lists) == [[1, 2], [3], [], None, None]
    assert to_python(read_lists(as_column(["[1;2.5]", "[nan 3]"])))[0] == [1, 2.5]


def test_blank_rows_alone():
    assert to_python(read_lists(as_column([None, ""], pa.string()))) == [None, None]


@pytest.mark.parametrize("blank", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_any_whitespace_around_lists(blank):
    texts = [f"{blank}[1, 2]", f"[3, 4]{blank}", "[5, 6]"]
    assert to_python(read_lists(as_column(texts))) == [[1, 2], [3, 4], [5, 6]]


def test_escapes():
    assert read_strings([r'["a\u00e4\n"]', r"['it\'s']", r'["\x41"]']) == [
        ["aä\n"],
        ["it's"],
        [r"\x41"],
    ]


def test_booleans_are_words():
    assert to_python(read_lists(as_column([[True], [False]]))) == [["true"], ["false"]]


@pytest.mark.parametrize("text", ["[1, [2]]", "[a]", "['a]", "a, b", '["a",]', "{1}"])
def test_other_texts(text):
    with pytest.raises(InputError, match=r"t, row 1: column 'x' has .*, which is not a list such"):
        read_lists(as_column(["['a']", text]))


@pytest.mark.parametrize("rows", [[[], [[1]]], [[], [{"u": 1}]]])
def test_nested_lists(rows):
    with pytest.raises(InputError, match=r"t, row 1: column 'x' has a list of .* flatten them"):
        read_lists(as_column(rows))


def test_brackets():
    assert looks_like_list("[1]")
    assert not looks_like_list("[Draft] A title")
