"""Tables from files: CSV with commas, tabs or semicolons, plain or under gzip, and Parquet.

Arrow reads, on all cores. It does not say where in a file something is wrong, so when it refuses
one, the file is read again, slowly and in plain Python, up to the first fault. What a file is, is
told by its first bytes and not by its name.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import difflib
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
import pyarrow.parquet

from heatgraph._io.formatting import format_bytes
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError
from heatgraph.tables.source import Source, checked, column_names, is_number

# Reading may take this share of the memory budget; the graph and the work come on top.
SHARE_OF_MEMORY = 0.5
GZIP = b"\x1f\x8b"
DELIMITERS = (",", "\t", ";", "|")
HEADER_BYTES = 1 << 16
BLANK = codecs.BOM_UTF8 + b" \t\r\n"
CHUNK_BYTES = 1 << 20
# What Arrow reads at a time: a row has to fit, and it counts bytes in 32 bits.
BLOCK_BYTES, LARGEST_BLOCK = 1 << 20, 1 << 30
_QUOTED = re.compile(r'(^|[,;|\t\r\n])"(?:[^"]|"")*(?:"|$)')
# What a byte that is not UTF-8 becomes under "surrogateescape".
_NOT_UTF8 = re.compile("[\udc80-\udcff]")

# Given the columns of a file, those that are to be read as texts, to the letter.
Texts = Callable[[list[str]], Sequence[str]]


def read_source(path: str | Path, texts: Texts, memory: float) -> Source:
    """Read a file, within so many bytes of memory; `texts` applies to CSV, which has no types."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name a file.")
    if path.exists() and not path.is_file():
        raise InputError(
            f"{path} is a pipe or a device, and a table is read more than once. Save it in a file."
        )
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file{_neighbour(path)}.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}.") from error
    limit = memory * SHARE_OF_MEMORY
    if start == b"PAR1":
        return _read_parquet(path, limit)
    if path.suffix.lower() in (".parquet", ".pq"):
        raise FileFormatError(
            f"{path} is not a Parquet file: it starts with {start!r}, and Parquet with b'PAR1'. "
            "Write it again, or give it the name of what it is."
        )
    if start[:2] == GZIP:
        return _read_csv(path, _unzipped(path, limit), texts)
    if path.stat().st_size > limit:
        raise _too_large(path, limit)
    if not start:
        raise FileFormatError(_EMPTY.format(path))
    with path.open("rb") as file:
        # Unmapped when Arrow has let go of it.
        return _read_csv(path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), texts)


_EMPTY = "{} is empty. Expected a line with the names of the columns, and rows below it."


def _neighbour(path: Path) -> str:
    """A hint at a file whose name is nearly the same."""
    if not path.parent.is_dir():
        return f", and no folder {path.parent}"
    names = [other.name for other in path.parent.iterdir()]
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; there is {close[0]}" if close else ""


def _too_large(path: Path, limit: float) -> MemoryBudgetError:
    return MemoryBudgetError(
        f"{path} holds more than {format_bytes(limit)}, which is what the memory budget leaves "
        "for reading. Raise the budget, or read less."
    )


def _unzipped(path: Path, limit: float) -> bytes:
    """What is under gzip, if it is whole and no more than `limit` bytes."""
    content = bytearray()
    try:
        with gzip.open(path) as file:
            while block := file.read(CHUNK_BYTES):
                content += block
                if len(content) > limit:
                    raise _too_large(path, limit)
    except (EOFError, OSError, zlib.error) as error:
        raise FileFormatError(f"{path} is incomplete or damaged: {error}. Get it again.") from error
    return bytes(content)


def _read_parquet(path: Path, limit: float) -> Source:
    batches, size = [], 0
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            for batch in file.iter_batches():
                batches.append(batch)
                size += batch.nbytes
                if size > limit:
                    raise _too_large(path, limit)
        table = pa.Table.from_batches(batches, schema=schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileFormatError(
            f"{path} is not a whole Parquet file: {str(error).splitlines()[0]} Write it again."
        ) from error
    return checked(Source(table, str(path), lambda row: f"{path}, row {row} (counted from 0)"))


def _read_csv(path: Path, content: bytes | mmap.mmap, texts: Texts) -> Source:
    """Read what is in a file; `content` is its bytes, unzipped."""
    _check_bytes(path, content)
    if content.find(b"\n") < 0:
        content = content[:] + b"\n"  # without it, Arrow finds no header
    head = _head(content)
    names, delimiter = _header(path, head)
    called = column_names(names)
    exact = [called.index(name) for name in texts(called)]
    convert = pa.csv.ConvertOptions(
        column_types={names[at]: pa.string() for at in exact},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        true_values=["true", "True", "TRUE"],
        false_values=["false", "False", "FALSE"],
    )
    quoted = content.find(b'"') >= 0
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=quoted)
    read = pa.csv.ReadOptions(block_size=min(max(2 * len(head), BLOCK_BYTES), LARGEST_BLOCK))
    # Not by its path: Arrow goes by the name there, and would unpack what is called .gz.
    file = pa.BufferReader(pa.py_buffer(content))
    try:
        table = pa.csv.read_csv(file, read, parse, convert)
        source = checked(
            Source(table, str(path), lambda row: f"{path}, line {_line(path, delimiter, row)}")
        )
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise _fault(path, delimiter) or FileFormatError(f"{path}: {error}") from error
    if any(pa.types.is_binary(column.type) for column in table.itercolumns()):
        raise _fault(path, delimiter) or FileFormatError(f"{path} is not UTF-8.")
    if quoted and _ends_in_many_lines(table) and (fault := _fault(path, delimiter)):
        raise fault
    return source


def _ends_in_many_lines(table: pa.Table) -> bool:
    """Whether the last value has several lines: to Arrow, an open quotation mark ends there."""
    last = table.column(table.num_columns - 1)
    return len(last) > 0 and "\n" in str(last[-1].as_py())


def _check_bytes(path: Path, content: bytes | mmap.mmap) -> None:
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise FileFormatError(f"{path} is UTF-16. Save it as UTF-8.")
    at = content.find(b"\0")
    if at >= 0:
        line = content[:at].count(b"\n") + 1
        raise FileFormatError(
            f"{path}, line {line}: there is a NUL byte, which no text has. The file is damaged, or "
            "something else than CSV; save it as UTF-8."
        )
    if not content[:HEADER_BYTES].strip(BLANK):
        raise FileFormatError(_EMPTY.format(path))


def _head(content: bytes | mmap.mmap) -> bytes:
    """The start of a file, with its first line whole."""
    return content[: max(HEADER_BYTES, content.find(b"\n") + 1)]


def _header(path: Path, head: bytes) -> tuple[list[str], str]:
    """Names of columns, and what separates them: what is there most, outside quotation marks."""
    text = head.decode("utf-8-sig", errors="replace").lstrip("\r\n")
    first = re.split(r"[\r\n]", _QUOTED.sub(r"\1-", text), maxsplit=1)[0]
    chosen = max(DELIMITERS, key=first.count)
    with _long_values():
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=chosen))
    if all(is_number(name) for name in names):
        raise FileFormatError(
            f"{path}, line 1 is {chosen.join(names)!r}, where the names of columns are expected. "
            "Add a line with names above it, such as source,target."
        )
    return names, chosen


@contextlib.contextmanager
def _long_values() -> Iterator[None]:
    """Let values of any length pass, where Python's reader stops at 131,072 characters."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _rows(path: Path, delimiter: str, strict: bool) -> Iterator[tuple[int, list[str]]]:
    """Rows with the numbers of the lines that they start on, the header first, none empty.

    Without `strict`, stray quotation marks are read as Arrow reads them.
    """
    reader = csv.reader(_lines(path), delimiter=delimiter, strict=strict)
    start = 1
    with _long_values():
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num + 1


def _lines(path: Path) -> Iterator[str]:
    with path.open("rb") as plain:
        zipped = plain.read(2) == GZIP
    with (
        gzip.open(path) if zipped else path.open("rb") as file,
        io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="") as texts,
    ):
        for number, line in enumerate(texts, start=1):
            if not line.isascii() and (bad := _NOT_UTF8.search(line)):
                before = len(line[: bad.start()].encode())
                raise FileFormatError(
                    f"{path}, line {number}: byte 0x{ord(bad[0]) - 0xDC00:02X} at position "
                    f"{before + 1} is not UTF-8. Save the file as UTF-8."
                )
            yield line


def _fault(path: Path, delimiter: str) -> FileFormatError | None:
    """The first thing that is wrong with a file, if it is a matter of its form."""
    rows = _rows(path, delimiter, strict=True)
    line = 1
    try:
        _, names = next(rows)
        for line, row in rows:
            if len(row) != len(names):
                return FileFormatError(
                    f"{path}, line {line} has {len(row)} of {len(names)} columns: "
                    f"{delimiter.join(row)[:60]!r}. Mend the line; a value with {delimiter!r} in "
                    "it needs quotation marks."
                )
    except csv.Error as error:
        return FileFormatError(
            f"{path}, in the row after line {line}: {error}. A quotation mark may be missing."
        )
    except FileFormatError as error:
        return error
    return None


def _line(path: Path, delimiter: str, row: int) -> int:
    """The line that a row starts on."""
    return next(itertools.islice(_rows(path, delimiter, strict=False), row + 1, None))[0]
