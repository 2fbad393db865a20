"""Graphs of NetworkX, PyTorch Geometric and DGL, read without importing any of the three.

Each reader asks the object that it is given for its nodes, edges and attributes, and makes a
`Dataset`: the graph, the labels and the splits. Tensors are turned into arrays by methods of their
own. What is read is never written to; dense features are kept by reference, as in `Graph`.

Where an error of `Graph` speaks of node 3, it means the fourth node in the order of the source.
"""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split, column_split
from heatgraph.diffusion import diffuse
from heatgraph.entries import Merge, as_array, check_real
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.labels import Labels
from heatgraph.schemes import Scheme, scheme_from

Array = npt.NDArray[Any]
Nodes = list[tuple[Any, Mapping[Any, Any]]]
Duplicates = Literal["error"] | Merge

_WEIGHT_NAMES = ("w", "weight")


def from_networkx(
    G: Any,
    *,
    features: Any = None,
    label: Any = None,
    split: Any = None,
    weight: Any = "weight",
    symmetrize: Merge | None = "max",
    duplicates: Duplicates = "error",
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
    src, dst, weights = _networkx_edges(G, nodes, weight)
    if not G.is_directed():
        # Each edge is listed once; parallel ones may come from either end.
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
        symmetrize = "max" if symmetrize is None else symmetrize
    graph = Graph.from_edges(
        src, dst, weights, len(nodes), features=X, node_ids=_exact([node for node, _ in nodes]),
        feature_names=feature_names, symmetrize=symmetrize, duplicates=duplicates,
    )  # fmt: skip
    labels = None
    if label is not None:
        _check_somewhere(nodes, label, "label")
        labels = _labels(_exact([attributes.get(label) for _, attributes in nodes]), len(nodes))
    splits = {}
    if split is not None:
        _check_somewhere(nodes, split, "split")
        splits[str(split)] = column_split([attributes.get(split) for _, attributes in nodes])
    return Dataset(str(getattr(G, "name", "") or "networkx graph"), graph, labels, splits)


def from_pyg(
    data: Any, *, symmetrize: Merge | None = None, duplicates: Duplicates = "error"
) -> Dataset:
    """Read one graph of PyTorch Geometric.

    Parameters
    ----------
    data : torch_geometric.data.Data
        With ``edge_index`` or ``adj_t``, and whichever it has of

        - ``x``, dense or sparse;
        - ``edge_weight``, or ``edge_attr`` of a single column; a weight of zero is no edge;
        - ``y``, a class per node, of shape (n,) or (n, 1), with -1 or NaN where there is none;
        - ``train_mask``, ``val_mask`` and ``test_mask``: of shape (n,), they make the split
          "public", and of shape (n, s), the splits "0", "1", and so on. A mask of shape (n,) beside
          others of shape (n, s) belongs to all splits.

        The number of nodes is that of ``num_nodes`` or of the rows of the above, never the largest
        index in the edges.
    symmetrize, duplicates
        As in `Graph`: edges are expected to be listed in both directions.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace as Data  # in place of torch_geometric.data.Data
    >>> data = Data(x=np.eye(3), edge_index=[[0, 1, 1, 2], [1, 0, 2, 1]], y=np.array([0, 1, -1]))
    >>> from_pyg(data).graph
    Graph(3 nodes, 2 edges, 3 features, 0 isolated)
    """
    stored = _stored(data)
    batch = stored.get("batch")
    if batch is not None and _array(batch, "batch").any():
        raise InputError(
            f"data must be a single graph. Got a batch of {_array(batch, 'batch').max() + 1}; "
            "data.to_data_list() takes it apart."
        )
    graph = _pyg_graph(stored, "x", symmetrize, duplicates)
    labels = _labels(stored.get("y"), graph.num_nodes)
    return Dataset("PyG graph", graph, labels, _splits(stored, graph.num_nodes))


def from_dgl(
    g: Any, *, symmetrize: Merge | None = None, duplicates: Duplicates = "error"
) -> Dataset:
    """Read one homogeneous graph of DGL.

    Parameters
    ----------
    g : dgl.DGLGraph
        Read are ``ndata["feat"]``, ``ndata["label"]`` (-1 or NaN where there is none), the masks
        ``ndata["train_mask"]``, ``["val_mask"]`` and ``["test_mask"]``, which make splits as in
        `from_pyg`, and the weights ``edata["w"]`` or ``edata["weight"]``, whichever there are.
    symmetrize, duplicates
        As in `Graph`: edges are expected to be listed in both directions.

    Examples
    --------
    ::

        from_dgl(dgl.data.CoraGraphDataset()[0]).split
        # Split(train=140, val=500, test=1,000)
    """
    if not all(hasattr(g, name) for name in ("ndata", "edata", "edges", "num_nodes")):
        raise InputError(f"g must be a DGL graph. Got {type(g).__name__}.")
    if not g.is_homogeneous or getattr(g, "is_block", False):
        raise InputError(
            "g must be homogeneous, with nodes and edges of one kind. Got several kinds, or a "
            "block; dgl.to_homogeneous(g) makes one kind of them."
        )
    if getattr(g, "batch_size", 1) > 1:
        raise InputError(
            f"g must be a single graph. Got a batch of {g.batch_size}; dgl.unbatch(g) takes it "
            "apart."
        )
    n = int(g.num_nodes())
    src, dst = (_array(ends, "edges") for ends in g.edges())
    graph = Graph.from_edges(
        src, dst, _dgl_weights(g.edata), n, features=_features(g.ndata.get("feat"), "feat"),
        symmetrize=symmetrize, duplicates=duplicates,
    )  # fmt: skip
    return Dataset("DGL graph", graph, _labels(g.ndata.get("label"), n), _splits(g.ndata, n))


class DiffuseFeatures:
    """A transform of PyTorch Geometric that diffuses the features of its graphs.

    It can be a dataset's `transform` or `pre_transform`, or a part of a `Compose`. It gives back a
    shallow copy of its argument, with features that are a dense tensor on the same device and of
    the same float type (float32 for whole numbers). Batches are diffused graph by graph, since no
    edge leads from one to another.

    Parameters
    ----------
    T, K, scheme, self_loops, tol
        As in `heatgraph.diffuse`.
    cat : bool
        Whether to keep the features and append the diffused ones, instead of replacing them.
    attr : str
        Name of the attribute that holds the features.
    symmetrize, duplicates
        As in `from_pyg`.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace as Data  # in place of torch_geometric.data.Data
    >>> data = Data(x=np.eye(2), edge_index=[[0, 1], [1, 0]])
    >>> DiffuseFeatures(T=1.0)(data).x.round(3)
    array([[0.684, 0.316],
           [0.316, 0.684]])
    """

    def __init__(
        self,
        T: float | None = None,
        K: int | None = None,
        scheme: str | Scheme | None = None,
        *,
        self_loops: bool = True,
        cat: bool = False,
        attr: str = "x",
        tol: float = 1e-6,
        symmetrize: Merge | None = None,
        duplicates: Duplicates = "error",
    ) -> None:
        self.scheme = scheme_from(T, K, scheme)
        self.self_loops = self_loops
        self.cat = cat
        self.attr = attr
        self.tol = tol
        self.symmetrize = symmetrize
        self.duplicates = duplicates

    def __call__(self, data: Any) -> Any:
        """Give a copy of `data` with diffused features."""
        stored = _stored(data)
        given = stored.get(self.attr)
        if given is None:
            raise InputError(f"data has no {self.attr} to diffuse. Name another with attr=.")
        example = _example(given)
        if getattr(example, "requires_grad", False):
            raise InputError(
                f"{self.attr} requires gradients, but none pass through this transform. Use "
                f"{self.attr}.detach(), or diffuse before what is learned."
            )
        graph = _pyg_graph(stored, self.attr, self.symmetrize, self.duplicates)
        dtype = np.float64 if "float64" in str(example.dtype) else np.float32
        result = diffuse(
            graph, scheme=self.scheme, self_loops=self.self_loops, tol=self.tol, dtype=dtype
        )
        if self.cat:
            X = graph.features
            result = np.hstack([X.toarray() if sp.issparse(X) else X, result], dtype=dtype)
        copied = copy.copy(data)
        setattr(copied, self.attr, _tensor_like(example, result))
        return copied

    def __repr__(self) -> str:
        # PyG compares a saved dataset's pre_transform with the present one by these words.
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"


def _networkx_edges(G: Any, nodes: Nodes, weight: Any) -> tuple[Array, Array, Array | None]:
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
    rows = [_array(values[name], f"{name!r} of node {node!r}") for node, values in nodes]
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


def _exact(values: Sequence[Any]) -> Any:
    """Leave plain values to those who read them; keep others, such as tuples, as single objects."""
    if all(value is None or isinstance(value, str | numbers.Number) for value in values):
        return values
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def _stored(data: Any) -> Mapping[str, Any]:
    """What was put into `data` itself: PyG would guess a missing num_nodes from the edges."""
    if hasattr(type(data), "node_types"):
        raise InputError(
            "data must have nodes and edges of one kind. Got heterogeneous data; "
            "data.to_homogeneous() makes one kind of them."
        )
    stored = data.to_dict() if hasattr(data, "to_dict") else getattr(data, "__dict__", {})
    if stored.get("edge_index") is None and stored.get("adj_t") is None:
        raise InputError(
            f"data must be one graph with edge_index or adj_t. Got {type(data).__name__} without; "
            "of a dataset, pass dataset[0]."
        )
    return dict(stored)


def _pyg_graph(
    stored: Mapping[str, Any], attr: str, symmetrize: Merge | None, duplicates: Duplicates
) -> Graph:
    X = _features(stored.get(attr), attr)
    if stored.get("edge_index") is None:
        # The transpose will do: Graph takes A for undirected, or refuses it, either way round.
        adjacency = _sparse_array(stored["adj_t"], "adj_t")
        return Graph(adjacency, X, symmetrize=symmetrize, duplicates=duplicates)
    edges = _array(stored["edge_index"], "edge_index")
    if edges.ndim != 2 or len(edges) != 2:
        raise InputError(f"edge_index must have shape (2, edges). Got {edges.shape}.")
    weights = _one_column(stored.get("edge_weight"), "edge_weight")
    if weights is None:
        weights = _one_column(stored.get("edge_attr"), "edge_attr")
    src, dst = edges
    return Graph.from_edges(
        src, dst, weights, _count_nodes(stored, X), features=X, symmetrize=symmetrize,
        duplicates=duplicates,
    )  # fmt: skip


def _count_nodes(stored: Mapping[str, Any], X: Any) -> Any:
    number = stored.get("num_nodes")
    if number is not None:
        return number.item() if hasattr(number, "item") else number
    others = ("x", "pos", "train_mask", "val_mask", "test_mask", "y")
    for rows in (X, *(_features(stored.get(name), name) for name in others)):
        if rows is not None and rows.ndim:
            return rows.shape[0]
    raise InputError(
        "data does not tell its number of nodes: set data.num_nodes. The largest index in the "
        "edges would miss isolated nodes."
    )


def _dgl_weights(edata: Mapping[str, Any]) -> Array | None:
    found = [name for name in _WEIGHT_NAMES if edata.get(name) is not None]
    if len(found) > 1:
        raise InputError(
            f"edata must hold weights once. Got both {found[0]!r} and {found[1]!r}; take one out."
        )
    return _one_column(edata[found[0]], found[0]) if found else None


def _one_column(values: Any, name: str) -> Array | None:
    if values is None:
        return None
    column = _array(values, name)
    if column.ndim == 2 and column.shape[1] == 1:
        return column[:, 0]
    if column.ndim != 1:
        raise InputError(
            f"{name} must be one weight per edge. Got shape {column.shape}; put weights into "
            f"edge_weight (in DGL, edata['w']), or take {name} out to read edges without."
        )
    return column


def _labels(values: Any, num_nodes: int) -> Array | None:
    if values is None:
        return None
    if not isinstance(values, list):
        values = _array(values, "y")
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    return np.array(Labels.read(values, num_nodes).values)


def _splits(stored: Mapping[str, Any], num_nodes: int) -> dict[str, Split]:
    masks = {}
    for part in ("train", "val", "test"):
        mask = stored.get(f"{part}_mask")
        if mask is not None:
            masks[part] = _checked_mask(_array(mask, f"{part}_mask"), f"{part}_mask", num_nodes)
    if all(mask.ndim == 1 for mask in masks.values()):
        return {"public": _split_of(masks)} if masks else {}
    counts = sorted({mask.shape[1] for mask in masks.values() if mask.ndim == 2})
    if len(counts) > 1:
        raise InputError(
            "train_mask, val_mask and test_mask must have a column per split, equally many. Got "
            f"{' and '.join(map(str, counts))}."
        )
    return {
        str(place): _split_of(
            {part: mask if mask.ndim == 1 else mask[:, place] for part, mask in masks.items()}
        )
        for place in range(counts[0])
    }


def _checked_mask(mask: Array, name: str, num_nodes: int) -> Array:
    if mask.dtype != bool or mask.ndim not in (1, 2) or len(mask) != num_nodes:
        raise InputError(
            f"{name} must be booleans, one per node ({num_nodes:,}), or a column of them per "
            f"split. Got {mask.dtype} of shape {mask.shape}; {name}.bool() makes booleans of "
            "zeros and ones."
        )
    return mask


def _split_of(masks: Mapping[str, Array]) -> Split:
    none = np.zeros(0, dtype=bool)
    return Split(*(np.flatnonzero(masks.get(part, none)) for part in ("train", "val", "test")))


def _features(values: Any, name: str) -> Any:
    if values is None:
        return None
    return _sparse_array(values, name) if _is_sparse(values) else _array(values, name)


def _array(values: Any, name: str) -> Array:
    """Read a tensor, wherever it lives, or anything that NumPy reads."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if "bfloat16" in str(values.dtype):
            values = values.float()  # NumPy has no bfloat16; float32 holds it exactly
        try:
            values = values.numpy()
        except (TypeError, RuntimeError) as error:
            raise InputError(f"{name} cannot be read as an array: {error}") from error
    return as_array(values, name)


def _is_sparse(values: Any) -> bool:
    # torch_sparse.SparseTensor has no layout, and torch's own sparse tensors have no coo().
    return hasattr(values, "coo") or "sparse" in str(getattr(values, "layout", ""))


def _sparse_array(tensor: Any, name: str) -> Any:
    """Read a sparse tensor of torch (COO, CSR or CSC) or of torch_sparse."""
    layout = str(getattr(tensor, "layout", "")).removeprefix("torch.")
    kind: Any = sp.coo_array
    if hasattr(tensor, "coo"):
        rows, columns, values = tensor.coo()
        shape, indices = tensor.sparse_sizes(), [rows, columns]
    elif layout == "sparse_coo":
        tensor = tensor.detach().coalesce()
        values, shape, indices = tensor.values(), tensor.shape, list(tensor.indices())
    elif layout == "sparse_csr":
        kind, values, shape = sp.csr_array, tensor.values(), tensor.shape
        indices = [tensor.col_indices(), tensor.crow_indices()]
    elif layout == "sparse_csc":
        kind, values, shape = sp.csc_array, tensor.values(), tensor.shape
        indices = [tensor.row_indices(), tensor.ccol_indices()]
    else:
        raise InputError(
            f"{name} must be a sparse tensor in COO, CSR or CSC form. Got {layout or type(tensor)}."
        )
    arrays = [_array(index, name) for index in indices]
    data = np.ones(len(arrays[0]), dtype=bool) if values is None else _array(values, name)
    check_real(data.dtype, name)
    try:
        parts = (data, tuple(arrays)) if kind is sp.coo_array else (data, *arrays)
        return kind(parts, shape=tuple(map(int, shape)))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a valid sparse tensor: {error}") from error


def _example(values: Any) -> Any:
    """Give a dense tensor of the device and type that `values` has."""
    if hasattr(values, "coo"):
        rows, _, stored = values.coo()
        return rows if stored is None else stored
    if "sparse" in str(getattr(values, "layout", "")):
        return (values.coalesce() if values.is_sparse else values).values()
    return values if hasattr(values, "dtype") else np.asarray(values)


def _tensor_like(example: Any, values: Array) -> Any:
    if not hasattr(example, "new_tensor"):
        return values
    floats = example if example.is_floating_point() else example[:0].float()
    return floats.new_tensor(values)
