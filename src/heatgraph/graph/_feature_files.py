"""Features in a ``.npy`` file that exceed memory: validated and converted block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import check_finite_blocks, check_real, float_dtype
from heatgraph._io.tensor_file import StoredArray
from heatgraph.errors import FileFormatError, InputError
from heatgraph.graph._validation import check_feature_shape

Array = npt.NDArray[Any]

# Bytes read at a time.
BLOCK_BYTES = 1 << 20


def open_npy(path: str | Path) -> StoredArray:
    """The array of a ``.npy`` file, in C order; nothing of it is read."""
    path = Path(path)
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, ValueError) as error:
        raise FileFormatError(f"{path} is not a NumPy array: {error}") from error
    if not isinstance(mapped, np.memmap):
        raise FileFormatError(f"{path} is an archive. Save a single array with np.save.")
    if not mapped.flags.c_contiguous:
        raise InputError(
            f"{path} is in Fortran's order. Save it with np.save(path, np.ascontiguousarray(X))."
        )
    return StoredArray(path, mapped.dtype, mapped.shape, mapped.offset)


def validated_features(matrix: StoredArray, num_nodes: int, folder: Path) -> StoredArray:
    """Features as `Graph` keeps them; other dtypes are converted to a file in `folder`."""
    if len(matrix.shape) == 2:
        check_real(matrix.dtype, "features")
    check_feature_shape(matrix.shape, num_nodes)
    dtype = np.dtype(float_dtype(matrix.dtype))
    if matrix.dtype == dtype:
        check_finite_blocks(_row_blocks(matrix), "features")
        return matrix
    converted = StoredArray(folder / "features", dtype, matrix.shape)

    def convert() -> Iterator[Array]:
        with converted.path.open("wb") as file:
            for block in _row_blocks(matrix):
                file.write(block.astype(dtype).data)
                yield block

    check_finite_blocks(convert(), "features")
    return converted


def _row_blocks(matrix: StoredArray) -> Iterator[Array]:
    """Blocks of rows of about `BLOCK_BYTES`."""
    n, d = matrix.shape
    row_bytes = d * matrix.dtype.itemsize
    rows = max(1, BLOCK_BYTES // row_bytes)
    with matrix.path.open("rb") as file:
        file.seek(matrix.offset)
        for start in range(0, n, rows):
            count = min(rows, n - start)
            yield np.frombuffer(file.read(count * row_bytes), matrix.dtype).reshape(count, d)
