"""Reader of NumPy's .npz archives that validates every header before it allocates memory.

An archive is a zip file with a member ``NAME.npy`` per array: a header with dtype and shape, then
the data. Before an array is allocated, all of these must hold:

    header + itemsize * n_1 * ... * n_k  =  declared size of the member
    declared size  <=  1032 * compressed size                    (the most that deflate can do)
    sum of compressed sizes  <=  size of the file

Exactly that many bytes are then read into the array, so that reading takes the memory of the array
and one block. Nothing is unpickled and nothing is written to disk.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import check_range
from heatgraph._io.memory import require_memory
from heatgraph._io.regular_files import open_regular_file
from heatgraph.errors import FileFormatError, InputError

Array = npt.NDArray[Any]

# Bytes per read.
BLOCK_BYTES = 1 << 20
# Deflate encodes at most 258 bytes in 2 bits; the slack covers headers of small members.
DEFLATE_RATIO, DEFLATE_SLACK = 1032, 1024
# NumPy writes headers of 118 bytes or a few more; its reader has the same limit.
MAX_HEADER_BYTES = 10_000
MAX_DIMENSIONS = 32
MAX_SIDE = 2**62

_ENCRYPTED = 0x1
_PLAIN_TYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248]|[SU][1-9]\d{0,6})")
# An item of a header, without white space. The pattern is unambiguous, so that no header makes it
# backtrack. Python 2 wrote 7L for 7.
_HEADER_ITEM = (
    r"['\"](descr|fortran_order|shape)['\"]:"
    r"(['\"][^'\"]*['\"]|True|False|\((?:\d{1,19}L?(?:,|(?=\))))*\)),?"
)
_HEADER = re.compile(r"\{(?:" + _HEADER_ITEM + r"){3}\}")
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, OverflowError, NotImplementedError,
    RuntimeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class _Layout:
    """The header of an array, checked against the size of its member."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]


class NpzArchive:
    """An open .npz archive, whose arrays are read one at a time.

    Opening it reads the list of members only.

    Parameters
    ----------
    path : str or Path

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/two.npz", a=np.arange(3), b=np.eye(2))
    ...     with NpzArchive(f"{folder}/two.npz") as archive:
    ...         print(archive.names, archive.read("a"))
    ['a', 'b'] [0 1 2]
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = open_regular_file(self.path)
        try:
            with self._zip_errors():
                self._zip = zipfile.ZipFile(self._file)
            self._members = self._read_members()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> NpzArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    @property
    def names(self) -> list[str]:
        """Names of the arrays, in the order of the file."""
        return list(self._members)

    def size(self, name: str) -> int:
        """Size of an array in bytes, as the archive declares it; reading checks it."""
        return self._member(name).file_size

    def read(self, name: str) -> Array:
        """Read one array."""
        info = self._member(name)
        require_memory(f"{self.path}: array {name!r}", info.file_size)
        with self._zip_errors(), self._zip.open(info) as member:
            layout = self._layout(name, member, info.file_size)
            flat = np.empty(math.prod(layout.shape), dtype=layout.dtype)
            self._fill(member, flat)
        if layout.dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
            raise FileFormatError(
                f"{self.path}: array {name!r} has bytes that are neither True nor False. "
                "Get it again."
            )
        return flat.reshape(layout.shape, order=layout.order)

    def _member(self, name: str) -> zipfile.ZipInfo:
        if name not in self._members:
            present = ", ".join(self.names[:20]) or "nothing"
            raise FileFormatError(
                f"{self.path} has no array {name!r}. It has: {present}. Is it the right file?"
            )
        return self._members[name]

    def _read_members(self) -> dict[str, zipfile.ZipInfo]:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            self._check_name(info.orig_filename)
            self._check_size(info)
            name = info.filename.removesuffix(".npy")
            if name in members:
                raise FileFormatError(f"{self.path} has two arrays {name!r}. Get it again.")
            if info.filename.endswith(".npy"):
                members[name] = info
        claimed = sum(info.compress_size for info in self._zip.infolist())
        size = self.path.stat().st_size
        if claimed > size:
            raise FileFormatError(
                f"{self.path} is incomplete or damaged: its members claim {claimed:,} bytes of "
                f"the file's {size:,}. Get it again."
            )
        return members

    def _check_name(self, name: str) -> None:
        if re.search(r"^/|[\\:\0]|(^|/)\.\.(/|$)", name):
            raise FileFormatError(
                f"{self.path} has a member {name[:80]!r}, which points out of the archive. Do not "
                "use this file."
            )

    def _check_size(self, info: zipfile.ZipInfo) -> None:
        where = f"{self.path}: member {info.filename[:80]!r}"
        if info.flag_bits & _ENCRYPTED:
            raise FileFormatError(f"{where} is encrypted. Save it with numpy.savez.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileFormatError(
                f"{where} is compressed by method {info.compress_type}, and only 0 (stored) and 8 "
                "(deflate) are read. Save it with numpy.savez or numpy.savez_compressed."
            )
        capacity = info.compress_size
        if info.compress_type == zipfile.ZIP_DEFLATED:
            capacity = DEFLATE_RATIO * capacity + DEFLATE_SLACK
        if info.file_size > capacity:
            raise FileFormatError(
                f"{where} is incomplete or damaged: it claims {info.file_size:,} bytes, and "
                f"its {info.compress_size:,} bytes in the file hold at most {capacity:,}. Get it "
                "again."
            )

    def _layout(self, name: str, member: IO[bytes], size: int) -> _Layout:
        """Read an array's header and check that its data fill the member."""
        where = f"{self.path}: array {name!r}"
        start = member.read(8)
        version = tuple(start[6:])
        if start[:6] != b"\x93NUMPY" or version not in ((1, 0), (2, 0)):
            raise FileFormatError(
                f"{where} is not in NumPy's format, version 1.0 or 2.0: it begins with {start!r}."
            )
        prefix = member.read(2 if version == (1, 0) else 4)
        length = int.from_bytes(prefix, "little")
        if length > MAX_HEADER_BYTES:
            raise FileFormatError(
                f"{where} has a header of {length:,} bytes, where {MAX_HEADER_BYTES:,} are more "
                "than enough. Get it again."
            )
        layout = _read_header(where, member.read(length).decode("latin1"))
        content = math.prod(layout.shape) * layout.dtype.itemsize
        if len(start) + len(prefix) + length + content != size:
            raise FileFormatError(
                f"{where} is incomplete or damaged: shape {layout.shape} of {layout.dtype} takes "
                f"{content:,} bytes, and its member has {size:,} with the header. Get it again."
            )
        return layout

    def _fill(self, member: IO[bytes], flat: Array) -> None:
        """Read the data; zipfile compares the checksum at the end."""
        target = flat.view(np.uint8).data
        filled = 0
        while filled < len(target):
            block = member.read(min(BLOCK_BYTES, len(target) - filled))
            if not block:
                raise EOFError(f"it ends after {filled:,} of {len(target):,} bytes")
            target[filled : filled + len(block)] = block
            filled += len(block)

    @contextmanager
    def _zip_errors(self) -> Iterator[None]:
        """Translate errors of zipfile."""
        try:
            yield
        except FileFormatError:
            raise
        except _ZIP_ERRORS as error:
            raise FileFormatError(
                f"{self.path} is incomplete or damaged: {error}. Get it again."
            ) from error


def read_npz(path: str | Path, names: Iterable[str] | None = None) -> dict[str, Array]:
    """Read arrays of an .npz archive, by default all of them.

    As `numpy.load`, but only numbers, booleans and texts of fixed length are read. An archive that
    is damaged, declares more than it holds or does not fit into memory is refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez_compressed(f"{folder}/two.npz", a=np.arange(3), b=np.eye(2))
    ...     read_npz(f"{folder}/two.npz", ["a"])
    {'a': array([0, 1, 2])}
    """
    with NpzArchive(path) as archive:
        selected = archive.names if names is None else list(names)
        require_memory(f"{path}: its arrays", sum(archive.size(name) for name in selected))
        return {name: archive.read(name) for name in selected}


def read_sparse_npz(path: str | Path) -> sp.csr_array | sp.csc_array | sp.coo_array:
    """Read a matrix that `scipy.sparse.save_npz` wrote, in csr, csc or coo format.

    Every index is checked. Entries keep their order and duplicates. Values that are all 1 are
    returned as int8. Peak memory is the size of the arrays in the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sp.save_npz(f"{folder}/matrix.npz", sp.eye_array(3, format="coo"))
    ...     matrix = read_sparse_npz(f"{folder}/matrix.npz")
    >>> matrix.format, matrix.nnz, matrix.dtype
    ('coo', 3, dtype('int8'))
    """
    with NpzArchive(path) as archive:
        kind = _matrix_format(archive)
        shape = _matrix_shape(archive)
        index_names = ("row", "col") if kind == "coo" else ("indices", "indptr")
        require_memory(
            f"{path}: its matrix", sum(archive.size(name) for name in ("data", *index_names))
        )
        data = _matrix_values(archive)
        first, second = (_index_array(archive, name) for name in index_names)
    try:
        if kind == "coo":
            _check_coordinates(first, second, len(data), shape)
            return sp.coo_array((data, (first, second)), shape=shape)
        _check_compressed(first, second, len(data), shape[::-1] if kind == "csc" else shape)
        build = sp.csc_array if kind == "csc" else sp.csr_array
        return build((data, first, second), shape=shape)
    except InputError as error:
        raise FileFormatError(f"{path}: {error} Get it again.") from error


def _read_header(where: str, text: str) -> _Layout:
    shown = text[:200].strip()
    text = re.sub(r"\s+", "", text)
    entries = dict(re.findall(_HEADER_ITEM, text)) if _HEADER.fullmatch(text) else {}
    if len(entries) != 3:
        raise FileFormatError(
            f"{where} is not an array of plain numbers, booleans or texts: its header is {shown!r}."
        )
    dtype = _plain_type(where, entries["descr"].strip("'\""))
    shape = tuple(int(side) for side in re.findall(r"\d+", entries["shape"]))
    bytes_without_zeros = math.prod(max(side, 1) for side in shape) * dtype.itemsize
    if (
        entries["shape"][0] != "("
        or entries["fortran_order"] not in ("True", "False")
        or len(shape) > MAX_DIMENSIONS
        or bytes_without_zeros >= 2**63
    ):
        raise FileFormatError(f"{where} has a header that fits no array: {shown!r}. Get it again.")
    return _Layout(dtype, shape, "F" if entries["fortran_order"] == "True" else "C")


def _plain_type(where: str, code: str) -> np.dtype[Any]:
    if re.fullmatch(r"[<>|=]?O\d*", code):
        raise FileFormatError(
            f"{where} holds Python objects. Reading them would run whatever code the file names, "
            "so they are refused. Save it again as numbers."
        )
    if not _PLAIN_TYPE.fullmatch(code):
        raise FileFormatError(
            f"{where} has dtype {code[:40]!r}, where plain numbers, booleans or texts of fixed "
            "length are expected. Save it again as one of these."
        )
    return np.dtype(code)


def _matrix_format(archive: NpzArchive) -> str:
    """Read the sparse format of a matrix; older versions of SciPy wrote it as bytes."""
    kind = archive.read("format")
    text = ""
    if kind.shape == () and kind.dtype.kind in "SU":
        text = kind.tobytes().replace(b"\0", b"").decode("latin1")
    if text not in ("csr", "csc", "coo"):
        raise FileFormatError(
            f"{archive.path} must hold a csr, csc or coo matrix. Got format {text[:20]!r}; convert "
            "it with .tocsr() and save it again."
        )
    return text


def _matrix_shape(archive: NpzArchive) -> tuple[int, int]:
    shape = archive.read("shape")
    sides = tuple(shape.tolist()) if shape.shape == (2,) and shape.dtype.kind in "iu" else ()
    if not sides or min(sides) < 0 or max(sides) > MAX_SIDE:
        raise FileFormatError(
            f"{archive.path}: 'shape' must be two integers in 0..{MAX_SIDE}. Got "
            f"{sides or shape.dtype}."
        )
    return sides[0], sides[1]


def _matrix_values(archive: NpzArchive) -> Array:
    data = archive.read("data")
    if data.ndim != 1 or data.dtype.kind not in "biuf":
        raise FileFormatError(
            f"{archive.path}: 'data' must be a list of numbers. Got shape {data.shape} of "
            f"{data.dtype}."
        )
    starts = range(0, len(data), BLOCK_BYTES)
    if all((data[start : start + BLOCK_BYTES] == 1).all() for start in starts):
        return np.ones(len(data), dtype=np.int8)
    return data.astype(data.dtype.newbyteorder("="), copy=False)


def _index_array(archive: NpzArchive, name: str) -> Array:
    index = archive.read(name)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise FileFormatError(
            f"{archive.path}: {name!r} must be a list of integers. Got shape {index.shape} of "
            f"{index.dtype}."
        )
    return index


def _check_coordinates(row: Array, col: Array, count: int, shape: tuple[int, int]) -> None:
    if not len(row) == len(col) == count:
        raise InputError(
            f"'row', 'col' and 'data' must be equally long. Got {len(row):,}, {len(col):,} and "
            f"{count:,}."
        )
    check_range(row, shape[0], "'row' entry {}:")
    check_range(col, shape[1], "'col' entry {}:")


def _check_compressed(indices: Array, indptr: Array, count: int, shape: tuple[int, int]) -> None:
    """Check the index arrays of a CSR matrix, or of a CSC matrix with its shape reversed."""
    if len(indptr) != shape[0] + 1:
        raise InputError(f"'indptr' must have {shape[0] + 1:,} entries. Got {len(indptr):,}.")
    decreases = np.flatnonzero(indptr[1:] < indptr[:-1])
    if indptr[0] != 0 or len(decreases):
        at = 0 if indptr[0] != 0 else decreases[0] + 1
        raise InputError(
            f"'indptr' must start at 0 and never fall. Got {indptr[at]} at position {at}."
        )
    if not indptr[-1] == len(indices) == count:
        raise InputError(
            f"'indptr' must end at the number of entries. It ends at {indptr[-1]}, with "
            f"{len(indices):,} indices and {count:,} values."
        )
    check_range(indices, shape[1], "'indices' entry {}:")
