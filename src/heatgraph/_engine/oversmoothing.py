"""Whether a diffusion has smoothed everything away.

After a long time nothing is left but, in every connected component, a multiple of the equilibrium
v, which has S v = v: the square root of degrees. Then X_T[i] / v[i] is the same for all nodes i of
a component. This is only looked for when the response has vanished from x = 1 on, which takes a T
of 16 or more.

Shapes: M results are (M, n, d), or (M, R, d) at R rows.
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

# Numbers that are looked at at a time.
BLOCK = 1 << 16


def may_oversmooth(scheme: Scheme, dtype: np.dtype[Any]) -> bool:
    """Whether the response leaves nothing beside the equilibrium, as far as `dtype` can tell."""
    left = np.abs(scheme.decay([1.0, 1.5, 2.0]))
    return bool((left <= np.finfo(dtype).eps).all())


def warn_if_oversmoothed(
    graph: Graph, schemes: Sequence[Scheme], rows: Array | None, self_loops: bool, results: Array
) -> None:
    """Warn of each result (M, R, d) that has nothing left but multiples of the equilibrium."""
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
    _, first, place = np.unique(component, return_index=True, return_inverse=True)
    if len(first) == len(place):
        return
    equilibrium = equilibrium.astype(dtype)
    tolerance = 100 * float(np.finfo(dtype).eps)
    for scheme, X_T in suspects:
        if _is_multiple(X_T, equilibrium, first, place, tolerance):
            warn(
                f"{scheme} has smoothed everything away: within each connected component all "
                "features are proportional to the square root of the degree. Choose a smaller T.",
                CollapseWarning,
            )


def _is_multiple(
    X: Array, equilibrium: Array, first: Array, place: Array, tolerance: float
) -> bool:
    """Whether rows of X / equilibrium equal those of their component's first, block by block."""
    width = max(1, min(X.shape[1], BLOCK // len(first)))
    columns = [slice(start, start + width) for start in range(0, X.shape[1], width)]

    def references(part: slice) -> Array:
        return np.asarray(X[first, part]) / equilibrium[first, np.newaxis]

    largest = max(float(np.abs(references(part)).max()) for part in columns)
    rows = max(1, BLOCK // width)
    for part in columns:
        wanted = references(part)
        for start in range(0, len(X), rows):
            block = slice(start, start + rows)
            multiples = X[block, part] / equilibrium[block, np.newaxis]
            if np.abs(multiples - wanted[place[block]]).max() > tolerance * largest:
                return False
    return True
