"""Oversmoothing: whether nothing but the equilibrium is left of a diffusion.

As T grows, the columns of X_T converge, in each connected component, to a multiple of the
equilibrium v with S v = v, which is the square root of the degrees. X_T is oversmoothed when
X_T[i] / v[i] is the same for all nodes i of a component, up to rounding. The check is skipped
unless the response r has vanished for all eigenvalues x >= 1 of L, which takes a T of 16 or more.

Shapes: M results are (M, n, d), or (M, R, d) at R requested rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.errors import CollapseWarning, warn
from heatgraph.graph import Graph
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]

# Numbers that are compared at a time.
BLOCK_SIZE = 1 << 16


def may_oversmooth(scheme: Scheme, dtype: np.dtype[Any]) -> bool:
    """Whether the response vanishes, to the precision of `dtype`, from x = 1 on."""
    remaining = np.abs(scheme.decay([1.0, 1.5, 2.0]))
    return bool((remaining <= np.finfo(dtype).eps).all())


def warn_if_oversmoothed(
    graph: Graph, schemes: Sequence[Scheme], rows: Array | None, self_loops: bool, results: Array
) -> None:
    """Warn of each result (M, R, d) whose columns are multiples of the equilibrium."""
    dtype = results.dtype
    suspects = [
        (scheme, X_T)
        for scheme, X_T in zip(schemes, results, strict=True)
        if may_oversmooth(scheme, dtype)
    ]
    if not suspects:
        return
    component, equilibrium = graph.components, graph.stationary(self_loops)
    if rows is not None:
        component, equilibrium = component[rows], equilibrium[rows]
    _, first, component_index = np.unique(component, return_index=True, return_inverse=True)
    if len(first) == len(component):
        return  # a node alone in its component is always at equilibrium
    equilibrium = equilibrium.astype(dtype)
    tolerance = 100 * float(np.finfo(dtype).eps)
    for scheme, X_T in suspects:
        if _is_multiple(X_T, equilibrium, first, component_index, tolerance):
            warn(
                f"{scheme} has smoothed everything away: within each connected component all "
                "features are proportional to the square root of the degree. Choose a smaller T.",
                CollapseWarning,
            )


def _is_multiple(
    X: Array, equilibrium: Array, first: Array, component_index: Array, tolerance: float
) -> bool:
    """Whether each row of X / equilibrium equals that of the first node of its component.

    `first` (components,) holds those nodes, and `component_index` (R,) numbers the components.
    """
    width = max(1, min(X.shape[1], BLOCK_SIZE // len(first)))
    columns = [slice(start, start + width) for start in range(0, X.shape[1], width)]

    def references(part: slice) -> Array:
        return np.asarray(X[first, part]) / equilibrium[first, np.newaxis]

    largest = max(float(np.abs(references(part)).max()) for part in columns)
    rows = max(1, BLOCK_SIZE // width)
    for part in columns:
        expected = references(part)
        for start in range(0, len(X), rows):
            block = slice(start, start + rows)
            multiples = X[block, part] / equilibrium[block, np.newaxis]
            if np.abs(multiples - expected[component_index[block]]).max() > tolerance * largest:
                return False
    return True
