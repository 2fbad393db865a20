"""Features from a matrix: row i belongs to row i of the node table.

Features are called f0, f1, ... by their column. Those of an svmlight file are called by the indices
in the file, which begin at 0 or at 1; so a model reads the same ones from another file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from heatgraph.datasets.text_files import MAX_FEATURES
from heatgraph.errors import InputError
from heatgraph.tables.columns import format_names
from heatgraph.tables.formats.file_formats import MATRIX_FORMATS, detect_format, read_start
from heatgraph.tables.formats.files import SHARE_OF_MEMORY
from heatgraph.tables.formats.matrix_files import read_matrix
from heatgraph.tables.input_table import has_table_suffix, is_path
from heatgraph.tables.options import TableOptions

FLOAT32_MAX = float(np.finfo(np.float32).max)


class MatrixFeatures(NamedTuple):
    """Features (n, d) in float32, their names, the origin, and notes for the user."""

    values: Any
    names: list[str]
    origin: str
    notes: list[str]


def is_feature_matrix(given: Any, column_names: list[str]) -> bool:
    """Whether features are given as a matrix, or as a file that holds one."""
    if sp.issparse(given):
        return True
    if isinstance(given, np.ndarray):
        return given.ndim == 2 and given.dtype.kind in "biufc"
    if not is_path(given) or str(given) == "":
        return False
    path = Path(given)
    if isinstance(given, str) and (given in column_names or not _names_a_file(path)):
        return False
    return detect_format(path, read_start(path)) in MATRIX_FORMATS


def _names_a_file(path: Path) -> bool:
    return has_table_suffix(path.name) or path.is_file()


def read_feature_matrix(
    given: Any, num_nodes: int, nodes: str, options: TableOptions
) -> MatrixFeatures:
    """Read the features of the nodes, whose table is called `nodes` in errors."""
    name, file_format = "features", ""
    matrix = given
    if is_path(given):
        path = Path(given)
        name, file_format = str(path), detect_format(path, read_start(path))
        matrix = read_matrix(path, file_format, options.memory_bytes * SHARE_OF_MEMORY)
    _check_shape(matrix, name, num_nodes, nodes)
    X: Any = sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)
    _check_values(X, name)
    X = X.astype(np.float32)
    names = [f"f{at}" for at in range(X.shape[1])]
    notes: list[str] = []
    if file_format == "svmlight":
        notes.append(f"{name}: the labels in it are ignored; those of {nodes} count")
        if not (X.indices == 0).any() and X.shape[1] > 1:
            X, names = X[:, 1:], names[1:]
    if options.model_features is not None:
        is_open = file_format == "svmlight"
        X = _select(X, names, options.model_features, name, is_open, notes)
        names = options.model_features
    return MatrixFeatures(X, names, f"{name}, {names[0]} to {names[-1]}", notes)


def _check_shape(matrix: Any, name: str, num_nodes: int, nodes: str) -> None:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise InputError(
            f"{name} must be a matrix of real numbers. Got shape {matrix.shape} and type "
            f"{matrix.dtype}."
        )
    if matrix.shape[0] != num_nodes:
        raise InputError(
            f"{name} has {matrix.shape[0]:,} rows, and {nodes} has {num_nodes:,}. Row i of the "
            "features belongs to row i of the nodes."
        )
    if not 1 <= matrix.shape[1] <= MAX_FEATURES:
        raise InputError(
            f"{name} has {matrix.shape[1]:,} columns, where 1 to {MAX_FEATURES:,} features are "
            "expected."
        )


def _check_values(X: Any, name: str) -> None:
    """Refuse values that are not finite in float32, at the first position."""
    values = X.data if sp.issparse(X) else X
    bad = ~(np.abs(values.astype(np.float64)) <= FLOAT32_MAX)
    if not bad.any():
        return
    if sp.issparse(X):
        at = int(bad.argmax())
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        column, value = int(X.indices[at]), values[at]
    else:
        row, column = (int(side) for side in np.unravel_index(bad.argmax(), bad.shape))
        value = X[row, column]
    raise InputError(
        f"{name}, row {row}, column {column} (counted from 0) is {value:g} ({bad.sum():,} such "
        "values in all). Features must be finite, and below 3.4e38: correct it first."
    )


def _select(
    X: Any, names: list[str], model_features: list[str], name: str, is_open: bool, notes: list[str]
) -> Any:
    """The features of a model in its order; with `is_open`, those that the file lacks are zero."""
    if names == model_features:
        return X
    position = {feature: at for at, feature in enumerate(names)}
    missing = [feature for feature in model_features if feature not in position]
    if missing and not (is_open and all(feature[1:].isdecimal() for feature in missing)):
        raise InputError(
            f"{name} has {len(names):,} features, {names[0]} to {names[-1]}, and lacks those that "
            f"the model was fitted with: {format_names(missing, 4)}. A matrix has no names of its "
            "own: name a table of features, or fit a model to a matrix."
        )
    if num_unknown := len(set(names) - set(model_features)):
        if not is_open:
            raise InputError(
                f"{name} has {len(names):,} features, and the model {len(model_features):,}. Name "
                "the matrix of these features."
            )
        notes.append(f"{name}: ignored {num_unknown:,} features that the model does not use")
    entries = sp.coo_array(X)
    target = {feature: at for at, feature in enumerate(model_features)}
    moved = np.array([target.get(feature, -1) for feature in names])[entries.col]
    kept = moved >= 0
    selected = sp.csr_array(
        (entries.data[kept], (entries.row[kept], moved[kept])),
        shape=(X.shape[0], len(model_features)),
    )
    return selected if sp.issparse(X) else selected.toarray()
