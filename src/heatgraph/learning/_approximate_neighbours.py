"""Approximate nearest neighbours of many nodes, by the extra ``neighbours``.

Nearest-neighbour descent (Dong, Moses and Li 2011, as in pynndescent) starts from random trees and
looks for nearer ones among the neighbours of neighbours, in about n log n comparisons. It is asked
for CANDIDATES of each node, whose cosines are then computed exactly, and the k largest are kept.
The descent runs on one thread: what it finds depends on their number.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Indices = npt.NDArray[np.int64]
Similarities = npt.NDArray[np.float32]

INSTALL = "pip install 'heatgraph[neighbours]'"
# Candidates of a node, of which k are kept: with k alone, more of the nearest were missed.
CANDIDATES = 30
# Entries of features that are multiplied at a time.
BLOCK_ENTRIES = 1 << 22
# Memory of the search beside features: for each candidate, and for each entry of the features that
# it copies; and what compiling it takes.
CANDIDATE_BYTES, ENTRY_BYTES, COMPILER_BYTES = 60, 24, 400 << 20


def is_extra_installed() -> bool:
    """Whether neighbours can be found approximately."""
    return find_spec("pynndescent") is not None


def approximate_memory(X: Any) -> int:
    """Bytes that the search for neighbours takes beside features X (n, d), at most."""
    entries = X.nnz if sp.issparse(X) else X.size
    return int(X.shape[0] * CANDIDATES * CANDIDATE_BYTES + entries * ENTRY_BYTES) + COMPILER_BYTES


def approximate_neighbours(unit: Any, k: int) -> tuple[Indices, Similarities]:
    """The k nearest (n, k) of each row of unit length, -1 where fewer are known, and cosines."""
    import pynndescent

    index = pynndescent.NNDescent(
        unit,
        metric="cosine",
        n_neighbors=max(CANDIDATES, k + 1),
        random_state=0,
        n_jobs=1,
    )
    candidates = index.neighbor_graph[0].astype(np.int64)
    n, width = candidates.shape
    similarity = np.zeros((n, width), dtype=np.float32)
    entries = unit.nnz if sp.issparse(unit) else unit.size
    size = max(1, int(BLOCK_ENTRIES * n / max(1, entries) / width))
    for start in range(0, n, size):
        block = slice(start, start + size)
        similarity[block] = _cosines(unit, np.arange(n)[block], candidates[block])
    is_missing = (candidates < 0) | (candidates == np.arange(n)[:, np.newaxis]) | (similarity <= 0)
    candidates[is_missing], similarity[is_missing] = -1, 0
    # By decreasing similarity, and by index among equals.
    by_index = np.argsort(candidates, axis=1, kind="stable")
    candidates, similarity = (np.take_along_axis(a, by_index, 1) for a in (candidates, similarity))
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(candidates, order, 1), np.take_along_axis(similarity, order, 1)


def _cosines(unit: Any, nodes: Indices, candidates: Indices) -> Similarities:
    """Cosines (b, c) between nodes (b,) and their candidates (b, c)."""
    if not sp.issparse(unit):
        return np.asarray(np.einsum("bd,bcd->bc", unit[nodes], unit[candidates]))
    width = candidates.shape[1]
    products = unit[np.repeat(nodes, width)].multiply(unit[candidates.ravel()])
    return np.asarray(products.sum(axis=1)).reshape(-1, width).astype(np.float32)
