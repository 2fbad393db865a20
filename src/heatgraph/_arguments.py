"""Validation of arguments that several packages share: arrays, indices, dtypes and counts.

Functions named `check_...` return nothing; the others return the converted value. Those with a
parameter `name` raise `InputError` that names the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.errors import InputError

Array = npt.NDArray[Any]

# Largest number of nodes with int32 indices; larger graphs have int64.
INDEX_LIMIT = int(np.iinfo(np.int32).max)

# Values tested for NaN at a time, which bounds the memory of the boolean mask.
_VALUES_PER_CHECK = 1 << 20


def as_array(values: Any, name: str) -> Array:
    """Convert to an array without copying; masked values are an error, since NumPy unmasks them."""
    if np.ma.is_masked(values):
        raise InputError(f"{name} has masked values. Fill them, or drop them, first.")
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be read as an array: {error}") from error


def exact_array(values: Any) -> Array:
    """Copy names into a new array, of dtype object if NumPy's conversion would change a value."""
    if isinstance(values, np.ndarray):
        return values.copy()
    names = list(values)
    array = np.asarray(names) if len({type(name) for name in names}) == 1 else None
    if array is None or array.ndim != 1 or array.tolist() != names:
        array = np.empty(len(names), dtype=object)
        for position, name in enumerate(names):  # array[:] = names would unpack tuples
            array[position] = name
    return array


def check_range(nodes: Array, num_nodes: int, where: str) -> None:
    """Check that indices lie in 0..num_nodes - 1; `where` is a template for the bad position."""
    if len(nodes) == 0 or (nodes.min() >= 0 and nodes.max() < num_nodes):
        return
    outside = np.flatnonzero((nodes < 0) | (nodes >= num_nodes))
    raise range_error(where.format(outside[0]), nodes[outside[0]], num_nodes, len(outside))


def range_error(where: str, node: int, num_nodes: int, count: int) -> InputError:
    """The error for an index at the position `where`, one of `count` that are out of range."""
    return InputError(f"{where} {node} is outside 0..{num_nodes - 1} ({count:,} outside in all).")


def check_real(dtype: np.dtype[Any], name: str) -> None:
    """Check that a dtype is real: not object, complex, text or dates."""
    if dtype.kind not in "biuf":
        raise InputError(
            f"{name} must be real numbers (float, int or bool). Got dtype {dtype}; convert with "
            ".astype(float)."
        )


def check_finite(matrix: Any, name: str) -> None:
    """Check for NaN and infinity; the error gives the first row and column, and the count."""
    values = matrix.data[:, np.newaxis] if sp.issparse(matrix) else matrix
    rows_per_check = max(1, _VALUES_PER_CHECK // max(1, values.shape[1]))
    starts = range(0, len(values), rows_per_check)
    blocks = (values[start : start + rows_per_check] for start in starts)

    def position(row: int, column: int) -> tuple[int, int]:
        if sp.issparse(matrix):
            return row_of_entry(matrix, row), matrix.indices[row]
        return row, column

    check_finite_blocks(blocks, name, position)


def check_finite_blocks(
    blocks: Iterable[Array],
    name: str,
    position: Callable[[int, int], tuple[int, int]] = lambda row, column: (row, column),
) -> None:
    """Check blocks of rows as `check_finite` does; `position` is that of an entry in the error."""
    count, first, start = 0, None, 0
    for block in blocks:
        finite = np.isfinite(block)
        if not finite.all():
            rows, columns = np.nonzero(~finite)
            if first is None:
                first = (*position(start + rows[0], columns[0]), block[rows[0], columns[0]])
            count += len(rows)
        start += len(block)
    if first is not None:
        raise InputError(
            f"{name} must be finite. Row {first[0]}, column {first[1]} is {first[2]} "
            f"({count:,} such values in all); drop or impute them first."
        )


def memory_owners(array: Any) -> Iterator[Any]:
    """Yield an array, its base, the base of that, and so on down to the owner of the memory."""
    while array is not None:
        yield array
        array = getattr(array, "base", None)


def short_repr(value: object) -> str:
    """The repr of a value on one line, cut after 80 characters, for an error message.

    Examples
    --------
    >>> short_repr(np.arange(3)), len(short_repr(list(range(1000))))
    ('array([0, 1, 2])', 80)
    """
    if isinstance(value, int) and value.bit_length() > 1000:
        return "a huge number"  # repr refuses integers of more than 4300 digits
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def positive_integer(value: Any, name: str) -> int:
    """Convert an integer >= 1, such as a count, to int."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be an integer >= 1. Got {short_repr(value)}.")
    return int(value)


def float_dtype(dtype: np.dtype[Any]) -> Any:
    """float32 if it represents every value of `dtype` exactly, else float64; native byte order."""
    return np.float32 if np.result_type(dtype, np.float32) == np.float32 else np.float64


def working_dtype(dtype: Any) -> np.dtype[Any]:
    """Convert to the dtype of a computation: float32 or float64."""
    try:
        read = np.dtype(object if dtype is None else dtype)  # np.dtype(None) is float64
    except TypeError:
        read = np.dtype(object)
    if read not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputError(f"dtype must be float32 or float64. Got {short_repr(dtype)}.")
    return read


def index_dtype(num_nodes: int) -> type[np.signedinteger[Any]]:
    """Integer type of the node indices of a graph."""
    return np.int32 if num_nodes <= INDEX_LIMIT else np.int64


def row_of_entry(matrix: sp.csr_array, entry: int) -> int:
    """Row of the stored entry at a position in the arrays of a CSR matrix."""
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
