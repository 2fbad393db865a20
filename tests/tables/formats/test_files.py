"""Opening files: the format is detected from the content."""

import gzip
import os

import pyarrow as pa
import pyarrow.parquet
import pytest

from heatgraph.errors import InputError
from heatgraph.tables.formats.files import read_table_file

PLAIN = b"id,x,note\na,1,u\nb,2,v\n"
EXPECTED = {"id": ["a", "b"], "x": [1, 2], "note": ["u", "v"]}


@pytest.mark.parametrize("name", ["nodes.csv", "nodes.txt", "nodes.gz", "nodes"])
def test_the_content_decides_and_not_the_name(read, name, tmp_path):
    pa.parquet.write_table(pa.table(EXPECTED), tmp_path / "there")
    raw = (tmp_path / "there").read_bytes()
    for content in (PLAIN, gzip.compress(PLAIN), raw):
        assert read(content, name).arrow.to_pydict() == EXPECTED


def test_a_folder(tmp_path):
    with pytest.raises(InputError, match="is a folder. Name a file"):
        read_table_file(tmp_path, lambda names: [], 1e9)


def test_an_unreadable_file(read, monkeypatch):
    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("heatgraph.tables.formats.files.Path.open", refuse)
    monkeypatch.setattr("heatgraph.tables.formats.files.Path.is_dir", lambda path: False)
    with pytest.raises(InputError, match="nodes.csv cannot be opened: Permission denied"):
        read_table_file("nodes.csv", lambda names: [], 1e9)


@pytest.mark.skipif(os.name != "posix", reason="no such device")
def test_a_device():
    with pytest.raises(InputError, match="/dev/null is a pipe or a device, and a table is read"):
        read_table_file(os.devnull, lambda names: [], 1e9)
