"""Open a file of a user, and detect its format: the first bytes decide, not the name.

JSON alone needs the name too: a first line that is an object may begin JSON lines or a document.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import json
import re
import zlib
from pathlib import Path
from typing import Literal

from heatgraph._io.regular_files import circular_links
from heatgraph.errors import FileFormatError, InputError
from heatgraph.tables.formats.file_errors import missing_file, too_large

Format = Literal[
    "text", "parquet", "json lines", "json", "graphml", "gexf", "matrix market", "npz", "npy",
    "svmlight",
]  # fmt: skip

# How errors call the formats that are no tables.
TITLES = {
    "json": "a JSON document",
    "graphml": "GraphML",
    "gexf": "GEXF",
    "matrix market": "a Matrix Market file",
    "npz": "an archive of NumPy arrays",
    "npy": "a NumPy array",
    "svmlight": "an svmlight file",
}
MATRIX_FORMATS = ("matrix market", "npz", "npy", "svmlight")
GRAPH_FORMATS = ("json", "graphml", "gexf")

GZIP_MAGIC = b"\x1f\x8b"
START_BYTES = 1 << 16
CHUNK_BYTES = 1 << 20

_MAGICS: dict[bytes, Format] = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x93NUMPY": "npy"}
_SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm")
# A label, and at least one pair of index and value.
_SVMLIGHT = re.compile(rb"[-+.\deE,]+[ \t]+(qid:\d+[ \t]+)?-?\d+:[-+.\w]+([ \t]|\r?\n|$)")


def read_start(path: Path) -> bytes:
    """The first bytes of a file, decompressed; folders, pipes and missing files are errors."""
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name a file.")
    if path.exists() and not path.is_file():
        raise InputError(
            f"{path} is a pipe or a device, and a table is read more than once. Save it in a file."
        )
    try:
        with path.open("rb") as file:
            start = file.read(START_BYTES)
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise circular_links(path) from error
        raise InputError(
            f"{path} cannot be opened: {error.strerror}. Check its name and permissions."
        ) from error
    if start[:2] != GZIP_MAGIC:
        return start
    try:
        with gzip.open(path) as file:
            return file.read(START_BYTES)
    except (EOFError, OSError, zlib.error):
        return start  # reading the whole file tells what is wrong


def read_content(path: Path, limit: float) -> bytes:
    """A whole file, decompressed: at most `limit` bytes."""
    with path.open("rb") as file:
        compressed = file.read(2) == GZIP_MAGIC
    if not compressed:
        if path.stat().st_size > limit:
            raise too_large(path, limit)
        return path.read_bytes()
    content = io.BytesIO()
    try:
        with gzip.open(path) as file:
            while chunk := file.read(CHUNK_BYTES):
                content.write(chunk)
                if content.tell() > limit:
                    raise too_large(path, limit)
    except (EOFError, OSError, zlib.error) as error:
        raise FileFormatError(f"{path} is incomplete or damaged: {error}. Get it again.") from error
    return content.getvalue()  # without a copy


def detect_format(path: Path, start: bytes) -> Format:
    """The format of a file by its first bytes; "text" is CSV or a list of edges."""
    for magic, found in _MAGICS.items():
        if start.startswith(magic):
            return found
    text = start.removeprefix(codecs.BOM_UTF8).lstrip()
    if text[:14].lower() == b"%%matrixmarket":
        return "matrix market"
    if text.startswith(b"<"):
        if b"<graphml" in text:
            return "graphml"
        if b"<gexf" in text:
            return "gexf"
    if text.startswith((b"{", b"[")):
        return _json_format(path, text)
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(_SVMLIGHT_SUFFIXES) or _SVMLIGHT.match(_without_comments(text)):
        return "svmlight"
    return "text"


def _without_comments(text: bytes) -> bytes:
    return re.sub(rb"\A(?:[ \t]*#[^\n]*\n)+", b"", text)


def _json_format(path: Path, text: bytes) -> Format:
    if path.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson")):
        return "json lines"
    try:
        record = json.loads(text.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return "json"
    is_record = isinstance(record, dict) and not isinstance(record.get("nodes"), list)
    return "json lines" if is_record else "json"
