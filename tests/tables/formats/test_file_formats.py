"""Formats of files, detected by their content."""

import gzip

import pytest

from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError
from heatgraph.tables.formats.file_formats import detect_format, read_content, read_start
from heatgraph.tables.from_tables import from_tables


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"id,label\na,b\n", "text"),
        (b"", "text"),
        (b"# comment\n1 2\n", "text"),
        (b"1 2\n", "text"),
        (b"a 10:30\n", "text"),
        (b"<html>", "text"),
        (b"PAR1", "parquet"),
        (b"PK\x03\x04...", "npz"),
        (b"\x93NUMPY\x01\0", "npy"),
        (b"%%MatrixMarket matrix", "matrix market"),
        (b"%%matrixmarket matrix", "matrix market"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<graphml>", "graphml"),
        (b"<gexf>", "gexf"),
        (b'{"id": 1}\n{"id": 2}\n', "json lines"),
        (b'{"id": 1}', "json lines"),
        (b'{"nodes": [1]}', "json"),
        (b'{\n"nodes": []}', "json"),
        (b"[1]", "json"),
        (b"1 1:0.5\n", "svmlight"),
        (b"# words\n-1 qid:3 7:0.5 9:1e-3\n", "svmlight"),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_content_decides(tmp_path, content, expected, compressed):
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(content) if compressed else content)
    assert detect_format(path, read_start(path)) == expected


def test_names_decide_where_content_does_not(tmp_path):
    for name, content, expected in (
        ("a.jsonl", b'{"nodes": [', "json lines"),
        ("a.svm", b"1\n", "svmlight"),
        ("a.libsvm.gz", b"1\n", "svmlight"),
    ):
        assert detect_format(tmp_path / name, content) == expected


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(InputError, match="is a folder. Name a file."):
        read_start(tmp_path)
    with pytest.raises(InputError, match="there is no such file"):
        read_start(tmp_path / "x")


def test_damaged_compression(tmp_path):
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"1 2\n" * 10_000)[:-20])
    read_start(path)
    with pytest.raises(FileFormatError, match="file.gz is incomplete or damaged"):
        read_content(path, 1e9)
    path.write_bytes(b"\x1f\x8bnot gzip")
    assert read_start(path).startswith(b"\x1f\x8b")


def test_the_limit_counts_uncompressed_bytes(tmp_path):
    path = tmp_path / "file"
    for content in (bytes(10_000), gzip.compress(bytes(10_000))):
        path.write_bytes(content)
        assert read_content(path, 10_000) == bytes(10_000)
        with pytest.raises(MemoryBudgetError, match="file holds more than"):
            read_content(path, 9_999)


def test_a_matrix_is_no_table_of_nodes(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n1 1 0\n")
    with pytest.raises(InputError, match="a.mtx is a Matrix Market file, where a table with named"):
        from_tables(path, path)
