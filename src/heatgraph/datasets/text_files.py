"""Lines, node ids, edges and binary features of data sets in text files, each value checked.

What is read is bounded by the size of the file, never by a number in it: nodes are counted before
anything is indexed by them, and a feature index is at most `MAX_FEATURES` - 1, since weights of
shape (d, C) are dense.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import INDEX_LIMIT
from heatgraph._io.regular_files import open_regular_file
from heatgraph.errors import FileFormatError

Indices = npt.NDArray[np.int64]

MAX_FEATURES = 1 << 20

# Characters of a bad value that an error quotes.
_QUOTED = 40


def text_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file, with their line ends; a byte order mark is dropped."""
    with open_regular_file(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise FileFormatError(
                    f"{path}, line {number}: not UTF-8 text (byte {error.start + 1} of the line is "
                    f"0x{line[error.start]:02x}). Get it again, or save it as UTF-8."
                ) from error
            yield text.removeprefix("\ufeff") if number == 1 else text


def split_lines(path: Path, separator: str, columns: int) -> Iterator[tuple[str, list[str]]]:
    """Place and fields of each line, the header first; blank lines are skipped.

    The place is "FILE, line 3". Every line must have as many fields as there are `columns`.
    """
    empty = True
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        fields = [field.strip() for field in line.split(separator)]
        if len(fields) != columns:
            raise FileFormatError(
                f"{where}: expected {columns} columns separated by {separator!r}. Got "
                f"{len(fields)}. Get the file again."
            )
        if empty and any(field.isdigit() for field in fields):
            raise FileFormatError(
                f"{where}: expected a header with the names of {columns} columns. Got "
                f"{line.strip()[:_QUOTED]!r}. Get the file again."
            )
        empty = False
        yield where, fields
    if empty:
        raise FileFormatError(f"{path} is empty. Get it again.")


def read_index(text: str, where: str, what: str, limit: int = INDEX_LIMIT + 1) -> int:
    """Read an integer in 0..limit - 1; `what` is its name in errors.

    Examples
    --------
    >>> read_index("7", "edges.csv, line 2", "a node")
    7
    """
    # Python refuses to convert thousands of digits; no index has more than 19.
    if text.isascii() and text.isdigit() and len(text) < 20 and int(text) < limit:
        return int(text)
    raise FileFormatError(
        f"{where}: {what} must be an integer in 0..{limit - 1}. Got {text[:_QUOTED]!r}. Get the "
        "file again."
    )


def check_numbering(places: Mapping[int, str]) -> None:
    """Check that the n nodes are 0, ..., n - 1; `places` says where each was read."""
    n = len(places)
    outside = [node for node in places if node >= n]
    if outside:
        missing = next(node for node in range(n) if node not in places)
        raise FileFormatError(
            f"{places[outside[0]]}: the {n:,} nodes must be numbered 0..{n - 1}. Got node "
            f"{outside[0]} ({len(outside):,} such in all), and no node {missing}. Get the file "
            "again."
        )


def read_edges(path: Path, separator: str, num_nodes: int) -> tuple[Indices, Indices]:
    """Read sources and targets from two columns below a header, in the order of the file."""
    ends = array("q")
    lines = split_lines(path, separator, 2)
    next(lines)
    for where, fields in lines:
        ends.extend(read_index(field, where, "a node", num_nodes) for field in fields)
    edges = np.frombuffer(ends, dtype=np.int64).reshape(-1, 2) if ends else np.empty((0, 2), int)
    return edges[:, 0], edges[:, 1]


def binary_features(lists: Sequence[Sequence[int] | Indices], num_features: int) -> sp.csr_array:
    """CSR matrix of ones, from the indices of each row's nonzero features; duplicates count once.

    Examples
    --------
    >>> binary_features([[2, 0, 2], []], 3).toarray()
    array([[1., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    """
    rows = [np.unique(np.asarray(indices, dtype=np.int64)) for indices in lists]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.concatenate(rows)
    ones = np.ones(len(indices), dtype=np.float32)
    return sp.csr_array((ones, indices, indptr), shape=(len(rows), num_features))
