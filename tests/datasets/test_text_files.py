"""Lines, indices and features of text files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from heatgraph.datasets.text_files import (
    binary_features,
    check_numbering,
    read_edges,
    read_index,
    split_lines,
    text_lines,
)
from heatgraph.errors import FileFormatError


def test_lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffone\r\nzwölf\n\nlast".encode())
    assert list(text_lines(path)) == ["one\r\n", "zwölf\n", "\n", "last"]


def test_lines_that_are_not_utf8(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\ntw\xffo\n")
    with pytest.raises(FileFormatError, match=r"lines.txt, line 2: not UTF-8 text \(byte 3 .*0xff"):
        list(text_lines(path))


def test_fields(tmp_path):
    path = tmp_path / "fields.txt"
    path.write_bytes(b"a\tb\r\n\r\n1\t 2\r\n")
    assert list(split_lines(path, "\t", 2)) == [
        (f"{path}, line 1", ["a", "b"]),
        (f"{path}, line 3", ["1", "2"]),
    ]


@pytest.mark.parametrize("text", ["", "-1", "1.0", "1e3", "x", "٣", "²", "7" * 5000, "1_000", "10"])
def test_texts_that_are_no_index(text):
    with pytest.raises(FileFormatError, match=r"here: a node must be an integer in 0\.\.9\. Got"):
        read_index(text, "here", "a node", 10)


def test_numbering():
    check_numbering({2: "line 2", 0: "line 3", 1: "line 4"})
    with pytest.raises(
        FileFormatError, match=r"line 3: the 3 nodes .* 0\.\.2\. Got node 7 \(2 such.*no node 1\."
    ):
        check_numbering({0: "line 2", 7: "line 3", 9: "line 4"})


def test_edges_may_be_absent(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("from,to\n")
    src, dst = read_edges(path, ",", 3)
    assert (len(src), len(dst)) == (0, 0)


@given(st.lists(st.lists(st.integers(0, 6), max_size=9), min_size=1, max_size=5))
def test_binary_features(lists):
    expected = np.zeros((len(lists), 7))
    for row, indices in enumerate(lists):
        expected[row, indices] = 1
    features = binary_features(lists, 7)
    assert_array_equal(features.toarray(), expected)
    assert features.has_canonical_format
