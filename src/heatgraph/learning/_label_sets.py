"""Sets of labels per node: lists of labels, or an indicator matrix (n, L).

A node is unlabelled if its entry is None or NaN, or its row of the matrix all NaN. An empty list,
like a row of zeros, says that a node has none of the labels. A list of lists is never a matrix: its
entries are labels, even if they are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import as_array, exact_array
from heatgraph.errors import InputError, UnknownClassWarning, warn
from heatgraph.learning._labels import known_nodes, separate_nodes, unique_labels

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

EXPECTED = "a list of labels per node (None where unknown), or a matrix of 0 and 1 (NaN rows)"


@dataclass(frozen=True)
class LabelSets:
    """Labels (L,), which nodes have them (n, L), valid where `known` (n,) is true.

    `is_matrix` says that y was a matrix, whose columns are the labels whether nodes have them or
    not, and `has_names` that the labels are more than the positions of columns.
    """

    labels: Array
    indicators: npt.NDArray[np.float32]
    known: npt.NDArray[np.bool_]
    is_matrix: bool = False
    has_names: bool = True

    @classmethod
    def read(cls, y: Any, num_nodes: int) -> LabelSets:
        """Validate the labels of all nodes and mark the missing ones."""
        if y is None:
            raise InputError(
                f"this requires y to be passed, but the target y is None. Give {EXPECTED}."
            )
        names = getattr(y, "columns", None)
        if sp.issparse(y):
            y = y.toarray()
        elif hasattr(y, "__array__"):
            y = as_array(y, "y")
        if isinstance(y, np.ndarray) and y.ndim == 2:
            return cls._from_matrix(y, num_nodes, names)
        try:
            entries = list(y)
        except TypeError as error:
            raise InputError(f"y must be {EXPECTED}. Got {type(y).__name__}.") from error
        if len(entries) != num_nodes:
            raise InputError(
                f"y must be {EXPECTED}: {num_nodes:,} entries in all. Got {len(entries):,}."
            )
        return cls._from_sets(entries)

    @classmethod
    def _from_matrix(cls, matrix: Array, num_nodes: int, names: Any) -> LabelSets:
        if matrix.ndim != 2 or len(matrix) != num_nodes or matrix.shape[1] == 0:
            raise InputError(
                f"y must be {EXPECTED}: a matrix needs {num_nodes:,} rows and a column per label. "
                f"Got shape {matrix.shape}."
            )
        try:
            values = matrix.astype(np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"y must be {EXPECTED}. The matrix has {error}.") from error
        missing = np.isnan(values)
        unknown = np.asarray(missing.all(axis=1))
        bad = ~(missing & unknown[:, np.newaxis]) & (values != 0) & (values != 1)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise InputError(
                f"y must be {EXPECTED}. Row {row}, column {column} is {matrix[row, column]} "
                f"({np.count_nonzero(bad):,} such in all)."
            )
        labels = np.arange(matrix.shape[1]) if names is None else unique_order(list(names))
        return cls(labels, np.where(missing, 0, values), ~unknown, True, names is not None)

    @classmethod
    def _from_sets(cls, entries: list[Any]) -> LabelSets:
        known = np.array([not _is_missing(entry) for entry in entries], dtype=bool)
        sets: list[list[Any]] = [[] for _ in entries]
        for node in np.flatnonzero(known).tolist():
            entry = entries[node]
            if isinstance(entry, str | bytes) or not isinstance(entry, Iterable):
                raise InputError(
                    f"y must be {EXPECTED}. Entry {node} is {entry!r}, a {type(entry).__name__}: "
                    f"write [{entry!r}], or use DGCClassifier for one label per node. (Unknown "
                    "label type.)"
                )
            sets[node] = [
                label.item() if isinstance(label, np.generic) else label for label in entry
            ]
        flat = np.empty(sum(map(len, sets)), dtype=object)
        flat[:] = [label for one in sets for label in one]
        blank = [node for node, one in enumerate(sets) if any(map(_is_missing, one))]
        if blank:
            raise InputError(
                f"y has missing values among the labels of a node. Node {blank[0]} has "
                f"{sets[blank[0]]!r} ({len(blank):,} such in all). Leave them out of the list."
            )
        labels = unique_labels(flat)
        index = {label: at for at, label in enumerate(labels.tolist())}
        indicators = np.zeros((len(entries), len(labels)), dtype=np.float32)
        for node, one in enumerate(sets):
            for label in one:
                indicators[node, index[label]] = 1
        return cls(labels, indicators, known)

    def labelled(self, nodes: Any, name: str) -> Indices:
        """Indices of `nodes`, checked to be labelled; by default of all labelled nodes."""
        meaning = "None and NaN mean unlabelled, [] that a node has no label"
        return known_nodes(self.known, nodes, name, "labels", meaning)

    def of_classes(self, classes: Array) -> npt.NDArray[np.float32]:
        """Indicators (n, L) of a model's labels, in their order; others are left out.

        The columns of a matrix without names are the labels by position.
        """
        if not self.has_names:
            if len(self.labels) != len(classes):
                raise InputError(
                    f"y must have a column for each of the {len(classes):,} labels of the model. "
                    f"Got {len(self.labels):,}."
                )
            return self.indicators
        index = {label: at for at, label in enumerate(self.labels.tolist())}
        found = np.zeros((len(self.known), len(classes)), dtype=np.float32)
        for at, label in enumerate(classes.tolist()):
            if label in index:
                found[:, at] = self.indicators[:, index[label]]
        return found


def label_set_nodes(sets: LabelSets, train: Any, val: Any) -> tuple[Indices, Indices | None, Array]:
    """Training nodes, validation nodes, and the labels to learn: those of training nodes."""
    needed = "Some training nodes need a label that others do not have."
    training, validation = separate_nodes(sets, train, val, needed)
    counts = sets.indicators[training].sum(axis=0)
    if not ((counts > 0) & (counts < len(training))).any():
        what = "no label at all" if not counts.any() else "the same labels"
        raise InputError(
            f"training nodes must differ in their labels, and all {len(training):,} have {what}, "
            f"so there is one class only. {needed}"
        )
    unseen = sets.labels[counts == 0].tolist()
    if unseen:
        listed = ", ".join(map(repr, unseen[:10])) + (", ..." if len(unseen) > 10 else "")
        warn(
            f"{len(unseen)} of the labels in y have no training node and are never predicted: "
            f"{listed}.",
            UnknownClassWarning,
        )
    return training, validation, sets.labels if sets.is_matrix else sets.labels[counts > 0]


def unique_order(labels: list[Any]) -> Array:
    """Labels as an array in their order; the error names one that is repeated."""
    if len(set(labels)) < len(labels):
        repeated = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"the columns of y must differ in their names. {repeated!r} is repeated.")
    if all(isinstance(label, str) for label in labels):
        return exact_array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _is_missing(entry: Any) -> bool:
    if entry is None or type(entry).__name__ == "NAType":
        return True
    return isinstance(entry, float | np.floating) and bool(np.isnan(entry))
