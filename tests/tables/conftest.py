import pytest

from heatgraph.tables.formats.files import read_table_file


@pytest.fixture
def write_csv(tmp_path):
    """Write text into a file, and return its path."""

    def write(text, name="nodes.csv"):
        path = tmp_path / name
        path.write_text(text, newline="")
        return path

    return write


@pytest.fixture
def read(tmp_path):
    """Write bytes into a file, and read it as a table."""

    def read(content, name="nodes.csv", texts=("id",), memory=1e9):
        path = tmp_path / name
        path.write_bytes(content)
        return read_table_file(path, lambda names: [n for n in texts if n in names], memory)

    return read
