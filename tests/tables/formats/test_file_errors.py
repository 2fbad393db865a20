"""Errors about a file as a whole."""

import pytest

from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError
from heatgraph.tables.formats.file_errors import empty_file, too_large
from heatgraph.tables.formats.files import read_table_file

PLAIN = b"id,x,note\na,1,u\nb,2,v\n"


def test_missing_files(read, tmp_path):
    read(PLAIN)
    with pytest.raises(
        InputError, match=r"nodes.cvs: there is no such file. Did you mean 'nodes.csv'"
    ):
        read_table_file(tmp_path / "nodes.cvs", lambda names: [], 1e9)
    with pytest.raises(InputError, match="there is no such file, and no folder"):
        read_table_file(tmp_path / "no" / "nodes.csv", lambda names: [], 1e9)
    with pytest.raises(InputError, match="there is no such file.$"):
        read_table_file(tmp_path / "zzzzzzz", lambda names: [], 1e9)


def test_errors_name_the_file_and_the_remedy(tmp_path):
    empty, large = empty_file(tmp_path / "nodes.csv"), too_large(tmp_path / "nodes.csv", 2e9)
    assert isinstance(empty, FileFormatError)
    assert isinstance(large, MemoryBudgetError)
    assert "nodes.csv is empty. Expected a line with the names of the columns" in str(empty)
    assert "nodes.csv holds more than 2.0 GB" in str(large)
    assert "Raise the budget" in str(large)
