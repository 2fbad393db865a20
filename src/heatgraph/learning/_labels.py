"""Labels of nodes as callers give them: of any kind, and some of them missing.

A node is unlabelled where its entry is -1, None or NaN (or pandas' NA). Everything else is a label
and comes back from predictions as it was given, be it an integer, a boolean or a text.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import as_array, exact_array
from heatgraph.errors import InputError, UnknownClassWarning, warn
from heatgraph.graph import node_indices

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Labels:
    """One entry per node: its label in `values`, where `known`."""

    values: Array
    known: npt.NDArray[np.bool_]

    @classmethod
    def read(cls, y: Any, num_nodes: int) -> Labels:
        """Read labels and find out which are missing."""
        if y is None:
            raise InputError(
                "this requires y to be passed, but the target y is None. Give one label per node, "
                "and -1, None or NaN where there is none."
            )
        if not isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype):
            # pandas' own types: as an array, integers beside missing ones would become floats.
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
            raise InputError(f"y must be numbers, texts or booleans. Got dtype {values.dtype}.")
        return cls(values, known)

    def classes(self, nodes: Indices) -> Array:
        """Distinct labels of some nodes, sorted."""
        return _distinct(self.values[nodes])

    def encode(self, classes: Array, nodes: Indices) -> Indices:
        """Positions of some nodes' labels among the classes; -1 for a label that is not there."""
        place = {value: position for position, value in enumerate(classes.tolist())}
        return np.array([place.get(v, -1) for v in self.values[nodes].tolist()], dtype=np.int64)

    def labelled(self, nodes: Any, name: str) -> Indices:
        """Read a choice of nodes (by default all that have a label) and see that they have one."""
        if nodes is None:
            return np.flatnonzero(self.known)
        chosen = node_indices(nodes, len(self.values), name)
        missing = chosen[~self.known[chosen]]
        if len(missing):
            (first,) = self.values[missing[:1]].tolist()
            raise InputError(
                f"{name} names nodes without a label. Node {missing[0]} has {first!r} "
                f"({len(missing):,} such in all); -1, None and NaN mean unlabelled."
            )
        return chosen


def training_nodes(labels: Labels, train: Any, val: Any) -> tuple[Indices, Indices | None]:
    """Read which nodes to learn from, and which to choose settings by."""
    chosen = None if val is None else _distinct_nodes(labels.labelled(val, "val"), "val")
    learning = _distinct_nodes(labels.labelled(train, "train"), "train")
    if chosen is not None:
        if len(chosen) == 0:
            raise InputError("val names no node. Leave it out to choose by cross-validation.")
        if train is None:
            learning = np.setdiff1d(learning, chosen)
        shared = np.intersect1d(learning, chosen)
        if len(shared):
            raise InputError(
                f"train and val overlap in {len(shared):,} nodes, the first of them {shared[0]}. "
                "Settings chosen on nodes that were learned from mean nothing: take them out of "
                "one of the two."
            )
    if len(learning) == 0:
        given = "train names no node" if train is not None else "y has no label left to learn from"
        raise InputError(f"{given}. At least two classes need a labelled node each.")
    classes = labels.classes(learning)
    if len(classes) == 1:
        raise InputError(
            f"training nodes must have at least two classes, and there is one class only: all "
            f"{len(learning):,} have the label {classes.tolist()[0]!r}. -1, None and NaN mean "
            "unlabelled, so for labels of -1 and 1 use other names."
        )
    unseen = _without(labels.classes(np.flatnonzero(labels.known)), classes)
    if unseen:
        listed = ", ".join(map(repr, unseen[:10])) + (", ..." if len(unseen) > 10 else "")
        warn(
            f"{len(unseen)} of the classes in y have no training node and are never predicted: "
            f"{listed}.",
            UnknownClassWarning,
        )
    return learning, chosen


def _check_whole(fractions: Indices, values: Array) -> None:
    if len(fractions):
        raise InputError(
            f"y must hold classes. Unknown label type: continuous; entry {fractions[0]} is "
            f"{values[fractions[0]]:g} ({len(fractions):,} such in all). Bin them first."
        )


def is_missing(value: Any) -> bool:
    """Whether an entry stands for no label: None, NaN, pandas' NA or -1."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return False
    return bool(value == -1 or value != value)


def _distinct(values: Array) -> Array:
    if values.dtype != object:
        return np.unique(values)
    try:
        found = set(values.tolist())
    except TypeError as error:
        raise InputError(f"y has labels that cannot be compared: {error}.") from error
    kinds = {type(value) for value in found}
    if len(kinds) == 1 and issubclass(kinds.pop(), str | bool | numbers.Real):
        return np.array(sorted(found))
    ordered = np.empty(len(found), dtype=object)
    ordered[:] = sorted(found, key=lambda value: (type(value).__name__, repr(value)))
    return ordered


def _without(classes: Array, known: Array) -> list[Any]:
    seen = set(known.tolist())
    return [value for value in classes.tolist() if value not in seen]


def _distinct_nodes(nodes: Indices, name: str) -> Indices:
    distinct, times = np.unique(nodes, return_counts=True)
    if len(distinct) < len(nodes):
        raise InputError(
            f"{name} must name each node once. Node {distinct[times > 1][0]} comes more than once "
            f"({np.count_nonzero(times > 1):,} such nodes in all)."
        )
    return nodes
