"""Verify A = A^T in one pass over the entries, without random access to the transposed ones.

With random hashes a and b of nodes and h of weights, in arithmetic modulo 2^64, the sum

    sum over entries (i, j) of (a(i) b(j) - b(i) a(j)) h(A[i, j])

is zero if A is symmetric, and otherwise with a probability of about 2^-58.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class SymmetryHash:
    """The sum of the module docstring, with 64-bit hashes drawn anew for each reading.

    Nobody can construct an asymmetric file that passes, since the hashes are not known beforehand.
    """

    def __init__(self) -> None:
        random = np.frombuffer(secrets.token_bytes(6 * 8), dtype=np.uint64)
        self._shift, *self._factors = random | np.uint64(1)

    def hash_weights(self, weights: Array) -> Array:
        """The hash h of each weight, from its bits."""
        bits = weights.view(f"u{weights.dtype.itemsize}").astype(np.uint64)
        return _mix(_mix(bits, self._factors[3]), self._factors[4])

    def balance(self, rows: Array, columns: Array, factor: Array | None) -> int:
        """Sum of (a(i) b(j) - b(i) a(j)) h over entries (i, j), up to multiples of 2^64."""
        first = rows[0]
        row_hashes = self._hash_nodes(np.arange(first, rows[-1] + 1))
        a_row, b_row = (hashes[rows - first] for hashes in row_hashes)
        a_column, b_column = self._hash_nodes(columns)
        if factor is not None:
            a_row *= factor
            b_row *= factor
        return int(np.dot(a_row, b_column)) - int(np.dot(b_row, a_column))

    def _hash_nodes(self, nodes: Array) -> tuple[Array, Array]:
        """The hashes a and b of each node."""
        a = nodes.astype(np.uint64)
        a += self._shift
        a = _mix(_mix(a, self._factors[0]), self._factors[1])
        return a, _mix(a.copy(), self._factors[2])


def _mix(hashes: Array, factor: np.uint64) -> Array:
    """Multiply and xor-shift in place: each bit spreads upwards, then the upper half downwards."""
    hashes *= factor
    hashes ^= hashes >> np.uint64(32)
    return hashes
