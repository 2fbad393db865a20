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
    source: Array, target: Array, weight: Array, num_nodes: int, duplicates: Duplicates
) -> Directions:
    """Count weighted edges in both directions, after rows of the same direction are merged.

    Examples
    --------
    >>> ends = np.array([0, 1, 1]), np.array([1, 0, 2])
    >>> count_directions(*ends, np.array([1.0, 3.0, 1.0]), 3, "error")
    Directions(both=1, unequal=1)
    """
    keys = np.minimum(source, target) * num_nodes + np.maximum(source, target)
    positive = weight > 0
    up, up_weight = _merge(keys, weight, positive & (source < target), duplicates)
    down, down_weight = _merge(keys, weight, positive & (source > target), duplicates)
    if len(down) == 0:
        return Directions(0, 0)
    place = np.minimum(np.searchsorted(down, up), len(down) - 1)
    in_both = down[place] == up
    unequal = up_weight[in_both] != down_weight[place[in_both]]
    return Directions(int(in_both.sum()), int(unequal.sum()))


def _merge(keys: Array, weight: Array, rows: Array, duplicates: Duplicates) -> tuple[Array, Array]:
    """Distinct keys of some rows, sorted, and the sums or maxima of their weights."""
    keys, weight = keys[rows], weight[rows]
    if len(keys) == 0:
        return keys, weight
    order = np.argsort(keys, kind="stable")
    keys, weight = keys[order], weight[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    reduce = np.add if duplicates == "sum" else np.maximum
    return keys[starts], reduce.reduceat(weight, starts)
