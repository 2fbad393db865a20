"""Text and tables within a width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from heatgraph.cli.text_layout import GAP, INDENT, SHORTEST_CUT, cut, table_lines, wrap

TEXTS = st.text(alphabet="ab 日é-", max_size=60)


@given(TEXTS, st.integers(5, 40))
def test_wrapping_loses_no_word_and_breaks_none(text, width):
    lines = wrap(text, width)
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    longest = max((cell_len(word) for word in text.split(" ")), default=0)
    indent = len(text) - len(text.lstrip(" "))
    assert all(cell_len(line) <= max(width, indent + longest) for line in lines)


def test_hanging_indents_and_paragraphs():
    assert wrap("one two\n  three four", 8, hanging=1) == ["one two", "  three", "   four"]


@given(
    st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5),
    st.integers(3 * SHORTEST_CUT + INDENT + 2 * GAP, 100),
)
def test_tables_fit_the_width(rows, width):
    assert all(cell_len(line) <= width for line in table_lines(rows, width))
    assert all(cell_len(line) <= width for line in table_lines(rows, width, numbers=True))


def test_numbers_are_at_the_right():
    assert table_lines([("a", "1"), ("b", "100")], 80, numbers=True) == ["  a    1", "  b  100"]
    assert table_lines([], 80) == []


@pytest.mark.parametrize(("mark", "shown"), [("…", "abcdefghi…"), ("...", "abcdefg...")])
def test_long_words_are_cut(mark, shown):
    assert cut("abcdefghijklmnop", 10, mark) == shown
    assert cut("short", 10, mark) == "short"
    (line,) = table_lines([("x" * 60, "y" * 60)], 40, ellipsis=mark)
    assert line.count(mark) == 2
