"""New nodes and edges of a graph: read by name, and checked against the nodes that are known.

A node's name is its id or, in a graph without ids, its index; new nodes then follow as n, n + 1,
.... An edge is undirected and listed once, in either direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import as_array, check_real, exact_array, positive_integer
from heatgraph.errors import InputError
from heatgraph.graph._normalized_operator import square_array
from heatgraph.graph._storage import GraphArrays
from heatgraph.graph._validation import Merge, validate_features, validate_node_ids

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Duplicates = Literal["error"] | Merge
# Indices of nodes by id; None for a graph without ids.
Positions = dict[Any, int] | None


@dataclass(frozen=True)
class NewNodes:
    """R nodes that join a graph of n nodes, as n, ..., n + R - 1, and edges that join with them.

    `features` (R, d), sparse if the graph's are, and `node_ids` (R,) are None if the graph has
    none. `sources` <= `targets` (m,) are indices, each pair once, and `weights` (m,) is None if all
    are 1. `num_duplicates` are the edges that were merged.
    """

    num_nodes: int
    features: Any
    node_ids: Array | None
    sources: Indices
    targets: Indices
    weights: npt.NDArray[np.float64] | None
    num_duplicates: int

    @property
    def entries(self) -> tuple[Indices, Indices, npt.NDArray[np.float64]]:
        """Rows, columns and values that the edges add to A, in both directions."""
        weights = np.ones(len(self.sources)) if self.weights is None else self.weights
        between = self.sources != self.targets
        rows = np.concatenate([self.sources, self.targets[between]])
        columns = np.concatenate([self.targets, self.sources[between]])
        return rows, columns, np.concatenate([weights, weights[between]])


def read_new_nodes(
    graph: GraphArrays,
    positions: Positions,
    features: Any,
    edges: Any,
    weight: Any,
    node_ids: Any,
    num_nodes: int | None,
    duplicates: Duplicates,
) -> NewNodes:
    """Check nodes with features, ids and edges; every edge has a new node at an end."""
    R = _count_new(features, node_ids, num_nodes)
    X = validate_features(features, R, copy=False)
    expected, found = (0 if part is None else part.shape[1] for part in (graph.features, X))
    if expected != found:
        raise InputError(
            f"new nodes must have the graph's {expected:,} features. Got {found or 'none'}."
        )
    if X is not None and sp.issparse(graph.features) != sp.issparse(X):
        X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
    n = graph.num_nodes
    ids = _read_ids(n, positions, node_ids, R)
    names = _Names(graph, positions, ids, R)
    sources, targets = names.find_edges(edges)
    known = np.flatnonzero((sources < n) & (targets < n))
    if len(known):
        at = int(known[0])
        raise InputError(
            f"edges must have a new node at one end at least. Edge {at}, {names.of(sources[at])!r} "
            f"- {names.of(targets[at])!r}, is between known nodes ({len(known):,} such in all): "
            "add it with Graph.with_edges, or drop it."
        )
    return NewNodes(R, X, ids, *_merge(sources, targets, weight, duplicates, names))


def read_new_edges(
    graph: GraphArrays, positions: Positions, edges: Any, weight: Any, duplicates: Duplicates
) -> NewNodes:
    """Check edges between known nodes; the result has no nodes."""
    names = _Names(graph, positions, None, 0)
    sources, targets = names.find_edges(edges)
    return NewNodes(0, None, None, *_merge(sources, targets, weight, duplicates, names))


def grown_adjacency(graph: GraphArrays, new: NewNodes, duplicates: Duplicates) -> sp.csr_array:
    """A (n + R, n + R) with the new edges; an edge that is known is merged with the new one."""
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    if new.weights is not None:
        weights = weights.astype(np.float64)
    end = np.full(new.num_nodes, graph.indptr[-1])
    old = square_array(weights, graph.indices, np.concatenate([graph.indptr, end]))
    rows, columns, values = new.entries
    added = sp.csr_array((values.astype(weights.dtype), (rows, columns)), shape=old.shape)
    weighted = new.weights is not None or graph.weights is not None
    if duplicates == "error" and weighted:
        _check_known_weights(old, added, _Names(graph, None, new.node_ids, new.num_nodes))
    summed = duplicates == "sum" and weighted
    matrix = sp.csr_array(old + added if summed else old.maximum(added))
    matrix.sort_indices()
    return matrix


def grown_features(graph: GraphArrays, new: NewNodes) -> Any:
    """X (n + R, d): rows of new nodes below those of the graph, sparse if these are."""
    if graph.features is None or new.num_nodes == 0:
        return graph.features
    if sp.issparse(graph.features):
        return sp.csr_array(sp.vstack([graph.features, new.features]))
    return np.vstack([graph.features, new.features])


def grown_ids(graph: GraphArrays, new: NewNodes) -> Array | None:
    """Ids of all nodes; None if the graph has none."""
    if graph.node_ids is None or new.node_ids is None:
        return graph.node_ids
    if graph.node_ids.dtype.kind == new.node_ids.dtype.kind in "iuU":
        joined = np.concatenate([graph.node_ids, new.node_ids])
        if joined.dtype.kind == graph.node_ids.dtype.kind:
            return joined
    return exact_array(graph.node_ids.tolist() + new.node_ids.tolist())


class _Names:
    """Indices of nodes by name: those of a graph, and R new ones after them."""

    def __init__(
        self, graph: GraphArrays, positions: Positions, new_ids: Array | None, R: int
    ) -> None:
        self._graph, self._positions, self._total = graph, positions, graph.num_nodes + R
        names = [] if new_ids is None else new_ids.tolist()
        self._new = {name: at for at, name in enumerate(names)}

    def find_edges(self, edges: Any) -> tuple[Indices, Indices]:
        """Indices of both ends of each edge, a pair of names; an unknown name is an error."""
        sources, targets = _read_pairs(edges)
        return self._find(sources, "source"), self._find(targets, "target")

    def _find(self, ends: Sequence[Any] | Array, which: str) -> Indices:
        if self._positions is None:
            nodes = as_array(ends, "edges")
            if nodes.dtype.kind not in "iu" and len(nodes):
                raise InputError(
                    f"edges must be pairs of integers, since the graph has no node_ids. Got "
                    f"{nodes.dtype}."
                )
            outside = np.flatnonzero((nodes < 0) | (nodes >= self._total)) if len(nodes) else nodes
        else:
            known, n = self._positions, self._graph.num_nodes
            names = ends.tolist() if isinstance(ends, np.ndarray) else list(ends)
            try:
                nodes = np.array(
                    [known.get(name, n + self._new.get(name, -n - 1)) for name in names], dtype=int
                )
            except TypeError as error:
                raise InputError(f"edges must be pairs of node ids: {error}.") from error
            outside = np.flatnonzero(nodes < 0)
        if len(outside):
            name = ends[int(outside[0])]
            name = name.item() if isinstance(name, np.generic) else name
            raise InputError(
                f"edge {outside[0]}: {which} node {name!r} is neither in the graph nor new "
                f"({len(outside):,} such edges in all). Add the node, or drop the edge."
            )
        return nodes.astype(np.int64)

    def of(self, node: int) -> Any:
        """Name of a node."""
        n, ids = self._graph.num_nodes, self._graph.node_ids
        if ids is None:
            return int(node)
        return ids[[node]].tolist()[0] if node < n else list(self._new)[int(node) - n]


def _count_new(features: Any, node_ids: Any, num_nodes: int | None) -> int:
    """Number of new nodes, from whatever tells it."""
    if num_nodes is not None:
        return positive_integer(num_nodes, "num_nodes")
    source = features if features is not None else node_ids
    if source is None:
        raise InputError(
            "the number of new nodes is unknown: give features=, node_ids= or num_nodes=."
        )
    count = source.shape[0] if hasattr(source, "shape") and source.shape else len(source)
    if count == 0:
        raise InputError("there must be at least one new node. Got none.")
    return int(count)


def _read_ids(n: int, positions: Positions, node_ids: Any, R: int) -> Array | None:
    """Ids of nodes that join n others, which must be new; None if the graph has none."""
    if positions is None:
        if node_ids is not None:
            raise InputError(
                "node_ids of new nodes need a graph with node_ids. Without, new nodes are "
                f"{n}, ..., {n + R - 1}."
            )
        return None
    if node_ids is None:
        raise InputError("the graph has node_ids: give node_ids= for the new nodes.")
    ids = validate_node_ids(node_ids, R)
    assert ids is not None
    taken = [at for at, name in enumerate(ids.tolist()) if name in positions]
    if taken:
        raise InputError(
            f"node_ids of new nodes must be new. Entry {taken[0]} is {ids.tolist()[taken[0]]!r}, "
            f"which is in the graph ({len(taken):,} such in all)."
        )
    return ids


def _read_pairs(edges: Any) -> tuple[Any, Any]:
    """The two ends of each edge, from an array (m, 2) or a list of pairs."""
    if isinstance(edges, np.ndarray):
        pairs: Any = edges
        if pairs.size == 0:
            return (), ()
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InputError(f"edges must be pairs of nodes, (m, 2). Got shape {pairs.shape}.")
        return pairs[:, 0], pairs[:, 1]
    try:
        pairs = [tuple(pair) for pair in edges]
    except TypeError as error:
        raise InputError(f"edges must be pairs of nodes: {error}.") from error
    for at, pair in enumerate(pairs):
        if len(pair) != 2:
            raise InputError(f"edges must be pairs of nodes. Edge {at} is {pair!r}.")
    return [first for first, _ in pairs], [second for _, second in pairs]


def _merge(
    sources: Indices, targets: Indices, weight: Any, duplicates: Duplicates, names: _Names
) -> tuple[Indices, Indices, npt.NDArray[np.float64] | None, int]:
    """Edges with the lower index first, each once, without those of weight zero."""
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    weights = None if weight is None else _read_weights(weight, low, high, names)
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    first = np.ones(len(low), dtype=bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    starts = np.flatnonzero(first)
    num_duplicates = len(low) - len(starts)
    if weights is not None and len(starts):
        weights = weights[order]
        least, most = (reduce.reduceat(weights, starts) for reduce in (np.minimum, np.maximum))
        conflicts = np.flatnonzero(least < most)
        if len(conflicts) and duplicates == "error":
            at = starts[conflicts[0]]
            raise InputError(
                f"edge {names.of(low[at])!r} - {names.of(high[at])!r} is given several times with "
                f"different weights ({len(conflicts):,} such edges in all). Pass duplicates='sum' "
                "or duplicates='max'."
            )
        weights = np.add.reduceat(weights, starts) if duplicates == "sum" else most
        starts, weights = starts[weights > 0], weights[weights > 0]
    return low[starts], high[starts], weights, num_duplicates


def _read_weights(
    weight: Any, low: Indices, high: Indices, names: _Names
) -> npt.NDArray[np.float64]:
    weights = as_array(weight, "weight")
    if weights.shape != low.shape:
        raise InputError(
            f"weight must have one entry per edge, {len(low)}. Got shape {weights.shape}."
        )
    check_real(weights.dtype, "weight")
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(bad):
        at = int(bad[0])
        raise InputError(
            f"weights must be finite and not negative. Edge {at}, {names.of(low[at])!r} - "
            f"{names.of(high[at])!r}, has {weights[at]:g} ({len(bad):,} such in all); drop or "
            "correct them."
        )
    return weights.astype(np.float64)


def _check_known_weights(old: sp.csr_array, added: sp.csr_array, names: _Names) -> None:
    """Refuse an edge that is known with another weight."""
    both = sp.coo_array(sp.triu(added.multiply(old.astype(bool))))
    if both.nnz == 0:
        return
    known = np.asarray(old[both.row, both.col]).ravel()
    conflicts = np.flatnonzero(known != both.data)
    if len(conflicts):
        at = int(conflicts[0])
        raise InputError(
            f"edge {names.of(both.row[at])!r} - {names.of(both.col[at])!r} is known with weight "
            f"{known[at]:g}, and given with {both.data[at]:g} ({len(conflicts):,} such edges in "
            "all). Pass duplicates='sum' or duplicates='max'."
        )
