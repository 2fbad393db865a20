import gzip
import os
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError
from heatgraph.tables.reading import read_source

PLAIN = b"id,x,note\na,1,u\nb,2,v\n"
WANTED = {"id": ["a", "b"], "x": [1, 2], "note": ["u", "v"]}


@pytest.fixture
def read(tmp_path):
    def read(content, name="nodes.csv", texts=("id",), memory=1e9):
        path = tmp_path / name
        path.write_bytes(content)
        exact = [texts] if isinstance(texts, str) else list(texts)
        return read_source(path, lambda names: [name for name in exact if name in names], memory)

    return read


class TestForms:
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
    def test_every_form_is_the_same_table(self, read, content, pack):
        assert read(pack(content)).table.to_pydict() == WANTED

    @pytest.mark.parametrize("name", ["nodes.csv", "nodes.txt", "nodes.gz", "nodes"])
    def test_content_decides_and_not_the_name(self, read, name, tmp_path):
        pa.parquet.write_table(pa.table(WANTED), tmp_path / "there")
        raw = (tmp_path / "there").read_bytes()
        for content in (PLAIN, gzip.compress(PLAIN), raw):
            assert read(content, name).table.to_pydict() == WANTED

    def test_quoted_marks_and_lines(self, read):
        content = b'id,note\n"a\nb","say ""hi"", you"\n"c\r\nd",";\t"\n'
        assert read(content).table.to_pydict() == {
            "id": ["a\nb", "c\r\nd"], "note": ['say "hi", you', ";\t"],
        }  # fmt: skip

    def test_a_delimiter_within_quotation_marks_is_none(self, read):
        source = read(b'"a;b;c;d",id\n1,2\n')
        assert source.table.column_names == ["a;b;c;d", "id"]

    def test_only_blanks_are_missing(self, read):
        source = read(b'id,x\nNA,1\nnull,2\nnan,3\nNULL,4\n"",5\n')
        assert source.table["id"].to_pylist() == ["NA", "null", "nan", "NULL", None]

    def test_header_only(self, read):
        assert read(b"id,x\n").table.num_rows == 0
        assert read(b"id,x").table.column_names == ["id", "x"]

    def test_one_column(self, read):
        assert read(b"id\na\n\nb\n").table["id"].to_pylist() == ["a", "b"]

    def test_columns_without_a_name(self, read):
        source = read(b",id, ,Unnamed: 0\n0,a,1,2\n")
        assert source.table.column_names == ["column_1", "id", "column_3", "Unnamed: 0"]
        assert source.unnamed == {"column_1", "column_3", "Unnamed: 0"}

    def test_columns_of_the_same_name(self, read):
        with pytest.raises(InputError, match=r"nodes.csv has 2 columns called 'x'. Rename them"):
            read(b"id,x, x \na,1,2\n")
        with pytest.raises(InputError, match="2 columns called 'column_1'"):
            read(b",column_1\na,1\n")

    def test_texts_are_read_to_the_letter(self, read):
        source = read(b" id ,label\n007,1e5\n9223372036854775808,true\n", texts=("id", "label"))
        assert source.table.to_pydict() == {
            "id": ["007", "9223372036854775808"], "label": ["1e5", "true"],
        }  # fmt: skip

    def test_thousands_of_columns(self, read):
        """Python's reader stops at 131,072 characters, Arrow's at a header of 1 MB."""
        names = [f"a_rather_long_name_{at:030}" for at in range(22_000)]
        content = ",".join([*names, "label"]) + "\n" + "1," * len(names) + "007\n"
        source = read(content.encode(), texts="label")
        assert source.table.column_names == [*names, "label"]
        assert source.table["label"].to_pylist() == ["007"]

    def test_very_long_values(self, read):
        source = read(b"id,x\na," + b"y" * 2_000_000 + b"\n\nb,z\n")
        assert source.place(1).endswith("nodes.csv, line 4")

    def test_the_reader_of_others_keeps_its_limit(self, read):
        import csv

        before = csv.field_size_limit()
        read(PLAIN).place(1)
        with pytest.raises(FileFormatError):
            read(b"id,x\na\n")
        assert csv.field_size_limit() == before


class TestLines:
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
    def test_the_line_of_a_row(self, read, content, line, pack):
        assert read(pack(content)).place(1).endswith(f"nodes.csv, line {line}")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"id,x\na,1\nb\n", "line 3 has 1 of 2 columns: 'b'. Mend the line"),
            (b"id,x\na,1\nb,2,3\n", "line 3 has 3 of 2 columns: 'b,2,3'"),
            (b'id,x\n"a\n\n",1\n\nb\n', "line 6 has 1 of 2 columns"),
            (b"id\tx\na\t1\nb\n", r"a value with '\\t' in it needs quotation marks"),
            (b"id,x\ra,1\rb\r", "line 3 has 1 of 2 columns"),
            (b"id,x\na,1\n  \n", "line 3 has 1 of 2 columns"),
        ],
    )
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_short_and_long_rows(self, read, content, message, pack):
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
    def test_not_utf8(self, read, content, message, pack):
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
    def test_an_open_quotation_mark_swallows_no_rows(self, read, content):
        with pytest.raises(FileFormatError, match="row after line 2: .*mark may be missing"):
            read(content)

    def test_a_last_value_of_several_lines_is_no_fault(self, read):
        assert read(b'id,x\na,"v\nw"\n').table["x"].to_pylist() == ["v\nw"]


class TestBadFiles:
    @pytest.mark.parametrize(
        "content", [b"", b"\n\n", b" \r\n\t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"]
    )
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_empty(self, read, content, pack):
        with pytest.raises(FileFormatError, match=r"nodes.csv is empty. Expected a line with the"):
            read(pack(content))

    def test_nul(self, read):
        with pytest.raises(FileFormatError, match="line 3: there is a NUL byte"):
            read(b"id,x\na,1\nb,\0\n")

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
    def test_utf16(self, read, encoding):
        with pytest.raises(FileFormatError, match="[Ss]ave it as UTF-8"):
            read("id,x\na,1\n".encode(encoding))

    def test_utf16_with_its_mark_is_named(self, read):
        with pytest.raises(FileFormatError, match="is UTF-16"):
            read("id,x\na,1\n".encode("utf-16"))

    @pytest.mark.parametrize("content", [b"1,2\n3,4\n", b"7\n8\n", b"1;2.5\n3;4\n"])
    def test_a_header_of_numbers(self, read, content):
        with pytest.raises(FileFormatError, match="line 1 is .*, where the names of columns are"):
            read(content)

    def test_truncated_gzip(self, read):
        packed = gzip.compress(PLAIN * 50)
        for length in (2, 9, len(packed) // 2, len(packed) - 1):
            with pytest.raises(FileFormatError, match="is incomplete or damaged: .*Get it again"):
                read(packed[:length])

    def test_damaged_gzip(self, read):
        packed = bytearray(gzip.compress(os.urandom(500)))
        packed[200] ^= 0xFF
        with pytest.raises(FileFormatError, match="incomplete or damaged"):
            read(bytes(packed))

    def test_gzip_that_unpacks_beyond_the_budget(self, read):
        packed = gzip.compress(b"id,x\n" + b"a,1\n" * 1_000_000)
        assert len(packed) < 100_000
        with pytest.raises(MemoryBudgetError, match=r"holds more than 500.0 kB, which is what the"):
            read(packed, memory=1e6)

    def test_csv_beyond_the_budget(self, read):
        with pytest.raises(MemoryBudgetError, match="Raise the budget, or read less"):
            read(PLAIN * 100, memory=1000)

    def test_a_folder(self, tmp_path):
        with pytest.raises(InputError, match="is a folder. Name a file"):
            read_source(tmp_path, lambda names: [], 1e9)

    def test_a_file_that_may_not_be_read(self, read, monkeypatch):
        def refuse(*args):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("heatgraph.tables.reading.Path.open", refuse)
        monkeypatch.setattr("heatgraph.tables.reading.Path.is_dir", lambda path: False)
        with pytest.raises(InputError, match="nodes.csv cannot be opened: Permission denied"):
            read_source("nodes.csv", lambda names: [], 1e9)

    @pytest.mark.skipif(os.name != "posix", reason="no such device")
    def test_a_device(self):
        with pytest.raises(
            InputError, match="/dev/null is a pipe or a device, and a table is read"
        ):
            read_source(os.devnull, lambda names: [], 1e9)

    def test_missing_files(self, read, tmp_path):
        read(PLAIN)
        with pytest.raises(
            InputError, match=r"nodes.cvs: there is no such file; there is nodes.csv"
        ):
            read_source(tmp_path / "nodes.cvs", lambda names: [], 1e9)
        with pytest.raises(InputError, match="there is no such file, and no folder"):
            read_source(tmp_path / "no" / "nodes.csv", lambda names: [], 1e9)
        with pytest.raises(InputError, match="there is no such file.$"):
            read_source(tmp_path / "zzzzzzz", lambda names: [], 1e9)


class TestParquet:
    @pytest.fixture
    def raw(self, tmp_path):
        pa.parquet.write_table(pa.table({"id": np.arange(200_000)}), tmp_path / "whole")
        return (tmp_path / "whole").read_bytes()

    def test_rows_are_counted(self, read, raw):
        assert read(raw, "n.parquet").place(7).endswith("n.parquet, row 7 (counted from 0)")

    def test_truncated(self, read, raw):
        for length in (4, 100, len(raw) // 2, len(raw) - 3):
            with pytest.raises(FileFormatError, match="is not a whole Parquet file: .*Write it"):
                read(raw[:length], "n.parquet")

    def test_damaged(self, read, raw):
        for at in (50, len(raw) - 200):
            damaged = bytearray(raw)
            damaged[at : at + 60] = b"\xff" * 60
            with pytest.raises(FileFormatError, match="not a whole Parquet file"):
                read(bytes(damaged), "n.parquet")

    @pytest.mark.parametrize("name", ["n.parquet", "n.PQ"])
    def test_not_parquet(self, read, name):
        with pytest.raises(FileFormatError, match=r"it starts with b'id,x', and Parquet with"):
            read(PLAIN, name)

    def test_beyond_the_budget(self, read, raw):
        with pytest.raises(MemoryBudgetError, match=r"n.parquet holds more than 100.0 kB"):
            read(raw, "n.parquet", memory=2e5)

    def test_columns_of_the_same_name(self, read, tmp_path):
        table = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
        pa.parquet.write_table(table, tmp_path / "t")
        with pytest.raises(InputError, match="2 columns called 'x'"):
            read((tmp_path / "t").read_bytes())


def test_reading_files_needs_no_data_frames(tmp_path):
    """Arrow itself looks for pandas, and does without."""
    (tmp_path / "nodes.csv").write_bytes(PLAIN)
    (tmp_path / "edges.csv").write_bytes(b"source,target\na,b\n")
    code = """
        import sys

        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("pandas", "polars", "torch"):
                    raise ModuleNotFoundError(name)

        sys.meta_path.insert(0, Absent())
        from heatgraph.tables.graphs import from_tables
        from_tables("nodes.csv", "edges.csv")
        assert "networkx" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, check=True)
