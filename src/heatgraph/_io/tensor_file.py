"""Files that are written whole or not at all, and read only when they are whole.

A file of ours is safetensors: named arrays of numbers behind a header. In the header's metadata are
the kind of thing that it holds, the version of its form, what belongs to the arrays as JSON, and a
SHA-256 of all that together with the arrays. Reading one runs no code and trusts no number before
it is checked.

    8 bytes    length of the header, little-endian
    header     JSON: metadata, and type, shape and place of each array; spaces up to the alignment
    data       array after array without gaps, those of the widest numbers first

Arrays go into a file and into its checksum block by block, and may be read by memory map, so that
neither takes memory for a copy.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from heatgraph._io.atomic_files import atomic_write
from heatgraph.errors import FileFormatError, InputError

Array = npt.NDArray[Any]

FORMAT_VERSION = 1
# A header may be this long. Ours hold settings and the records of a search.
LONGEST_HEADER = 50_000_000
# Bytes that are written or hashed at once.
BLOCK = 1 << 20
# Where the arrays of a file may start: a whole number of 8 bytes, or of cache lines under a map.
PLAIN, MAPPED = 8, 64
# Types of numbers by their names in a header, in the order of safetensors. Arrays come in the
# opposite order, so that each lies at a multiple of its own item size.
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
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_RANKS = {dtype: rank for rank, dtype in enumerate(DTYPES.values())}
# NumPy has up to 32 dimensions, and later 64.
_MOST_DIMENSIONS = 32


def write_tensors(
    path: str | Path,
    kind: str,
    content: dict[str, Any],
    tensors: dict[str, Array],
    alignment: int = PLAIN,
) -> None:
    """Write arrays and what belongs to them, as JSON, into one file.

    Arrays are never copied as a whole. With the `alignment` MAPPED, `map_tensors` gives arrays that
    start at a cache line.
    """
    with atomic_write(path) as file:
        _write(file, kind, content, tensors, alignment)


def read_tensors(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read what `write_tensors` wrote; anything else is refused with the reason."""
    path = Path(path)
    return tensors_from_bytes(path.read_bytes(), kind, path)


def map_tensors(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read what `write_tensors` wrote into arrays that are read-only views of the mapped file.

    All of it is checked, but none of it is copied. What is read later is what the file then holds:
    replace such a file, as `atomic_write` does, and never write into it.
    """
    path = Path(path)
    with path.open("rb") as file:
        empty = os.fstat(file.fileno()).st_size == 0  # which cannot be mapped
        raw = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return _read(raw, kind, path, noun=kind)


def tensors_to_bytes(kind: str, content: dict[str, Any], tensors: dict[str, Array]) -> bytes:
    """The bytes of a file that holds these arrays and what belongs to them."""
    file = io.BytesIO()
    _write(file, kind, content, tensors, PLAIN)
    return file.getvalue()


def tensors_from_bytes(
    raw: bytes, kind: str, path: Path
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the bytes that `tensors_to_bytes` made; `path` is what errors call them."""
    content, views = _read(raw, kind, path, noun="model")
    return content, {name: view.copy() for name, view in views.items()}


def _write(
    file: BinaryIO, kind: str, content: dict[str, Any], tensors: dict[str, Array], alignment: int
) -> None:
    """Write a file in one pass over its arrays: the header comes last, with the checksum."""
    tensors = {name: np.atleast_1d(tensor) for name, tensor in tensors.items()}
    text = json.dumps(content, allow_nan=True)
    metadata = {
        "heatgraph": kind,
        "format": str(FORMAT_VERSION),
        "content": text,
        "sha256": "0" * 2 * hashlib.sha256().digest_size,
    }
    header, places = _laid_out(metadata, tensors, alignment)

    def put(name: str, block: memoryview) -> None:
        file.seek(places[name])
        file.write(block)
        places[name] += len(block)

    metadata["sha256"] = _digest(kind, str(FORMAT_VERSION), text, tensors, put)
    header, _ = _laid_out(metadata, tensors, alignment)
    file.seek(0)
    file.write(header)


def _laid_out(
    metadata: dict[str, str], tensors: dict[str, Array], alignment: int
) -> tuple[bytes, dict[str, int]]:
    """The header of a file, and where in the file each array starts."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in sorted(tensors, key=lambda name: (-_rank(name, tensors[name]), name)):
        tensor = tensors[name]
        begin, end = end, end + tensor.nbytes
        entries[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": tensor.shape,
            "data_offsets": [begin, end],
        }
    header = json.dumps(entries, sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-(8 + len(header)) % alignment)
    start = 8 + len(header)
    places = {name: start + entries[name]["data_offsets"][0] for name in tensors}
    return len(header).to_bytes(8, "little") + header, places


def _rank(name: str, tensor: Array) -> int:
    if tensor.dtype not in _RANKS:
        raise InputError(
            f"{name} cannot be written into a file: its numbers are {tensor.dtype}. Convert them "
            f"to one of {', '.join(map(str, _RANKS))}."
        )
    return _RANKS[tensor.dtype]


def _read(
    raw: bytes | mmap.mmap, kind: str, path: Path, noun: str
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Check the bytes of a file; give its content, and its arrays as views of the bytes."""
    header, start = _header(path, raw, noun)
    metadata = header.get("__metadata__", {})
    if "heatgraph" not in metadata:
        raise FileFormatError(f"{path} is a safetensors file, but not one of heatgraph's.")
    version = metadata.get("format", "")
    if version != str(FORMAT_VERSION):
        raise FileFormatError(
            f"{path} has format {version[:20]!r}, and this version of heatgraph reads format "
            f"{FORMAT_VERSION}. Upgrade heatgraph to read it."
        )
    if metadata["heatgraph"] != kind:
        raise FileFormatError(f"{path} holds a {metadata['heatgraph']}, where a {kind} is wanted.")
    try:
        tensors = _views(header, raw, start)
    except (LookupError, OverflowError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is incomplete or damaged: {error}. Get it again.") from error
    text = metadata.get("content", "")
    if metadata.get("sha256") != _digest(kind, version, text, tensors):
        raise FileFormatError(
            f"{path} is damaged or was altered: its checksum is not that of its content. "
            "Get it again."
        )
    try:
        content = json.loads(text)
        if not isinstance(content, dict):
            raise TypeError("its content is no table")
    except (RecursionError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is damaged: its content is unreadable.") from error
    return content, tensors


def _header(path: Path, raw: bytes | mmap.mmap, noun: str) -> tuple[dict[str, Any], int]:
    """Read a safetensors header, eight bytes of length and then JSON, and tell where it ends."""
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 9:
        raise FileFormatError(f"{path} is incomplete: it has {len(raw)} bytes. Get it again.")
    if length > LONGEST_HEADER or raw[8:9] != b"{":
        raise FileFormatError(f"{path} is not a {noun} file: it is not in the safetensors format.")
    if 8 + length > len(raw):
        raise FileFormatError(
            f"{path} is incomplete: its header alone has {length:,} bytes, and the file has "
            f"{len(raw):,}. Get it again."
        )
    try:
        header = json.loads(raw[8 : 8 + length])
        metadata = header.get("__metadata__", {})
        if not all(isinstance(text, str) for text in metadata.values()):
            raise ValueError("its metadata are not texts")
    except (AttributeError, RecursionError, ValueError) as error:
        raise FileFormatError(f"{path} is damaged: its header is unreadable ({error}).") from error
    return header, 8 + length


def _views(header: dict[str, Any], raw: bytes | mmap.mmap, start: int) -> dict[str, Array]:
    """The arrays that a header promises, if they fill the bytes after `start`, one by one."""
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    for name, entry in entries.items():
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"array {name!r} has numbers of an unknown type, {entry['dtype']!r}")
        numbers = [*entry["shape"], *entry["data_offsets"]]
        whole = all(type(number) is int and number >= 0 for number in numbers)
        if not whole or len(entry["data_offsets"]) != 2 or len(numbers) > _MOST_DIMENSIONS + 2:
            raise ValueError(f"array {name!r} has no shape and place of whole numbers")
    views: dict[str, Array] = {}
    expected = 0
    for name in sorted(entries, key=lambda name: entries[name]["data_offsets"]):
        entry = entries[name]
        dtype, shape, (begin, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if begin != expected or end - begin != math.prod(shape) * dtype.itemsize:
            raise ValueError(
                f"array {name!r} should start at {expected:,} and have {dtype} of shape {shape}; "
                f"it has bytes {begin:,} to {end:,}"
            )
        if start + end > len(raw):
            raise ValueError(f"array {name!r} ends at {start + end:,}, the file at {len(raw):,}")
        if (start + begin) % dtype.itemsize:
            raise ValueError(f"array {name!r} is not aligned to its numbers of {dtype}")
        views[name] = np.ndarray(shape, dtype, buffer=raw, offset=start + begin)
        expected = end
    if start + expected != len(raw):
        raise ValueError(f"its arrays end at {start + expected:,}, the file at {len(raw):,}")
    return views


def _digest(
    kind: str,
    version: str,
    text: str,
    tensors: dict[str, Array],
    put: Callable[[str, memoryview], None] | None = None,
) -> str:
    """SHA-256 of everything, each part preceded by its length.

    `put` is given each block of each array, as it was hashed, with the array's name.
    """
    digest = hashlib.sha256()

    def take(part: str) -> None:
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)

    for part in (kind, version, text):
        take(part)
    for name in sorted(tensors):
        tensor = tensors[name]
        take(name)
        take(f"{tensor.dtype.str}{tensor.shape}")
        digest.update(tensor.nbytes.to_bytes(8, "little"))
        for block in _blocks(tensor):
            digest.update(block)
            if put is not None:
                put(name, block)
    return digest.hexdigest()


def _blocks(tensor: Array) -> Iterator[memoryview]:
    """The bytes of an array in the order of its rows, some at a time."""
    if tensor.flags.c_contiguous:
        flat = tensor.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), BLOCK):
            yield flat[start : start + BLOCK].data
    else:
        rows = max(1, BLOCK * len(tensor) // tensor.nbytes)
        for start in range(0, len(tensor), rows):
            yield from _blocks(np.ascontiguousarray(tensor[start : start + rows]))
