"""Read CSV files: delimited by commas, tabs, semicolons or bars; plain or gzip-compressed.

Arrow parses them on all cores, but does not say where a file is malformed. When it refuses one,
Python's csv module, which counts lines, reads the file again up to the first error.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import mmap
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from heatgraph.errors import FileFormatError
from heatgraph.tables.file_errors import empty_file, too_large
from heatgraph.tables.input_table import InputTable, clean_column_names
from heatgraph.tables.values import is_number

GZIP_MAGIC = b"\x1f\x8b"
DELIMITERS = (",", "\t", ";", "|")
HEADER_BYTES = 1 << 16
WHITESPACE = codecs.BOM_UTF8 + b" \t\r\n"
CHUNK_BYTES = 1 << 20
# Arrow's block size: a row has to fit into a block, whose size is a 32-bit integer.
BLOCK_BYTES, MAX_BLOCK_BYTES = 1 << 20, 1 << 30
# Python's csv module stops at fields of 131,072 characters by default.
MAX_FIELD_CHARACTERS = 2**31 - 1
_QUOTED = re.compile(r'(^|[,;|\t\r\n])"(?:[^"]|"")*(?:"|$)')
# Bytes that are not UTF-8, as "surrogateescape" decodes them.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")

# Given the column names of a file, those to read as text, without type inference.
TextColumns = Callable[[list[str]], Sequence[str]]


def read_csv(path: Path, text_columns: TextColumns, limit: float) -> InputTable:
    """Read a file of at most `limit` bytes, uncompressed."""
    with path.open("rb") as file:
        start = file.read(len(GZIP_MAGIC))
        if start == GZIP_MAGIC:
            return _parse(path, _decompress(path, limit), text_columns)
        if path.stat().st_size > limit:
            raise too_large(path, limit)
        if not start:
            raise empty_file(path)
        # The map is closed when Arrow drops its last reference to it.
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return _parse(path, content, text_columns)


def _decompress(path: Path, limit: float) -> bytes:
    content = bytearray()
    try:
        with gzip.open(path) as file:
            while chunk := file.read(CHUNK_BYTES):
                content += chunk
                if len(content) > limit:
                    raise too_large(path, limit)
    except (EOFError, OSError, zlib.error) as error:
        raise FileFormatError(f"{path} is incomplete or damaged: {error}. Get it again.") from error
    return bytes(content)


def _parse(path: Path, content: bytes | mmap.mmap, text_columns: TextColumns) -> InputTable:
    _check_encoding(path, content)
    if content.find(b"\n") < 0:
        content = content[:] + b"\n"  # without it, Arrow finds no header
    head = _read_head(content)
    names, delimiter = _parse_header(path, head)
    clean_names = clean_column_names(names)
    text_positions = [clean_names.index(name) for name in text_columns(clean_names)]
    convert = pa.csv.ConvertOptions(
        column_types={names[at]: pa.string() for at in text_positions},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        true_values=["true", "True", "TRUE"],
        false_values=["false", "False", "FALSE"],
    )
    has_quotes = content.find(b'"') >= 0
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=has_quotes)
    read = pa.csv.ReadOptions(block_size=min(max(2 * len(head), BLOCK_BYTES), MAX_BLOCK_BYTES))
    # A buffer, since Arrow would decompress by the name of a path.
    buffer = pa.BufferReader(pa.py_buffer(content))
    try:
        arrow = pa.csv.read_csv(buffer, read, parse, convert)
        table = InputTable.from_arrow(
            arrow, str(path), lambda row: f"{path}, line {_line_number(path, delimiter, row)}"
        )
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise _find_error(path, delimiter) or FileFormatError(f"{path}: {error}") from error
    if any(pa.types.is_binary(column.type) for column in arrow.itercolumns()):
        raise _find_error(path, delimiter) or FileFormatError(f"{path} is not UTF-8.")
    if has_quotes and _ends_in_newline_value(arrow) and (found := _find_error(path, delimiter)):
        raise found
    return table


def _ends_in_newline_value(arrow: pa.Table) -> bool:
    """Whether the last value spans lines, which is how Arrow reads an unclosed quotation mark."""
    last = arrow.column(arrow.num_columns - 1)
    return len(last) > 0 and "\n" in str(last[-1].as_py())


def _check_encoding(path: Path, content: bytes | mmap.mmap) -> None:
    """Refuse UTF-16, NUL bytes, and files of whitespace alone."""
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise FileFormatError(f"{path} is UTF-16. Save it as UTF-8.")
    at = content.find(b"\0")
    if at >= 0:
        line = content[:at].count(b"\n") + 1
        raise FileFormatError(
            f"{path}, line {line}: there is a NUL byte, which text never contains. The file is "
            "damaged, or not CSV; save it as UTF-8."
        )
    if not content[:HEADER_BYTES].strip(WHITESPACE):
        raise empty_file(path)


def _read_head(content: bytes | mmap.mmap) -> bytes:
    """The start of a file, including the whole first line."""
    return content[: max(HEADER_BYTES, content.find(b"\n") + 1)]


def _parse_header(path: Path, head: bytes) -> tuple[list[str], str]:
    """Column names and the delimiter, which is the most frequent one outside quotation marks."""
    text = head.decode("utf-8-sig", errors="replace").lstrip("\r\n")
    first_line = re.split(r"[\r\n]", _QUOTED.sub(r"\1-", text), maxsplit=1)[0]
    delimiter = max(DELIMITERS, key=first_line.count)
    with _unlimited_fields():
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if all(is_number(name) for name in names):
        raise FileFormatError(
            f"{path}, line 1 is {delimiter.join(names)!r}, where the names of columns are "
            "expected. Add a line with names above it, such as source,target."
        )
    return names, delimiter


@contextlib.contextmanager
def _unlimited_fields() -> Iterator[None]:
    """Lift the field size limit of Python's csv module, which is global, for a while."""
    before = csv.field_size_limit(MAX_FIELD_CHARACTERS)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _numbered_rows(path: Path, delimiter: str, strict: bool) -> Iterator[tuple[int, list[str]]]:
    """The first line number and the fields of each row, header included, empty rows skipped.

    With `strict` off, stray quotation marks are read the way Arrow reads them.
    """
    reader = csv.reader(_decoded_lines(path), delimiter=delimiter, strict=strict)
    start = 1
    with _unlimited_fields():
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num + 1


def _decoded_lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        compressed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    with (
        gzip.open(path) if compressed else path.open("rb") as binary,
        io.TextIOWrapper(binary, "utf-8-sig", errors="surrogateescape", newline="") as lines,
    ):
        for number, line in enumerate(lines, start=1):
            if not line.isascii() and (bad := _NOT_UTF8.search(line)):
                before = len(line[: bad.start()].encode())
                raise FileFormatError(
                    f"{path}, line {number}: byte 0x{ord(bad[0]) - 0xDC00:02X} at position "
                    f"{before + 1} is not UTF-8. Save the file as UTF-8."
                )
            yield line


def _find_error(path: Path, delimiter: str) -> FileFormatError | None:
    """The first malformed row, or None if every row parses."""
    rows = _numbered_rows(path, delimiter, strict=True)
    line = 1
    try:
        _, names = next(rows)
        for line, row in rows:
            if len(row) != len(names):
                return FileFormatError(
                    f"{path}, line {line} has {len(row)} of {len(names)} columns: "
                    f"{delimiter.join(row)[:60]!r}. Correct the line; a value that contains "
                    f"{delimiter!r} needs quotation marks."
                )
    except csv.Error as error:
        return FileFormatError(
            f"{path}, in the row after line {line}: {error}. A quotation mark may be missing."
        )
    except FileFormatError as error:
        return error
    return None


def _line_number(path: Path, delimiter: str, row: int) -> int:
    """The line that a row starts on."""
    rows = _numbered_rows(path, delimiter, strict=False)
    return next(itertools.islice(rows, row + 1, None))[0]
