"""Files that are written whole or not at all, and read only when they are whole.

A file of ours is safetensors: named arrays of numbers behind a header. In the header's metadata are
the kind of thing that it holds, the version of its form, what belongs to the arrays as JSON, and a
SHA-256 of all that together with the arrays. Reading one runs no code and trusts no number before
it is checked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from heatgraph.errors import FileFormatError, InputError
from heatgraph.schemes import Scheme, scheme_from_record, scheme_record

Array = npt.NDArray[Any]

FORMAT_VERSION = 1
# A header may be this long. Ours hold settings and the records of a search.
LONGEST_HEADER = 50_000_000


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` once it is complete.

    Whatever goes wrong, and whenever, `path` is the old file or the new one.
    """
    path = Path(os.path.realpath(path))
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{path}: there is no folder {folder}. Make it first.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is a folder or a device. Name a file.")
    temporary = folder / f".{secrets.token_hex(8)}.part"
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _settle_folder(folder)


def write_tensors(
    path: str | Path, kind: str, content: dict[str, Any], tensors: dict[str, Array]
) -> None:
    """Write arrays and what belongs to them, as JSON, into one file."""
    raw = packed(kind, content, tensors)
    with whole_file(path) as file:
        file.write(raw)


def read_tensors(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read what `write_tensors` wrote; anything else is refused with the reason."""
    path = Path(path)
    return unpacked(path.read_bytes(), kind, path)


def packed(kind: str, content: dict[str, Any], tensors: dict[str, Array]) -> bytes:
    """The bytes of a file that holds these arrays and what belongs to them."""
    from safetensors.numpy import save

    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    text = json.dumps(content, allow_nan=True)
    metadata = {
        "heatgraph": kind,
        "format": str(FORMAT_VERSION),
        "content": text,
        "sha256": _digest(kind, str(FORMAT_VERSION), text, tensors),
    }
    return _in_order(save(tensors, metadata=metadata))


def unpacked(raw: bytes, kind: str, path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the bytes that `packed` made; `path` is what errors call them."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    metadata = _metadata(path, raw)
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
        tensors = load(raw)
    except (SafetensorError, KeyError, ValueError) as error:
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


def to_plain(value: Any) -> Any:
    """Plain values for JSON, with schemes in them spelled out."""
    if isinstance(value, Scheme):
        return scheme_record(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.dtype | type):
        return np.dtype(value).name
    raise InputError(
        f"{value!r} cannot be written into a file: it is a {type(value).__name__}, and neither a "
        "number nor a text."
    )


def from_plain(value: Any) -> Any:
    """Read again what `to_plain` wrote."""
    if isinstance(value, dict):
        return scheme_from_record(value)
    return [from_plain(entry) for entry in value] if isinstance(value, list) else value


def _in_order(raw: bytes) -> bytes:
    """The same file with a sorted header: safetensors orders its metadata by chance."""
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.dumps(json.loads(raw[8:end]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + raw[end:]


def _metadata(path: Path, raw: bytes) -> dict[str, str]:
    """Read a safetensors header: eight bytes of length, then JSON."""
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 9:
        raise FileFormatError(f"{path} is incomplete: it has {len(raw)} bytes. Get it again.")
    if length > LONGEST_HEADER or raw[8:9] != b"{":
        raise FileFormatError(f"{path} is not a model file: it is not in the safetensors format.")
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
    return dict(metadata)


def _digest(kind: str, version: str, text: str, tensors: dict[str, Array]) -> str:
    """SHA-256 of everything, each part preceded by its length."""
    digest = hashlib.sha256()
    parts = [kind.encode(), version.encode(), text.encode()]
    for name in sorted(tensors):
        tensor = tensors[name]
        parts += [name.encode(), f"{tensor.dtype.str}{tensor.shape}".encode(), tensor.tobytes()]
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _settle_folder(folder: Path) -> None:
    """Have the new name on disk too, where a folder can be synced."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
