import os
from pathlib import Path

import pytest

import heatgraph
from heatgraph import Graph
from heatgraph._io import tensor_file
from heatgraph._io.regular_files import open_regular_file
from heatgraph.datasets.npz import NpzArchive
from heatgraph.datasets.text_files import text_lines
from heatgraph.errors import InputError

READERS = {
    "regular file": open_regular_file,
    "model": heatgraph.load,
    "graph": Graph.load,
    "tensors": lambda path: tensor_file.read_tensors(path, "model"),
    "map": lambda path: tensor_file.map_tensors(path, "model"),
    "first bytes": tensor_file.is_tensor_file,
    "archive": NpzArchive,
    "text": lambda path: next(text_lines(Path(path))),
}


@pytest.fixture(params=["pipe", "device"])
def stream(request, tmp_path):
    """A path without an end: a pipe that nobody writes to, or zeros for ever."""
    if os.name != "posix":
        pytest.skip("needs POSIX")
    if request.param == "device":
        return "/dev/zero"
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("reader", READERS)
def test_pipes_and_devices_are_refused_at_once(stream, reader):
    with pytest.raises(InputError, match=f"{stream} is a pipe or a device. Save its content"):
        READERS[reader](stream)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder. Name a file"):
        open_regular_file(tmp_path)


def test_files_and_links_to_them_are_opened(tmp_path):
    (tmp_path / "file").write_bytes(b"content\r\n\x1a")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        with open_regular_file(tmp_path / name) as file:
            assert file.read() == b"content\r\n\x1a"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        open_regular_file(tmp_path / "missing")
    assert raised.value.filename == str(tmp_path / "missing")
