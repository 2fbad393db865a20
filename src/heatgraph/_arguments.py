"""Checks of arguments that several packages share: arrays, indices, precisions and counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.errors import InputError

Array = npt.NDArray[Any]

# Indices are int32 up to this number of nodes and int64 beyond.
INDEX_LIMIT = int(np.iinfo(np.int32).max)

_VALUES_PER_CHECK = 1 << 20


def as_array(values: Any, name: str) -> Array:
    """Read anything that NumPy reads, but no masked values: dropping a mask would use them."""
    if np.ma.is_masked(values):
        raise InputError(f"{name} has masked values. Fill them, or drop them, first.")
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be read as an array: {error}") from error


def exact_array(values: Any) -> Array:
    """Read names into an array of their own, as NumPy would, unless NumPy would change them."""
    if isinstance(values, np.ndarray):
        return values.copy()
    names = list(values)
    array = np.asarray(names) if len({type(name) for name in names}) == 1 else None
    if array is None or array.ndim != 1 or array.tolist() != names:
        array = np.empty(len(names), dtype=object)
        for position, name in enumerate(names):  # all at once, tuples would be taken apart
            array[position] = name
    return array


def check_range(nodes: Array, num_nodes: int, where: str) -> None:
    """Refuse indices outside 0, ..., num_nodes - 1; `where` has a place for the first such one."""
    if len(nodes) == 0 or (nodes.min() >= 0 and nodes.max() < num_nodes):
        return
    outside = np.flatnonzero((nodes < 0) | (nodes >= num_nodes))
    raise InputError(
        f"{where.format(outside[0])} {nodes[outside[0]]} is outside 0..{num_nodes - 1} "
        f"({len(outside):,} outside in all)."
    )


def check_real(dtype: np.dtype[Any], name: str) -> None:
    """Refuse what is not a real number: objects, complex numbers, text, dates."""
    if dtype.kind not in "biuf":
        raise InputError(
            f"{name} must be real numbers (float, int or bool). Got dtype {dtype}; convert with "
            ".astype(float)."
        )


def check_finite(matrix: Any, name: str) -> None:
    """Refuse NaN and infinity, naming the first row and column and how many there are."""
    count, first = 0, None
    values = matrix.data[:, np.newaxis] if sp.issparse(matrix) else matrix
    rows_per_check = max(1, _VALUES_PER_CHECK // max(1, values.shape[1]))
    for start in range(0, len(values), rows_per_check):
        block = values[start : start + rows_per_check]
        finite = np.isfinite(block)
        if finite.all():
            continue
        rows, columns = np.nonzero(~finite)
        if first is None:
            first = (start + rows[0], columns[0], block[rows[0], columns[0]])
        count += len(rows)
    if first is not None and sp.issparse(matrix):
        first = (row_of_entry(matrix, first[0]), matrix.indices[first[0]], first[2])
    if first is not None:
        raise InputError(
            f"{name} must be finite. Row {first[0]}, column {first[1]} is {first[2]} "
            f"({count:,} such values in all); drop or impute them first."
        )


def memory_owners(array: Any) -> Iterator[Any]:
    """An array, what it is a view of, and so on down to what has the memory."""
    while array is not None:
        yield array
        array = getattr(array, "base", None)


def positive_integer(value: Any, name: str) -> int:
    """Read a whole number >= 1, such as a number of things."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number >= 1. Got {value!r}.")
    return int(value)


def float_dtype(dtype: np.dtype[Any]) -> Any:
    """The native float type that holds `dtype`: float32 where that is exact, else float64."""
    return np.float32 if np.result_type(dtype, np.float32) == np.float32 else np.float64


def working_dtype(dtype: Any) -> np.dtype[Any]:
    """Read a precision to work in: float32 or float64."""
    try:
        read = np.dtype(object if dtype is None else dtype)  # NumPy reads None as float64
    except TypeError:
        read = np.dtype(object)
    if read not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputError(f"dtype must be float32 or float64. Got {dtype!r}.")
    return read


def index_dtype(num_nodes: int) -> type[np.signedinteger[Any]]:
    """The integer type of node indices."""
    return np.int32 if num_nodes <= INDEX_LIMIT else np.int64


def row_of_entry(matrix: sp.csr_array, entry: int) -> int:
    """Row of a stored entry of a CSR matrix, by its position."""
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
