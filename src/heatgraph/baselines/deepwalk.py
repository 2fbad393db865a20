"""DeepWalk (Perozzi, Al-Rfou and Skiena 2014): nodes as words, random walks as sentences.

`num_walks` random walks start at every node; each step goes to a neighbour with probability
proportional to the edge's weight. Skip-gram with negative sampling (of the library gensim) embeds
nodes so that a node's vector predicts the nodes near it in walks, and softmax regression reads the
vectors. Features are ignored, and only nodes of the fitted graph have a vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import positive_integer
from heatgraph._engine.threads import thread_count
from heatgraph.baselines._transductive import TransductiveClassifier
from heatgraph.baselines.stacked import edgeless_graph
from heatgraph.errors import MissingExtraError
from heatgraph.graph import Graph, check_graph
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning._node_estimator import read_seed
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.learning.progress import Progress, StageProgress

Array = npt.NDArray[Any]


class DeepWalkClassifier(TransductiveClassifier):
    """Softmax regression on skip-gram vectors of random walks (extra: deepwalk).

    Parameters
    ----------
    dimensions : int
        Dimensions of the embedding.
    num_walks : int
        Number of walks from each node.
    walk_length : int
        Number of nodes in a walk.
    window : int
        Largest distance in a walk between a node and those that its vector predicts.
    epochs : int
        Passes over all walks.
    weight_decay, random_state, dtype
        As in `DGCClassifier`.
    n_threads : int, optional
        Threads of skip-gram, by default one. With more it is faster, but the same seed no longer
        gives the same vectors.

    Attributes
    ----------
    classes_ : array of shape (C,)
    embedding_ : array of shape (n, dimensions)
    head_ : DGCClassifier
        Softmax regression on the vectors, fitted on a graph without edges.
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
        training_nodes(Labels.read(y, graph.num_nodes), train, val)  # fail before the walks
        seed = read_seed(self.random_state)
        stage = StageProgress(progress, "walks", 1)
        walks = random_walks(graph, self.num_walks, self.walk_length, seed)
        self.embedding_ = self._skip_gram(walks, seed)
        stage.report(1)
        self.head_ = DGCClassifier(
            T=0.0, weight_decay=self.weight_decay, random_state=seed, dtype=self.dtype
        ).fit(edgeless_graph(self.embedding_), y, train, val, progress=progress)
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
    has_neighbours = np.diff(graph.indptr)[walks[:, 0]] > 0
    # Inverse transform sampling: a uniform draw from the cumulative weights of a row picks an edge
    # with probability proportional to its weight.
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    cumulative = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    current = walks[has_neighbours, 0]
    for step in range(1, walk_length):
        start, stop = graph.indptr[current], graph.indptr[current + 1]
        drawn = cumulative[start]
        drawn += random.random(len(current)) * (cumulative[stop] - cumulative[start])
        edge = np.clip(np.searchsorted(cumulative, drawn, side="right") - 1, start, stop - 1)
        current = graph.indices[edge].astype(np.int64)
        walks[has_neighbours, step] = current
    return walks
