"""Columns as ids, labels, weights and features: exact, or refused with the place of the fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.tables.source import Source, is_number

Array = npt.NDArray[Any]

# Features with at least so many columns, none negative and so large a share of zeros are words or
# counts, and are kept sparse.
SPARSE_COLUMNS, SPARSE_SHARE = 20, 0.8
# So many values tell whether a column of texts was meant to be numbers.
FIRST_VALUES = 100
# Texts that are all numbers, some of them fractions, may still be classes if they are this few.
MOST_FRACTIONS = 20
_POWERS_OF_TEN = np.array([10**power for power in range(1, 20)], dtype=np.uint64)
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|NaN|inf)"
_LIST = rf"^\s*\[\s*({_NUMBER})(\s*[,;\s]\s*({_NUMBER}))*\s*\]\s*$"


def read_ids(source: Source, name: str) -> pa.ChunkedArray:
    """Ids to the letter: texts, or whole numbers; none missing."""
    column = source.column(name)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if not (_is_text(column.type) or pa.types.is_integer(column.type)):
        raise InputError(
            f"{source.name}: ids must be texts or whole numbers, and column {name!r} has "
            f"{column.type}. Store them as texts: a float has no room for a long number."
        )
    column = column.cast(pa.string()) if _is_text(column.type) else column
    missing = pc.is_null(column)
    if _is_text(column.type):
        missing = pc.or_(missing, pc.equal(pc.fill_null(column, ""), ""))
    _refuse(source, missing, f"column {name!r} is blank, where an id is expected", "Fill it in.")
    # Numbers are found faster than texts, and make better names of nodes.
    return as_whole_numbers(column) if _is_text(column.type) else column


def read_labels(source: Source, name: str) -> Array:
    """Labels as they are, None where there is none; texts that are all whole numbers as such."""
    column = source.column(name)
    if _is_text(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.string())
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
        column = as_whole_numbers(column)
        if _is_text(column.type) and len(column.unique()) > MOST_FRACTIONS:
            _refuse_fractions(source, name, column)
    elif pa.types.is_floating(column.type):
        _refuse_fractions(source, name, column)
    elif not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        raise InputError(
            f"{source.name}: labels must be texts, numbers or booleans, and column {name!r} has "
            f"{column.type}."
        )
    return to_numpy(column)


def _refuse_fractions(source: Source, name: str, column: pa.ChunkedArray) -> None:
    """Refuse labels that are measurements and not classes."""
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid:
        return
    fractions = pc.fill_null(pc.not_equal(numbers, pc.round(numbers)), False)
    fractions = pc.and_(fractions, pc.fill_null(pc.is_finite(numbers), False))
    what = f"column {name!r} has {_first(column.filter(fractions))}, where a class is expected"
    _refuse(source, fractions, what, "Bin measurements first, or name another column of labels.")


def as_whole_numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as 64-bit integers, if that loses nothing: not a leading zero, not a digit."""
    try:
        numbers = pc.cast(texts, pa.int64())
    except pa.ArrowInvalid:
        return texts
    # Whatever else reads as a number (007, +7, -0) is longer than the number written out, but for
    # hexadecimal ones.
    same = pc.sum(pc.binary_length(texts)) == _written_length(numbers)
    hexadecimal = pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py()
    return numbers if same and not hexadecimal else texts


def _written_length(numbers: pa.ChunkedArray) -> pa.Scalar:
    """How many signs and digits whole numbers take in all."""
    values = numbers.drop_null().to_numpy()
    negative = values < 0
    sizes = np.where(negative, ~values, values).astype(np.uint64) + negative
    digits = np.searchsorted(_POWERS_OF_TEN, sizes, side="right") + 1
    return pa.scalar(int(digits.sum() + negative.sum()))


def read_weights(source: Source, name: str) -> Array:
    """Weights of edges, all there, finite and not negative."""
    weights = _numbers(source, name)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"{source.place(row)}: weight {weights[row]:g} in column {name!r} is not a finite "
            f"number >= 0 ({bad.sum():,} such in all). Mend or drop these edges."
        )
    return weights


def read_numbers(source: Source, name: str) -> Array:
    """Values of features: all there, finite, and within float32."""
    return _finite(source, name, _numbers(source, name))


def read_feature_columns(source: Source, names: list[str]) -> Any:
    """One feature per column, as a matrix (n, d); sparse if they look like words or counts."""
    # Filled by column, as they come, and turned over once: writing across rows takes four times.
    turned = np.empty((len(names), source.table.num_rows), dtype=np.float32)
    for at, name in enumerate(names):
        turned[at] = read_numbers(source, name)
    return _sparse_if_words(np.ascontiguousarray(turned.T))


def read_list_column(source: Source, name: str) -> Any:
    """One list of numbers per node, all equally long, as a matrix (n, d)."""
    column = source.column(name)
    if _is_text(column.type):
        column = _parsed_lists(source, name, column.cast(pa.string()).combine_chunks())
    _refuse(source, pc.is_null(column), f"column {name!r} is blank", "Fill it in.")
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    d = int(lengths[0]) if len(lengths) else 0
    other = lengths != d
    if other.any():
        row = int(other.argmax())
        raise InputError(
            f"{source.place(row)}: the list in column {name!r} has {lengths[row]} numbers, and the "
            f"first has {d} ({other.sum():,} such rows in all). All must be equally long."
        )
    if d == 0:
        raise InputError(f"{source.name}: the lists in column {name!r} are empty.")
    values = pc.list_flatten(column)
    if not _is_numeric(values.type):
        raise InputError(f"{source.name}: the lists in column {name!r} hold {values.type}.")
    flat = to_numpy(values.cast(pa.float64(), safe=False)).astype(np.float64)
    return _sparse_if_words(_finite(source, name, flat.reshape(-1, d)).astype(np.float32))


def is_list(source: Source, name: str) -> bool:
    """Whether a column holds lists of numbers, or texts that look like them."""
    column = source.column(name)
    kinds = (
        pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list,
        pa.types.is_list_view, pa.types.is_large_list_view,
    )  # fmt: skip
    if any(is_kind(column.type) for is_kind in kinds):
        return True
    return _is_text(column.type) and _first(column).startswith("[")


def is_feature(source: Source, name: str) -> bool:
    """Whether a column holds numbers; one that seems to, but for some texts, is refused."""
    column = source.column(name)
    if _is_text(column.type):
        start = column.drop_null()[:FIRST_VALUES].to_pylist()
        numbers = sum(map(is_number, start))
        if 2 * numbers > len(start):
            _refuse_texts(source, name, column)
    return _is_numeric(column.type)


def to_numpy(column: pa.ChunkedArray) -> Array:
    """A NumPy array of its own kind; objects with None if something is missing, or for texts."""
    if column.null_count == 0 and not _is_text(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def find(ids: pa.ChunkedArray, among: pa.ChunkedArray) -> pa.ChunkedArray:
    """Positions of ids among others, null where there is none; 7 and "7" are the same id."""
    if ids.type != among.type:
        ids, among = ids.cast(pa.string()), among.cast(pa.string())
    return pc.index_in(ids, value_set=among)


def _numbers(source: Source, name: str) -> Array:
    """A column as float64, nothing missing."""
    column = source.column(name)
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    if _is_text(column.type):
        _refuse_texts(source, name, column)
    if not _is_numeric(column.type):
        raise InputError(
            f"{source.name}: column {name!r} must be numbers, and has {column.type} (such as "
            f"{_first(column)!r})."
        )
    _refuse(
        source, pc.is_null(column), f"column {name!r} is blank",
        "Nothing is filled in by itself: fill it in, or leave the row or column out.",
    )  # fmt: skip
    # Not "safe", which would refuse whole numbers that a float rounds.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _refuse_texts(source: Source, name: str, column: pa.ChunkedArray) -> None:
    """Refuse a column of texts that should be numbers, if not all of them read as such."""
    texts = column.to_pylist()
    bad = np.array([text is not None and not is_number(text) for text in texts])
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"{source.place(row)}: column {name!r} has {texts[row]!r} among numbers "
            f"({bad.sum():,} such in all). Mend it, or leave the column out."
        )


def _finite(source: Source, name: str, values: Array) -> Array:
    """See that values, of shape (n,) or (n, d), can be features."""
    bad = ~(np.abs(values) <= np.finfo(np.float32).max)
    if bad.any():
        first = np.unravel_index(bad.argmax(), bad.shape)
        raise InputError(
            f"{source.place(int(first[0]))}: column {name!r} is {values[first]:g} "
            f"({bad.sum():,} such values in all). Features must be finite, and below 3.4e38: mend "
            "it, or leave the row or column out."
        )
    return values


def _sparse_if_words(X: Array) -> Any:
    if X.shape[1] < SPARSE_COLUMNS or np.count_nonzero(X) > (1 - SPARSE_SHARE) * X.size:
        return X
    return X if (X < 0).any() else sp.csr_array(X)


def _parsed_lists(source: Source, name: str, texts: pa.StringArray) -> pa.ListArray:
    """Lists that are written out, as in "[0.5, 1]"."""
    lists = pc.match_substring_regex(texts, _LIST)
    _refuse(
        source, pc.invert(lists), f"column {name!r} is not a list of numbers such as [0.5, 1]",
        "Mend it.",
    )  # fmt: skip
    parts = pc.split_pattern_regex(pc.utf8_trim(texts, "[] \t\r\n"), r"\s*[,;\s]\s*")
    values = pc.list_flatten(parts).cast(pa.float64())
    return pa.ListArray.from_arrays(parts.offsets, values, mask=pc.is_null(parts))


def _refuse(source: Source, bad: pa.ChunkedArray, what: str, remedy: str) -> None:
    count = pc.sum(bad).as_py() or 0
    if count:
        row = pc.index(bad, True).as_py()
        raise InputError(f"{source.place(row)}: {what} ({count:,} such in all). {remedy}")


def _first(column: Any) -> str:
    """The first value that is there, as a text."""
    found = column.drop_null()
    return str(found[0].as_py()).strip() if len(found) else ""


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_numeric(kind: pa.DataType) -> bool:
    kinds = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal
    return any(is_kind(kind) for is_kind in kinds)
