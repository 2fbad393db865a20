"""CSV files: dialects, line numbers, and malformed content."""

import gzip
import os

import pyarrow as pa
import pyarrow.csv
import pytest

from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError
from heatgraph.tables import memory_estimate
from heatgraph.tables.formats import csv_files

PLAIN = b"id,x,note\na,1,u\nb,2,v\n"
EXPECTED = {"id": ["a", "b"], "x": [1, 2], "note": ["u", "v"]}


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace(b",", b"\t"),
        PLAIN.replace(b",", b";"),
        PLAIN.replace(b"\n", b"\r\n"),
        PLAIN.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + PLAIN,
        PLAIN.rstrip(b"\n"),
        b'"id","x","note"\n"a","1","u"\n"b","2","v"\n',
        b"id , x,\tnote\na,1,u\nb,2,v\n",
        b"\n\n" + PLAIN.replace(b"\nb", b"\n\n\nb") + b"\n\n",
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_dialect_gives_the_same_table(read, content, pack):
    assert read(pack(content)).arrow.to_pydict() == EXPECTED


def test_quoted_delimiters_and_newlines(read):
    content = b'id,note\n"a\nb","say ""hi"", you"\n"c\r\nd",";\t"\n'
    assert read(content).arrow.to_pydict() == {
        "id": ["a\nb", "c\r\nd"], "note": ['say "hi", you', ";\t"],
    }  # fmt: skip


def test_a_quoted_delimiter_does_not_count(read):
    table = read(b'"a;b;c;d",id\n1,2\n')
    assert table.arrow.column_names == ["a;b;c;d", "id"]


def test_only_blank_values_are_missing(read):
    table = read(b'id,x\nNA,1\nnull,2\nnan,3\nNULL,4\n"",5\n')
    assert table.arrow["id"].to_pylist() == ["NA", "null", "nan", "NULL", None]


def test_header_only(read):
    assert read(b"id,x\n").arrow.num_rows == 0
    assert read(b"id,x").arrow.column_names == ["id", "x"]


def test_one_column(read):
    assert read(b"id\na\n\nb\n").arrow["id"].to_pylist() == ["a", "b"]


def test_unnamed_columns(read):
    table = read(b",id, ,Unnamed: 0\n0,a,1,2\n")
    assert table.arrow.column_names == ["column_1", "id", "column_3", "Unnamed: 0"]
    assert table.unnamed == {"column_1", "column_3", "Unnamed: 0"}


def test_duplicate_column_names(read):
    with pytest.raises(InputError, match=r"nodes.csv has 2 columns called 'x'. Rename them"):
        read(b"id,x, x \na,1,2\n")
    with pytest.raises(InputError, match="2 columns called 'column_1'"):
        read(b",column_1\na,1\n")


def test_text_columns_are_not_converted(read):
    table = read(b" id ,label\n007,1e5\n9223372036854775808,true\n", texts=("id", "label"))
    assert table.arrow.to_pydict() == {
        "id": ["007", "9223372036854775808"], "label": ["1e5", "true"],
    }  # fmt: skip


def test_thousands_of_columns(read):
    """Python's reader stops at 131,072 characters, Arrow's at a header of 1 MB."""
    names = [f"a_rather_long_name_{at:030}" for at in range(22_000)]
    content = ",".join([*names, "label"]) + "\n" + "1," * len(names) + "007\n"
    table = read(content.encode(), texts=("label",))
    assert table.arrow.column_names == [*names, "label"]
    assert table.arrow["label"].to_pylist() == ["007"]


def test_very_long_values(read):
    table = read(b"id,x\na," + b"y" * 2_000_000 + b"\n\nb,z\n")
    assert table.locate(1).endswith("nodes.csv, line 4")


def test_the_global_field_size_limit_is_restored(read):
    import csv

    before = csv.field_size_limit()
    read(PLAIN).locate(1)
    with pytest.raises(FileFormatError):
        read(b"id,x\na\n")
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"id,x\na,1\nb,2\n", 3),
        (b"\n\nid,x\n\na,1\n\n\nb,2\n", 8),
        (b'id,x\n"a\n\n",1\nb,2\n', 5),
        (b'id,x\r\n"a\r\n\r\n",1\r\nb,2\r\n', 5),
        (b"id,x\ra,1\rb,2\r", 3),
        (b'id,x\n"a"z,1\nb,2\n', 3),
        (b'id,x\na"z,1\nb,2\n', 3),
        (b'"i\nd",x\na,1\nb,2\n', 4),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_line_number_of_a_row(read, content, line, pack):
    assert read(pack(content)).locate(1).endswith(f"nodes.csv, line {line}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,x\na,1\nb\n", "line 3 has 1 of 2 columns: 'b'. Correct the line"),
        (b"id,x\na,1\nb,2,3\n", "line 3 has 3 of 2 columns: 'b,2,3'"),
        (b'id,x\n"a\n\n",1\n\nb\n', "line 6 has 1 of 2 columns"),
        (b"id\tx\na\t1\nb\n", r"a value that contains '\\t' needs quotation marks"),
        (b"id,x\ra,1\rb\r", "line 3 has 1 of 2 columns"),
        (b"id,x\na,1\n  \n", "line 3 has 1 of 2 columns"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_short_and_long_rows(read, content, message, pack):
    with pytest.raises(FileFormatError, match=message):
        read(pack(content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,\xe9\na,1\n", "line 1: byte 0xE9 at position 4"),
        (b"i\xffd,x\na,1\n", "line 1: byte 0xFF at position 2"),
        (b"id,x\na,1\nb\xff,2\n", "line 3: byte 0xFF at position 2"),
        (b"id,x\na,1\nb,2\xff\n", "line 3: byte 0xFF at position 4"),
        (b'id,x\n"a\n\n",1\n\n"\xc3\xa9\xff",1\n', "line 6: byte 0xFF at position 4"),
        (b"id,x\na,\xed\xa0\x80\n", "line 2: byte 0xED at position 3"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_not_utf8(read, content, message, pack):
    with pytest.raises(FileFormatError, match=f"{message} is not UTF-8. Save the file as"):
        read(pack(content))


@pytest.mark.parametrize(
    "content",
    [
        b'id,x\na,1\n"b,2\nc,3\n',
        b'id,x\na,1\nb,"v\nc,w\n',
        b'id,x\na,1\nb,"v\nc,w',
    ],
)
def test_an_unclosed_quotation_mark_is_an_error(read, content):
    with pytest.raises(FileFormatError, match="row after line 2: .*mark may be missing"):
        read(content)


def test_a_last_value_of_several_lines(read):
    assert read(b'id,x\na,"v\nw"\n').arrow["x"].to_pylist() == ["v\nw"]


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b" \r\n\t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"]
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_empty_files(read, content, pack):
    with pytest.raises(FileFormatError, match=r"nodes.csv is empty. Expected a line with the"):
        read(pack(content))


def test_nul_bytes(read):
    with pytest.raises(FileFormatError, match="line 3: there is a NUL byte"):
        read(b"id,x\na,1\nb,\0\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_utf16(read, encoding):
    with pytest.raises(FileFormatError, match="[Ss]ave it as UTF-8"):
        read("id,x\na,1\n".encode(encoding))


def test_utf16_with_a_byte_order_mark_is_named(read):
    with pytest.raises(FileFormatError, match="is UTF-16"):
        read("id,x\na,1\n".encode("utf-16"))


@pytest.mark.parametrize("content", [b"1,2\n3,4\n", b"7\n8\n", b"1;2.5\n3;4\n"])
def test_a_header_of_numbers(read, content):
    with pytest.raises(FileFormatError, match="line 1 is .*, where the names of columns are"):
        read(content)


def test_truncated_gzip(read):
    packed = gzip.compress(PLAIN * 50)
    for length in (2, 9, len(packed) // 2, len(packed) - 1):
        with pytest.raises(FileFormatError, match="is incomplete or damaged: .*Get it again"):
            read(packed[:length])


def test_damaged_gzip(read):
    packed = bytearray(gzip.compress(os.urandom(500)))
    packed[200] ^= 0xFF
    with pytest.raises(FileFormatError, match="incomplete or damaged"):
        read(bytes(packed))


def test_gzip_beyond_the_memory_budget(read):
    packed = gzip.compress(b"id,x\n" + b"a,1\n" * 1_000_000)
    assert len(packed) < 100_000
    with pytest.raises(MemoryBudgetError, match=r"holds more than 166.7 kB, which is what the"):
        read(packed, memory=1e6)


def test_csv_beyond_the_memory_budget(read):
    with pytest.raises(MemoryBudgetError, match=r"Raise the budget .memory_budget=, --memory."):
        read(PLAIN * 100, memory=1000)


@pytest.mark.parametrize("quote", ["", '"'])
def test_rows_longer_than_a_block(read, quote):
    longs = [f"{letter * (3 * csv_files.BLOCK_BYTES)}" for letter in "uv"]
    rows = [f"{at},{quote}{text}{quote}\n" for at, text in enumerate(longs)]
    assert read(("id,x\n" + "".join(rows)).encode()).arrow["x"].to_pylist() == longs


def test_values_are_counted_before_they_are_parsed(read, monkeypatch):
    content = b"id" + b",x%d" * 99 % tuple(range(99)) + b"\n" + (b"0" + b"," * 99 + b"\n") * 2000
    num_bytes, num_values = len(content), 100 * 2001
    needed = memory_estimate.csv_bytes(num_bytes, num_values)
    assert read(content, memory=2.1 * needed).num_rows == 2000
    monkeypatch.setattr(pa.csv, "read_csv", None)  # would be an error of another type
    for pack in (bytes, gzip.compress):
        with pytest.raises(MemoryBudgetError, match="which is what the memory budget leaves for"):
            read(pack(content), memory=1.9 * needed)


@pytest.mark.parametrize("error", [pa.ArrowMemoryError("malloc"), pa.ArrowException("no thread")])
def test_memory_that_runs_out_is_told_in_words(read, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(pa.csv, "read_csv", fail)
    with pytest.raises(MemoryBudgetError, match="nodes.csv: memory ran out while it was parsed"):
        read(PLAIN)
