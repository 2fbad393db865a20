"""Numbers per node as targets of a regression: one, or several.

A node is unlabelled if its entry is None or NaN (or pandas' NA). -1 is a number like any other.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import as_array
from heatgraph.errors import InputError
from heatgraph.learning._labels import known_nodes

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NodeNumbers:
    """Numbers `values` (n, q), valid where `known` (n,) is true; `is_flat` if y had one axis."""

    values: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]
    is_flat: bool

    @classmethod
    def read(cls, y: Any, num_nodes: int) -> NodeNumbers:
        """Validate the numbers of all nodes and mark the missing ones."""
        if y is None:
            raise InputError(
                "this requires y to be passed, but the target y is None. Give one number per node, "
                "and NaN or None where there is none."
            )
        if not isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype):
            y = np.asarray(y, dtype=object)  # pandas extension types
        array = as_array(y, "y")
        if array.ndim not in (1, 2) or len(array) != num_nodes or 0 in array.shape[1:]:
            raise InputError(
                f"y must have one number per node, {num_nodes:,} in all, or a row of numbers each "
                f"(NaN or None where there is none). Got shape {array.shape}."
            )
        values = _to_floats(array).reshape(num_nodes, -1)
        missing = np.isnan(values)
        infinite = np.flatnonzero(np.isinf(values).any(axis=1))
        if len(infinite):
            raise InputError(
                f"y must be finite. Entry {infinite[0]} is infinite ({len(infinite):,} such in "
                "all): correct it, or use NaN where the number is unknown."
            )
        partly = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
        if len(partly):
            raise InputError(
                f"a node must have all of its {values.shape[1]} numbers or none. Row {partly[0]} "
                f"of y has some ({len(partly):,} such in all). Fit one model for each column."
            )
        return cls(values, np.asarray(~missing.any(axis=1)), array.ndim == 1)

    def labelled(self, nodes: Any, name: str) -> Indices:
        """Indices of `nodes`, checked to have numbers; by default of all that have."""
        meaning = "NaN and None mean unlabelled"
        return known_nodes(self.known, nodes, name, "a number in y", meaning)


def _to_floats(array: Array) -> npt.NDArray[np.float64]:
    """Convert to float64, None to NaN; the error names the first entry that is no number."""
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind != "O":
        raise InputError(
            f"y must be numbers. Got dtype {array.dtype}. For classes use DGCClassifier."
        )
    values = np.empty(array.size)
    for position, value in enumerate(array.ravel()):
        if value is None or type(value).__name__ == "NAType":
            values[position] = np.nan
        elif isinstance(value, numbers.Real):
            values[position] = float(value)
        else:
            raise InputError(
                f"y must be numbers. Entry {position} is {value!r}, a {type(value).__name__}. For "
                "classes use DGCClassifier."
            )
    return values.reshape(array.shape)
