"""Validation of labels and of training and validation nodes.

A node is unlabelled if its entry is -1, None or NaN (or pandas' NA). Every other entry is a label,
an integer, boolean or text, and predictions return it unchanged.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import as_array, exact_array
from heatgraph.errors import InputError, UnknownClassWarning, warn
from heatgraph.graph import node_indices

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


class LabelledNodes(Protocol):
    """Labels of any kind, some of them missing."""

    def labelled(self, nodes: Any, name: str) -> Indices:
        """Indices of `nodes`, checked to have labels; by default of all labelled nodes."""


@dataclass(frozen=True)
class Labels:
    """One entry per node in `values` (n,), valid where `known` (n,) is true."""

    values: Array
    known: npt.NDArray[np.bool_]

    @classmethod
    def read(cls, y: Any, num_nodes: int) -> Labels:
        """Validate one label per node and mark the missing ones."""
        if y is None:
            raise InputError(
                "this requires y to be passed, but the target y is None. Give one label per node, "
                "and -1, None or NaN where there is none."
            )
        if not isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype):
            # pandas extension types: np.asarray would turn integers with missing values to floats.
            y = np.asarray(y, dtype=object)
        if isinstance(y, list | tuple):
            y = exact_array(y)
        values = as_array(y, "y")
        if values.ndim == 2 and values.shape[1] == 1:
            from sklearn.utils import column_or_1d

            values = column_or_1d(values, warn=True)
        if values.shape != (num_nodes,):
            raise InputError(
                f"y must have one label per node, {num_nodes:,} in all (-1, None or NaN where "
                f"there is none). Got shape {values.shape}."
            )
        if values.dtype.kind == "f":
            known = ~np.isnan(values) & (values != -1)
            _check_whole(np.flatnonzero(known & (values != np.rint(values))), values)
        elif values.dtype.kind in "iu":
            known = values != -1
        elif values.dtype.kind in "bUS":
            known = np.ones(num_nodes, dtype=bool)
        elif values.dtype.kind == "O":
            known = np.array([not is_missing(value) for value in values], dtype=bool)
            fractions = [isinstance(value, float) and not value.is_integer() for value in values]
            _check_whole(np.flatnonzero(known & fractions), values)
        else:
            raise InputError(f"y must be numbers, strings or booleans. Got dtype {values.dtype}.")
        return cls(values, known)

    def classes(self, nodes: Indices) -> Array:
        """Distinct labels of `nodes`, sorted."""
        return unique_labels(self.values[nodes])

    def encode(self, classes: Array, nodes: Indices) -> Indices:
        """Indices into `classes` of the labels of `nodes`; -1 for a label not among them."""
        index = {value: i for i, value in enumerate(classes.tolist())}
        return np.array([index.get(v, -1) for v in self.values[nodes].tolist()], dtype=np.int64)

    def labelled(self, nodes: Any, name: str) -> Indices:
        """Indices of `nodes`, checked to have labels; by default of all labelled nodes."""
        meaning = "-1, None and NaN mean unlabelled"
        return known_nodes(self.known, nodes, name, "a label", meaning, self.values)


def known_nodes(
    known: npt.NDArray[np.bool_],
    nodes: Any,
    name: str,
    what: str,
    meaning: str,
    values: Array | None = None,
) -> Indices:
    """Indices of `nodes`, checked to be `known` (n,); by default of all that are.

    The error says that the argument `name` has nodes without `what`, what the first of them has
    instead if there are `values` (n,), and by `meaning` which entries of y stand for none.
    """
    if nodes is None:
        return np.flatnonzero(known)
    chosen = node_indices(nodes, len(known), name)
    missing = chosen[~known[chosen]]
    if len(missing):
        first = "none" if values is None else repr(values[missing[:1]].tolist()[0])
        raise InputError(
            f"{name} names nodes without {what}. Node {missing[0]} has {first} ({len(missing):,} "
            f"such in all); {meaning}."
        )
    return chosen


def training_nodes(labels: Labels, train: Any, val: Any) -> tuple[Indices, Indices | None]:
    """Validate `train` and `val`; return the indices of training and validation nodes."""
    needed = "At least two classes need a labelled node each."
    training, validation = separate_nodes(labels, train, val, needed)
    classes = labels.classes(training)
    if len(classes) == 1:
        raise InputError(
            f"training nodes must have at least two classes, and there is one class only: all "
            f"{len(training):,} have the label {classes.tolist()[0]!r}. -1, None and NaN mean "
            "unlabelled, so for labels of -1 and 1 use other names."
        )
    all_classes = labels.classes(np.flatnonzero(labels.known)).tolist()
    trained = set(classes.tolist())
    unseen = [label for label in all_classes if label not in trained]
    if unseen:
        listed = ", ".join(map(repr, unseen[:10])) + (", ..." if len(unseen) > 10 else "")
        warn(
            f"{len(unseen)} of the classes in y have no training node and are never predicted: "
            f"{listed}.",
            UnknownClassWarning,
        )
    return training, validation


def separate_nodes(
    labels: LabelledNodes, train: Any, val: Any, needed: str
) -> tuple[Indices, Indices | None]:
    """Training and validation nodes, checked to have labels and to be distinct.

    `needed` is a sentence about what there must be to learn from.
    """
    validation = None if val is None else _check_distinct(labels.labelled(val, "val"), "val")
    training = _check_distinct(labels.labelled(train, "train"), "train")
    if validation is not None:
        if len(validation) == 0:
            raise InputError("val names no node. Leave it out to choose by cross-validation.")
        if train is None:
            training = np.setdiff1d(training, validation)
        shared = np.intersect1d(training, validation)
        if len(shared):
            raise InputError(
                f"train and val overlap in {len(shared):,} nodes, the first of them {shared[0]}. "
                "Settings chosen on nodes that were learned from mean nothing: take them out of "
                "one of the two."
            )
    if len(training) == 0:
        given = "train names no node" if train is not None else "y has no label left to learn from"
        raise InputError(f"{given}. {needed}")
    return training, validation


def _check_whole(fractions: Indices, values: Array) -> None:
    if len(fractions):
        raise InputError(
            f"y must hold classes. Unknown label type: continuous; entry {fractions[0]} is "
            f"{values[fractions[0]]:g} ({len(fractions):,} such in all). Bin them first."
        )


def is_missing(value: Any) -> bool:
    """Whether an entry means unlabelled: None, NaN, pandas' NA or -1."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return False
    return bool(value == -1 or value != value)


def unique_labels(values: Array) -> Array:
    """Distinct labels, sorted; those of several types by type and text."""
    if values.dtype != object:
        return np.unique(values)
    try:
        found = set(values.tolist())
    except TypeError as error:
        raise InputError(f"y has labels that cannot be compared: {error}.") from error
    kinds = {type(value) for value in found}
    if len(kinds) == 1 and issubclass(kinds.pop(), str | bool | numbers.Real):
        return exact_array(sorted(found))  # NumPy's text drops null characters at the end
    ordered = np.empty(len(found), dtype=object)
    ordered[:] = sorted(found, key=lambda value: (type(value).__name__, repr(value)))
    return ordered


def _check_distinct(nodes: Indices, name: str) -> Indices:
    distinct, counts = np.unique(nodes, return_counts=True)
    if len(distinct) < len(nodes):
        raise InputError(
            f"{name} must name each node once. Node {distinct[counts > 1][0]} is listed more than "
            f"once ({np.count_nonzero(counts > 1):,} such nodes in all)."
        )
    return nodes
