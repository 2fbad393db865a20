"""Validation of what a graph is made of: its edges, features, node ids and feature names.

SciPy and our kernels read the index arrays of a sparse matrix without bounds checks, so every index
is checked here first, with NumPy alone. Sparse matrices are copied: the caller's arrays are never
written to, and later writes to them cannot invalidate what was checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import (
    as_array,
    check_finite,
    check_range,
    check_real,
    exact_array,
    float_dtype,
    index_dtype,
    memory_owners,
    row_of_entry,
    short_repr,
)
from heatgraph.errors import InputError

Array = npt.NDArray[Any]
Merge = Literal["sum", "max"]

MERGES = {"error": np.maximum, "sum": np.add, "max": np.maximum}


@dataclass
class CSRBuilder:
    """A CSR matrix that is brought into canonical form step by step.

    `name` is the name of the matrix in errors, or "edge" for a list of edges. `weighted` is False
    without weights and for booleans.
    """

    matrix: sp.csr_array
    name: str
    weighted: bool

    @classmethod
    def read(cls, matrix: Any, name: str) -> CSRBuilder:
        """Copy a sparse or dense matrix after checking its dtype and its index arrays."""
        if not sp.issparse(matrix):
            matrix = as_array(matrix, name)
        if matrix.ndim != 2:
            raise InputError(f"{name} must have two dimensions. Got shape {matrix.shape}.")
        check_real(matrix.dtype, name)
        number = float_dtype(matrix.dtype)
        weighted = matrix.dtype.kind != "b"
        if not sp.issparse(matrix):
            return cls(sp.csr_array(matrix.astype(number, copy=False)), name, weighted)
        if matrix.format not in ("csr", "csc", "bsr"):
            try:
                if matrix.format == "lil" and list(map(len, matrix.rows)) != list(
                    map(len, matrix.data)
                ):
                    raise ValueError("its rows have different numbers of indices and values")
                coo = matrix.tocoo()
            except (IndexError, ValueError) as error:
                raise InputError(
                    f"{name} is not a valid {matrix.format} matrix: {error}"
                ) from error
            return cls.from_coordinates(coo.row, coo.col, coo.data, matrix.shape, name)
        _check_compressed(matrix, name)
        rows = matrix if matrix.format == "csr" else matrix.tocsr()
        arrays = (rows.data.astype(number), rows.indices.copy(), rows.indptr.copy())
        return cls(sp.csr_array(arrays, shape=matrix.shape), name, weighted)

    @classmethod
    def from_coordinates(
        cls, rows: Array, columns: Array, data: Array, shape: tuple[int, int], name: str
    ) -> CSRBuilder:
        """Build from coordinates, as in a COO matrix or a list of edges; duplicates stay."""
        where = "edge {}: node" if name == "edge" else name + " entry {}: index"
        whole = rows.dtype.kind in "iu" and columns.dtype.kind in "iu"
        if not whole or not len(rows) == len(columns) == len(data):
            raise InputError(
                f"{name} must have an integer row and column index for each value. Got "
                f"{len(rows)} rows of {rows.dtype}, {len(columns)} columns of {columns.dtype} and "
                f"{len(data)} values."
            )
        check_range(rows, shape[0], where)
        check_range(columns, shape[1], where)
        check_real(data.dtype, "weight" if name == "edge" else name)
        index = index_dtype(max(shape))
        coo = sp.coo_array(
            (
                data.astype(float_dtype(data.dtype), copy=False),
                (rows.astype(index, copy=False), columns.astype(index, copy=False)),
            ),
            shape=shape,
        )
        # Otherwise SciPy would sum duplicates before `merge_duplicates` sees them.
        coo.has_canonical_format = True
        return cls(coo.tocsr(), name, weighted=data.dtype.kind != "b")

    def check_weights(self) -> None:
        """Check that weights are finite and not negative."""
        bad = np.flatnonzero(~((self.matrix.data >= 0) & np.isfinite(self.matrix.data)))
        if len(bad):
            raise weight_error(self._position(bad[0]), self.matrix.data[bad[0]], len(bad))

    def merge_duplicates(self, how: Literal["error"] | Merge) -> int:
        """Sort the rows and merge duplicate entries; return the number of entries removed.

        With "error", duplicates must have equal weights. A sum is taken in the order of the list.
        """
        A = self.matrix
        row_starts = np.zeros(len(A.indices), dtype=bool)
        row_starts[A.indptr[:-1][np.diff(A.indptr) > 0]] = True
        if not ((A.indices[1:] >= A.indices[:-1]) | row_starts[1:]).all():
            if how == "sum":
                # Two transpositions sort stably, which `sort_indices` does not.
                A = self.matrix = A.tocsc().tocsr()
            else:
                A.sort_indices()
        first = row_starts
        first[1:] |= A.indices[1:] != A.indices[:-1]
        starts = np.flatnonzero(first)
        num_duplicates = len(A.indices) - len(starts)
        if not num_duplicates:
            return 0
        if how == "error":
            lowest = np.minimum.reduceat(A.data, starts)
            conflicts = np.flatnonzero(lowest < np.maximum.reduceat(A.data, starts))
            if len(conflicts):
                raise conflict_error(self._position(starts[conflicts[0]]), len(conflicts))
        self._select(first, MERGES[how].reduceat(A.data, starts))
        return num_duplicates

    def drop_zeros(self) -> None:
        """Remove stored zeros, which are not edges."""
        nonzero = self.matrix.data != 0
        if not nonzero.all():
            self._select(nonzero, self.matrix.data[nonzero])

    def _select(self, mask: npt.NDArray[np.bool_], data: Array) -> None:
        """Keep the entries of a mask, with new values."""
        A = self.matrix
        count_before = np.concatenate([[0], np.cumsum(mask)])
        self.matrix = sp.csr_array((data, A.indices[mask], count_before[A.indptr]), shape=A.shape)

    def _position(self, entry: int) -> str:
        """The name of a stored entry in errors."""
        row, column = row_of_entry(self.matrix, entry), self.matrix.indices[entry]
        return f"edge {row} -> {column}" if self.name == "edge" else f"{self.name}[{row}, {column}]"


def weight_error(position: str, weight: float, count: int) -> InputError:
    """The error for the first of `count` weights that are negative or not finite."""
    return InputError(
        f"weights must be finite and not negative. {position} has {weight:g} ({count:,} such in "
        "all); drop or correct them."
    )


def conflict_error(position: str, count: int) -> InputError:
    """The error for the first of `count` edges that are listed with different weights."""
    return InputError(
        f"{position} is given several times with different weights ({count:,} such edges in all). "
        "Pass duplicates='sum' or duplicates='max'."
    )


def asymmetry_error(
    one_way: int, num_entries: int, num_uneven: int, first: tuple[int, int]
) -> InputError:
    """The error for `one_way` entries without an opposite, or `num_uneven` that differ from it."""
    kind = f"{num_uneven // 2:,} pairs of opposite edges differ in weight"
    if one_way:
        kind = f"{one_way:,} of {num_entries:,} edges go one way only"
    return InputError(
        f"adjacency must be symmetric: {kind} (first: {first[0]} - {first[1]}). Pass "
        "symmetrize='max' or symmetrize='sum' to treat edges as undirected; "
        "Graph(..., directed=True) keeps their directions too."
    )


def degree_error(node: int) -> InputError:
    """The error for a node whose weights overflow."""
    return InputError(
        f"weights are too large: at node {node} they add up to infinity. Scale them down; without "
        "self-loops, S does not depend on their scale."
    )


def validate_features(features: Any, num_nodes: int, *, copy: bool) -> Any:
    """Validate features, dense or sparse: real and finite, with one row per node and d >= 1.

    With `copy`, dense features that the caller could change later are copied; sparse ones always
    are.
    """
    if features is None:
        return None
    is_shared = False
    if sp.issparse(features):
        entries = CSRBuilder.read(features, "features")
        entries.merge_duplicates("sum")
        X: Any = entries.matrix
    else:
        X = array = as_array(features, "features")
        if array.ndim == 2:
            check_real(array.dtype, "features")
            X = array.astype(float_dtype(array.dtype), copy=False)
        is_shared = X is array
    check_feature_shape(X.shape, num_nodes)
    check_finite(X, "features")
    return X.copy() if copy and is_shared and _is_writable(X) else X


def check_feature_shape(shape: tuple[int, ...], num_nodes: int) -> None:
    """Check that features have one row per node, and a column."""
    if len(shape) != 2:
        raise InputError(f"features must be two-dimensional, (n, d). Got shape {shape}.")
    if shape[0] != num_nodes:
        raise InputError(
            f"features must have one row per node, {num_nodes:,}. Got {shape[0]:,} rows."
        )
    if shape[1] == 0:
        raise InputError("features have no columns. Pass features=None for a graph without any.")


def _is_writable(features: Array) -> bool:
    """Whether the memory of features can be written to, through them or the arrays behind them."""
    owners = [owner for owner in memory_owners(features) if isinstance(owner, np.ndarray)]
    writable = any(owner.flags.writeable for owner in owners)
    if writable and any(isinstance(owner, np.memmap) for owner in owners):
        raise InputError(
            "features are a memory map that can be written to, and a graph must not change. Open "
            "it with mode 'r', or set X.flags.writeable = False."
        )
    return writable


def validate_node_ids(node_ids: Any, num_nodes: int) -> Array | None:
    """Validate and copy node ids: hashable and distinct, one per node."""
    if node_ids is None:
        return None
    ids = exact_array(node_ids)
    if ids.shape != (num_nodes,):
        raise InputError(
            f"node_ids must have one entry per node, {num_nodes:,}. Got shape {ids.shape}."
        )
    if ids.dtype.kind in "iu" and len(np.unique(ids)) == num_nodes:
        return ids
    if ids.dtype.kind in "SU" and len(set(ids.tolist())) == num_nodes:
        return ids
    seen: set[Any] = set()
    for position, name in enumerate(ids.tolist()):
        try:
            usable = name == name and name not in seen
            seen.add(name)
        except TypeError:
            usable = False
        if not usable:
            raise InputError(
                "node_ids must be distinct and hashable, without NaN. "
                f"Entry {position} is {name!r}, which is not, or is a duplicate."
            )
    return ids


def validate_feature_names(feature_names: Any, features: Any) -> list[str] | None:
    """Validate and copy feature names: distinct strings, one per column."""
    if feature_names is None:
        return None
    names = list(feature_names)
    expected = 0 if features is None else features.shape[1]
    if len(names) != expected:
        raise InputError(
            f"feature_names must have one name per feature, {expected:,}. Got {len(names):,}."
        )
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not isinstance(name, str) or name in seen:
            raise InputError(
                f"feature_names must be distinct strings. Entry {position} is {name!r}, which is "
                "not, or is a duplicate."
            )
        seen.add(name)
    return [str(name) for name in names]


def _check_compressed(matrix: Any, name: str) -> None:
    """Check that the index arrays of a CSR, CSC or BSR matrix are consistent and in range."""
    block = matrix.blocksize if matrix.format == "bsr" else (1, 1)
    blocks = (matrix.shape[0] // block[0], matrix.shape[1] // block[1])
    major, minor = blocks[::-1] if matrix.format == "csc" else blocks
    indptr, indices = np.asarray(matrix.indptr), np.asarray(matrix.indices)
    if len(indptr) != major + 1:
        raise InputError(
            f"{name}.indptr must have {major + 1} entries for shape {matrix.shape}. "
            f"Got {len(indptr)}."
        )
    decreases = np.flatnonzero(indptr[1:] < indptr[:-1])
    if indptr[0] != 0 or len(decreases):
        at = 0 if indptr[0] != 0 else decreases[0] + 1
        raise InputError(
            f"{name}.indptr must start at 0 and never decrease. Got {indptr[at]} at position {at}."
        )
    if not indptr[-1] == len(indices) == len(matrix.data):
        raise InputError(
            f"{name}.indptr must end at the number of stored entries. It ends at {indptr[-1]}, "
            f"with {len(indices)} indices and {len(matrix.data)} values."
        )
    check_range(indices, minor, name + ".indices[{}]: index")


def symmetrize_adjacency(A: sp.csr_array, how: Merge | None) -> sp.csr_array:
    """Merge the two directions of each edge; with `how` None, raise unless A is symmetric."""
    transposed = A.T.tocsr()
    if how != "sum" and (
        np.array_equal(A.indptr, transposed.indptr)
        and np.array_equal(A.indices, transposed.indices)
        and np.array_equal(A.data, transposed.data)
    ):
        return A
    if how is None:
        uneven = sp.csr_array(transposed != A)
        both_ways = sp.csr_array(A.astype(bool).multiply(transposed.astype(bool)))
        one_way, num_uneven = A.nnz - both_ways.nnz, uneven.nnz
        if one_way:
            uneven = uneven - uneven.multiply(both_ways)
        first = sp.coo_array(uneven)
        first.eliminate_zeros()
        raise asymmetry_error(one_way, A.nnz, num_uneven, (first.row[0], first.col[0]))
    if how == "max":
        return sp.csr_array(A.maximum(transposed))
    return sp.csr_array(A + transposed - sp.diags_array(A.diagonal()))


def count_nodes(num_nodes: int | None, features: Any) -> int:
    """The number of nodes that is given, or else that of rows of the features."""
    if num_nodes is None:
        if features is None:
            raise InputError(
                "the number of nodes is unknown: give num_nodes= or features=. The largest index "
                "in the edges would miss isolated nodes."
            )
        shape = features.shape if sp.issparse(features) else as_array(features, "features").shape
        return int(shape[0]) if shape else 0
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, int | np.integer) or num_nodes < 0:
        raise InputError(f"num_nodes must be an integer >= 0. Got {short_repr(num_nodes)}.")
    return int(num_nodes)


def edge_ends(ends: Any, name: str) -> Array:
    """One end of every edge, checked to be integers."""
    nodes = as_array(ends, name)
    if nodes.ndim != 1:
        raise InputError(f"{name} must be a list of nodes. Got an array of shape {nodes.shape}.")
    if len(nodes) == 0:
        return nodes.astype(np.int64)
    if nodes.dtype.kind not in "iu":
        raise InputError(f"{name} must be integer node indices. Got dtype {nodes.dtype}.")
    return nodes


def check_choice(name: str, value: Any, choices: tuple[str | None, ...]) -> None:
    """Check that an argument is one of some words."""
    if value not in choices:
        raise InputError(
            f"{name} must be one of {', '.join(map(repr, choices))}. Got {short_repr(value)}."
        )
