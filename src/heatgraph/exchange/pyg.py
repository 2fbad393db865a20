"""Conversion of PyTorch Geometric graphs, and a transform that diffuses their features."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from heatgraph.datasets.dataset import Dataset
from heatgraph.diffusion import diffuse
from heatgraph.errors import InputError
from heatgraph.exchange.tensors import (
    dense_example,
    read_array,
    read_column,
    read_features,
    read_labels,
    read_sparse,
    read_splits,
    tensor_like,
)
from heatgraph.graph import Graph
from heatgraph.graph._validation import Merge
from heatgraph.schemes import Scheme, scheme_from


def from_pyg(
    data: Any,
    *,
    weight: str | None = "edge_weight",
    symmetrize: Merge | None = None,
    directed: bool = False,
    duplicates: Literal["error"] | Merge = "error",
) -> Dataset:
    """Convert a graph of PyTorch Geometric to a Dataset.

    Parameters
    ----------
    data : torch_geometric.data.Data
        With ``edge_index`` or ``adj_t``, and optionally

        - ``x``, dense or sparse;
        - ``edge_weight``; edges of weight zero are dropped;
        - ``y``, a class per node, of shape (n,) or (n, 1), with -1 or NaN if unknown;
        - ``train_mask``, ``val_mask`` and ``test_mask``: of shape (n,) for one split, named
          "public", or (n, s) for s splits, named "0", "1", and so on. A mask of shape (n,) beside
          others of shape (n, s) belongs to all splits.

        The number of nodes is ``num_nodes`` or the number of rows of these arrays. It is never
        inferred from the largest index in the edges.
    weight : str, optional
        Attribute with one weight per edge; it may be absent. None ignores weights. Other edge
        attributes, such as a multi-dimensional ``edge_attr``, are not read.
    symmetrize, directed, duplicates
        As in `Graph`: edges are expected to be listed in both directions, unless one of the first
        two is given. An edge leads from ``edge_index[0]`` to ``edge_index[1]``.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace as Data  # in place of torch_geometric.data.Data
    >>> data = Data(x=np.eye(3), edge_index=[[0, 1, 1, 2], [1, 0, 2, 1]], y=np.array([0, 1, -1]))
    >>> from_pyg(data).graph
    Graph(3 nodes, 2 edges, 3 features, 0 isolated)
    """
    stored = _stored_attributes(data)
    batch = stored.get("batch")
    if batch is not None and read_array(batch, "batch").any():
        raise InputError(
            f"data must be a single graph. Got a batch of {read_array(batch, 'batch').max() + 1}; "
            "data.to_data_list() splits it."
        )
    graph = _graph(stored, "x", weight, symmetrize, duplicates, directed)
    labels = read_labels(stored.get("y"), graph.num_nodes)
    return Dataset("PyG graph", graph, labels, read_splits(stored, graph.num_nodes))


class DiffuseFeatures:
    """A transform for PyTorch Geometric that diffuses node features.

    Use it as a dataset's `transform` or `pre_transform`, or within `Compose`. It returns a shallow
    copy of its argument; the diffused features are a dense tensor on the same device and of the
    same float dtype (float32 for integers). In a batch, features diffuse within each graph, since
    no edge connects two graphs.

    Parameters
    ----------
    T, K, scheme, self_loops, tol
        As in `heatgraph.diffuse`.
    cat : bool
        Append the diffused features to the original ones, instead of replacing them.
    attr : str
        Attribute with the features.
    weight, symmetrize, duplicates
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
        weight: str | None = "edge_weight",
        symmetrize: Merge | None = None,
        duplicates: Literal["error"] | Merge = "error",
    ) -> None:
        self.scheme = scheme_from(T, K, scheme)
        self.self_loops = self_loops
        self.cat = cat
        self.attr = attr
        self.tol = tol
        self.weight = weight
        self.symmetrize = symmetrize
        self.duplicates = duplicates

    def __call__(self, data: Any) -> Any:
        """Return a shallow copy of `data` with diffused features."""
        stored = _stored_attributes(data)
        features = stored.get(self.attr)
        if features is None:
            raise InputError(f"data has no {self.attr} to diffuse. Name another with attr=.")
        example = dense_example(features)
        if getattr(example, "requires_grad", False):
            raise InputError(
                f"{self.attr} requires gradients, but this transform is not differentiable. Use "
                f"{self.attr}.detach(), or diffuse before the learned layers."
            )
        graph = _graph(stored, self.attr, self.weight, self.symmetrize, self.duplicates)
        dtype = np.float64 if "float64" in str(example.dtype) else np.float32
        result = diffuse(
            graph, scheme=self.scheme, self_loops=self.self_loops, tol=self.tol, dtype=dtype
        )
        if self.cat:
            X = graph.features
            result = np.hstack([X.toarray() if sp.issparse(X) else X, result], dtype=dtype)
        copied = copy.copy(data)
        setattr(copied, self.attr, tensor_like(example, result))
        return copied

    def __repr__(self) -> str:
        # PyG compares the repr of a saved dataset's pre_transform with that of the present one.
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"


def _stored_attributes(data: Any) -> Mapping[str, Any]:
    """The attributes set on `data`; `data.num_nodes` itself may be inferred from the edges."""
    if hasattr(type(data), "node_types"):
        raise InputError(
            "data must have one node type and one edge type. Got heterogeneous data; "
            "data.to_homogeneous() merges them."
        )
    stored = data.to_dict() if hasattr(data, "to_dict") else getattr(data, "__dict__", {})
    if stored.get("edge_index") is None and stored.get("adj_t") is None:
        raise InputError(
            f"data must be one graph with edge_index or adj_t. Got {type(data).__name__} without; "
            "for a dataset, pass dataset[0]."
        )
    return dict(stored)


def _graph(
    stored: Mapping[str, Any],
    attr: str,
    weight: str | None,
    symmetrize: Merge | None,
    duplicates: Literal["error"] | Merge,
    directed: bool = False,
) -> Graph:
    X = read_features(stored.get(attr), attr)
    if stored.get("edge_index") is None:
        adjacency = read_sparse(stored["adj_t"], "adj_t").T
        return Graph(adjacency, X, symmetrize=symmetrize, directed=directed, duplicates=duplicates)
    edges = read_array(stored["edge_index"], "edge_index")
    if edges.ndim != 2 or len(edges) != 2:
        raise InputError(f"edge_index must have shape (2, edges). Got {edges.shape}.")
    weights = None if weight is None else read_column(stored.get(weight), weight)
    src, dst = edges
    return Graph.from_edges(
        src, dst, weights, _count_nodes(stored, X), features=X, symmetrize=symmetrize,
        directed=directed, duplicates=duplicates,
    )  # fmt: skip


def _count_nodes(stored: Mapping[str, Any], X: Any) -> Any:
    number = stored.get("num_nodes")
    if number is not None:
        return number.item() if hasattr(number, "item") else number
    others = ("x", "pos", "train_mask", "val_mask", "test_mask", "y")
    for rows in (X, *(read_features(stored.get(name), name) for name in others)):
        if rows is not None and rows.ndim:
            return rows.shape[0]
    raise InputError(
        "the number of nodes is unknown: set data.num_nodes. The largest index in the edges would "
        "miss isolated nodes."
    )
