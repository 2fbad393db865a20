"""Random walks against their definition, and the embedding of DeepWalk."""

import sys

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from strategies import graphs, planted, seeds

from heatgraph import Graph
from heatgraph.baselines.deepwalk import DeepWalkClassifier, random_walks
from heatgraph.errors import InputError, MissingExtraError

GRAPH, LABELS = planted()
TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)
SMALL = DeepWalkClassifier(dimensions=16, num_walks=10, walk_length=20, weight_decay=[0.001, 0.01])


@given(graphs(featureless=True), seeds)
def test_walks_follow_edges(graph, seed):
    walks = random_walks(graph, num_walks=3, walk_length=5, seed=seed)
    assert walks.shape == (3 * graph.num_nodes, 5)
    assert_array_equal(walks[:, 0], np.tile(np.arange(graph.num_nodes), 3))
    A = graph.adjacency.toarray()
    isolated = ~A.any(axis=1)
    assert_array_equal(walks[isolated[walks[:, 0]], 1:], -1)
    for walk in walks[~isolated[walks[:, 0]]]:
        assert (A[walk[:-1], walk[1:]] > 0).all()


def test_steps_are_proportional_to_weights():
    weights = np.array([1.0, 3.0, 6.0])
    star = Graph.from_edges([0, 0, 0], [1, 2, 3], weights, num_nodes=4, symmetrize="max")
    walks = random_walks(star, num_walks=4000, walk_length=2, seed=0)
    taken = np.bincount(walks[walks[:, 0] == 0, 1], minlength=4)[1:]
    assert_allclose(taken / taken.sum(), weights / weights.sum(), atol=0.03)


def test_seeds_of_walks():
    first, again, other = (random_walks(GRAPH, 2, 6, seed) for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert (first != other).any()


@pytest.fixture
def gensim():
    return pytest.importorskip("gensim", reason="DeepWalk needs gensim, of the extra deepwalk")


def test_features_are_ignored(gensim):
    clf, bare = (
        clone(SMALL).fit(graph, LABELS, TRAIN, VAL) for graph in (GRAPH, GRAPH.with_features(None))
    )
    assert clf.embedding_.shape == (90, 16)
    assert_array_equal(clf.embedding_, bare.embedding_)
    assert bare.score(None, LABELS, TEST) > 0.6
    assert bare.validation_accuracy_ > 0.5


def test_seeds_of_vectors(gensim):
    first, again, other = (
        clone(SMALL).set_params(random_state=seed).fit(GRAPH, LABELS, TRAIN).embedding_
        for seed in (3, 3, 4)
    )
    assert_array_equal(first, again)
    assert (first != other).any()


def test_progress(gensim):
    calls = []
    clone(SMALL).fit(GRAPH, LABELS, TRAIN, VAL, progress=calls.append)
    steps = [(call.stage, call.done, call.total) for call in calls]
    assert steps[:2] == [("walks", 0, 1), ("walks", 1, 1)]
    assert steps[-1] == ("fit", 2, 2)


def test_errors_are_raised_before_walking(monkeypatch):
    monkeypatch.setattr(
        "heatgraph.baselines.deepwalk.random_walks", lambda *_: pytest.fail("walked")
    )
    with pytest.raises(InputError, match="window must be an integer"):
        clone(SMALL).set_params(window=0).fit(GRAPH, LABELS)
    with pytest.raises(InputError, match="at least two classes"):
        clone(SMALL).fit(GRAPH, np.zeros(90, dtype=int))
    with pytest.raises(InputError, match="must be a heatgraph.Graph"):
        clone(SMALL).fit(GRAPH.adjacency, LABELS)


def test_without_gensim(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r'pip install "heatgraph\[deepwalk\]"'):
        clone(SMALL).fit(GRAPH, LABELS)
