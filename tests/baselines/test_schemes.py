"""Schemes of other methods against their definitions, written out densely."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense_operator
from strategies import planted

from heatgraph import SGC, DGCClassifier, Graph
from heatgraph.baselines.schemes import (
    features_alone,
    fit_features_alone,
    personalized_pagerank,
    sgc,
)
from heatgraph.learning.scaling import Scaling

GRAPH, LABELS = planted()
TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)


def operator(graph, self_loops=True):
    return dense_operator(graph.adjacency.toarray(), self_loops)


def scale_rows(graph):
    X = graph.features
    return Scaling.learn("rows", X, TRAIN).apply(X, np.dtype(float)).toarray()


@pytest.mark.parametrize("K", [1, 2, 5])
def test_sgc(K):
    clf = sgc(K, weight_decay=0.1, feature_scaling="rows", dtype="float64").fit(
        GRAPH, LABELS, TRAIN
    )
    assert clf.scheme_ == SGC(K)
    X = np.linalg.matrix_power(operator(GRAPH), K) @ scale_rows(GRAPH)
    assert_allclose(clf.decision_function(), X @ clf.coef_.T + clf.intercept_, atol=1e-5)


def test_personalized_pagerank():
    clf = personalized_pagerank(0.2, weight_decay=0.1, feature_scaling="rows", dtype="float64")
    clf.fit(GRAPH, LABELS, TRAIN)
    R = 0.2 * np.linalg.inv(np.eye(90) - 0.8 * operator(GRAPH))
    scores = R @ scale_rows(GRAPH) @ clf.coef_.T + clf.intercept_
    assert_allclose(clf.decision_function(), scores, atol=1e-5)


def test_features_alone_need_no_edges():
    edgeless = Graph(sp.csr_array((90, 90)), GRAPH.features)
    one, other = (features_alone().fit(graph, LABELS, TRAIN, VAL) for graph in (GRAPH, edgeless))
    assert_array_equal(one.predict(), other.predict())


def test_features_alone_share_the_parameters_of_a_model():
    model = sgc(2, weight_decay=[0.01, 0.1], random_state=3).fit(GRAPH, LABELS, TRAIN, VAL)
    alone = fit_features_alone(model, GRAPH, LABELS, TRAIN, VAL)
    expected = features_alone(weight_decay=[0.01, 0.1], random_state=3, extensions=None)
    assert alone.get_params() == expected.get_params()
    assert_array_equal(alone.predict(), expected.fit(GRAPH, LABELS, TRAIN, VAL).predict())


def test_features_alone_have_no_extensions_and_learn_from_the_same_nodes():
    names = ["similar-edges", "class-offsets"]
    model = DGCClassifier(T=2.0, extensions=names, final_fit="train+val")
    alone = fit_features_alone(model.fit(GRAPH, LABELS, TRAIN, VAL), GRAPH, LABELS, TRAIN, VAL)
    assert (alone.extensions, alone.final_fit, alone.class_offsets_) == (None, "train+val", None)
    assert alone.final_fit_nodes_ == len(TRAIN) + len(VAL)
    extended = features_alone(extensions=names).fit(GRAPH, LABELS, TRAIN, VAL)
    assert alone.validation_accuracy_ == extended.validation_accuracy_


def test_without_features_there_is_nothing_to_compare_with():
    bare = GRAPH.with_features(None)
    featureless = sgc(2).fit(bare, LABELS, TRAIN, VAL)
    assert fit_features_alone(featureless, bare, LABELS, TRAIN, VAL) is None
