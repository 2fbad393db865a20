"""Read Matrix Market files: coordinates or arrays of real numbers, of any symmetry.

A banner names the layout, a line of sizes follows comments, then each entry has a line, which Arrow
parses. SciPy's reader is not used: a NUL byte in a number makes it crash, and Python with it.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import scipy.sparse as sp

from heatgraph.errors import FileFormatError
from heatgraph.tables.formats.csv_files import check_encoding
from heatgraph.tables.formats.file_errors import too_large
from heatgraph.tables.formats.file_formats import read_content

Array = npt.NDArray[Any]

FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
# Two indices and a value, 8 bytes each.
ENTRY_BYTES = 24

_PREAMBLE = re.compile(rb"[^\n]*\n(?:[ \t]*(?:%[^\n]*)?\r?\n)*")
_SIZES = re.compile(r"\d{1,18}")
_BLANKS = re.compile(rb"[ \t]+")
_OUTER_TABS = re.compile(rb"(?m)^\t|\t(?=\r?$)")


@dataclass(frozen=True)
class _Banner:
    """What the first lines declare; an array has no number of `entries` of its own."""

    layout: str
    field: str
    symmetry: str
    rows: int
    columns: int
    entries: int

    @property
    def names(self) -> list[str]:
        """Columns of a line."""
        if self.layout == "array":
            return ["value"]
        return ["row", "column"] + ["value"] * (self.field != "pattern")


def read_matrix_market(path: Path, limit: float) -> Any:
    """Read a matrix of at most `limit` bytes: a sparse array, or a NumPy array."""
    content = read_content(path, limit)
    check_encoding(path, content)
    preamble = _PREAMBLE.match(content)
    start = preamble.end() if preamble else len(content)
    sizes, _, body = content[start:].partition(b"\n")
    first_line = content.count(b"\n", 0, start) + 1
    banner = _read_banner(path, content, sizes, first_line)
    _check_size(path, banner, len(body), limit)
    values = _read_lines(path, banner, body, first_line + 1)
    if len(values[0]) != banner.entries:
        raise FileFormatError(
            f"{path} declares {banner.entries:,} entries in line {first_line}, and has "
            f"{len(values[0]):,}. The file is incomplete or damaged; get it again."
        )
    if banner.layout == "array":
        return _fill_array(banner, values[0])
    return _coordinates(path, banner, values, body, first_line + 1)


def _read_banner(path: Path, content: bytes, sizes: bytes, line: int) -> _Banner:
    words = content.split(b"\n", 1)[0].decode("latin1").lower().split()
    expected = (
        "'%%MatrixMarket matrix coordinate real general', where coordinate may be array, real "
        f"{', '.join(FIELDS[1:])}, and general {' or '.join(SYMMETRIES[1:])}"
    )
    if not (
        len(words) == 5
        and words[1] == "matrix"
        and words[2] in ("coordinate", "array")
        and words[3] in FIELDS
        and words[4] in SYMMETRIES
        and words[2:4] != ["array", "pattern"]
    ):
        raise FileFormatError(
            f"{path}, line 1 is {' '.join(words)[:80]!r}, where {expected}, is expected."
        )
    layout, field, symmetry = words[2:]
    numbers = sizes.decode("latin1").split()
    count = 3 if layout == "coordinate" else 2
    if len(numbers) != count or not all(_SIZES.fullmatch(number) for number in numbers):
        names = "rows, columns and entries" if count == 3 else "rows and columns"
        raise FileFormatError(
            f"{path}, line {line}: expected the numbers of {names}. Got "
            f"{' '.join(numbers)[:60]!r}. Is the file complete?"
        )
    rows, columns, *entries = map(int, numbers)
    if symmetry != "general" and rows != columns:
        raise FileFormatError(
            f"{path}, line {line}: a {symmetry} matrix must be square. It has {rows:,} rows and "
            f"{columns:,} columns."
        )
    listed = {
        "general": rows * columns,
        "symmetric": rows * (rows + 1) // 2,
        "skew-symmetric": rows * (rows - 1) // 2,
    }
    return _Banner(layout, field, symmetry, rows, columns, *(entries or [listed[symmetry]]))


def _check_size(path: Path, banner: _Banner, available: int, limit: float) -> None:
    """Compare what is declared with the size of the file, before anything is allocated."""
    # A digit and a line's end, or a blank, for each number; the last line may lack its end.
    least = banner.entries * 2 * len(banner.names) - 1
    if least > available:
        raise FileFormatError(
            f"{path} declares {banner.entries:,} entries, which take at least {least:,} bytes, and "
            f"has {available:,}. The file is incomplete or damaged; get it again."
        )
    dense = 8 * banner.rows * banner.columns if banner.layout == "array" else 0
    if max(dense, ENTRY_BYTES * banner.entries) > limit:
        raise too_large(path, limit)


def _read_lines(path: Path, banner: _Banner, body: bytes, first_line: int) -> list[Array]:
    """The columns of the lines as numbers."""
    names = banner.names
    if not body.strip():
        return [np.empty(0) for _ in names]
    types = {name: pa.float64() if name == "value" else pa.int64() for name in names}
    text = _OUTER_TABS.sub(b"", _BLANKS.sub(b"\t", body))
    try:
        table = pa.csv.read_csv(
            io.BytesIO(text),
            pa.csv.ReadOptions(column_names=names),
            pa.csv.ParseOptions(delimiter="\t", quote_char=False),
            pa.csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowException as error:
        raise _find_error(path, names, body, first_line) or FileFormatError(
            f"{path} is not in the Matrix Market format: {error}"
        ) from error
    return [table[name].to_numpy() for name in names]


def _find_error(
    path: Path, names: list[str], body: bytes, first_line: int
) -> FileFormatError | None:
    """The first line that is not as many numbers as there are `names`, or None."""
    for number, line in enumerate(body.split(b"\n"), start=first_line):
        fields = line.decode("utf-8", "replace").split()
        if fields and not (
            len(fields) == len(names)
            and all(map(_is_number, fields))
            and all(re.fullmatch(r"-?\d{1,18}", field) for field in fields[: len(names) - 1])
        ):
            return FileFormatError(
                f"{path}, line {number}: expected {', '.join(names)}. Got "
                f"{' '.join(fields)[:60]!r}. Correct the line, or get the file again."
            )
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _fill_array(banner: _Banner, values: Array) -> Array:
    """The matrix whose values are listed by columns, down from the diagonal if it is symmetric."""
    if banner.symmetry == "general":
        return values.reshape(banner.columns, banner.rows).T
    matrix = np.zeros((banner.rows, banner.rows))
    sign = -1.0 if banner.symmetry == "skew-symmetric" else 1.0
    column, row = np.triu_indices(banner.rows, k=1 if sign < 0 else 0)
    matrix[column, row] = sign * values
    matrix[row, column] = values
    return matrix


def _coordinates(
    path: Path, banner: _Banner, values: list[Array], body: bytes, first_line: int
) -> sp.coo_array:
    row, column = (index.astype(np.int64) - 1 for index in values[:2])
    data = values[2] if len(values) > 2 else np.ones(len(row))
    bad = (row < 0) | (row >= banner.rows) | (column < 0) | (column >= banner.columns)
    if bad.any():
        at = int(bad.argmax())
        filled = [n for n, line in enumerate(body.split(b"\n"), first_line) if line.strip()]
        raise FileFormatError(
            f"{path}, line {filled[at]}: row {row[at] + 1}, column {column[at] + 1} is outside the "
            f"{banner.rows:,} x {banner.columns:,} matrix, which is counted from 1 "
            f"({bad.sum():,} such in all). Correct it, or get the file again."
        )
    if banner.symmetry != "general":
        mirrored = row != column
        sign = -1.0 if banner.symmetry == "skew-symmetric" else 1.0
        row, column = np.r_[row, column[mirrored]], np.r_[column, row[mirrored]]
        data = np.r_[data, sign * data[mirrored]]
    return sp.coo_array((data, (row, column)), shape=(banner.rows, banner.columns))
