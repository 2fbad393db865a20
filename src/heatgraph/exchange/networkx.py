"""Conversion of NetworkX graphs."""

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
    directed: bool = False,
    duplicates: Literal["error"] | Merge = "error",
) -> Dataset:
    """Convert a NetworkX graph, directed or not, with or without parallel edges, to a Dataset.

    Parameters
    ----------
    G : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        The nodes keep their order, and become the graph's `node_ids`.
    features : name or list of names, optional
        Node attribute with a vector, of equal length at every node; or a list of node attributes
        with one number each, whose names become the graph's `feature_names`.
    label : name, optional
        Node attribute with the label. Nodes without it are unlabelled.
    split : name, optional
        Node attribute with "train", "val" or "test"; nodes without it belong to no part. The split
        is named after the attribute.
    weight : name, optional
        Edge attribute with the weight; edges without it have weight 1. If no edge has it, or with
        None, the graph is unweighted.
    symmetrize : "max" or "sum", optional
        How to merge the two directions of an edge in a directed graph, as in `Graph`. With None,
        their weights must be equal.
    directed : bool
        Keep the directions of a directed graph too, as in `Graph`.
    duplicates : "error", "sum" or "max"
        How to merge parallel edges with different weights, as in `Graph`.

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
        # Each edge is listed once, but parallel edges may be listed from different ends.
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
        symmetrize = "max" if symmetrize is None else symmetrize
        if directed:
            raise InputError(
                "directed=True keeps the directions of a DiGraph or MultiDiGraph. Got an "
                f"undirected {type(G).__name__}; leave it out."
            )
    graph = Graph.from_edges(
        src, dst, weights, len(nodes), features=X, node_ids=[node for node, _ in nodes],
        feature_names=feature_names, symmetrize=symmetrize, directed=directed,
        duplicates=duplicates,
    )  # fmt: skip
    labels = None
    if label is not None:
        _check_attribute_exists(nodes, label, "label")
        labels = read_labels([attributes.get(label) for _, attributes in nodes], len(nodes))
    splits = {}
    if split is not None:
        _check_attribute_exists(nodes, split, "split")
        splits[str(split)] = column_split([attributes.get(split) for _, attributes in nodes])
    return Dataset(str(getattr(G, "name", "") or "networkx graph"), graph, labels, splits)


def _edges(G: Any, nodes: Nodes, weight: Any) -> tuple[Array, Array, Array | None]:
    """Sources and targets as node positions, and weights if any edge has one."""
    position = {node: number for number, (node, _) in enumerate(nodes)}
    edges = list(G.edges(data=True))
    src = np.array([position[u] for u, _, _ in edges], dtype=np.int64)
    dst = np.array([position[v] for _, v, _ in edges], dtype=np.int64)
    if weight is None or not any(weight in attributes for _, _, attributes in edges):
        return src, dst, None
    weights = [attributes.get(weight, 1) for _, _, attributes in edges]
    bad = [edge for edge, value in enumerate(weights) if not _is_finite(value) or value < 0]
    if bad:
        u, v, _ = edges[bad[0]]
        raise InputError(
            f"weights must be finite numbers, not negative. Edge {u!r} - {v!r} has {weight!r} = "
            f"{weights[bad[0]]!r} ({len(bad):,} such in all); correct or drop them, or pass "
            "weight=None to ignore weights."
        )
    return src, dst, np.array([float(value) for value in weights])


def _node_features(nodes: Nodes, features: Any) -> tuple[Array | None, list[Any] | None]:
    """The feature matrix from node attributes, and its column names if there are any."""
    if features is None:
        return None, None
    if not isinstance(features, list | tuple):
        _check_attribute_complete(nodes, features)
        return _stack_vectors(nodes, features), None
    for name in features:
        _check_attribute_complete(nodes, name)
        column = [attributes[name] for _, attributes in nodes]
        faults = ["" if _is_finite(value) else "is not a finite number" for value in column]
        _raise_first_fault(nodes, name, faults)
    rows = [[float(attributes[name]) for name in features] for _, attributes in nodes]
    return np.array(rows).reshape(len(nodes), len(features)), list(features)


def _stack_vectors(nodes: Nodes, name: Any) -> Array | None:
    if not nodes:
        return None
    rows = [read_array(values[name], f"{name!r} of node {node!r}") for node, values in nodes]
    if rows[0].ndim == 0:
        raise InputError(
            f"features must name an attribute that holds a vector. {name!r} of node "
            f"{nodes[0][0]!r} is a single value; for single numbers, pass features=[{name!r}]."
        )
    _raise_first_fault(nodes, name, [_vector_fault(row, len(rows[0])) for row in rows])
    return np.stack(rows)


def _vector_fault(row: Array, length: int) -> str:
    """What is wrong with a node's feature vector; empty if nothing is."""
    if row.ndim != 1:
        return f"has shape {row.shape} and is not a vector"
    if len(row) != length:
        return f"has {len(row)} entries, but the first node's has {length}"
    if row.dtype.kind not in "biuf":
        return f"has entries of dtype {row.dtype}, which are not real numbers"
    return "" if np.isfinite(row).all() else "has entries that are not finite"


def _raise_first_fault(nodes: Nodes, name: Any, faults: list[str]) -> None:
    """Raise InputError if any node has a fault; the texts of valid nodes are empty."""
    bad = [number for number, fault in enumerate(faults) if fault]
    if bad:
        raise InputError(
            "features must be finite real numbers, equally many at each node. "
            f"{name!r} of node {nodes[bad[0]][0]!r} {faults[bad[0]]} ({len(bad):,} such nodes in "
            "all); correct them first."
        )


def _check_attribute_complete(nodes: Nodes, name: Any) -> None:
    missing = [node for node, attributes in nodes if attributes.get(name) is None]
    if missing:
        _check_attribute_exists(nodes, name, "features")
        raise InputError(
            f"features must be known at every node. Node {missing[0]!r} has no {name!r} "
            f"({len(missing):,} such nodes in all); set it, or drop these nodes."
        )


def _check_attribute_exists(nodes: Nodes, name: Any, parameter: str) -> None:
    if nodes and all(attributes.get(name) is None for _, attributes in nodes):
        known = sorted({repr(key) for _, attributes in nodes for key in attributes})
        raise InputError(
            f"{parameter} must name an attribute of the nodes. No node has {name!r}; there is "
            f"{', '.join(known) or 'none at all'}."
        )


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, numbers.Real | np.bool_) and math.isfinite(value)
    except OverflowError:  # an int too large for a float
        return False
