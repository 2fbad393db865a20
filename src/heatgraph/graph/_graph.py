"""The graph, checked once at the door.

Everything behind this module relies on what is checked here: indices in range and sorted, no
duplicates, weights finite and positive, A = A^T. Nothing that a caller passes in is ever written
to.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import as_array, check_range, index_dtype, working_dtype
from heatgraph.errors import InputError
from heatgraph.graph._normalized_operator import NormalizedOperator, read_only, square_array
from heatgraph.graph._storage import read_graph, write_graph
from heatgraph.graph._validation import (
    CSRBuilder,
    Merge,
    validate_feature_names,
    validate_features,
    validate_node_ids,
)

Array = npt.NDArray[Any]


class Graph:
    """An undirected graph with features on its nodes.

    Parameters
    ----------
    adjacency : sparse matrix, sparse array or dense square array of shape (n, n)
        Symmetric, with finite weights >= 0; a weight of zero is no edge. A graph whose weights are
        all 1 is *unweighted* and stores none.
    features : array or sparse matrix of shape (n, d), optional
        Real, finite. Dense features are kept by reference, sparse ones stay sparse. Without
        features, each node is its own feature.
    node_ids : sequence of length n, optional
        Distinct names of the nodes. By default nodes are called 0, ..., n - 1.
    feature_names : sequence of length d, optional
        Distinct names of the features, for explanations and to recognise them again.
    symmetrize : "max" or "sum", optional
        Reads A as directed, and gives each undirected edge the larger weight of its two directions,
        or their sum; a self-loop keeps its weight, and edges without weights stay without. By
        default, A that is not symmetric is an error.
    duplicates : "error", "sum" or "max"
        What to make of an edge that is given several times. Under "error", repeated edges of equal
        weight collapse into one and contradicting weights are refused. Edges without weights (none
        given, or booleans) always collapse.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> Graph(path, features=np.eye(3))
    Graph(3 nodes, 2 edges, 3 features, 0 isolated)
    """

    num_nodes: int
    indptr: npt.NDArray[np.int64]
    indices: Array
    weights: Array | None
    features: Any
    node_ids: Array | None
    feature_names: list[str] | None
    num_duplicates: int
    # What was found out about the edges, at some cost, for those who ask again.
    cache: dict[str, Any]

    def __init__(
        self,
        adjacency: Any,
        features: Any = None,
        node_ids: Any = None,
        *,
        feature_names: Any = None,
        symmetrize: Merge | None = None,
        duplicates: Literal["error"] | Merge = "error",
    ) -> None:
        entries = CSRBuilder.read(adjacency, "adjacency")
        shape = entries.matrix.shape
        if shape[0] != shape[1]:
            raise InputError(f"adjacency must be square, nodes by nodes. Got shape {shape}.")
        self._settle(entries, features, node_ids, feature_names, symmetrize, duplicates)

    @classmethod
    def from_edges(
        cls,
        src: Any,
        dst: Any,
        weight: Any = None,
        num_nodes: int | None = None,
        *,
        features: Any = None,
        node_ids: Any = None,
        feature_names: Any = None,
        symmetrize: Merge | None = None,
        duplicates: Literal["error"] | Merge = "error",
    ) -> Graph:
        """Build a graph from a list of edges ``src[i] -> dst[i]`` between nodes 0, ..., n - 1.

        The number of nodes is that of `features`' rows or `num_nodes`, never the largest index, so
        that isolated nodes at the end are not lost. The other parameters are those of `Graph`. When
        each undirected edge is listed once, pass ``symmetrize="max"``.

        Examples
        --------
        >>> Graph.from_edges([0, 1], [1, 2], num_nodes=4, symmetrize="max")
        Graph(4 nodes, 2 edges, no features, 1 isolated)
        """
        n = _count_nodes(num_nodes, features)
        rows, columns = _edge_ends(src, "src"), _edge_ends(dst, "dst")
        if len(rows) != len(columns):
            raise InputError(
                f"src and dst must be equally long. Got {len(rows)} and {len(columns)}."
            )
        if weight is None:
            data = np.ones(len(rows), dtype=bool)
        else:
            data = as_array(weight, "weight")
            if data.shape != rows.shape:
                raise InputError(
                    f"weight must have one entry per edge, {len(rows)}. Got shape {data.shape}."
                )
        graph = cls.__new__(cls)
        graph._settle(
            CSRBuilder.from_coordinates(rows, columns, data, (n, n), "edge"),
            features,
            node_ids,
            feature_names,
            symmetrize,
            duplicates,
        )
        return graph

    @classmethod
    def from_canonical(cls, adjacency: sp.csr_array, features: Any = None) -> Graph:
        """Build a graph of edges that are known to be right, without checking or copying them.

        `adjacency` is symmetric, its weights are finite and positive, and each row's indices are
        sorted and distinct. Compiled code trusts that.
        """
        graph = cls.__new__(cls)
        graph.num_duplicates = 0
        graph._store(adjacency, validate_features(features, adjacency.shape[0]), None, None)
        return graph

    def _settle(
        self,
        entries: CSRBuilder,
        features: Any,
        node_ids: Any,
        feature_names: Any,
        symmetrize: Merge | None,
        duplicates: Literal["error"] | Merge,
    ) -> None:
        _check_choice("symmetrize", symmetrize, (None, *get_args(Merge)))
        _check_choice("duplicates", duplicates, ("error", *get_args(Merge)))
        if entries.matrix.shape[0] == 0:
            raise InputError("a graph needs at least one node. Got none.")
        entries.check_weights()
        self.num_duplicates = entries.merge_duplicates(duplicates if entries.weighted else "max")
        entries.drop_zeros()
        if symmetrize is not None and not entries.weighted:
            symmetrize = "max"
        matrix = _symmetric(entries.matrix, symmetrize)
        features = validate_features(features, matrix.shape[0])
        ids = validate_node_ids(node_ids, matrix.shape[0])
        self._store(matrix, features, ids, validate_feature_names(feature_names, features))
        overflow = np.flatnonzero(~np.isfinite(self.degrees))
        if len(overflow):
            raise InputError(
                f"weights are too large: at node {overflow[0]} they add up to infinity. Scale them "
                "down; without self-loops, S does not depend on their scale."
            )

    def _store(
        self,
        matrix: sp.csr_array,
        features: Any,
        node_ids: Array | None,
        feature_names: list[str] | None,
    ) -> None:
        self.num_nodes = n = matrix.shape[0]
        self.indptr = read_only(matrix.indptr.astype(np.int64))
        self.indices = read_only(matrix.indices.astype(index_dtype(n), copy=False))
        self.weights = None if (matrix.data == 1).all() else read_only(matrix.data)
        self.features = features
        self.node_ids = node_ids
        self.feature_names = feature_names
        self.cache = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"cache": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Copies made by pickle and copy.deepcopy come writable.
        self.__dict__.update(state, cache={})
        for name in ("indptr", "indices", "weights"):
            if state[name] is not None:
                setattr(self, name, read_only(state[name]))

    def __sklearn_clone__(self) -> Graph:
        # A clone of an estimator that has a graph shares it.
        return self

    @property
    def num_features(self) -> int:
        """Number of feature columns; 0 without features."""
        return 0 if self.features is None else self.features.shape[1]

    @property
    def names(self) -> Array:
        """Names of the nodes: their ids, or 0, ..., n - 1."""
        return np.arange(self.num_nodes) if self.node_ids is None else self.node_ids

    @cached_property
    def num_self_loops(self) -> int:
        """Number of edges from a node to itself."""
        return int(np.count_nonzero(self.adjacency.diagonal()))

    @property
    def num_edges(self) -> int:
        """Number of undirected edges, self-loops included."""
        return (len(self.indices) + self.num_self_loops) // 2

    @property
    def num_isolated(self) -> int:
        """Number of nodes without any edge."""
        return int(np.count_nonzero(np.diff(self.indptr) == 0))

    @property
    def adjacency(self) -> sp.csr_array:
        """A as a SciPy array; an unweighted graph's has ones of one byte each."""
        data = self.weights
        if data is None:
            data = np.ones(len(self.indices), dtype=np.int8)
        return square_array(data, self.indices, self.indptr)

    @property
    def degrees(self) -> npt.NDArray[np.float64]:
        """Row sums of A: the weights of all edges at each node, a self-loop counted once."""
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        degrees = np.zeros(self.num_nodes)
        linked = np.diff(self.indptr) > 0
        if linked.any():
            starts = self.indptr[:-1][linked]
            with np.errstate(over="ignore"):  # what it comes to is checked at the door
                degrees[linked] = np.add.reduceat(self.weights, starts, dtype=np.float64)
        return degrees

    def stationary(self, self_loops: bool = True) -> npt.NDArray[np.float64]:
        """A positive vector v with S v = v: square roots of degrees, and 1 where S is 1."""
        degrees = self.degrees + self_loops
        return np.sqrt(np.where(degrees > 0, degrees, 1.0))

    @cached_property
    def components(self) -> npt.NDArray[np.int32]:
        """The number of each node's connected component, from 0."""
        from scipy.sparse.csgraph import connected_components

        # The graph is symmetric, so the cheaper search for strong components finds the same.
        _, labels = connected_components(self.adjacency, directed=True, connection="strong")
        return read_only(labels)

    def subgraph(self, nodes: Any) -> Graph:
        """Give the graph on `nodes` (indices, in the order wanted, or a mask) and their edges."""
        chosen = node_indices(nodes, self.num_nodes, "nodes")
        if len(chosen) == 0:
            raise InputError("a subgraph needs at least one node. Got none.")
        distinct, times = np.unique(chosen, return_counts=True)
        if len(distinct) < len(chosen):
            raise InputError(
                f"nodes of a subgraph must be distinct. Node {distinct[times > 1][0]} is named "
                f"more than once ({np.count_nonzero(times > 1):,} such nodes in all)."
            )
        matrix = self.adjacency[chosen][:, chosen]
        matrix.sort_indices()
        graph = type(self).__new__(type(self))
        graph.num_duplicates = 0
        graph._store(
            matrix,
            None if self.features is None else self.features[chosen],
            None if self.node_ids is None else self.node_ids[chosen],
            self.feature_names,
        )
        return graph

    def with_features(self, features: Any, feature_names: Any = None) -> Graph:
        """Give the same graph with other features; its edges are shared, not copied."""
        graph = type(self).__new__(type(self))
        graph.__dict__.update(self.__dict__)
        graph.features = validate_features(features, self.num_nodes)
        graph.feature_names = validate_feature_names(feature_names, graph.features)
        return graph

    def save(self, path: str | Path) -> None:
        """Write the graph into a file, whole or not at all; `Graph.load` reads it.

        Node ids must be whole numbers or texts. Features in a memory map are written block by
        block, and need not fit into memory.
        """
        write_graph(path, self)

    @classmethod
    def load(cls, path: str | Path) -> Graph:
        """Read a graph that `Graph.save` wrote, by memory map: entries are read when needed.

        Nothing in the file is ever run. Everything that a graph promises is checked again, and a
        file that is incomplete, altered or of another kind is refused with the reason. Leave the
        file as it is while the graph is in use. It may be replaced or deleted, except on Windows.
        """
        graph = cls.__new__(cls)
        graph.__dict__.update(read_graph(path))
        return graph

    def with_edges(self, indptr: Array, indices: Array, weights: Array | None) -> Graph:
        """Give a graph without features on as many nodes, whose edges are known to be right."""
        graph = type(self).__new__(type(self))
        graph.num_nodes, graph.num_duplicates = self.num_nodes, 0
        graph.indptr, graph.indices = read_only(indptr), read_only(indices)
        graph.weights = None if weights is None else read_only(weights)
        graph.features = graph.node_ids = graph.feature_names = None
        graph.cache = {}
        return graph

    def operator(
        self, self_loops: bool = True, dtype: npt.DTypeLike = np.float32
    ) -> NormalizedOperator:
        """Give S, for A~ = A + I or, without `self_loops`, for A as it is.

        A + I is meant literally: a self-loop that A already has counts beside the new one. Without
        self-loops, an isolated node has L = 0 (Chung's convention), so its features stay.
        """
        if not isinstance(self_loops, bool | np.bool_):
            raise InputError(f"self_loops must be True or False. Got {self_loops!r}.")
        return NormalizedOperator.of(
            self.indptr,
            self.indices,
            self.weights,
            self.stationary(self_loops),
            bool(self_loops),
            working_dtype(dtype),
        )

    def __repr__(self) -> str:
        if self.features is None:
            features = "no features"
        else:
            features = f"{self.num_features:,} {'sparse ' * sp.issparse(self.features)}features"
        parts = [
            f"{self.num_nodes:,} nodes",
            f"{self.num_edges:,} {'' if self.weights is None else 'weighted '}edges",
            features,
            f"{self.num_isolated:,} isolated",
        ]
        if self.num_self_loops:
            parts.append(f"{self.num_self_loops:,} self-loops")
        if self.num_duplicates:
            parts.append(f"{self.num_duplicates:,} duplicates merged")
        return f"Graph({', '.join(parts)})"


def check_graph(graph: Any) -> None:
    """Refuse what is not a Graph, and say how to make one."""
    if not isinstance(graph, Graph):
        raise InputError(
            f"graph must be a heatgraph.Graph. Got {type(graph).__name__}; "
            "Graph(adjacency, features) makes one."
        )


def node_indices(nodes: Any, num_nodes: int, name: str) -> npt.NDArray[np.int64]:
    """Read a choice of nodes, given as indices or as a boolean mask, into indices.

    An integer array of zeros and ones with an entry per node is refused: it is nearly always a mask
    of the wrong type, and would quietly choose nodes 0 and 1 over and over.
    """
    chosen = as_array(nodes, name)
    if chosen.ndim != 1:
        raise InputError(
            f"{name} must be a list of node indices or a mask. Got an array of shape "
            f"{chosen.shape}."
        )
    if chosen.dtype == bool:
        if len(chosen) != num_nodes:
            raise InputError(
                f"{name} is a mask of {len(chosen)} entries, but the graph has {num_nodes} nodes."
            )
        return np.flatnonzero(chosen)
    if len(chosen) == 0:
        return np.empty(0, dtype=np.int64)
    if chosen.dtype.kind not in "iu":
        raise InputError(f"{name} must be integers or a boolean mask. Got {chosen.dtype}.")
    check_range(chosen, num_nodes, f"{name}[{{}}]: node")
    if len(chosen) == num_nodes > 2 and chosen.max() <= 1:
        raise InputError(
            f"{name} has {num_nodes} entries of 0 and 1 and looks like a mask. Pass it as booleans "
            f"({name}.astype(bool)), or as the indices of the nodes."
        )
    return chosen.astype(np.int64)


def _symmetric(A: sp.csr_array, how: Merge | None) -> sp.csr_array:
    """Give A if it is symmetric; else make it so, or say how far it is from it."""
    transposed = A.T.tocsr()
    if how != "sum" and (
        np.array_equal(A.indptr, transposed.indptr)
        and np.array_equal(A.indices, transposed.indices)
        and np.array_equal(A.data, transposed.data)
    ):
        return A
    if how is None:
        uneven = sp.csr_array(transposed != A)
        both_ways = sp.csr_array(A.astype(bool).multiply(transposed.astype(bool)))
        one_way = A.nnz - both_ways.nnz
        if one_way:
            kind = f"{one_way:,} of {A.nnz:,} edges go one way only"
            uneven = uneven - uneven.multiply(both_ways)
        else:
            kind = f"{uneven.nnz // 2:,} pairs of opposite edges differ in weight"
        first = sp.coo_array(uneven)
        first.eliminate_zeros()
        raise InputError(
            f"adjacency must be symmetric: {kind} (first: {first.row[0]} - {first.col[0]}). Pass "
            "symmetrize='max' or symmetrize='sum' to treat edges as undirected."
        )
    if how == "max":
        return sp.csr_array(A.maximum(transposed))
    return sp.csr_array(A + transposed - sp.diags_array(A.diagonal()))


def _count_nodes(num_nodes: int | None, features: Any) -> int:
    if num_nodes is None:
        if features is None:
            raise InputError(
                "the number of nodes is unknown: give num_nodes= or features=. The largest index "
                "in the edges would miss isolated nodes."
            )
        shape = features.shape if sp.issparse(features) else as_array(features, "features").shape
        return int(shape[0]) if shape else 0
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, int | np.integer) or num_nodes < 0:
        raise InputError(f"num_nodes must be a whole number >= 0. Got {num_nodes!r}.")
    return int(num_nodes)


def _edge_ends(ends: Any, name: str) -> Array:
    nodes = as_array(ends, name)
    if nodes.ndim != 1:
        raise InputError(f"{name} must be a list of nodes. Got an array of shape {nodes.shape}.")
    if len(nodes) == 0:
        return nodes.astype(np.int64)
    if nodes.dtype.kind not in "iu":
        raise InputError(f"{name} must be integer node indices. Got dtype {nodes.dtype}.")
    return nodes


def _check_choice(name: str, value: Any, choices: tuple[str | None, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}. Got {value!r}.")
