"""Parquet files: row numbers, and malformed content."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError


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


def test_duplicate_column_names(read, tmp_path):
    table = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    pa.parquet.write_table(table, tmp_path / "t")
    with pytest.raises(InputError, match="2 columns called 'x'"):
        read((tmp_path / "t").read_bytes())
