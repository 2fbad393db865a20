"""Count the edges that a table lists in both directions, and those of unequal weight among them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heatgraph.tables.options import Duplicates

Array = npt.NDArray[Any]


class Directions(NamedTuple):
    """Numbers of distinct edges, self-loops aside."""

    both: int
    unequal: int


def count_directions(
    source: Array, target: Array, weight: Array | None, num_nodes: int, duplicates: Duplicates
) -> Directions:
    """Count edges in both directions, after rows of the same direction are merged.

    Examples
    --------
    >>> count_directions(np.array([0, 1, 1]), np.array([1, 0, 2]), None, 3, "error")
    Directions(both=1, unequal=0)
    >>> weights = np.array([1.0, 3.0, 1.0])
    >>> count_directions(np.array([0, 1, 1]), np.array([1, 0, 2]), weights, 3, "error")
    Directions(both=1, unequal=1)
    """
    apart = source != target
    if weight is not None:
        apart &= weight != 0
    keys = np.minimum(source, target) * num_nodes + np.maximum(source, target)
    merged = []
    for rows in (apart & (source < target), apart & (source > target)):
        merged.append(_merge(keys[rows], None if weight is None else weight[rows], duplicates))
    (up, up_weights), (down, down_weights) = merged
    _, in_up, in_down = np.intersect1d(up, down, assume_unique=True, return_indices=True)
    unequal = 0
    if up_weights is not None and down_weights is not None:
        unequal = int(np.count_nonzero(up_weights[in_up] != down_weights[in_down]))
    return Directions(len(in_up), unequal)


def _merge(
    keys: Array, weights: Array | None, duplicates: Duplicates
) -> tuple[Array, Array | None]:
    """Distinct keys, sorted, and the sums or maxima of their weights."""
    if weights is None or len(keys) == 0:
        return np.unique(keys), weights
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    reduce = np.add if duplicates == "sum" else np.maximum
    return keys[starts], reduce.reduceat(weights, starts)
