"""Graphs of NetworkX."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import column_split
from heatgraph.errors import InputError
from heatgraph.exchange.tensors import read_array, read_labels
from heatgraph.graph import Graph
from heatgraph.graph._validation import Merge

Array = npt.NDArray[Any]
Nodes = list[tuple[Any, Mapping[Any, Any]]]


def from_networkx(
    G: Any,
    *,
    features: Any = None,
    label: Any = None,
    split: Any = None,
    weight: Any = "weight",
    symmetrize: Merge | None = "max",
    duplicates: Literal["error"] | Merge = "error",
) -> Dataset:
    """Read a NetworkX graph, directed or not, with or without parallel edges.

    Parameters
    ----------
    G : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        Its nodes keep their order, and their names become the graph's `node_ids`.
    features : name or list of names, optional
        Name of the node attribute that holds a vector, as long at every node; or a list of names of
        attributes that hold a number each, which become the graph's `feature_names`.
    label : name, optional
        Name of the node attribute that holds the label. Nodes without it are unlabelled.
    split : name, optional
        Name of the node attribute that is "train", "val" or "test"; nodes without it belong to no
        part. The split has the same name.
    weight : name, optional
        Name of the edge attribute that holds the weight. Edges without it weigh 1, and if none has
        it, or with None, the graph is unweighted.
    symmetrize : "max" or "sum", optional
        How the two directions of a directed graph's edge make one, as in `Graph`. With None, they
        must agree.
    duplicates : "error", "sum" or "max"
        What to make of parallel edges with different weights, as in `Graph`.

    Examples
    --------
    ::

        club = networkx.karate_club_graph()
        from_networkx(club, label="club").graph
        # Graph(34 nodes, 78 weighted edges, no features, 0 isolated)
    """
    if not all(hasattr(G, name) for name in ("nodes", "edges", "is_directed", "is_multigraph")):
        raise InputError(f"G must be a NetworkX graph. Got {type(G).__name__}.")
    nodes: Nodes = list(G.nodes(data=True))
    X, feature_names = _node_features(nodes, features)
    src, dst, weights = _edges(G, nodes, weight)
    if not G.is_directed():
        # Each edge is listed once; parallel ones may come from either end.
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
        symmetrize = "max" if symmetrize is None else symmetrize
    graph = Graph.from_edges(
        src, dst, weights, len(nodes), features=X, node_ids=[node for node, _ in nodes],
        feature_names=feature_names, symmetrize=symmetrize, duplicates=duplicates,
    )  # fmt: skip
    labels = None
    if label is not None:
        _check_somewhere(nodes, label, "label")
        labels = read_labels([attributes.get(label) for _, attributes in nodes], len(nodes))
    splits = {}
    if split is not None:
        _check_somewhere(nodes, split, "split")
        splits[str(split)] = column_split([attributes.get(split) for _, attributes in nodes])
    return Dataset(str(getattr(G, "name", "") or "networkx graph"), graph, labels, splits)


def _edges(G: Any, nodes: Nodes, weight: Any) -> tuple[Array, Array, Array | None]:
    """Read edges as positions of nodes, and weights where any edge has one."""
    position = {node: place for place, (node, _) in enumerate(nodes)}
    edges = list(G.edges(data=True))
    src = np.array([position[u] for u, _, _ in edges], dtype=np.int64)
    dst = np.array([position[v] for _, v, _ in edges], dtype=np.int64)
    if weight is None or not any(weight in attributes for _, _, attributes in edges):
        return src, dst, None
    weights = [attributes.get(weight, 1) for _, _, attributes in edges]
    bad = [place for place, value in enumerate(weights) if not _is_finite(value) or value < 0]
    if bad:
        u, v, _ = edges[bad[0]]
        raise InputError(
            f"weights must be finite numbers, not negative. Edge {u!r} - {v!r} has {weight!r} = "
            f"{weights[bad[0]]!r} ({len(bad):,} such in all); mend or drop them, or pass "
            "weight=None to read edges without weights."
        )
    return src, dst, np.array([float(value) for value in weights])


def _node_features(nodes: Nodes, features: Any) -> tuple[Array | None, list[Any] | None]:
    """Read features from attributes of nodes: the matrix, and the names of its columns."""
    if features is None:
        return None, None
    if not isinstance(features, list | tuple):
        _check_everywhere(nodes, features)
        return _vectors(nodes, features), None
    for name in features:
        _check_everywhere(nodes, name)
        column = [attributes[name] for _, attributes in nodes]
        faults = ["" if _is_finite(value) else "is no finite number" for value in column]
        _refuse(nodes, name, faults)
    rows = [[float(attributes[name]) for name in features] for _, attributes in nodes]
    return np.array(rows).reshape(len(nodes), len(features)), list(features)


def _vectors(nodes: Nodes, name: Any) -> Array | None:
    if not nodes:
        return None
    rows = [read_array(values[name], f"{name!r} of node {node!r}") for node, values in nodes]
    if rows[0].ndim == 0:
        raise InputError(
            f"features must name an attribute that holds a vector. {name!r} of node "
            f"{nodes[0][0]!r} is a single value; for single numbers, pass features=[{name!r}]."
        )
    _refuse(nodes, name, [_vector_fault(row, len(rows[0])) for row in rows])
    return np.stack(rows)


def _vector_fault(row: Array, length: int) -> str:
    if row.ndim != 1:
        return f"has shape {row.shape} and is no vector"
    if len(row) != length:
        return f"has {len(row)} entries, but the first node's has {length}"
    if row.dtype.kind not in "biuf":
        return f"has entries of dtype {row.dtype}, which are no real numbers"
    return "" if np.isfinite(row).all() else "has entries that are not finite"


def _refuse(nodes: Nodes, name: Any, faults: list[str]) -> None:
    """Refuse features of nodes that have a fault: words, or nothing for those that are fine."""
    bad = [place for place, fault in enumerate(faults) if fault]
    if bad:
        raise InputError(
            "features must be finite real numbers, equally many at each node. "
            f"{name!r} of node {nodes[bad[0]][0]!r} {faults[bad[0]]} ({len(bad):,} such nodes in "
            "all); mend them first."
        )


def _check_everywhere(nodes: Nodes, name: Any) -> None:
    missing = [node for node, attributes in nodes if attributes.get(name) is None]
    if missing:
        _check_somewhere(nodes, name, "features")
        raise InputError(
            f"features must be known at every node. Node {missing[0]!r} has no {name!r} "
            f"({len(missing):,} such nodes in all); set it, or drop these nodes."
        )


def _check_somewhere(nodes: Nodes, name: Any, parameter: str) -> None:
    if nodes and all(attributes.get(name) is None for _, attributes in nodes):
        known = sorted({repr(key) for _, attributes in nodes for key in attributes})
        raise InputError(
            f"{parameter} must name an attribute of the nodes. No node has {name!r}; there is "
            f"{', '.join(known) or 'none at all'}."
        )


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, numbers.Real | np.bool_) and math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False
