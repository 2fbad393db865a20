"""Read matrices: Matrix Market, SciPy's and NumPy's .npz, NumPy's .npy, svmlight.

What a header declares is compared with the size of the file before anything is allocated, and
nothing is unpickled.
"""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.datasets.npz import NpzArchive, read_sparse_npz
from heatgraph.datasets.text_files import MAX_FEATURES
from heatgraph.errors import FileFormatError
from heatgraph.tables.formats.file_errors import empty_file, too_large
from heatgraph.tables.formats.file_formats import Format, read_content
from heatgraph.tables.formats.matrix_market import read_matrix_market

Array = npt.NDArray[Any]

_SPARSE_ARRAYS = {"format", "shape", "data"}


def read_matrix(path: Path, file_format: Format, limit: float) -> Any:
    """Read a matrix of at most `limit` bytes: a NumPy array, or a sparse array of SciPy."""
    if path.stat().st_size == 0:
        raise empty_file(path)
    readers = {"matrix market": read_matrix_market, "npz": _read_npz, "npy": _read_npy,
               "svmlight": _read_svmlight}  # fmt: skip
    matrix = readers[file_format](path, limit)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise FileFormatError(
            f"{path} must hold a matrix of real numbers. It has shape {matrix.shape} and type "
            f"{matrix.dtype}."
        )
    return matrix


def _read_npz(path: Path, limit: float) -> Any:
    with NpzArchive(path) as archive:
        names = archive.names
        if sum(archive.size(name) for name in names) > limit:
            raise too_large(path, limit)
        if not set(names) >= _SPARSE_ARRAYS:
            if len(names) != 1:
                raise FileFormatError(
                    f"{path} must hold a sparse matrix that scipy.sparse.save_npz wrote, or one "
                    f"array. It has {', '.join(names[:8]) or 'none'}."
                )
            return archive.read(names[0])
    return read_sparse_npz(path)


def _read_npy(path: Path, limit: float) -> Any:
    try:
        # Mapped, not read: a header may declare more than the file has.
        with np.errstate(all="ignore"):
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (
        ValueError,
        TypeError,
        OverflowError,
        EOFError,
        OSError,
        SyntaxError,
        TokenError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "Python objects" in reason or "allow_pickle" in reason:
            raise FileFormatError(
                f"{path} holds Python objects. Reading them would run whatever code the file "
                "names, so they are refused. Save it again as numbers."
            ) from error
        # A header is Python code, of whose syntax tree NumPy prints the address.
        reason = re.sub(r" ?on line \d+: <.*>$", "", reason)
        raise FileFormatError(
            f"{path} is incomplete or damaged: {reason}. Get it again."
        ) from error
    if array.nbytes > limit:
        raise too_large(path, limit)
    return np.array(array)


def _read_svmlight(path: Path, limit: float) -> sp.csr_array:
    """Read the features of an svmlight file: column i is what the file calls i; no labels."""
    from sklearn.datasets import load_svmlight_file

    content = read_content(path, limit)
    try:
        X, _ = load_svmlight_file(io.BytesIO(content), zero_based=True, multilabel=True)
    except (ValueError, OverflowError, TypeError) as error:
        raise _find_svmlight_error(path, content) or FileFormatError(
            f"{path} cannot be read as svmlight: {error}. Expected lines such as '1 3:0.5 7:2'."
        ) from error
    if X.shape[0] == 0:
        raise empty_file(path)
    return sp.csr_array(X)


def _find_svmlight_error(path: Path, content: bytes) -> FileFormatError | None:
    """The first line that is no svmlight, or None."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        fields = line.split(b"#", 1)[0].decode("utf-8", "replace").split()
        problem = _svmlight_problem(fields) if fields else ""
        if problem:
            return FileFormatError(
                f"{path}, line {number}: {problem}. Expected a label, then pairs of an increasing "
                "index and a number, such as '1 3:0.5 7:2'. Correct the line."
            )
    return None


def _svmlight_problem(fields: list[str]) -> str:
    if ":" not in fields[0] and not all(_is_finite(text) for text in fields[0].split(",")):
        return f"the label {fields[0][:40]!r} is not a number"
    last = -1
    for field in fields[1:] if ":" not in fields[0] else fields:
        name, colon, value = field.partition(":")
        if name == "qid":
            continue
        if not colon or not name.isdecimal() or not _is_finite(value):
            return f"{field[:40]!r} is not an index, a colon and a number"
        if int(name[:19]) >= MAX_FEATURES:
            return f"index {name[:40]} is not below {MAX_FEATURES:,}"
        if int(name) <= last:
            return f"index {name} comes after {last}"
        last = int(name)
    return ""


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
