"""The normalised adjacency operator S (n, n) of a graph, in the form that the kernels read.

With A the adjacency matrix, A~ = A + I (or A itself) and D~ the diagonal matrix of its row sums,

    S = D~^(-1/2) A~ D~^(-1/2),    L = I - S,

is symmetric with spectrum in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import index_dtype

Array = npt.NDArray[Any]

# Edges normalised at a time, in float64; the memory estimate of a diffusion counts this buffer.
BLOCK_EDGES = 1 << 20


@dataclass(frozen=True)
class NormalizedOperator:
    """S as a similar matrix P = R^(-1) S R that needs no value per edge if A is unweighted.

    R is the diagonal matrix of `root`. With e the position of the entry (i, j) in `indices`,

        P[i, j] = row_scale[i] values[e]  +  (diagonal[i] if i = j else 0).

    Unweighted, `values` is None and stands for ones, P is the random walk matrix D~^(-1) A~,
    `row_scale` is 1 / degree and `root` is sqrt(degree). Weighted, P = S, `row_scale` is 1 and
    `root` is None, which stands for R = I.
    """

    indptr: npt.NDArray[np.int64]
    indices: Array
    values: Array | None
    row_scale: Array
    diagonal: Array
    root: Array | None

    @classmethod
    def from_adjacency(
        cls,
        indptr: npt.NDArray[np.int64],
        indices: Array,
        weights: Array | None,
        root: Array,
        self_loops: bool,
        dtype: np.dtype[Any],
        start: int = 0,
    ) -> NormalizedOperator:
        """Normalise A in CSR form; `root` holds the square roots of the degrees of A~.

        `indptr` may be that of a block of rows, the first of which is the node `start`.
        """
        all_roots, root = root, root[start : start + len(indptr) - 1]
        isolated = np.diff(indptr) == 0
        diagonal = root**-2 if self_loops else isolated.astype(np.float64)
        if weights is None:
            values, row_scale = None, root**-2
        else:
            values = read_only(_normalize_weights(indptr, indices, weights, root, all_roots, dtype))
            row_scale = np.ones_like(root)
        return cls(
            indptr=read_only(indptr),
            indices=read_only(indices),
            values=values,
            row_scale=read_only(row_scale.astype(dtype)),
            diagonal=read_only(diagonal.astype(dtype)),
            root=read_only(root.astype(dtype)) if values is None else None,
        )

    @property
    def num_nodes(self) -> int:
        """Number of rows and columns, n."""
        return len(self.diagonal)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the values."""
        return self.diagonal.dtype

    def walk(self) -> sp.csr_array:
        """P as a SciPy array, with one value per entry."""
        values = np.repeat(self.row_scale, np.diff(self.indptr))
        if self.values is not None:
            values *= self.values
        return self._matrix(values)

    def to_scipy(self) -> sp.csr_array:
        """S as a SciPy array, with one value per entry."""
        values = self.values
        if self.root is not None:
            inverse = 1 / self.root
            values = np.repeat(inverse, np.diff(self.indptr)) * inverse[self.indices]
        return self._matrix(values)

    def __matmul__(self, X: Any) -> Any:
        return self.to_scipy() @ X

    def _matrix(self, values: Any) -> sp.csr_array:
        edges = square_array(values, self.indices, self.indptr)
        return sp.csr_array(edges + sp.diags_array(self.diagonal))


def _normalize_weights(
    indptr: Array,
    indices: Array,
    weights: Array,
    root: Array,
    column_root: Array,
    dtype: np.dtype[Any],
) -> Array:
    """Weights divided by the roots at both ends of their edge, block by block.

    The division is in float64: for tiny weights, 1 / root overflows float32, the quotient never.
    """
    values = np.empty(len(indices), dtype=dtype)
    blocks = max(1, len(values) // BLOCK_EDGES)
    cuts = np.searchsorted(indptr, np.linspace(0, len(values), blocks + 1))
    cuts[0], cuts[-1] = 0, len(root)
    for start, stop in pairwise(cuts.tolist()):
        edges = slice(indptr[start], indptr[stop])
        rows = np.repeat(root[start:stop], np.diff(indptr[start : stop + 1]))
        values[edges] = weights[edges] / rows / column_root[indices[edges]]
    return values


def square_array(data: Array, indices: Array, indptr: Array) -> sp.csr_array:
    """A square SciPy array that shares `data`, and `indices` below 2^31 entries."""
    # SciPy copies `indices` if its dtype differs from that of `indptr`.
    row_starts = indptr.astype(index_dtype(len(indices)))
    return sp.csr_array((data, indices, row_starts), shape=(len(indptr) - 1,) * 2)


def read_only(array: Array) -> Array:
    """A read-only view: validated arrays stay valid, and numba compiles for one array type."""
    view = array.view()
    view.flags.writeable = False
    return view
