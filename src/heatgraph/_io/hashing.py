"""Fingerprints of data: SHA-256 of arrays and settings, to recognise the same data again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[Any]

# Bytes hashed at a time, so that memory-mapped arrays need not fit in memory.
BLOCK_BYTES = 1 << 22


def fingerprint(*parts: Any) -> str:
    """SHA-256, in hexadecimal, of arrays, sparse matrices and values with a complete repr.

    Dtypes and shapes count; the memory layout of a dense array does not. Object arrays are hashed
    by the repr of their values.

    Examples
    --------
    >>> fingerprint(np.zeros(3), "settings")[:8]
    '25b53f8f'
    """
    digest = hashlib.sha256()
    for part in parts:
        arrays: list[Array] = []
        description = part
        if sp.issparse(part):
            csr = part.tocsr()
            arrays = [csr.indptr, csr.indices, csr.data]
            description = (csr.shape, [(array.dtype.str, array.shape) for array in arrays])
        elif isinstance(part, np.ndarray) and part.dtype == object:
            description = (part.dtype.str, part.shape, part.tolist())
        elif isinstance(part, np.ndarray):
            arrays = [part]
            description = (part.dtype.str, part.shape)
        digest.update(repr(description).encode() + b"\0")
        for array in arrays:
            for block in _blocks(array):
                digest.update(block)
    return digest.hexdigest()


def _blocks(array: Array) -> Iterator[bytes]:
    """The bytes of an array in C order, some rows at a time."""
    array = np.atleast_1d(array)
    rows = max(1, BLOCK_BYTES // max(1, array[:1].nbytes))
    for start in range(0, len(array), rows):
        yield array[start : start + rows].tobytes()
