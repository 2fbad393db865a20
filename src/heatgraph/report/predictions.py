"""What a table of predictions says of each node beside the probabilities.

A note tells why a prediction may be little more than a guess. Reasons are the features and nodes
with the largest shares of the score of the class predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.graph import Graph
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.reasons import Shares, strongest_reasons

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Labelled nodes up to this many edges away are near.
NEAR_HOPS = 3
# Nodes whose predictions are explained in one table.
MAX_EXPLAINED = 10_000


def node_notes(graph: Graph, learned: Indices | None = None) -> list[str]:
    """A note for each node: "" if there is nothing to say, else what is missing.

    "no edges", apart from self-loops; "no labelled node within reach" along edges, or "nearest
    label more than 3 edges away"; "all features zero". Several are joined by "; ". `learned` are
    the nodes whose labels the model has learned; if they are unknown, distances are left out.

    Examples
    --------
    >>> path = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], num_nodes=6, symmetrize="max")
    >>> node_notes(path, np.array([0]))[3:]
    ['', 'nearest label more than 3 edges away', 'no edges']
    """
    n = graph.num_nodes
    loops = graph.adjacency.diagonal() != 0
    isolated = np.diff(graph.indptr) == loops
    remarks = [(isolated, "no edges")]
    if learned is not None:
        near = np.zeros(n, dtype=bool)
        near[learned] = True
        pattern = sp.csr_array(
            (np.ones(len(graph.indices), dtype=np.float32), graph.indices, graph.indptr),
            shape=(n, n),
        )
        reached = np.isin(graph.components, np.unique(graph.components[learned]))
        for _ in range(NEAR_HOPS):
            near |= pattern @ near.astype(np.float32) > 0
        remarks.append((~reached & ~isolated, "no labelled node within reach"))
        remarks.append((reached & ~near, f"nearest label more than {NEAR_HOPS} edges away"))
    if graph.features is not None:
        entries = abs(graph.features).sum(axis=1)
        remarks.append((np.asarray(entries).ravel() == 0, "all features zero"))
    notes = [""] * n
    for is_noted, text in remarks:
        for node in np.flatnonzero(is_noted).tolist():
            notes[node] = f"{notes[node]}; {text}" if notes[node] else text
    return notes


def reason_columns(
    model: DGCClassifier,
    probabilities: Array,
    top: int,
    graph: Graph | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, list[str]]:
    """The strongest reasons of each prediction as texts, by the names of the columns."""
    found = strongest_reasons(model, probabilities.argmax(axis=1), top, graph, progress)
    columns = {"top_nodes": [_text(reasons.nodes) for reasons in found]}
    if model.n_features_in_:
        columns = {"top_features": [_text(reasons.features) for reasons in found]} | columns
    return columns


def _text(shares: Shares) -> str:
    return "; ".join(f"{name} {share:+.3g}" for name, share in shares)
