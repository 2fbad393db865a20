"""Read node features (n, d): from numeric or list columns, or from a feature table of their own.

A feature table has one row per nonzero value: node, feature, value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.tables.columns import (
    LABEL_LIKE_NAMES,
    ColumnChoice,
    find_column,
    format_names,
    match_columns,
)
from heatgraph.tables.files import read_table_file
from heatgraph.tables.ids import find_ids, read_ids, read_node_positions
from heatgraph.tables.input_table import InputTable, as_input_table, has_table_suffix, is_path
from heatgraph.tables.matrix_features import is_feature_matrix, read_feature_matrix
from heatgraph.tables.options import TableOptions
from heatgraph.tables.values import (
    first_value,
    is_number,
    is_numeric,
    is_text,
    read_numbers,
    refuse_rows,
    refuse_text,
    to_numpy,
)

Array = npt.NDArray[Any]

# Non-negative features with at least this many columns and this share of zeros are taken for words
# or counts, and stored sparse.
MIN_SPARSE_COLUMNS, MIN_SPARSE_SHARE = 20, 0.8
# A text column is taken for a faulty numeric one if most of its first values are numbers.
NUM_VALUES_SAMPLED = 100
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|NaN|inf)"
_LIST = rf"^\s*\[\s*({_NUMBER})(\s*[,;\s]\s*({_NUMBER}))*\s*\]\s*$"


@dataclass(frozen=True)
class Features:
    """Features (n, d), dense or sparse, or None; their names, and where they were read from."""

    values: Any = None
    names: list[str] | None = None
    origin: str = ""
    notes: list[str] = field(default_factory=list)


def read_features(
    nodes: InputTable,
    columns: dict[str, ColumnChoice],
    ids: pa.ChunkedArray,
    options: TableOptions,
) -> Features:
    """Read the features that the options name; by default every numeric column not yet in use.

    `columns` are those in use as id, label and split.
    """
    given, model_features = options.features, options.model_features
    if isinstance(given, str) and not given:
        return Features()
    if is_feature_matrix(given, nodes.column_names):
        X, feature_names, origin, notes = read_feature_matrix(given, len(ids), nodes.name, options)
        return Features(_dense_or_sparse(X), feature_names, origin, notes)
    if isinstance(given, np.ndarray) or type(given).__name__ == "Index":
        given = given.tolist()
    if _is_feature_table(given, nodes):
        return _read_feature_table(given, nodes, ids, options)
    if model_features is not None and given is not None:
        raise InputError(
            f"the features of a model are found by name in {nodes.name}, or in a feature table. "
            f"Got {given!r}, which is not the name of a table; leave it out."
        )
    in_use = {choice.name for choice in columns.values() if choice.name is not None}
    notes = []
    if model_features is not None:
        names = _find_model_columns(model_features, nodes)
    elif given is not None:
        names = _find_named_columns(given, in_use, nodes)
    else:
        names, notes = _detect_columns(in_use, nodes)
    if not names:
        return Features(notes=notes)
    X, feature_names = _read_columns(nodes, names)
    if model_features is not None:
        X = _reorder(X, feature_names, model_features, nodes)
        feature_names = model_features
    return Features(X, feature_names, _describe_origin(names, X, options), notes)


def _describe_origin(names: list[str], X: Any, options: TableOptions) -> str:
    origin = ", ".join(names[:4]) + ", ..." * (len(names) > 4)
    if options.features is None:
        origin += " (detected)" if options.model_features is None else " (the model's)"
    if sp.issparse(X):
        origin += f", {1 - X.nnz / np.prod(X.shape):.0%} zeros: read as words or counts"
    return origin


def _is_feature_table(given: Any, nodes: InputTable) -> bool:
    if given is None or isinstance(given, list | tuple):
        return False
    if isinstance(given, str):
        return given not in nodes.column_names and has_table_suffix(given)
    return True


def _find_named_columns(given: Any, in_use: set[str], nodes: InputTable) -> list[str]:
    """Columns by the names and patterns that the user gives."""
    patterns = [given] if isinstance(given, str) else list(given)
    for name in patterns:
        if not isinstance(name, str):
            raise InputError(
                f"features must be column names, or a table. Got {name!r} among the names."
            )
        if name in in_use:
            raise InputError(
                f"{nodes.name}: column {name!r} is the id, the label or the split, and cannot be a "
                "feature as well. Leave it out."
            )
    names = [name for name in nodes.column_names if name not in in_use]
    return match_columns(patterns, names, nodes.name)


def _find_model_columns(model_features: list[str], nodes: InputTable) -> list[str]:
    """Columns that hold the features of a model: numeric ones, or lists (``name[0]``, ...)."""
    names = set(nodes.column_names)
    first_features = {
        name if name in names else re.sub(r"\[\d+\]$", "", name): name
        for name in reversed(model_features)
    }
    missing = [first for column, first in reversed(first_features.items()) if column not in names]
    if missing:
        raise InputError(
            f"{nodes.name} lacks features that the model was fitted with: "
            f"{format_names(missing, 4)}. If they are in a table of their own, name it as the "
            "features."
        )
    return list(reversed(first_features))


def _detect_columns(in_use: set[str], nodes: InputTable) -> tuple[list[str], list[str]]:
    """Every numeric or list column that is free, and notes on the columns left out."""
    free = [name for name in nodes.column_names if name not in in_use]
    label_like = {name for name in free if name.lower() in LABEL_LIKE_NAMES}
    candidates = [name for name in free if name not in nodes.unnamed | label_like]
    names = [name for name in candidates if _is_list(nodes, name) or _is_numeric(nodes, name)]
    not_numeric = set(candidates) - set(names)
    notes = []
    for left_out, reason in (
        (not_numeric, "not numeric"),
        (nodes.unnamed, "unnamed"),
        (label_like, "named like a label or a split"),
    ):
        unused = [name for name in free if name in left_out]
        if unused:
            notes.append(f"{nodes.name}: not used ({reason}): {format_names(unused)}")
    return names, notes


def _is_list(table: InputTable, name: str) -> bool:
    """Whether a column holds lists, or text that looks like them."""
    column = table.column(name)
    kinds = (
        pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list,
        pa.types.is_list_view, pa.types.is_large_list_view,
    )  # fmt: skip
    if any(is_kind(column.type) for is_kind in kinds):
        return True
    return is_text(column.type) and first_value(column).startswith("[")


def _is_numeric(table: InputTable, name: str) -> bool:
    """Whether a column is numeric; one that is mostly numbers, but not all, is an error."""
    column = table.column(name)
    if is_text(column.type):
        sample = column.drop_null()[:NUM_VALUES_SAMPLED].to_pylist()
        if 2 * sum(map(is_number, sample)) > len(sample):
            refuse_text(table, name, column)
    return is_numeric(column.type)


def _read_columns(table: InputTable, names: list[str]) -> tuple[Any, list[str]]:
    """Features of numeric columns, then those of list columns, with their names."""
    lists = [name for name in names if _is_list(table, name)]
    numeric = [name for name in names if name not in lists]
    blocks = [_read_numeric_columns(table, numeric)] if numeric else []
    feature_names = list(numeric)
    for name in lists:
        blocks.append(_read_list_column(table, name))
        feature_names += [f"{name}[{at}]" for at in range(blocks[-1].shape[1])]
    if len(blocks) == 1:
        return blocks[0], feature_names
    if any(sp.issparse(block) for block in blocks):
        return sp.hstack(blocks, format="csr"), feature_names
    return np.hstack(blocks), feature_names


def _read_numeric_columns(table: InputTable, names: list[str]) -> Any:
    """One feature per column, as a matrix (n, d)."""
    # Filled row by row and transposed once: writing columns of a row-major matrix takes four times
    # as long.
    transposed = np.empty((len(names), table.num_rows), dtype=np.float32)
    for at, name in enumerate(names):
        transposed[at] = _check_float32(table, name, read_numbers(table, name))
    return _sparse_if_counts(np.ascontiguousarray(transposed.T))


def _read_list_column(table: InputTable, name: str) -> Any:
    """One list of numbers per node, all of length d, as a matrix (n, d)."""
    column = table.column(name)
    if is_text(column.type):
        column = _parse_lists(table, name, column.cast(pa.string()).combine_chunks())
    if not is_numeric(column.type.value_type):
        raise InputError(
            f"{table.name}: the lists in column {name!r} must hold numbers, and hold "
            f"{column.type.value_type} (such as {first_value(column)}). Leave the column out."
        )
    refuse_rows(table, pc.is_null(column), f"column {name!r} is blank", "Fill it in.")
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    d = int(lengths[0]) if len(lengths) else 0
    different = lengths != d
    if different.any():
        row = int(different.argmax())
        raise InputError(
            f"{table.locate(row)}: the list in column {name!r} has {lengths[row]} numbers, and the "
            f"first has {d} ({different.sum():,} such rows in all). All must have the same length."
        )
    if d == 0:
        raise InputError(f"{table.name}: the lists in column {name!r} are empty.")
    values = pc.list_flatten(column)
    flat = to_numpy(values.cast(pa.float64(), safe=False)).astype(np.float64)
    X = _check_float32(table, name, flat.reshape(-1, d))
    return _sparse_if_counts(X.astype(np.float32))


def _parse_lists(table: InputTable, name: str, texts: pa.StringArray) -> pa.ListArray:
    """Parse lists that are written as text, such as "[0.5, 1]"."""
    lists = pc.match_substring_regex(texts, _LIST)
    refuse_rows(
        table, pc.invert(lists), f"column {name!r} is not a list of numbers such as [0.5, 1]",
        "Correct it.",
    )  # fmt: skip
    parts = pc.split_pattern_regex(pc.utf8_trim(texts, "[] \t\r\n"), r"\s*[,;\s]\s*")
    values = pc.list_flatten(parts).cast(pa.float64())
    return pa.ListArray.from_arrays(parts.offsets, values, mask=pc.is_null(parts))


def _check_float32(table: InputTable, name: str, values: Array) -> Array:
    """Refuse values, of shape (n,) or (n, d), that are not finite in float32."""
    bad = ~(np.abs(values) <= np.finfo(np.float32).max)
    if bad.any():
        first = np.unravel_index(bad.argmax(), bad.shape)
        raise InputError(
            f"{table.locate(int(first[0]))}: column {name!r} is {values[first]:g} "
            f"({bad.sum():,} such values in all). Features must be finite, and below 3.4e38: "
            "correct it, or drop the row or column."
        )
    return values


def _sparse_if_counts(X: Array) -> Any:
    if X.shape[1] < MIN_SPARSE_COLUMNS or np.count_nonzero(X) > (1 - MIN_SPARSE_SHARE) * X.size:
        return X
    return X if (X < 0).any() else sp.csr_array(X)


def _dense_or_sparse(X: Any) -> Any:
    """A matrix stored by what it holds, however its file stores it."""
    if not sp.issparse(X):
        return _sparse_if_counts(X)
    is_full = X.nnz > (1 - MIN_SPARSE_SHARE) * np.prod(X.shape)
    return X.toarray() if is_full or X.shape[1] < MIN_SPARSE_COLUMNS else X


def _reorder(X: Any, names: list[str], model_features: list[str], nodes: InputTable) -> Any:
    """Features in the order of the model."""
    if names == model_features:
        return X
    if sorted(names) != sorted(model_features):
        raise InputError(
            f"{nodes.name} has {len(names):,} features and the model {len(model_features):,}: "
            "lists must be as long as those that it was fitted with."
        )
    position = {name: at for at, name in enumerate(names)}
    return X[:, [position[name] for name in model_features]]


def _find_feature_table_columns(names: list[str], table: str) -> list[str | None]:
    """Columns of node, feature and value."""
    purposes = enumerate(("id", "feature", "value"))
    return [find_column(purpose, None, names, table, at).name for at, purpose in purposes]


def _read_feature_table(
    given: Any, nodes: InputTable, ids: pa.ChunkedArray, options: TableOptions
) -> Features:
    """Read a table of node, feature and value; without a value column, every row counts 1."""
    if is_path(given):
        table = read_table_file(
            given,
            lambda names: [
                name or "" for name in _find_feature_table_columns(names, str(given))[:2]
            ],
            options.memory_bytes,
        )
    else:
        table = as_input_table(given, "features")
    node, feature, value = _find_feature_table_columns(table.column_names, table.name)
    if node is None or feature is None or len({node, feature, value}) < 3:
        raise InputError(
            f"{table.name} must have the columns node, feature and value. It has "
            f"{format_names(table.column_names)}."
        )
    if table.num_rows == 0:
        raise InputError(f"{table.name} has no rows. Expected one per node and feature.")
    rows = read_node_positions(table, [node], ids, nodes.name)[0]
    features = read_ids(table, feature).cast(pa.string())
    if value is None:
        values = np.ones(len(rows), dtype=np.float32)
    else:
        numbers = _check_float32(table, value, read_numbers(table, value))
        values = numbers.astype(np.float32)
    names = options.model_features
    if names is None:
        names = pc.unique(features).to_pylist()
    notes = []
    columns = find_ids(features, pa.chunked_array([names]))
    if columns.null_count:
        known = pc.is_valid(columns).to_numpy()
        num_unknown = len(pc.unique(features.filter(pa.array(~known))))
        notes.append(f"{table.name}: ignored {num_unknown:,} features that the model does not use")
        rows, values, columns = rows[known], values[known], columns.drop_null()
    X = sp.csr_array((values, (rows, columns.to_numpy())), shape=(len(ids), len(names)))
    if X.nnz < len(values):
        notes.append(f"{table.name}: {len(values) - X.nnz:,} repeated entries were summed")
    return Features(X, names, f"{table.name} ({node}, {feature}, {value or 'all 1'})", notes)
