"""Parquet files: row numbers, and malformed content."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError
from heatgraph.tables import input_table
from heatgraph.tables.formats.parquet_files import read_parquet
from heatgraph.tables.input_table import as_input_table


@pytest.fixture
def raw(tmp_path):
    pa.parquet.write_table(pa.table({"id": np.arange(200_000)}), tmp_path / "whole")
    return (tmp_path / "whole").read_bytes()


def test_errors_name_the_row(read, raw):
    assert read(raw, "n.parquet").locate(7).endswith("n.parquet, row 7 (counted from 0)")


def test_truncated(read, raw):
    for length in (4, 100, len(raw) // 2, len(raw) - 3):
        with pytest.raises(FileFormatError, match="is not a complete Parquet file: .*Write it"):
            read(raw[:length], "n.parquet")


def test_damaged(read, raw):
    for at in (50, len(raw) - 200):
        damaged = bytearray(raw)
        damaged[at : at + 60] = b"\xff" * 60
        with pytest.raises(FileFormatError, match="not a complete Parquet file"):
            read(bytes(damaged), "n.parquet")


@pytest.mark.parametrize("name", ["n.parquet", "n.PQ"])
def test_not_parquet(read, name):
    with pytest.raises(FileFormatError, match=r"it starts with b'id,x', and Parquet with"):
        read(b"id,x\na,1\n", name)


def test_beyond_the_memory_budget(read, raw):
    with pytest.raises(MemoryBudgetError, match=r"n.parquet holds more than 100.0 kB"):
        read(raw, "n.parquet", memory=2e5)


# What a few kilobytes expand to: 10^4 times the same 10^5 bytes, 2 * 10^7 zeros, a list of 10^7.
BOMBS = {
    "dictionary": lambda: pa.DictionaryArray.from_arrays(np.zeros(10**4, np.int32), ["x" * 10**5]),
    "run length": lambda: pa.array(np.zeros(2 * 10**7, np.int32)),
    "list": lambda: pa.ListArray.from_arrays([0, 10**7], pa.array(np.zeros(10**7))),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_values_that_expand_are_counted_before_they_are_decoded(tmp_path, monkeypatch, kind):
    path, limit = tmp_path / "n.parquet", 5e7
    options = {"compression": "zstd", "store_schema": False}
    pa.parquet.write_table(pa.table({"id": BOMBS[kind]()}), path, **options)
    assert path.stat().st_size < limit / 100
    pool, before = pa.default_memory_pool(), pa.total_allocated_bytes()
    sizes = []

    def count(file, rows):
        for batch in batches(file, rows):
            sizes.append(pool.bytes_allocated() - before)
            yield batch

    batches = pa.parquet.ParquetFile.iter_batches
    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", count)
    with pytest.raises(MemoryBudgetError, match=r"n.parquet holds more than 50.0 MB"):
        read_parquet(path, limit)
    assert max(sizes, default=0) <= 2 * limit


def test_batches_of_an_ordinary_file(tmp_path):
    path, texts = tmp_path / "n.parquet", [f"text {at}" for at in range(1000)]
    pa.parquet.write_table(pa.table({"id": texts}), path)
    for limit in (1e5, 1e9):  # in batches of one row and more, and in one batch
        assert read_parquet(path, limit).arrow["id"].to_pylist() == texts


def not_utf8(*values):
    """Text of Arrow that is made of bytes."""
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int32)
    content = pa.py_buffer(b"".join(values))
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(offsets), content)


def test_text_that_is_not_utf8(read, tmp_path):
    table = pa.table({"id": ["a", "b"], "x": not_utf8(b"u", b"\xff\xfe")})
    pa.parquet.write_table(table, tmp_path / "t")
    with pytest.raises(InputError, match=r"row 1 .counted from 0.: the text in column 'x' is not"):
        read((tmp_path / "t").read_bytes())
    with pytest.raises(InputError, match=r"nodes, row 1 .*'x' is not UTF-8. Write the table again"):
        as_input_table(table, "nodes")
    lists = pa.table({"x": pa.ListArray.from_arrays([0, 1, 2], not_utf8(b"u", b"\xff"))})
    with pytest.raises(InputError, match="nodes: column 'x' is damaged: .*Write the table again"):
        as_input_table(lists, "nodes")


def test_too_many_columns(read, tmp_path, monkeypatch):
    monkeypatch.setattr(input_table, "MAX_COLUMNS", 3)
    names = [f"c{at}" for at in range(4)]
    pa.parquet.write_table(pa.table([[1]] * 4, names), tmp_path / "t")
    # Before anything is decoded.
    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", None)
    monkeypatch.setattr(pa.csv, "read_csv", None)
    for content in ((tmp_path / "t").read_bytes(), b"a,b,c,d\n1,2,3,4\n"):
        with pytest.raises(InputError, match=r"has 4 columns, and a table may have 3. Features in"):
            read(content)


def test_duplicate_column_names(read, tmp_path):
    table = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    pa.parquet.write_table(table, tmp_path / "t")
    with pytest.raises(InputError, match="2 columns called 'x'"):
        read((tmp_path / "t").read_bytes())
