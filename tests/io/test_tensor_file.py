import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from heatgraph._io import tensor_file
from heatgraph._io.tensor_file import (
    CACHE_LINE_ALIGNMENT,
    ITEM_ALIGNMENT,
    StoredArray,
    is_tensor_file,
    map_tensors,
    read_tensors,
    tensors_to_bytes,
    write_tensors,
)
from heatgraph.errors import FileFormatError, InputError

PINNED_SHA256 = "a79e3b98bd81c22c7e4be62c269de2f129ef3c822daaf796c3bac247f2961582"
CONTENT = {"name": "Übung", "numbers": [1, 2.5, None], "flag": True}
TENSORS = {
    "b": np.arange(6, dtype=np.float32).reshape(2, 3),
    "a": np.array([1e-300, -0.0, np.pi]),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "thing.safetensors"
    write_tensors(path, "thing", CONTENT, TENSORS)
    return path


def test_round_trip(path):
    content, tensors = read_tensors(path, "thing")
    assert content == CONTENT
    assert set(tensors) == {"a", "b"}
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        np.testing.assert_array_equal(tensors[name], tensor)


def test_arrays_are_writable_when_read_and_read_only_when_mapped(path):
    assert all(tensor.flags.writeable for tensor in read_tensors(path, "thing")[1].values())
    content, tensors = map_tensors(path, "thing")
    assert content == CONTENT
    for name, tensor in TENSORS.items():
        assert not tensors[name].flags.writeable
        np.testing.assert_array_equal(tensors[name], tensor)


@pytest.mark.parametrize("alignment", [ITEM_ALIGNMENT, CACHE_LINE_ALIGNMENT])
def test_arrays_start_at_the_alignment(path, alignment):
    for length in range(70):
        write_tensors(path, "thing", {"x": "y" * length}, TENSORS, alignment)
        raw = path.read_bytes()
        assert (8 + int.from_bytes(raw[:8], "little")) % alignment == 0
        assert read_tensors(path, "thing")[0] == {"x": "y" * length}


def test_files_equal_those_of_the_safetensors_library():
    """The arrays are equal byte for byte, and the headers as JSON."""
    random = np.random.default_rng(0)
    tensors = {"scalar": np.array(2.5), "none": np.zeros((3, 0), dtype=np.int16)}
    for name, dtype in tensor_file.DTYPES.items():
        for prefix in ("Z", "a", "é"):
            tensors[prefix + name] = random.integers(0, 2, (2, 3)).astype(dtype)
    raw = tensors_to_bytes("thing", CONTENT, tensors)
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    tensors["scalar"] = tensors["scalar"].reshape(1)
    theirs = save(tensors, metadata=header["__metadata__"])
    end = 8 + int.from_bytes(theirs[:8], "little")
    assert raw[start:] == theirs[end:]
    assert header == json.loads(theirs[8:end])
    for name, tensor in load(raw).items():
        np.testing.assert_array_equal(tensor, tensors[name])


def test_the_format_is_pinned():
    """Any change of layout, checksum or header needs a new FORMAT_VERSION."""
    raw = tensors_to_bytes(
        "thing", {"a": [1, "ü"]}, {"x": np.arange(3, dtype=np.int32), "y": np.ones(1)}
    )
    assert hashlib.sha256(raw).hexdigest() == PINNED_SHA256


@pytest.mark.parametrize("dtype", ["complex128", "U3", "O", "M8[s]", ">f8"])
def test_dtypes_without_a_safetensors_name_are_refused(path, dtype):
    before = path.read_bytes()
    with pytest.raises(InputError, match="x cannot be written into a file: its dtype is .* bool"):
        write_tensors(path, "thing", {}, {"x": np.zeros(2, dtype=dtype)})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_transposed_arrays_are_written_in_c_order(path):
    write_tensors(path, "thing", {}, {"b": TENSORS["b"].T})
    np.testing.assert_array_equal(read_tensors(path, "thing")[1]["b"], TENSORS["b"].T)


def test_every_truncation_is_detected(path):
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="incomplete|not a model|damaged"):
            read_tensors(path, "thing")


def test_every_flipped_bit_is_detected(path):
    whole = path.read_bytes()
    for position in range(len(whole)):
        for bit in range(8):
            altered = bytearray(whole)
            altered[position] ^= 1 << bit
            path.write_bytes(altered)
            with pytest.raises(FileFormatError):
                read_tensors(path, "thing")


def test_a_flipped_bit_in_an_array_fails_the_checksum(path):
    altered = bytearray(path.read_bytes())
    altered[-1] ^= 1
    path.write_bytes(altered)
    with pytest.raises(FileFormatError, match="checksum"):
        read_tensors(path, "thing")


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(tmp_path_factory, noise):
    path = tmp_path_factory.mktemp("noise") / "noise"
    path.write_bytes(noise)
    with pytest.raises(FileFormatError):
        read_tensors(path, "thing")


def header(text):
    raw = text if isinstance(text, bytes) else json.dumps(text).encode()
    return len(raw).to_bytes(8, "little") + raw


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "incomplete: it has 0 bytes"),
        (b"x" * 8, "incomplete: it has 8 bytes"),
        (b"x" * 9, "not a model file"),
        (b"\x80\x04\x95pickle", "not a model file"),
        ((4 << 30).to_bytes(8, "little") + b"{", "not a model file"),
        (header(b"[]"), "not a model file"),
        ((10**6).to_bytes(8, "little") + b"{}", "incomplete: its header has 1,000,000 bytes"),
        (header(b"{]"), "header is unreadable"),
        (header(b"{" + b'"a":[' * 100_000), "header is unreadable"),
        (header({"__metadata__": {"heatgraph": 3}}), "header is unreadable"),
        (header({"__metadata__": []}), "header is unreadable"),
        (save({"x": np.zeros(2)}), "is a safetensors file, but heatgraph did not write it"),
        (
            save({"x": np.zeros(2)}, metadata={"heatgraph": "thing", "format": "2"}),
            "has format '2', but this version of heatgraph reads format 1. Upgrade heatgraph",
        ),
        (
            save({"x": np.zeros(2)}, metadata={"heatgraph": "thing", "format": "1" * 5000}),
            "has format '1{20}',",
        ),
        (
            save({"x": np.zeros(2)}, metadata={"heatgraph": "thing"}),
            "has format ''",
        ),
        (
            save({"x": np.zeros(2)}, metadata={"heatgraph": "graph", "format": "1"}),
            "holds a graph; expected a thing",
        ),
        (
            save({"x": np.zeros(2)}, metadata={"heatgraph": "thing", "format": "1"}),
            "checksum",
        ),
        (
            header(
                {
                    "__metadata__": {"heatgraph": "thing", "format": "1"},
                    "x": {"dtype": "F64", "shape": [2**62, 8], "data_offsets": [0, 16]},
                }
            )
            + bytes(16),
            "incomplete or damaged",
        ),
        (
            header(
                {
                    "__metadata__": {"heatgraph": "thing", "format": "1"},
                    "x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
                    "y": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
                }
            )
            + bytes(8),
            "incomplete or damaged",
        ),
    ],
)
def test_errors_of_files_that_are_not_ours(path, raw, message):
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match=message):
        read_tensors(path, "thing")


def entry(shape=(2,), offsets=(0, 16), dtype="F64"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("entries", "size", "message"),
    [
        ({"x": entry()}, 15, "'x' ends at [0-9]+, the file at"),
        ({"x": entry()}, 17, "its arrays end at [0-9]+, the file at"),
        ({}, 8, "its arrays end at"),
        ({"x": entry([2**62, 8])}, 16, "be float64 of shape"),
        ({"x": entry([2**63, 2**63, 0], [0, 0])}, 0, "dimension"),
        ({"x": entry([2**62, 2**62, 0], [0, 0])}, 0, "too big|too large|dimension"),
        ({"x": entry([2.0])}, 16, "two offsets of integers"),
        ({"x": entry([True, 2])}, 16, "two offsets of integers"),
        ({"x": entry([-2])}, 16, "two offsets of integers"),
        ({"x": entry([-1, -2])}, 16, "two offsets of integers"),
        ({"x": entry([1] * 99 + [2])}, 16, "two offsets of integers"),
        ({"x": entry("2")}, 16, "two offsets of integers"),
        ({"x": entry(offsets=[16])}, 16, "two offsets of integers"),
        ({"x": entry(offsets=[0, 8, 16])}, 16, "two offsets of integers"),
        ({"x": entry(offsets=[-16, 0])}, 16, "two offsets of integers"),
        ({"x": entry(offsets=[0, 16.0])}, 16, "two offsets of integers"),
        ({"x": entry(offsets=[16, 0])}, 16, "should start at 0 and be"),
        ({"x": entry(offsets=[0, 8])}, 16, "should start at 0 and be"),
        ({"x": entry(offsets=[8, 24])}, 24, "should start at 0 and be"),
        ({"x": entry(), "y": entry()}, 16, "'y' should start at 16"),
        ({"x": entry(), "y": entry([1], [8, 16])}, 16, "'y' should start at 16"),
        ({"x": entry(), "y": entry([1], [24, 32])}, 32, "'y' should start at 16"),
        ({"x": entry([1], [0, 1], "U8"), "y": entry([1], [1, 9])}, 9, "'y' is not aligned"),
        ({"x": entry(dtype="BF16")}, 16, "'x' has an unknown dtype, 'BF16'"),
        ({"x": entry(dtype="O")}, 16, "'x' has an unknown dtype, 'O'"),
        ({"x": entry(dtype=["F64"])}, 16, "unhashable"),
        ({"x": {"dtype": "F64", "shape": [2]}}, 16, "data_offsets"),
        ({"x": 3}, 16, "not subscriptable"),
    ],
)
@pytest.mark.parametrize("read", [read_tensors, map_tensors])
def test_invalid_array_entries(path, monkeypatch, entries, size, message, read):
    """The error names the fault: entries are validated before the checksum."""
    raw = json.dumps({"__metadata__": {"heatgraph": "thing", "format": "1"}, **entries}).encode()
    raw += b" " * (-len(raw) % 8)
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + bytes(size))
    with pytest.raises(FileFormatError, match=f"is incomplete or damaged: .*({message})"):
        read(path, "thing")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[]", "1" * 5000])
def test_content_must_be_a_json_object(path, text):
    metadata = {
        "heatgraph": "thing",
        "format": "1",
        "content": text,
        "sha256": tensor_file._checksum("thing", "1", text, TENSORS),
    }
    path.write_bytes(save(TENSORS, metadata=metadata))
    with pytest.raises(FileFormatError, match="its content is unreadable"):
        read_tensors(path, "thing")


def test_a_missing_file_raises_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_tensors(tmp_path / "nothing", "thing")


def test_the_same_content_gives_the_same_bytes(tmp_path):
    code = (
        "import sys, numpy as np; from heatgraph._io.tensor_file import write_tensors;"
        "write_tensors(sys.argv[1], 'thing', {'a': 1}, {'x': np.arange(5), 'y': np.ones(3)})"
    )
    paths = [tmp_path / str(number) for number in range(4)]
    for path in paths:
        subprocess.run([sys.executable, "-c", code, path], check=True)
    assert len({path.read_bytes() for path in paths}) == 1
    assert read_tensors(paths[0], "thing")[0] == {"a": 1}


def test_the_kind_of_a_file(tmp_path):
    from heatgraph._io.tensor_file import read_kind

    path = tmp_path / "file"
    write_tensors(path, "thing", {}, {"a": np.zeros(3)})
    assert read_kind(path) == "thing"
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(FileFormatError, match="is incomplete"):
        read_kind(path)
    header = b'{"a":{}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert read_kind(path) == ""


@pytest.mark.parametrize("content", [b"", b"id,label", b"id,label,{", b'{"nodes": []}', b"PAR1"])
def test_files_of_other_formats_are_told_apart(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert not is_tensor_file(path)
    write_tensors(path, "thing", {}, {"a": np.zeros(3)})
    assert is_tensor_file(path)


def test_arrays_in_other_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tensor_file, "BLOCK_BYTES", 10)
    a, b, empty = np.arange(12.0).reshape(3, 4), np.arange(7, dtype=np.int32), np.empty((0, 3))
    (tmp_path / "raw").write_bytes(b"head" + a.tobytes() + b.tobytes())
    raw = tmp_path / "raw"
    stored = {
        "a": StoredArray(raw, a.dtype, a.shape, 4),
        "b": StoredArray(raw, b.dtype, b.shape, 4 + a.nbytes),
        "empty": StoredArray(raw, empty.dtype, empty.shape),
    }
    write_tensors(tmp_path / "expected", "thing", {}, {"a": a, "b": b, "empty": empty})
    write_tensors(tmp_path / "found", "thing", {}, stored)
    assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()
    raw.write_bytes(raw.read_bytes()[:-1])
    with pytest.raises(FileFormatError, match="raw is incomplete"):
        write_tensors(tmp_path / "other", "thing", {}, stored)
    assert not (tmp_path / "other").exists()
