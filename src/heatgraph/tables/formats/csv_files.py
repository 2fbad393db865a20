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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from heatgraph.errors import FileFormatError
from heatgraph.tables.formats.file_errors import empty_file, out_of_memory, too_large
from heatgraph.tables.formats.file_formats import GZIP_MAGIC, read_content
from heatgraph.tables.input_table import InputTable, check_width, clean_column_names
from heatgraph.tables.memory_estimate import CSV_BYTE, csv_bytes
from heatgraph.tables.values import is_number

DELIMITERS = (",", "\t", ";", "|")
HEADER_BYTES = 1 << 16
WHITESPACE = codecs.BOM_UTF8 + b" \t\r\n"
# Arrow's block size: a row has to fit into a block, whose size is a 32-bit integer.
BLOCK_BYTES, MAX_BLOCK_BYTES = 1 << 20, 1 << 30
# Bytes in which values are counted at a time.
COUNTED_BYTES = 1 << 20
# Python's csv module stops at fields of 131,072 characters by default.
MAX_FIELD_CHARACTERS = 2**31 - 1
_QUOTED = re.compile(r'(^|[,;|\t\r\n])"(?:[^"]|"")*(?:"|$)')
# Bytes that are not UTF-8, as "surrogateescape" decodes them.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")

# Given the column names of a file, those to read as text, without type inference.
TextColumns = Callable[[list[str]], Sequence[str]]


@dataclass(frozen=True)
class Dialect:
    """How a file differs from CSV with a header.

    `clean` rewrites its content, or a single line of it, as CSV with as many lines. `name_columns`
    takes the first row; it returns the names of the columns, and whether that row is a header.
    """

    clean: Callable[[bytes], bytes] | None = None
    name_columns: Callable[[list[str]], tuple[list[str], bool]] = lambda row: (row, True)


CSV = Dialect()


def read_csv(
    path: Path,
    text_columns: TextColumns,
    limit: float,
    dialect: Dialect = CSV,
    decimal: str | None = None,
) -> InputTable:
    """Read a file whose content takes at most `limit` bytes in memory."""
    with path.open("rb") as file:
        start = file.read(len(GZIP_MAGIC))
        if start == GZIP_MAGIC:
            unpacked = read_content(path, limit / CSV_BYTE)
            return _parse(path, unpacked, text_columns, dialect, decimal, limit)
        if CSV_BYTE * path.stat().st_size > limit:
            raise too_large(path, limit)
        if not start:
            raise empty_file(path)
        # The map is closed when Arrow drops its last reference to it.
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return _parse(path, content, text_columns, dialect, decimal, limit)


def _parse(
    path: Path,
    content: bytes | mmap.mmap,
    text_columns: TextColumns,
    dialect: Dialect,
    decimal: str | None,
    limit: float,
) -> InputTable:
    check_encoding(path, content)
    if dialect.clean is not None:
        content = dialect.clean(content[:])
        if not content.strip():
            raise empty_file(path)
    if content.find(b"\n") < 0:
        content = content[:] + b"\n"  # without it, Arrow finds no header
    head = _read_head(content)
    first_row, delimiter = _parse_first_row(head)
    given_names, has_header = dialect.name_columns(first_row)
    names = first_row if has_header else given_names
    if has_header and all(is_number(name) for name in names):
        raise FileFormatError(
            f"{path}, line 1 is {delimiter.join(names)!r}, where the names of columns are "
            "expected. Add a line with names above it, such as id,label or source,target."
        )
    clean_names = clean_column_names(given_names)
    text_names = set(text_columns(clean_names))
    text_positions = [at for at, name in enumerate(clean_names) if name in text_names]
    check_width(str(path), len(names))
    _check_memory(path, content, delimiter, len(names), limit)
    convert = pa.csv.ConvertOptions(
        column_types={names[at]: pa.string() for at in text_positions},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        true_values=["true", "True", "TRUE"],
        false_values=["false", "False", "FALSE"],
        decimal_point=decimal or ".",
    )
    has_quotes = content.find(b'"') >= 0
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=has_quotes)
    lines = _Lines(path, delimiter, dialect)
    block = min(max(2 * len(head), BLOCK_BYTES), MAX_BLOCK_BYTES)
    try:
        arrow = _read_blocks(content, None if has_header else names, block, parse, convert)
        if given_names != first_row:
            arrow = arrow.rename_columns(given_names)
        table = InputTable.from_arrow(
            arrow,
            str(path),
            lambda row: f"{path}, line {lines.line_number(row + has_header)}",
        )
    except pa.ArrowMemoryError as error:
        raise out_of_memory(path) from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if type(error) is pa.ArrowException:  # no thread could be started
            raise out_of_memory(path) from error
        raise lines.find_error() or _unreadable(path, error) from error
    if any(pa.types.is_binary(column.type) for column in arrow.itercolumns()):
        raise lines.find_error() or FileFormatError(f"{path} is not UTF-8. Save it as UTF-8.")
    if has_quotes and _ends_in_newline_value(arrow) and (found := lines.find_error()):
        raise found
    return table


def _read_blocks(
    content: bytes | mmap.mmap,
    names: list[str] | None,
    block: int,
    parse: pa.csv.ParseOptions,
    convert: pa.csv.ConvertOptions,
) -> pa.Table:
    """Parse in blocks; in larger ones if that fails, since a row may be longer than a block."""
    while True:
        read = pa.csv.ReadOptions(block_size=block, column_names=names)
        try:
            # A buffer, since Arrow would decompress by the name of a path.
            return pa.csv.read_csv(pa.BufferReader(pa.py_buffer(content)), read, parse, convert)
        except pa.ArrowInvalid:
            if block >= min(len(content), MAX_BLOCK_BYTES):
                raise
            block = min(16 * block, MAX_BLOCK_BYTES)


def _check_memory(
    path: Path, content: bytes | mmap.mmap, delimiter: str, num_columns: int, limit: float
) -> None:
    """Refuse a file before it is parsed if its values would take more than `limit` bytes.

    Marks within quotation marks are counted too, so there may be fewer values.
    """
    marks = lines = 0
    for start in range(0, len(content), COUNTED_BYTES):
        part = content[start : start + COUNTED_BYTES]
        marks += part.count(delimiter.encode())
        lines += part.count(b"\n") or part.count(b"\r")
    num_values = min(marks + lines + 1, num_columns * (lines + 1))
    if csv_bytes(len(content), num_values) > limit:
        raise too_large(path, limit)


def _unreadable(path: Path, error: Exception) -> FileFormatError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return FileFormatError(
        f"{path} cannot be read as CSV: {reason[:200]}. Write it again, one row per line."
    )


def _ends_in_newline_value(arrow: pa.Table) -> bool:
    """Whether the last value spans lines, which is how Arrow reads an unclosed quotation mark."""
    last = arrow.column(arrow.num_columns - 1)
    return len(last) > 0 and "\n" in str(last[-1].as_py())


def check_encoding(path: Path, content: bytes | mmap.mmap) -> None:
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


def _parse_first_row(head: bytes) -> tuple[list[str], str]:
    """The first row and the delimiter, which is the most frequent one outside quotation marks."""
    text = head.decode("utf-8-sig", errors="replace").lstrip("\r\n")
    first_line = re.split(r"[\r\n]", _QUOTED.sub(r"\1-", text), maxsplit=1)[0]
    delimiter = max(DELIMITERS, key=first_line.count)
    with _unlimited_fields():
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)), delimiter


@contextlib.contextmanager
def _unlimited_fields() -> Iterator[None]:
    """Lift the field size limit of Python's csv module, which is global, for a while."""
    before = csv.field_size_limit(MAX_FIELD_CHARACTERS)
    try:
        yield
    finally:
        csv.field_size_limit(before)


@dataclass(frozen=True)
class _Lines:
    """Reads a file again with Python's csv module, to find out what is on which line."""

    path: Path
    delimiter: str
    dialect: Dialect

    def line_number(self, row: int) -> int:
        """The line that a row starts on; a header counts as a row."""
        return next(itertools.islice(self._numbered_rows(strict=False), row, None))[0]

    def find_error(self) -> FileFormatError | None:
        """The first malformed row, or None if every row parses."""
        rows = self._numbered_rows(strict=True)
        line = 1
        try:
            _, names = next(rows)
            for line, row in rows:
                if len(row) != len(names):
                    return FileFormatError(
                        f"{self.path}, line {line} has {len(row)} of {len(names)} columns: "
                        f"{self.delimiter.join(row)[:60]!r}. Correct the line; a value that "
                        f"contains {self.delimiter!r} needs quotation marks."
                    )
        except csv.Error as error:
            return FileFormatError(
                f"{self.path}, in the row after line {line}: {error}. A quotation mark may be "
                "missing."
            )
        except FileFormatError as error:
            return error
        return None

    def _numbered_rows(self, strict: bool) -> Iterator[tuple[int, list[str]]]:
        """The first line number and the fields of each row, header included, empty rows skipped.

        With `strict` off, stray quotation marks are read the way Arrow reads them.
        """
        reader = csv.reader(self._decoded_lines(), delimiter=self.delimiter, strict=strict)
        start = 1
        with _unlimited_fields():
            for row in reader:
                if row:
                    yield start, row
                start = reader.line_num + 1

    def _decoded_lines(self) -> Iterator[str]:
        path, clean = self.path, self.dialect.clean
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
                yield line if clean is None else clean(line.encode()).decode()
