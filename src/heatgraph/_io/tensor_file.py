"""Tensor files: named arrays and a JSON object in one safetensors file with a checksum.

    8 bytes    length of the header, little-endian
    header     JSON: metadata, and dtype, shape and offsets of each array; padded with spaces
    data       the arrays without gaps, in order of decreasing item size

The header's metadata hold

    heatgraph  the kind of file, such as "graph" or "model"
    format     FORMAT_VERSION
    content    the JSON object, as text
    sha256     the checksum of all of the above and of the arrays

Files are written atomically, and reading one executes no code and validates every number before
use. Arrays are written and hashed block by block, and can be memory-mapped, so that neither takes
memory for a copy. The safetensors library is not used: its writer needs whole arrays in memory,
and its NumPy reader copies them.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from heatgraph._io.atomic_files import atomic_write
from heatgraph._io.regular_files import open_regular_file
from heatgraph.errors import FileFormatError, InputError

Array = npt.NDArray[Any]

FORMAT_VERSION = 1
# Longer headers are refused before they are parsed. The longest hold the records of a search.
MAX_HEADER_BYTES = 50_000_000
# Bytes written or hashed at a time.
BLOCK_BYTES = 1 << 20
# Alignments of the first array in a file: that of its numbers, or a cache line for memory maps.
ITEM_ALIGNMENT, CACHE_LINE_ALIGNMENT = 8, 64
# Dtypes by their names in a header, in safetensors' order of increasing item size. Arrays are
# stored in the opposite order, so that each is aligned to its items.
DTYPES = {
    name: np.dtype(dtype)
    for name, dtype in {
        "BOOL": np.bool_,
        "U8": np.uint8,
        "I8": np.int8,
        "I16": np.int16,
        "U16": np.uint16,
        "F16": np.float16,
        "I32": np.int32,
        "U32": np.uint32,
        "F32": np.float32,
        "F64": np.float64,
        "I64": np.int64,
        "U64": np.uint64,
    }.items()
}
_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_DTYPE_RANKS = {dtype: rank for rank, dtype in enumerate(DTYPES.values())}
# NumPy's own limit is 32 before version 2.0, and 64 since.
_MAX_DIMENSIONS = 32


@dataclass(frozen=True)
class StoredArray:
    """An array in C order inside another file, which `write_tensors` copies block by block.

    Unlike those of a memory map, its pages do not count as memory of this process.
    """

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int = 0

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def blocks(self) -> Iterator[memoryview]:
        """The bytes, block by block."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            for start in range(0, self.nbytes, BLOCK_BYTES):
                block = file.read(min(BLOCK_BYTES, self.nbytes - start))
                if len(block) < min(BLOCK_BYTES, self.nbytes - start):
                    raise FileFormatError(f"{self.path} is incomplete. Get it again.")
                yield memoryview(block)


def write_tensors(
    path: str | Path,
    kind: str,
    content: dict[str, Any],
    tensors: Mapping[str, Array | StoredArray],
    alignment: int = ITEM_ALIGNMENT,
) -> None:
    """Write arrays and a JSON-serialisable `content` to a file atomically.

    Arrays are written block by block and never copied as a whole. With CACHE_LINE_ALIGNMENT, the
    first array of the memory-mapped file starts at a cache line.
    """
    with atomic_write(path) as file:
        _write(file, kind, content, tensors, alignment)


def read_tensors(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read a file of `write_tensors` into new arrays; any other file raises FileFormatError."""
    with open_regular_file(path) as file:
        raw = file.read()
    return tensors_from_bytes(raw, kind, Path(path))


def map_tensors(
    path: str | Path, kind: str, noun: str | None = None, verified: str | None = None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Memory-map a file of `write_tensors`; the arrays are read-only views of the map.

    The checksum is verified now, but pages are read again later. Replace such a file as
    `atomic_write` does; never write into it while it is mapped. Errors name it as a `noun` file, by
    default by its kind. A file whose checksum another process has `verified` is not read: that its
    header has this checksum is enough.
    """
    path = Path(path)
    with open_regular_file(path) as file:
        empty = os.fstat(file.fileno()).st_size == 0  # mmap refuses empty files
        raw = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return _read(raw, kind, path, noun or kind, verified)


def read_checksum(path: str | Path) -> str:
    """The checksum in a file's header; "" if heatgraph did not write it."""
    return _read_metadata(Path(path), "model").get("sha256", "")


def tensors_to_bytes(kind: str, content: dict[str, Any], tensors: dict[str, Array]) -> bytes:
    """The bytes that `write_tensors` would write."""
    file = io.BytesIO()
    _write(file, kind, content, tensors, ITEM_ALIGNMENT)
    return file.getvalue()


def is_tensor_file(path: str | Path) -> bool:
    """Whether a file begins like one in the safetensors format; the rest may be damaged."""
    with open_regular_file(path) as file:
        start = file.read(9)
    return int.from_bytes(start[:8], "little") <= MAX_HEADER_BYTES and start[8:] == b"{"


def read_kind(path: str | Path, noun: str = "model") -> str:
    """The kind that a file declares; "" if heatgraph did not write it.

    Nothing but the header is read; `read_tensors` and `map_tensors` check the rest.
    """
    return _read_metadata(Path(path), noun).get("heatgraph", "")


def _read_metadata(path: Path, noun: str) -> dict[str, str]:
    with open_regular_file(path) as file:
        start = file.read(8)
        raw = start + file.read(min(int.from_bytes(start, "little"), MAX_HEADER_BYTES))
    header, _ = _read_header(path, raw, noun)
    metadata: dict[str, str] = header.get("__metadata__", {})
    return metadata


def tensors_from_bytes(
    raw: bytes, kind: str, path: Path, noun: str = "model"
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the bytes of `tensors_to_bytes`; errors name them by `path`, as a `noun` file."""
    content, views = _read(raw, kind, path, noun)
    return content, {name: view.copy() for name, view in views.items()}


def _write(
    file: BinaryIO,
    kind: str,
    content: dict[str, Any],
    tensors: Mapping[str, Array | StoredArray],
    alignment: int,
) -> None:
    """Write and hash the arrays in one pass, then the header with the checksum."""
    tensors = {
        name: tensor if isinstance(tensor, StoredArray) else np.atleast_1d(tensor)
        for name, tensor in tensors.items()
    }
    text = json.dumps(content, allow_nan=True)
    metadata = {
        "heatgraph": kind,
        "format": str(FORMAT_VERSION),
        "content": text,
        "sha256": "0" * 2 * hashlib.sha256().digest_size,
    }
    header, positions = _layout(metadata, tensors, alignment)

    def write_block(name: str, block: memoryview) -> None:
        file.seek(positions[name])
        file.write(block)
        positions[name] += len(block)

    metadata["sha256"] = _checksum(kind, str(FORMAT_VERSION), text, tensors, write_block)
    header, _ = _layout(metadata, tensors, alignment)
    file.seek(0)
    file.write(header)


def _layout(
    metadata: dict[str, str], tensors: Mapping[str, Array | StoredArray], alignment: int
) -> tuple[bytes, dict[str, int]]:
    """The header of a file with its length, and the position of each array in the file."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in sorted(tensors, key=lambda name: (-_dtype_rank(name, tensors[name]), name)):
        tensor = tensors[name]
        begin, end = end, end + tensor.nbytes
        entries[name] = {
            "dtype": _DTYPE_NAMES[tensor.dtype],
            "shape": tensor.shape,
            "data_offsets": [begin, end],
        }
    header = json.dumps(entries, sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-(8 + len(header)) % alignment)
    start = 8 + len(header)
    positions = {name: start + entries[name]["data_offsets"][0] for name in tensors}
    return len(header).to_bytes(8, "little") + header, positions


def _dtype_rank(name: str, tensor: Array | StoredArray) -> int:
    if tensor.dtype not in _DTYPE_RANKS:
        raise InputError(
            f"{name} cannot be written into a file: its dtype is {tensor.dtype}. Convert it to "
            f"one of {', '.join(map(str, _DTYPE_RANKS))}."
        )
    return _DTYPE_RANKS[tensor.dtype]


def _read(
    raw: bytes | mmap.mmap, kind: str, path: Path, noun: str, verified: str | None = None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Validate the bytes of a file; return its content, and its arrays as views of the bytes."""
    header, start = _read_header(path, raw, noun)
    metadata = header.get("__metadata__", {})
    if "heatgraph" not in metadata:
        raise FileFormatError(f"{path} is a safetensors file, but heatgraph did not write it.")
    version = metadata.get("format", "")
    if version != str(FORMAT_VERSION):
        raise FileFormatError(
            f"{path} has format {version[:20]!r}, but this version of heatgraph reads format "
            f"{FORMAT_VERSION}. Upgrade heatgraph to read it."
        )
    if metadata["heatgraph"] != kind:
        raise FileFormatError(f"{path} holds a {metadata['heatgraph']}; expected a {kind}.")
    try:
        tensors = _array_views(header, raw, start)
    except (LookupError, OverflowError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is incomplete or damaged: {error}. Get it again.") from error
    text = metadata.get("content", "")
    if metadata.get("sha256") != (verified or _checksum(kind, version, text, tensors)):
        raise FileFormatError(
            f"{path} is damaged or was altered: its checksum does not match its content. "
            "Get it again."
        )
    try:
        content = json.loads(text)
        if not isinstance(content, dict):
            raise TypeError("its content is not a JSON object")
    except (RecursionError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is damaged: its content is unreadable.") from error
    return content, tensors


def _read_header(path: Path, raw: bytes | mmap.mmap, noun: str) -> tuple[dict[str, Any], int]:
    """Parse the header of a safetensors file; return it and the position where the arrays start."""
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 9:
        raise FileFormatError(f"{path} is incomplete: it has {len(raw)} bytes. Get it again.")
    if length > MAX_HEADER_BYTES or raw[8:9] != b"{":
        raise FileFormatError(f"{path} is not a {noun} file: it is not in the safetensors format.")
    if 8 + length > len(raw):
        raise FileFormatError(
            f"{path} is incomplete: its header has {length:,} bytes, but the file has "
            f"{len(raw):,}. Get it again."
        )
    try:
        header = json.loads(raw[8 : 8 + length])
        metadata = header.get("__metadata__", {})
        if not all(isinstance(text, str) for text in metadata.values()):
            raise ValueError("its metadata are not strings")
    except (AttributeError, RecursionError, ValueError) as error:
        raise FileFormatError(f"{path} is damaged: its header is unreadable ({error}).") from error
    return header, 8 + length


def _array_views(header: dict[str, Any], raw: bytes | mmap.mmap, start: int) -> dict[str, Array]:
    """Views of the arrays that a header describes, which must fill the bytes after `start`."""
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    for name, entry in entries.items():
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"array {name!r} has an unknown dtype, {entry['dtype']!r}")
        numbers = [*entry["shape"], *entry["data_offsets"]]
        whole = all(type(number) is int and number >= 0 for number in numbers)
        if not whole or len(entry["data_offsets"]) != 2 or len(numbers) > _MAX_DIMENSIONS + 2:
            raise ValueError(f"array {name!r} must have a shape and two offsets of integers")
    views: dict[str, Array] = {}
    expected = 0
    for name in sorted(entries, key=lambda name: entries[name]["data_offsets"]):
        entry = entries[name]
        dtype, shape, (begin, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if begin != expected or end - begin != math.prod(shape) * dtype.itemsize:
            raise ValueError(
                f"array {name!r} should start at {expected:,} and be {dtype} of shape {shape}; "
                f"its offsets are {begin:,} and {end:,}"
            )
        if start + end > len(raw):
            raise ValueError(f"array {name!r} ends at {start + end:,}, the file at {len(raw):,}")
        if (start + begin) % dtype.itemsize:
            raise ValueError(f"array {name!r} is not aligned to its dtype {dtype}")
        views[name] = np.ndarray(shape, dtype, buffer=raw, offset=start + begin)
        expected = end
    if start + expected != len(raw):
        raise ValueError(f"its arrays end at {start + expected:,}, the file at {len(raw):,}")
    return views


def _checksum(
    kind: str,
    version: str,
    text: str,
    tensors: Mapping[str, Array | StoredArray],
    on_block: Callable[[str, memoryview], None] | None = None,
) -> str:
    """SHA-256 of all parts, each preceded by its length.

    `on_block` is called with the name of an array and each of its blocks, once it is hashed.
    """
    digest = hashlib.sha256()

    def add_text(part: str) -> None:
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)

    for part in (kind, version, text):
        add_text(part)
    for name in sorted(tensors):
        tensor = tensors[name]
        add_text(name)
        add_text(f"{tensor.dtype.str}{tensor.shape}")
        digest.update(tensor.nbytes.to_bytes(8, "little"))
        for block in _blocks(tensor):
            digest.update(block)
            if on_block is not None:
                on_block(name, block)
    return digest.hexdigest()


def _blocks(tensor: Array | StoredArray) -> Iterator[memoryview]:
    """The bytes of an array in C order, block by block; other layouts are copied by rows."""
    if isinstance(tensor, StoredArray):
        yield from tensor.blocks()
    elif tensor.flags.c_contiguous:
        flat = tensor.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), BLOCK_BYTES):
            yield flat[start : start + BLOCK_BYTES].data
    else:
        rows = max(1, BLOCK_BYTES * len(tensor) // tensor.nbytes)
        for start in range(0, len(tensor), rows):
            yield from _blocks(np.ascontiguousarray(tensor[start : start + rows]))
