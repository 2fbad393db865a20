"""Diffusion as a scikit-learn transformer, for pipelines with any classifier.

With a graph as parameter it transforms *node indices* into diffused features (m, d), so that a
pipeline can be fitted to some nodes, predict others, and be cross-validated like any other. Without
one, it transforms whole graphs into arrays (n, d).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from heatgraph._arguments import working_dtype
from heatgraph.diffusion import diffuse
from heatgraph.errors import InputError
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.learning._cluster_parameter import ClusterParameter
from heatgraph.learning.scaling import Scaling, check_scaling
from heatgraph.schemes import scheme_from

Array = npt.NDArray[Any]


class GraphDiffusion(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterParameter):
    """Turn nodes of a graph into their diffused features.

    Parameters
    ----------
    T, K, scheme, self_loops, tol, dtype, n_threads, memory_budget, cluster
        As in `heatgraph.diffuse`.
    feature_scaling : {"none", "auto", "rows", "sqrt", "idf", "idf-sqrt", "standard"}
        Preprocessing of features before they diffuse, fitted to the nodes given to `fit`.
    graph : Graph, optional
        If given, `fit` and `transform` take indices of its nodes, and clones share it; otherwise
        they take graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from heatgraph import Graph, GraphDiffusion
    >>> ring = Graph.from_edges(range(8), [1, 2, 3, 0, 5, 6, 7, 4], num_nodes=8, symmetrize="max")
    >>> model = make_pipeline(GraphDiffusion(T=2.0, graph=ring), LogisticRegression())
    >>> model.fit([0, 4], ["a", "b"]).predict([1, 2, 5])
    array(['a', 'a', 'b'], dtype='<U1')
    >>> GraphDiffusion(T=2.0).fit_transform(ring).shape
    (8, 8)
    """

    def __init__(
        self,
        T: float | None = None,
        K: int | None = None,
        scheme: Any = None,
        self_loops: bool = True,
        feature_scaling: str = "none",
        tol: float = 1e-6,
        dtype: Any = "float32",
        n_threads: int | None = None,
        memory_budget: int | float | str | None = None,
        graph: Graph | None = None,
        cluster: Any = None,
    ) -> None:
        self.T = T
        self.K = K
        self.scheme = scheme
        self.self_loops = self_loops
        self.feature_scaling = feature_scaling
        self.tol = tol
        self.dtype = dtype
        self.n_threads = n_threads
        self.memory_budget = memory_budget
        self.graph = graph
        self.cluster = cluster

    def fit(self, X: Any, y: Any = None) -> GraphDiffusion:
        """Fit the feature scaling.

        Parameters
        ----------
        X : Graph, or indices of nodes of `graph`
        y : ignored
        """
        self.scheme_ = scheme_from(self.T, self.K, self.scheme)
        check_scaling(self.feature_scaling)
        graph, nodes = self._read(X)
        if nodes is None:
            nodes = np.arange(graph.num_nodes)
        if len(nodes) == 0:
            raise InputError("X names no node to learn from.")
        self.scaling_ = Scaling.learn(self.feature_scaling, graph.features, nodes)
        self.n_features_in_ = graph.num_features
        self._n_features_out = graph.num_features or graph.num_nodes
        return self

    def transform(self, X: Any) -> Array:
        """Diffused features, of shape (n, d) for a graph or (m, d) for m nodes."""
        check_is_fitted(self)
        graph, nodes = self._read(X)
        columns = graph.num_features or graph.num_nodes
        if graph.num_features != self.n_features_in_ or columns != self._n_features_out:
            raise InputError(
                f"expected {self._n_features_out:,} features per node, as there were when fitted. "
                f"Got a graph with {graph.num_features:,} features and {graph.num_nodes:,} nodes."
            )
        if graph.features is not None:
            scaled = self.scaling_.apply(graph.features, working_dtype(self.dtype))
            graph = graph._with_features(scaled)
        return diffuse(
            graph,
            scheme=self.scheme_,
            self_loops=self.self_loops,
            rows=nodes,
            tol=self.tol,
            dtype=self.dtype,
            n_threads=self.n_threads,
            memory_budget=self.memory_budget,
            cluster=self.cluster,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []  # the parameter `dtype` decides
        return tags

    def _read(self, X: Any) -> tuple[Graph, npt.NDArray[np.int64] | None]:
        """The graph to transform, and the nodes if `X` are nodes of the parameter `graph`."""
        if isinstance(X, Graph):
            return X, None
        if self.graph is None:
            raise InputError(
                f"X must be a heatgraph.Graph. Got {type(X).__name__}; to transform nodes of one "
                "graph, give it as graph=."
            )
        check_graph(self.graph)
        nodes = np.asarray(X)
        if nodes.ndim == 2 and nodes.shape[1] == 1:
            nodes = nodes[:, 0]
        return self.graph, node_indices(nodes, self.graph.num_nodes, "X")
