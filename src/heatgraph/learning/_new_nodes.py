"""Scores of nodes that join the graph of a model, without diffusing on all of it.

They are those of a prediction on the larger graph. Each term of the model is computed in the
neighbourhood of the new nodes (`heatgraph._engine.grown_graphs`), from vectors that are kept of the
graph before, or on the larger graph where that takes less work or the vectors take too much memory.

The graph with edges between similar nodes changes in more places: a new node takes the place of
another among the nearest of known nodes. The nearest of all nodes are kept too, so that these edges
are exactly those that would be found in the larger graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.grown_graphs import Change, ClenshawVectors, local_scores
from heatgraph._engine.ranges import product_work
from heatgraph._io.memory import memory_budget_bytes
from heatgraph.diffusion import diffuse, plan, working_precision
from heatgraph.graph import Graph
from heatgraph.graph._growth import NewNodes
from heatgraph.learning._channels import HOPS
from heatgraph.learning._nearest_nodes import NearestNodes
from heatgraph.learning._similar_nodes import NUM_SIMILAR, SIMILAR_WEIGHT, with_similar_edges
from heatgraph.learning.scaling import Scaling
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Share of the memory budget that the vectors kept of a graph may take.
MEMORY_SHARE = 0.5


@dataclass(frozen=True)
class NewNodesReport:
    """How scores of new nodes were computed.

    Attributes
    ----------
    method : {"local", "full"}
        Whether all terms of the model were computed in the neighbourhood of the new nodes, or some
        of them on the whole graph.
    neighbourhood : int
        Nodes of the largest neighbourhood, or of the whole graph.
    work : int
        Multiply-adds of the diffusion.
    full_work : int
        Those of a prediction on the whole graph.
    """

    method: Literal["local", "full"]
    neighbourhood: int
    work: int
    full_work: int


@dataclass
class NewNodeScorer:
    """A fitted model with its graph: its terms, and what is kept between calls.

    `coef` and `similar_coef` (C, d) are None where a model has no such term, `channels` are weights
    (C, d) of features and of neighbours, `intercept` is (C,), and `engine` are options of
    `diffuse`.
    """

    graph: Graph
    scaling: Scaling
    coef: Array | None
    similar_coef: Array | None
    channels: dict[str, Array]
    intercept: Array
    scheme: Scheme
    self_loops: bool
    engine: dict[str, Any]
    _vectors: dict[str, ClenshawVectors | None] = field(default_factory=dict, init=False)
    _columns: dict[str, Array] = field(default_factory=dict, init=False)
    _nearest: NearestNodes | None = field(default=None, init=False)

    def score(self, new: NewNodes) -> tuple[Floats, NewNodesReport]:
        """Scores (R, C) of new nodes."""
        scores = np.tile(self.intercept.astype(np.float64), (new.num_nodes, 1))
        rows, cols, values = new.entries
        parts = []
        if self.coef is not None:
            columns = self._times(new.features, self.coef)
            change = Change(columns, rows, cols, values)
            parts.append(self._diffused("plain", self.graph, self.coef, change))
        if self.similar_coef is not None:
            similar = with_similar_edges(self.graph, self.scaling, self.engine["n_threads"])
            change = self._similar_change(new)
            parts.append(self._diffused("similar", similar, self.similar_coef, change))
        for diffused, _ in parts:
            scores += diffused
        for name, coef in self.channels.items():
            scores += self._channel(name, coef, new)
        return scores, _join([report for _, report in parts], new.num_nodes)

    def _diffused(
        self, name: str, graph: Graph, coef: Array, change: Change
    ) -> tuple[Array, NewNodesReport]:
        """The term r(S') X' Theta at the new nodes."""
        if name not in self._columns:
            self._columns[name] = self._times(self.graph.features, coef).astype(coef.dtype)
            self._vectors[name] = self._clenshaw_vectors(graph, self._columns[name])
        vectors, columns = self._vectors[name], self._columns[name]
        found = None if vectors is None else local_scores(vectors, change)
        if found is not None:
            report = NewNodesReport("local", found.num_nodes, found.work, found.full_work)
            return found.scores, report
        grown = _grown(graph, change)._with_features(
            np.vstack([columns, change.columns.astype(columns.dtype)])
        )
        new = np.arange(graph.num_nodes, grown.num_nodes)
        options = {"scheme": self.scheme, "self_loops": self.self_loops, **self.engine}
        planned = plan(grown, rows=new, **options | {"cluster": None})
        product = product_work(grown.num_nodes, len(grown.indices))
        work, full = (planned.products * many * product for many in (planned.columns, len(coef)))
        return diffuse(grown, rows=new, **options), NewNodesReport(
            "full", grown.num_nodes, work, full
        )

    def _clenshaw_vectors(self, graph: Graph, columns: Array) -> ClenshawVectors | None:
        """Vectors of the graph; None if they would take too much memory."""
        tol, budget = self.engine["tol"], memory_budget_bytes(self.engine["memory_budget"])
        dtype = working_precision([self.scheme], np.dtype(self.engine["dtype"]))
        size = ClenshawVectors.size(columns.size, self.scheme, tol, dtype.itemsize)
        if size > MEMORY_SHARE * budget:
            return None
        return ClenshawVectors.compute(
            graph, columns, self.scheme, self.self_loops, tol, dtype, self.engine["n_threads"]
        )

    def _similar_change(self, new: NewNodes) -> Change:
        """New edges, and those between similar nodes that come and go."""
        assert self.similar_coef is not None
        single = np.dtype(np.float32)
        if self._nearest is None:
            scaled = self.scaling.apply(self.graph.features, single)
            self._nearest = NearestNodes.find(scaled, NUM_SIMILAR, self.engine["n_threads"])
        added, removed = self._nearest.grow(self.scaling.apply(new.features, single))
        rows, cols, values = new.entries
        total = self.graph.num_nodes + new.num_nodes
        pairs = np.concatenate([added, added[:, ::-1], removed, removed[:, ::-1]])
        signs = np.repeat([SIMILAR_WEIGHT, -SIMILAR_WEIGHT], [2 * len(added), 2 * len(removed)])
        entries = (
            np.concatenate([values, signs]),
            (np.concatenate([rows, pairs[:, 0]]), np.concatenate([cols, pairs[:, 1]])),
        )
        merged = sp.coo_array(entries, shape=(total, total))
        merged.sum_duplicates()
        columns = self._times(new.features, self.similar_coef)
        return Change(
            columns, merged.row.astype(np.int64), merged.col.astype(np.int64), merged.data
        )

    def _channel(self, name: str, coef: Array, new: NewNodes) -> Array:
        """The term of a channel of features: of the nodes, or the mean of their neighbours'."""
        own = self._times(new.features, coef)
        if not HOPS[name]:
            return own
        n, (rows, cols, values) = self.graph.num_nodes, new.entries
        kept = (rows >= n) & (rows != cols)
        rows, cols, values = rows[kept] - n, cols[kept], values[kept]
        known, place = np.unique(cols[cols < n], return_inverse=True)
        near = np.empty((len(cols), len(coef)))
        near[cols < n] = self._times(self.graph.features[known], coef)[place]
        near[cols >= n] = own[cols[cols >= n] - n]
        weights = sp.csr_array((values, (rows, np.arange(len(rows)))), shape=(len(own), len(rows)))
        sums = np.asarray(weights.sum(axis=1)).ravel()[:, np.newaxis]
        mean = np.zeros_like(own)
        np.divide(weights @ near, sums, out=mean, where=sums > 0)
        return mean

    def _times(self, X: Any, coef: Array) -> Floats:
        """Scaled features times weights, as the classifier multiplies them."""
        return self.scaling.times(X, np.ascontiguousarray(coef.T)).astype(np.float64)


def _grown(graph: Graph, change: Change) -> Graph:
    """The larger graph, without features."""
    n, total = graph.num_nodes, graph.num_nodes + len(change.columns)
    A = graph.adjacency
    indptr = np.concatenate([A.indptr, np.full(total - n, A.indptr[-1], dtype=A.indptr.dtype)])
    old = sp.csr_array((A.data.astype(np.float64), A.indices, indptr), shape=(total, total))
    entries = change.values, (change.rows, change.cols)
    matrix = sp.csr_array(old + sp.csr_array(entries, shape=(total, total)))
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return Graph._from_canonical(matrix)


def _join(reports: list[NewNodesReport], num_new: int) -> NewNodesReport:
    """One report for all terms; a model of channels alone touches nothing else."""
    return NewNodesReport(
        "full" if any(report.method == "full" for report in reports) else "local",
        max((report.neighbourhood for report in reports), default=num_new),
        sum(report.work for report in reports),
        sum(report.full_work for report in reports),
    )


_SCORERS: WeakKeyDictionary[Any, NewNodeScorer] = WeakKeyDictionary()


def new_node_scorer(model: Any, graph: Graph) -> NewNodeScorer:
    """What was kept of a graph for new nodes of a `DGCClassifier`, unless it has changed since."""
    scorer, engine = _SCORERS.get(model), model._engine()
    if (
        scorer is None
        or scorer.graph is not graph
        or scorer.intercept is not model.intercept_
        or scorer.engine != engine
    ):
        is_plain = model.coef_.any() or not model.channel_coefs_
        scorer = NewNodeScorer(
            graph=graph,
            scaling=model.scaling_,
            coef=model.coef_ if is_plain else None,
            similar_coef=model.similar_coef_,
            channels=model.channel_coefs_,
            intercept=model.intercept_,
            scheme=model.scheme_,
            self_loops=model.self_loops_,
            engine=engine,
        )
        _SCORERS[model] = scorer
    return scorer
