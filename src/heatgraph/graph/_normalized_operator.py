r"""The normalised operator S of a graph.

With A the adjacency, A~ = A + I (or A itself) and D~ the diagonal of its row sums,

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

# Edges that are normalised at a time.
BLOCK_EDGES = 1 << 20


@dataclass(frozen=True)
class NormalizedOperator:
    """S as the kernels read it: as a matrix P with the same spectrum, and A's pattern beside D.

    With R the diagonal matrix of `root`, which is the identity if that is None, S = R P R^(-1) and

        P[i, j]  =  outgoing[i] values[e]  +  diagonal[i] if i = j,

    where `values` are all 1 if they are None. An unweighted graph keeps no value per edge: P is the
    walk D~^(-1) A~ then, `root` the square root of degrees, and `outgoing` one over the degrees.
    """

    indptr: npt.NDArray[np.int64]
    indices: Array
    values: Array | None
    outgoing: Array
    diagonal: Array
    root: Array | None

    @classmethod
    def of(
        cls,
        indptr: npt.NDArray[np.int64],
        indices: Array,
        weights: Array | None,
        root: Array,
        self_loops: bool,
        dtype: np.dtype[Any],
    ) -> NormalizedOperator:
        """Normalise A, given by its entries, with the square roots of the degrees of A~."""
        isolated = np.diff(indptr) == 0
        diagonal = root**-2 if self_loops else isolated.astype(np.float64)
        if weights is None:
            values, outgoing = None, root**-2
        else:
            values = read_only(_normalised(indptr, indices, weights, root, dtype))
            outgoing = np.ones_like(root)
        return cls(
            indptr=read_only(indptr),
            indices=read_only(indices),
            values=values,
            outgoing=read_only(outgoing.astype(dtype)),
            diagonal=read_only(diagonal.astype(dtype)),
            root=read_only(root.astype(dtype)) if values is None else None,
        )

    @property
    def num_nodes(self) -> int:
        """Number of rows."""
        return len(self.diagonal)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        return self.diagonal.dtype

    def walk(self) -> sp.csr_array:
        """P as a SciPy array, with one value per entry."""
        values = np.repeat(self.outgoing, np.diff(self.indptr))
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


def _normalised(
    indptr: Array, indices: Array, weights: Array, root: Array, dtype: np.dtype[Any]
) -> Array:
    """Weights over both ends' roots, block by block.

    In float64: a small weight's scale can exceed float32, its product cannot.
    """
    values = np.empty(len(indices), dtype=dtype)
    blocks = max(1, len(values) // BLOCK_EDGES)
    cuts = np.searchsorted(indptr, np.linspace(0, len(values), blocks + 1))
    cuts[0], cuts[-1] = 0, len(root)
    for start, stop in pairwise(cuts.tolist()):
        edges = slice(indptr[start], indptr[stop])
        rows = np.repeat(root[start:stop], np.diff(indptr[start : stop + 1]))
        values[edges] = weights[edges] / rows / root[indices[edges]]
    return values


def square_array(data: Array, indices: Array, indptr: Array) -> sp.csr_array:
    """A square SciPy array over these entries, none of which is copied if it can be helped."""
    # SciPy would copy indices of another type than the row starts.
    starts = indptr.astype(index_dtype(len(indices)))
    return sp.csr_array((data, indices, starts), shape=(len(indptr) - 1,) * 2)


def read_only(array: Array) -> Array:
    """Give a read-only view: what is checked stays so, and kernels see one type of array."""
    view = array.view()
    view.flags.writeable = False
    return view
