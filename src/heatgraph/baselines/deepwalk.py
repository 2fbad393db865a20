"""DeepWalk (Perozzi, Al-Rfou and Skiena 2014): nodes as words, random walks as sentences.

From every node start some walks that go on to a neighbour chosen at random, by weight. Skip-gram
with negative sampling, of the library gensim, gives each node a vector from which the nodes around
it in walks can be told; softmax regression reads the vectors. Features play no part, and only nodes
of the graph that was fitted have a vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import positive_integer
from heatgraph._engine.threads import thread_count
from heatgraph.baselines._transductive import TransductiveClassifier
from heatgraph.errors import MissingExtraError
from heatgraph.graph import Graph, check_graph
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning._search import Progress
from heatgraph.learning.classifier import DGCClassifier, read_seed

Array = npt.NDArray[Any]


class DeepWalkClassifier(TransductiveClassifier):
    """Softmax regression on skip-gram vectors of random walks (extra: deepwalk).

    Parameters
    ----------
    dimensions : int
        Length of a node's vector.
    num_walks : int
        Walks from each node.
    walk_length : int
        Nodes in a walk.
    window : int
        How far apart in a walk two nodes may be to count as neighbours.
    epochs : int
        Passes over all walks.
    weight_decay, random_state, dtype
        As in `DGCClassifier`.
    n_threads : int, optional
        With one, the same seed gives the same vectors; with more, skip-gram is faster and not
        reproducible. By default one.

    Attributes
    ----------
    classes_ : array of shape (C,)
    embedding_ : array of shape (n, dimensions)
    head_ : DGCClassifier
        What reads the vectors; it knows no edges.
    weight_decay_ : float
    validation_accuracy_ : float or None
    """

    _other_graph_error = (
        "DeepWalk has vectors for the graph that it was fitted on, and no other. Fit again."
    )

    def __init__(
        self,
        dimensions: int = 128,
        num_walks: int = 10,
        walk_length: int = 40,
        window: int = 5,
        epochs: int = 1,
        weight_decay: Any = "auto",
        random_state: Any = None,
        n_threads: int | None = 1,
        dtype: Any = "float32",
    ) -> None:
        self.dimensions = dimensions
        self.num_walks = num_walks
        self.walk_length = walk_length
        self.window = window
        self.epochs = epochs
        self.weight_decay = weight_decay
        self.random_state = random_state
        self.n_threads = n_threads
        self.dtype = dtype

    def fit(
        self,
        graph: Graph,
        y: Any,
        train: Any = None,
        val: Any = None,
        *,
        progress: Progress | None = None,
    ) -> DeepWalkClassifier:
        """Learn from the labelled nodes of a graph; parameters as in `DGCClassifier.fit`."""
        check_graph(graph)
        for name in ("dimensions", "num_walks", "walk_length", "window", "epochs"):
            positive_integer(getattr(self, name), name)
        training_nodes(Labels.read(y, graph.num_nodes), train, val)  # before any walk is walked
        seed = read_seed(self.random_state)
        report = progress or (lambda *_: None)
        report("walks", 0, 1)
        walks = random_walks(graph, self.num_walks, self.walk_length, seed)
        self.embedding_ = self._skip_gram(walks, seed)
        report("walks", 1, 1)
        edgeless = Graph(sp.csr_array((graph.num_nodes,) * 2, dtype=np.float32), self.embedding_)
        self.head_ = DGCClassifier(
            T=0.0, weight_decay=self.weight_decay, random_state=seed, dtype=self.dtype
        ).fit(edgeless, y, train, val, progress=progress)
        self.graph_ = graph
        self.n_features_in_ = graph.num_features
        self.classes_, self.temperature_ = self.head_.classes_, self.head_.temperature_
        self.weight_decay_ = self.head_.weight_decay_
        self.validation_accuracy_ = self.head_.validation_accuracy_
        return self

    def _skip_gram(self, walks: Array, seed: int) -> Array:
        """Vectors (n, dimensions) of the nodes in walks."""
        try:
            from gensim.models import Word2Vec
        except ImportError as error:
            raise MissingExtraError(
                'DeepWalk needs the library gensim. Install it: pip install "heatgraph[deepwalk]"'
            ) from error
        model = Word2Vec(
            sentences=[[str(node) for node in walk if node >= 0] for walk in walks.tolist()],
            vector_size=self.dimensions,
            window=self.window,
            epochs=self.epochs,
            sg=1,
            min_count=0,
            sample=0,
            workers=thread_count(self.n_threads),
            seed=seed,
        )
        return np.asarray(model.wv[[str(node) for node in range(walks.max() + 1)]])

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        return self.head_._scores(self.head_.graph_, nodes)


def random_walks(graph: Graph, num_walks: int, walk_length: int, seed: int) -> Array:
    """Walks (num_walks n, walk_length) of node indices; -1 after a node without neighbours.

    Examples
    --------
    >>> pair = Graph.from_edges([0], [1], num_nodes=3, symmetrize="max")
    >>> random_walks(pair, num_walks=1, walk_length=4, seed=0)
    array([[ 0,  1,  0,  1],
           [ 1,  0,  1,  0],
           [ 2, -1, -1, -1]])
    """
    random = np.random.default_rng(seed)
    walks = np.full((num_walks * graph.num_nodes, walk_length), -1, dtype=np.int64)
    walks[:, 0] = np.tile(np.arange(graph.num_nodes), num_walks)
    going = np.diff(graph.indptr)[walks[:, 0]] > 0
    # The running sum of weights by row: a place in it, drawn evenly, is an edge drawn by weight.
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    sums = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    here = walks[going, 0]
    for step in range(1, walk_length):
        start, stop = graph.indptr[here], graph.indptr[here + 1]
        drawn = sums[start] + random.random(len(here)) * (sums[stop] - sums[start])
        edge = np.clip(np.searchsorted(sums, drawn, side="right") - 1, start, stop - 1)
        here = graph.indices[edge].astype(np.int64)
        walks[going, step] = here
    return walks
