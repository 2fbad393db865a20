"""The graph: an adjacency matrix A (n, n) in CSR form and features X (n, d).

The constructors validate once, and compiled code then relies on it without further checks:

- column indices lie in 0..n - 1, and are sorted and distinct within each row;
- weights are finite and positive, and so are their row sums;
- A = A^T.

A graph may also keep the directed edges that A was symmetrised from; diffusion does not read them.

The caller's arrays are never written to, and a graph does not change with them: it has copies, or
shares what is read-only. Its own arrays are read-only.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import as_array, check_range, index_dtype, short_repr, working_dtype
from heatgraph._io.notebook_html import html_table, html_view
from heatgraph._io.tensor_file import read_checksum
from heatgraph.errors import InputError
from heatgraph.graph._growth import (
    NewNodes,
    grown_adjacency,
    grown_features,
    grown_ids,
    read_new_edges,
    read_new_nodes,
)
from heatgraph.graph._normalized_operator import NormalizedOperator, read_only, square_array
from heatgraph.graph._storage import EdgeArrays, GraphArrays, StoredGraph, read_graph, write_graph
from heatgraph.graph._validation import (
    CSRBuilder,
    Merge,
    check_choice,
    count_nodes,
    degree_error,
    edge_ends,
    symmetrize_adjacency,
    validate_feature_names,
    validate_features,
    validate_node_ids,
)

if TYPE_CHECKING:
    from heatgraph.encoding.encoder import FeatureEncoder

Array = npt.NDArray[Any]

# Names of nodes and features that notebooks list.
SHOWN_NAMES = 5


class Graph:
    """An undirected graph with features on its nodes.

    Parameters
    ----------
    adjacency : sparse matrix, sparse array or dense square array of shape (n, n)
        Symmetric, with finite weights >= 0; entries of zero are not edges. A graph whose weights
        are all 1 is *unweighted* and stores no weights.
    features : array or sparse matrix of shape (n, d), optional
        Real and finite; sparse features stay sparse. They are copied, so that changes of the array
        do not change the graph. A dense array that is read-only is shared instead, which saves the
        memory of a copy: a memory map of mode "r", to whose file nobody may write, or any array
        after ``X.flags.writeable = False``. Without features, X is the identity: each node is its
        own feature.
    node_ids : sequence of length n, optional
        Distinct names of the nodes; by default 0, ..., n - 1.
    feature_names : sequence of length d, optional
        Distinct names of the features. Explanations print them, and a saved model matches columns
        by them.
    symmetrize : "max" or "sum", optional
        Treat A as directed, and give each undirected edge the larger weight of its two directions,
        or their sum. A self-loop keeps its weight, and unweighted edges stay unweighted. By
        default, an asymmetric A is an error.
    directed : bool
        Keep the directed edges too, as `directed_adjacency`: features diffuse along the symmetrised
        ones, and `DGCClassifier` may learn from directions. `symmetrize` is then "max" by default.
    duplicates : "error", "sum" or "max"
        How to merge edges that are listed more than once. With "error", duplicates of equal weight
        are merged into one edge and conflicting weights raise an error. Unweighted edges (no
        weights, or booleans) are always merged.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> Graph(path, features=np.eye(3))
    Graph(3 nodes, 2 edges, 3 features, 0 isolated)
    >>> Graph(np.triu(path), directed=True)
    Graph(3 nodes, 2 edges from 2 directed ones, no features, 0 isolated)
    """

    num_nodes: int
    indptr: npt.NDArray[np.int64]
    indices: Array
    weights: Array | None
    features: Any
    node_ids: Array | None
    feature_names: list[str] | None
    # How columns of a table became the features, if they did: the graph of a table to predict on is
    # made by the same encoder. Pickles of graphs without one have no such attribute.
    feature_encoder: FeatureEncoder | None = None
    num_duplicates: int
    _directed: EdgeArrays | None
    # Values derived from the edges and the ids. "order", a permutation of the nodes, is stored by
    # `save`. Graphs that share their edges share this dict; copies, pickles and subgraphs start
    # with an empty one.
    cache: dict[str, Any]

    def __init__(
        self,
        adjacency: Any,
        features: Any = None,
        node_ids: Any = None,
        *,
        feature_names: Any = None,
        symmetrize: Merge | None = None,
        directed: bool = False,
        duplicates: Literal["error"] | Merge = "error",
    ) -> None:
        entries = CSRBuilder.read(adjacency, "adjacency")
        shape = entries.matrix.shape
        if shape[0] != shape[1]:
            raise InputError(f"adjacency must be square, nodes by nodes. Got shape {shape}.")
        self._build(entries, features, node_ids, feature_names, symmetrize, directed, duplicates)

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
        directed: bool = False,
        duplicates: Literal["error"] | Merge = "error",
    ) -> Graph:
        """Build a graph from a list of edges ``src[i] -> dst[i]`` between nodes 0, ..., n - 1.

        The number of nodes n is `num_nodes` or the number of rows of `features`. It is never
        inferred from the largest index, which would lose isolated nodes at the end. The other
        parameters are those of `Graph`. If each undirected edge is listed once, pass
        ``symmetrize="max"``; if directions matter, ``directed=True``.

        Examples
        --------
        >>> Graph.from_edges([0, 1], [1, 2], num_nodes=4, symmetrize="max")
        Graph(4 nodes, 2 edges, no features, 1 isolated)
        """
        n = count_nodes(num_nodes, features)
        rows, columns = edge_ends(src, "src"), edge_ends(dst, "dst")
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
        graph._build(
            CSRBuilder.from_coordinates(rows, columns, data, (n, n), "edge"),
            features,
            node_ids,
            feature_names,
            symmetrize,
            directed,
            duplicates,
        )
        return graph

    @classmethod
    def _from_canonical(cls, adjacency: sp.csr_array, features: Any = None) -> Graph:
        """Build a graph from a CSR matrix that is known to be valid; only features are validated.

        The caller guarantees what the module docstring lists: compiled code relies on it. Dense
        features are not copied.
        """
        return cls._from_arrays(
            _graph_arrays(adjacency, validate_features(features, adjacency.shape[0], copy=False))
        )

    @classmethod
    def _from_arrays(cls, arrays: GraphArrays) -> Graph:
        """Build a graph from arrays that are known to be valid, without validating or copying."""
        graph = cls.__new__(cls)
        graph._set_arrays(arrays)
        return graph

    def _build(
        self,
        entries: CSRBuilder,
        features: Any,
        node_ids: Any,
        feature_names: Any,
        symmetrize: Merge | None,
        directed: bool,
        duplicates: Literal["error"] | Merge,
    ) -> None:
        """Validate all arguments of the constructors, and set the attributes."""
        check_choice("symmetrize", symmetrize, (None, *get_args(Merge)))
        check_choice("duplicates", duplicates, ("error", *get_args(Merge)))
        if not isinstance(directed, bool | np.bool_):
            raise InputError(f"directed must be True or False. Got {directed!r}.")
        n = entries.matrix.shape[0]
        if n == 0:
            raise InputError("a graph needs at least one node. Got none.")
        entries.check_weights()
        num_duplicates = entries.merge_duplicates(duplicates if entries.weighted else "max")
        entries.drop_zeros()
        if (symmetrize is not None and not entries.weighted) or (directed and symmetrize is None):
            symmetrize = "max"
        matrix = symmetrize_adjacency(entries.matrix, symmetrize)
        X = validate_features(features, n, copy=True)
        ids = validate_node_ids(node_ids, n)
        names = validate_feature_names(feature_names, X)
        arrays = _graph_arrays(matrix, X, ids, names, num_duplicates)
        if directed:
            arrays = replace(arrays, directed=_edge_arrays(entries.matrix))
        self._set_arrays(arrays)
        self._check_degrees()

    def _check_degrees(self) -> None:
        overflow = np.flatnonzero(~np.isfinite(self.degrees))
        if len(overflow):
            raise degree_error(overflow[0])

    def _set_arrays(self, arrays: GraphArrays) -> None:
        self.num_nodes = len(arrays.indptr) - 1
        self.indptr = read_only(arrays.indptr)
        self.indices = read_only(arrays.indices)
        self.weights = None if arrays.weights is None else read_only(arrays.weights)
        self.features = _read_only_features(arrays.features)
        self.node_ids = arrays.node_ids
        self.feature_names = arrays.feature_names
        self.feature_encoder = arrays.feature_encoder
        self.num_duplicates = arrays.num_duplicates
        self._directed = _read_only_edges(arrays.directed)
        self.cache = {} if arrays.order is None else {"order": arrays.order}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"cache": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # pickle and copy.deepcopy restore arrays as writable.
        self.__dict__.update(state, cache={})
        for name in ("indptr", "indices", "weights"):
            if state[name] is not None:
                setattr(self, name, read_only(state[name]))
        self.features = _read_only_features(state["features"])
        self._directed = _read_only_edges(state["_directed"])

    def __sklearn_clone__(self) -> Graph:
        # Clones of an estimator share its graph, which is immutable and may be large.
        return self

    @property
    def num_features(self) -> int:
        """Number of feature columns; 0 without features."""
        return 0 if self.features is None else self.features.shape[1]

    @property
    def names(self) -> Array:
        """Names of the nodes: `node_ids`, or 0, ..., n - 1 without."""
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
        """A as a SciPy array; ones of type int8 if the graph is unweighted."""
        data = self.weights
        if data is None:
            data = np.ones(len(self.indices), dtype=np.int8)
        return square_array(data, self.indices, self.indptr)

    @property
    def directed_adjacency(self) -> sp.csr_array | None:
        """The directed edges, row i for those that leave node i; None for an undirected graph.

        As a SciPy array, read-only; ones of type int8 if these edges are unweighted.
        """
        if self._directed is None:
            return None
        indptr, indices, data = self._directed
        if data is None:
            data = read_only(np.ones(len(indices), dtype=np.int8))
        matrix = square_array(data, indices, indptr)
        matrix.indptr = read_only(matrix.indptr)
        return matrix

    @property
    def degrees(self) -> npt.NDArray[np.float64]:
        """Row sums of A, shape (n,); a self-loop counts once."""
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        degrees = np.zeros(self.num_nodes)
        linked = np.diff(self.indptr) > 0
        if linked.any():
            starts = self.indptr[:-1][linked]
            with np.errstate(over="ignore"):  # the constructor reports it
                degrees[linked] = np.add.reduceat(self.weights, starts, dtype=np.float64)
        return degrees

    def stationary(self, self_loops: bool = True) -> npt.NDArray[np.float64]:
        """A positive vector v (n,) with S v = v: roots of the degrees of A~, or 1 where zero."""
        degrees = self.degrees + self_loops
        return np.sqrt(np.where(degrees > 0, degrees, 1.0))

    @cached_property
    def components(self) -> npt.NDArray[np.int32]:
        """Connected component of each node, shape (n,), numbered from 0."""
        from scipy.sparse.csgraph import connected_components

        # In a symmetric graph the strong components are the connected ones, and SciPy finds them
        # without building the transpose.
        _, labels = connected_components(self.adjacency, directed=True, connection="strong")
        return read_only(labels)

    def subgraph(self, nodes: Any) -> Graph:
        """Return the subgraph induced by `nodes`: indices, in the order to keep, or a mask."""
        chosen = node_indices(nodes, self.num_nodes, "nodes")
        if len(chosen) == 0:
            raise InputError("a subgraph needs at least one node. Got none.")
        distinct, times = np.unique(chosen, return_counts=True)
        if len(distinct) < len(chosen):
            raise InputError(
                f"nodes of a subgraph must be distinct. Node {distinct[times > 1][0]} is listed "
                f"more than once ({np.count_nonzero(times > 1):,} such nodes in all)."
            )
        matrix = self.adjacency[chosen][:, chosen]
        matrix.sort_indices()
        X = None if self.features is None else self.features[chosen]
        ids = None if self.node_ids is None else self.node_ids[chosen]
        arrays = _graph_arrays(matrix, X, ids, self.feature_names)
        arrays = replace(arrays, feature_encoder=self.feature_encoder)
        if self.directed_adjacency is not None:
            kept = self.directed_adjacency[chosen][:, chosen]
            kept.sort_indices()
            arrays = replace(arrays, directed=_edge_arrays(kept))
        return self._from_arrays(arrays)

    def with_features(
        self,
        features: Any,
        feature_names: Any = None,
        feature_encoder: FeatureEncoder | None = None,
    ) -> Graph:
        """Return the same graph with other features; edges are shared, not copied.

        Features are copied or shared as by `Graph`. `feature_encoder` is what made them, if columns
        of a table became the features.
        """
        return self._with_features(features, feature_names, feature_encoder, copy=True)

    def _with_features(
        self,
        features: Any,
        feature_names: Any = None,
        feature_encoder: FeatureEncoder | None = None,
        *,
        copy: bool = False,
    ) -> Graph:
        """Return the same graph with other features; without `copy`, nobody may change them."""
        graph = type(self).__new__(type(self))
        graph.__dict__.update(self.__dict__)
        X = validate_features(features, self.num_nodes, copy=copy)
        graph.features = _read_only_features(X)
        graph.feature_names = validate_feature_names(feature_names, graph.features)
        graph.feature_encoder = feature_encoder
        return graph

    def with_nodes(
        self,
        features: Any = None,
        edges: Any = (),
        weight: Any = None,
        node_ids: Any = None,
        *,
        num_nodes: int | None = None,
        duplicates: Literal["error"] | Merge = "error",
    ) -> Graph:
        """Return a larger graph: this one and R further nodes, with indices n, ..., n + R - 1.

        Parameters
        ----------
        features : array or sparse matrix of shape (R, d)
            Features of the new nodes; None for a graph without features.
        edges : array of shape (m, 2) or list of pairs
            Pairs of node ids, or of indices in a graph without ids; at least one of the two is new.
            An edge is listed once, in either direction.
        weight : sequence of length m, optional
            Weights >= 0 of the edges; by default 1. Edges of weight 0 are dropped.
        node_ids : sequence of length R
            Ids of the new nodes, if the graph has ids.
        num_nodes : int, optional
            R, where neither features nor ids tell it.
        duplicates : "error", "sum" or "max"
            How to merge edges that are listed more than once, as in `Graph`.

        Examples
        --------
        >>> triangle = Graph.from_edges([0, 1, 2], [1, 2, 0], num_nodes=3, symmetrize="max")
        >>> triangle.with_nodes(edges=[(3, 0), (4, 3)], num_nodes=2)
        Graph(5 nodes, 5 edges, no features, 0 isolated)
        """
        new = self._read_new_nodes(features, edges, weight, node_ids, num_nodes, duplicates)
        return self._grow(new, duplicates)

    def with_edges(
        self,
        edges: Any,
        weight: Any = None,
        *,
        duplicates: Literal["error"] | Merge = "error",
    ) -> Graph:
        """Return the graph with further edges between its nodes; parameters as in `with_nodes`.

        An edge that the graph has already is a duplicate.

        Examples
        --------
        >>> path = Graph.from_edges([0, 1], [1, 2], num_nodes=3, symmetrize="max")
        >>> path.with_edges([(2, 0)])
        Graph(3 nodes, 3 edges, no features, 0 isolated)
        """
        check_choice("duplicates", duplicates, ("error", *get_args(Merge)))
        arrays, positions = self._to_arrays(), self._positions()
        return self._grow(read_new_edges(arrays, positions, edges, weight, duplicates), duplicates)

    def _read_new_nodes(
        self,
        features: Any,
        edges: Any,
        weight: Any,
        node_ids: Any,
        num_nodes: int | None,
        duplicates: Literal["error"] | Merge,
    ) -> NewNodes:
        """Check the arguments of `with_nodes`."""
        check_choice("duplicates", duplicates, ("error", *get_args(Merge)))
        arrays, positions = self._to_arrays(), self._positions()
        return read_new_nodes(
            arrays, positions, features, edges, weight, node_ids, num_nodes, duplicates
        )

    def _positions(self) -> dict[Any, int] | None:
        """Index of each node by its id, kept with the graph; None without ids."""
        if self.node_ids is None:
            return None
        if "positions" not in self.cache:
            self.cache["positions"] = {name: at for at, name in enumerate(self.node_ids.tolist())}
        positions: dict[Any, int] = self.cache["positions"]
        return positions

    def _grow(self, new: NewNodes, duplicates: Literal["error"] | Merge = "error") -> Graph:
        """The one place where a larger graph is made, of nodes and edges that were checked."""
        if self._directed is not None:
            raise InputError(
                "a graph that keeps the directions of its edges cannot grow. Build it anew, with "
                "Graph.from_edges."
            )
        arrays = self._to_arrays()
        graph = self._from_arrays(
            _graph_arrays(
                grown_adjacency(arrays, new, duplicates),
                grown_features(arrays, new),
                grown_ids(arrays, new),
                self.feature_names,
                self.num_duplicates + new.num_duplicates,
            )
        )
        graph.feature_encoder = self.feature_encoder
        graph._check_degrees()
        return graph

    def save(self, path: str | Path) -> None:
        """Write the graph to a file atomically; `Graph.load` reads it.

        Node ids must be integers or strings. Memory-mapped features are written block by block, and
        need not fit in memory.
        """
        write_graph(path, self._to_arrays())

    def _to_arrays(self) -> GraphArrays:
        """Everything that a file holds of the graph."""
        return GraphArrays(
            indptr=self.indptr,
            indices=self.indices,
            weights=self.weights,
            features=self.features,
            node_ids=self.node_ids,
            feature_names=self.feature_names,
            feature_encoder=self.feature_encoder,
            num_duplicates=self.num_duplicates,
            order=self.cache.get("order"),
            directed=self._directed,
        )

    @classmethod
    def load(cls, path: str | Path) -> Graph:
        """Memory-map a graph that `Graph.save` wrote; pages are read on demand.

        Reading executes no code from the file. The checksum and every property that a graph
        guarantees are verified, and a file that is incomplete, modified or of another kind raises
        `FileFormatError`. Do not write into the file while the graph is in use; replacing or
        deleting it is safe, except on Windows.
        """
        arrays = read_graph(path)
        graph = cls._from_arrays(arrays)
        graph.cache["file"] = StoredGraph(
            str(Path(path).resolve()), read_checksum(path), graph.features
        )
        return graph

    def _replace_edges(self, indptr: Array, indices: Array, weights: Array | None) -> Graph:
        """Return a graph with the same nodes, no features, and edges that are known to be valid."""
        return self._from_arrays(GraphArrays(indptr, indices, weights))

    def operator(
        self, self_loops: bool = True, dtype: npt.DTypeLike = np.float32
    ) -> NormalizedOperator:
        """Return S, the normalised A~ = A + I, or the normalised A without `self_loops`.

        The identity is added to any self-loops that A already has. Without self-loops, an isolated
        node has L = 0 (Chung's convention), so its features do not change.
        """
        if not isinstance(self_loops, bool | np.bool_):
            raise InputError(f"self_loops must be True or False. Got {short_repr(self_loops)}.")
        return NormalizedOperator.from_adjacency(
            self.indptr,
            self.indices,
            self.weights,
            self.stationary(self_loops),
            bool(self_loops),
            working_dtype(dtype),
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[str, str]] = [
            ("nodes", f"{self.num_nodes:,}"),
            ("edges", f"{self.num_edges:,}"),
            ("mean neighbours", f"{len(self.indices) / max(self.num_nodes, 1):.1f}"),
            ("isolated nodes", f"{self.num_isolated:,}"),
            ("self-loops", f"{self.num_self_loops:,}"),
            ("features", f"{self.num_features:,}"),
        ]
        kinds = ["sparse features"] * sp.issparse(self.features)
        kinds += ["weighted edges"] * (self.weights is not None)
        kinds += ["directed edges kept"] * (self._directed is not None)
        if self.node_ids is not None:
            rows.append(("node ids", _first_few(self.node_ids[: SHOWN_NAMES + 1])))
        if self.feature_names:
            rows.append(("feature names", _first_few(self.feature_names[: SHOWN_NAMES + 1])))
        if kinds:
            rows.append(("kind", ", ".join(kinds)))
        return html_view("Graph", html_table(rows))

    def __repr__(self) -> str:
        if self.features is None:
            features = "no features"
        else:
            features = f"{self.num_features:,} {'sparse ' * sp.issparse(self.features)}features"
        edges = f"{self.num_edges:,} {'' if self.weights is None else 'weighted '}edges"
        if self._directed is not None:
            edges += f" from {len(self._directed.indices):,} directed ones"
        parts = [
            f"{self.num_nodes:,} nodes",
            edges,
            features,
            f"{self.num_isolated:,} isolated",
        ]
        if self.num_self_loops:
            parts.append(f"{self.num_self_loops:,} self-loops")
        if self.num_duplicates:
            parts.append(f"{self.num_duplicates:,} duplicates merged")
        return f"Graph({', '.join(parts)})"


def _first_few(names: Any) -> str:
    more = ["..."] * (len(names) > SHOWN_NAMES)
    return ", ".join([str(name) for name in names[:SHOWN_NAMES]] + more)


def check_graph(graph: Any) -> None:
    """Raise InputError unless `graph` is a Graph."""
    if not isinstance(graph, Graph):
        raise InputError(
            f"graph must be a heatgraph.Graph. Got {type(graph).__name__}; "
            "Graph(adjacency, features) makes one."
        )


def node_indices(nodes: Any, num_nodes: int, name: str) -> npt.NDArray[np.int64]:
    """Convert node indices or a boolean mask to indices; `name` is the argument in errors.

    An integer array of n zeros and ones is an error: it is nearly always a mask of the wrong dtype,
    and would silently select nodes 0 and 1 over and over.
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
        hint = ""
        if chosen.dtype.kind in "OU":
            hint = " The index of an id is np.flatnonzero(graph.node_ids == id)[0]."
        raise InputError(f"{name} must be integers or a boolean mask. Got {chosen.dtype}.{hint}")
    check_range(chosen, num_nodes, f"{name}[{{}}]: node")
    if len(chosen) == num_nodes > 2 and chosen.max() <= 1:
        raise InputError(
            f"{name} has {num_nodes} entries of 0 and 1 and looks like a mask. Pass it as booleans "
            f"({name}.astype(bool)), or as the indices of the nodes."
        )
    return chosen.astype(np.int64)


def _graph_arrays(
    matrix: sp.csr_array,
    features: Any = None,
    node_ids: Array | None = None,
    feature_names: list[str] | None = None,
    num_duplicates: int = 0,
) -> GraphArrays:
    """Arrays of a canonical CSR matrix in the dtypes of a graph; weights of 1 are dropped."""
    return GraphArrays(
        *_edge_arrays(matrix),
        features=features,
        node_ids=node_ids,
        feature_names=feature_names,
        num_duplicates=num_duplicates,
    )


def _edge_arrays(matrix: sp.csr_array) -> EdgeArrays:
    return EdgeArrays(
        indptr=matrix.indptr.astype(np.int64),
        indices=matrix.indices.astype(index_dtype(matrix.shape[0]), copy=False),
        weights=None if (matrix.data == 1).all() else matrix.data,
    )


def _read_only_features(features: Any) -> Any:
    """Features as a read-only view; compiled code relies on the indices of sparse ones."""
    if not sp.issparse(features):
        return None if features is None else read_only(features)
    for name in ("data", "indices", "indptr"):
        setattr(features, name, read_only(getattr(features, name)))
    return features


def _read_only_edges(edges: EdgeArrays | None) -> EdgeArrays | None:
    if edges is None:
        return None
    weights = None if edges.weights is None else read_only(edges.weights)
    return EdgeArrays(read_only(edges.indptr), read_only(edges.indices), weights)
