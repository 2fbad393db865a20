"""Read node features (n, d): from columns of the node table, from a feature table, or from both.

`heatgraph.encoding` turns columns of any ordinary type into numbers. A feature table has one row
per nonzero value: node, feature, value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from heatgraph.encoding.bags import unit_rows
from heatgraph.encoding.block import Settings
from heatgraph.encoding.column import Column, is_list
from heatgraph.encoding.detection import Kind
from heatgraph.encoding.encoder import (
    MIN_SPARSE_COLUMNS,
    MIN_SPARSE_SHARE,
    FeatureEncoder,
    detect_kinds,
)
from heatgraph.encoding.lists import looks_like_list
from heatgraph.encoding.numbers import NumberEncoding
from heatgraph.encoding.vectors import VectorEncoding
from heatgraph.errors import InputError
from heatgraph.tables.columns import (
    INDEX_PREFIX,
    LABEL_LIKE_NAMES,
    ColumnChoice,
    find_column,
    format_names,
    match_columns,
)
from heatgraph.tables.formats.files import read_table_file
from heatgraph.tables.ids import find_ids, read_ids, read_node_positions
from heatgraph.tables.input_table import InputTable, as_input_table, has_table_suffix, is_path
from heatgraph.tables.node_table.column_uses import LEFT_OUT, ColumnUse
from heatgraph.tables.node_table.matrix_features import is_feature_matrix, read_feature_matrix
from heatgraph.tables.options import TableOptions
from heatgraph.tables.values import first_value, is_text, read_numbers

Array = npt.NDArray[Any]

# Why a column is left out that would leak the label.
LABEL_LIKE = "named like a label or a split"
UNNAMED = "unnamed"


@dataclass(frozen=True)
class Features:
    """Features (n, d), dense or sparse, or None; their names, and where they were read from.

    `uses` tell what became of the columns that are free for features. `notes` are worth a warning,
    `remarks` are not.
    """

    values: Any = None
    names: list[str] | None = None
    origin: str = ""
    encoder: FeatureEncoder | None = None
    uses: list[ColumnUse] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def read_features(
    nodes: InputTable,
    columns: dict[str, ColumnChoice],
    ids: pa.ChunkedArray,
    options: TableOptions,
    train: npt.NDArray[np.int64] | None = None,
) -> Features:
    """Read the features that the options name; by default every column that can be one.

    `columns` are those in use as id, label and split, and `train` the rows to learn encodings from,
    by default all.
    """
    train = np.arange(nodes.num_rows) if train is None else train
    given = options.features
    if isinstance(given, str) and not given:
        return Features()
    if is_feature_matrix(given, nodes.column_names):
        X, feature_names, origin, remarks = read_feature_matrix(
            given, len(ids), nodes.name, options
        )
        use = ColumnUse(origin.split(",")[0], "feature matrix", "a row per node", X.shape[1])
        return Features(_dense_or_sparse(X), feature_names, origin, uses=[use], remarks=remarks)
    names, table = _split_given(given, nodes)
    in_use = {choice.name for choice in columns.values() if choice.name is not None}
    if options.model_features is not None:
        if names:
            raise InputError(
                f"the features of a model are found by name in {nodes.name}, or in a feature table."
                f" Got {given!r}, which is not the name of a table; leave it out."
            )
        return _read_model(options.model_features, table, nodes, in_use, ids, options)
    if table is None:
        return _fit_columns(names, nodes, in_use, train, _settings(options), options)
    found = _read_feature_table(table, nodes, ids, options)
    if names is None:
        return found
    settings = replace(_settings(options), scaled=True)
    return _join(_fit_columns(names, nodes, in_use, train, settings, options), found)


def _settings(options: TableOptions) -> Settings:
    return Settings(options.missing, options.decimal)


def _read_model(
    model_features: list[str],
    table: Any,
    nodes: InputTable,
    in_use: set[str],
    ids: pa.ChunkedArray,
    options: TableOptions,
) -> Features:
    """Read the features of a model: from columns, from a feature table, or from both."""
    encoder = options.model_encoder
    if encoder is None:
        if table is None:
            return _read_model_numbers(model_features, nodes)
        return _read_feature_table(table, nodes, ids, options)
    others = model_features[len(encoder.names) :]
    if table is None or others:
        found = _read_model_columns(encoder, nodes, in_use, options)
        if not others:
            return found
        if table is None:
            raise _missing_features(nodes, others)
        options = replace(options, model_features=others)
        return _join(found, _read_feature_table(table, nodes, ids, options))
    if encoder.settings.scaled:
        raise InputError(
            f"the model encodes columns of {nodes.name}, and reads no feature table. Leave it out."
        )
    # A model of plain numbers finds them in a table of their own too.
    found = _read_feature_table(table, nodes, ids, options)
    return found if encoder.is_sparse else replace(found, values=found.values.toarray())


def _split_given(given: Any, nodes: InputTable) -> tuple[list[Any] | None, Any]:
    """The names of columns, None if none are given, and the feature table, None if none is."""
    if isinstance(given, np.ndarray) or type(given).__name__ == "Index":
        given = given.tolist()
    if given is None:
        return None, None
    if not isinstance(given, list | tuple):
        given = [given]
    tables = [entry for entry in given if _is_feature_table(entry, nodes)]
    if len(tables) > 1:
        raise InputError(
            f"features may name one feature table. Got {len(tables)}: {tables!r:.200}."
        )
    names = [entry for entry in given if not any(entry is table for table in tables)]
    return names if names or not tables else None, tables[0] if tables else None


def _is_feature_table(given: Any, nodes: InputTable) -> bool:
    if isinstance(given, str):
        return given not in nodes.column_names and has_table_suffix(given)
    exports = ("__arrow_c_stream__", "__dataframe__")
    return (
        is_path(given)
        or isinstance(given, Mapping | pa.Table)
        or any(hasattr(given, how) for how in exports)
    )


def _fit_columns(
    given: list[Any] | None,
    nodes: InputTable,
    in_use: set[str],
    train: npt.NDArray[np.int64],
    settings: Settings,
    options: TableOptions,
) -> Features:
    """Fit an encoder to the columns given, or to all that are free, and encode them."""
    left_out: dict[str, str] = {}
    if given is None:
        free = [name for name in nodes.column_names if name not in in_use]
        for name in free:
            if name in nodes.unnamed:
                left_out[name] = UNNAMED
            elif name.lower() in LABEL_LIKE_NAMES:
                left_out[name] = LABEL_LIKE
        names = [name for name in free if name not in left_out]
    else:
        names = _find_named_columns(given, in_use, nodes)
    columns = [as_column(nodes, name) for name in names]
    columns, kinds, failed = detect_kinds(columns, settings, is_named=given is not None)
    encoder, more = FeatureEncoder.fit(columns, kinds, train, settings)
    failed |= more
    if given is not None and failed:
        name, reason = next(iter(failed.items()))
        raise InputError(
            f"{nodes.name}: column {name!r} cannot be a feature: it is {reason}. Convert it, or "
            "leave it out."
        )
    left_out |= failed
    uses = [ColumnUse(name, LEFT_OUT, reason) for name, reason in left_out.items()]
    expected = _expected_losses(nodes, left_out, options)
    remarks = _left_out_notes(nodes, {n: why for n, why in left_out.items() if n in expected})
    notes = _left_out_notes(nodes, {n: why for n, why in left_out.items() if n not in expected})
    if encoder is None:
        return Features(uses=uses, notes=notes, remarks=remarks)
    encoder, encoded = encoder.with_storage(columns)
    return Features(
        encoded.values,
        encoder.names,
        _describe_origin(encoder, encoded.values, "" if given is not None else " (detected)"),
        encoder,
        _encoded_uses(encoder) + uses,
        notes + encoded.filled,
        # Nodes that a model learns from need not have all the values of the others.
        remarks + encoded.blank + encoded.unknown,
    )


def _read_model_columns(
    encoder: FeatureEncoder, nodes: InputTable, in_use: set[str], options: TableOptions
) -> Features:
    """Encode the columns of a model as those that it was fitted to."""
    missing = [name for name in encoder.columns if name not in nodes.column_names]
    if missing:
        raise _missing_features(nodes, missing)
    if options.missing == "error":
        encoder = replace(encoder, settings=replace(encoder.settings, missing="error"))
    if options.decimal is not None:
        encoder = replace(encoder, settings=replace(encoder.settings, decimal=options.decimal))
    encoded = encoder.encode([as_column(nodes, name) for name in encoder.columns])
    others = [name for name in nodes.column_names if name not in in_use | set(encoder.columns)]
    uses = [ColumnUse(name, LEFT_OUT, "not a feature of the model") for name in others]
    return Features(
        encoded.values,
        encoder.names,
        _describe_origin(encoder, encoded.values, " (the model's)"),
        encoder,
        _encoded_uses(encoder) + uses,
        encoded.filled + encoded.unknown,
        encoded.blank,
    )


def _read_model_numbers(model_features: list[str], nodes: InputTable) -> Features:
    """Read the features of a model without an encoder: numbers, or lists of them."""
    columns = [as_column(nodes, name) for name in _find_model_columns(model_features, nodes)]
    kinds: list[Kind] = [
        VectorEncoding if _is_list(column) else NumberEncoding for column in columns
    ]
    settings = Settings(missing="error")
    rows = np.arange(nodes.num_rows)
    encoder, _ = FeatureEncoder.fit(columns, kinds, rows, settings)
    assert encoder is not None
    encoder, encoded = encoder.with_storage(columns)
    X = _reorder(encoded.values, encoder.names, model_features, nodes)
    origin = _describe_origin(encoder, X, " (the model's)")
    return Features(X, model_features, origin, uses=_encoded_uses(encoder))


def as_column(nodes: InputTable, name: str) -> Column:
    """A column of a table for an encoder."""
    is_categorical = pa.types.is_dictionary(nodes.arrow.column(name).type)
    return Column(name, nodes.column(name), nodes.name, nodes.locate, bool(is_categorical))


def _encoded_uses(encoder: FeatureEncoder) -> list[ColumnUse]:
    return [
        ColumnUse(encoding.column, encoding.kind, encoding.description, len(encoding.names))
        for encoding in encoder.encodings
    ]


def _expected_losses(
    nodes: InputTable, left_out: dict[str, str], options: TableOptions
) -> set[str]:
    """Columns that a user need not be warned of: row numbers, and the label that is not wanted.

    The index of a data frame has a warning of its own.
    """
    expected = {
        name
        for name, reason in left_out.items()
        if reason == UNNAMED
        and (name.startswith(INDEX_PREFIX) or pa.types.is_integer(nodes.column(name).type))
    }
    label_like = [name for name, reason in left_out.items() if reason == LABEL_LIKE]
    for purpose in ("label", "split"):
        if getattr(options, purpose) == "":
            expected.add(find_column(purpose, None, label_like, nodes.name).name or "")
    return expected


def _left_out_notes(nodes: InputTable, left_out: dict[str, str]) -> list[str]:
    """A note for each reason, with the columns that were left out for it."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(name)
    return [
        f"{nodes.name}: not used ({reason}): {format_names(names)}"
        for reason, names in by_reason.items()
    ]


def _describe_origin(encoder: FeatureEncoder, X: Any, how: str) -> str:
    names = encoder.columns
    origin = ", ".join(names[:4]) + ", ..." * (len(names) > 4) + how
    if sp.issparse(X):
        what = "" if encoder.settings.scaled else ": read as words or counts"
        origin += f", {1 - X.nnz / np.prod(X.shape):.0%} zeros{what}"
    return origin


def _join(columns: Features, table: Features) -> Features:
    """Features of columns and, beside them, those of a feature table, with rows of unit length."""
    assert columns.names is not None
    assert table.names is not None
    repeated = set(columns.names) & set(table.names)
    if repeated:
        raise InputError(
            f"a column and the feature table both have a feature called {min(repeated)!r}. Rename "
            "one of them."
        )
    X = sp.hstack([sp.csr_array(columns.values), unit_rows(table.values)], format="csr")
    return Features(
        X,
        columns.names + table.names,
        f"{columns.origin}; {table.origin}",
        columns.encoder,
        columns.uses + table.uses,
        columns.notes + table.notes,
        columns.remarks + table.remarks,
    )


def _find_named_columns(given: list[Any], in_use: set[str], nodes: InputTable) -> list[str]:
    """Columns by the names and patterns that the user gives."""
    for name in given:
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
    return match_columns(given, names, nodes.name)


def _find_model_columns(model_features: list[str], nodes: InputTable) -> list[str]:
    """Columns that hold the features of a model: numeric ones, or lists (``name[0]``, ...)."""
    names = set(nodes.column_names)
    first_features = {
        name if name in names else re.sub(r"\[\d+\]$", "", name): name
        for name in reversed(model_features)
    }
    missing = [first for column, first in reversed(first_features.items()) if column not in names]
    if missing:
        raise _missing_features(nodes, missing)
    return list(reversed(first_features))


def _missing_features(nodes: InputTable, names: list[str]) -> InputError:
    return InputError(
        f"{nodes.name} lacks features that the model was fitted with: {format_names(names, 4)}. If "
        "they are in a table of their own, name it as the features."
    )


def _is_list(column: Column) -> bool:
    """Whether a column holds lists, or text that looks like them."""
    return is_list(column.kind) or (
        is_text(column.kind) and looks_like_list(first_value(column.values))
    )


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


def _dense_or_sparse(X: Any) -> Any:
    """A matrix stored by what it holds, however its file stores it."""
    nonzero = X.nnz if sp.issparse(X) else np.count_nonzero(X)
    is_counts = X.shape[1] >= MIN_SPARSE_COLUMNS and nonzero <= (1 - MIN_SPARSE_SHARE) * np.prod(
        X.shape
    )
    if sp.issparse(X):
        return X if is_counts else X.toarray()
    return sp.csr_array(X) if is_counts and not (X < 0).any() else X


def _check_float32(table: InputTable, name: str, values: Array) -> Array:
    """Refuse values (n,) of a feature table that are not finite in float32."""
    bad = ~(np.abs(values) <= np.finfo(np.float32).max)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"{table.locate(row)}: column {name!r} is {values[row]:g} "
            f"({bad.sum():,} such values in all). Features must be finite, and below 3.4e38: "
            "correct it, or drop the row or column."
        )
    return values


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
            options.decimal,
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
        numbers = _check_float32(table, value, read_numbers(table, value, options.decimal))
        values = numbers.astype(np.float32)
    names = options.model_features
    if names is None:
        names = pc.unique(features).to_pylist()
    unused = [name for name in table.column_names if name not in (node, feature, value)]
    losses = [f"{table.name}: not used: {format_names(unused)}"] * bool(unused)
    notes = []
    columns = find_ids(features, pa.chunked_array([names]))
    if columns.null_count:
        known = pc.is_valid(columns).to_numpy()
        if options.model_features is not None and not known.any():
            raise InputError(
                f"{table.name} has none of the features that the model was fitted with, such as "
                f"{format_names(names, 2)}. Name another, or give a node table that has them."
            )
        num_unknown = len(pc.unique(features.filter(pa.array(~known))))
        notes.append(f"{table.name}: ignored {num_unknown:,} features that the model does not use")
        rows, values, columns = rows[known], values[known], columns.drop_null()
    X = sp.csr_array((values, (rows, columns.to_numpy())), shape=(len(ids), len(names)))
    if X.nnz < len(values):
        notes.append(f"{table.name}: {len(values) - X.nnz:,} repeated entries were summed")
    use = ColumnUse(table.name, "feature table", "a row per node and feature", len(names))
    origin = f"{table.name} ({node}, {feature}, {value or 'all 1'})"
    return Features(X, names, origin, uses=[use], notes=losses, remarks=notes)
