"""The base of node classifiers, by a subclass whose scores are the features."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from heatgraph import Graph
from heatgraph.errors import InputError
from heatgraph.learning._node_classifier import NodeClassifier

SCORES = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 1.0, 4.0], [5.0, 0.0, 1.0]])
LABELS = ["a", "b", "c", "a"]


class FeaturesAsScores(NodeClassifier):
    def fit(self, graph, y=None):
        self.classes_ = np.array(["a", "b", "c"])[: graph.num_features]
        self.graph_, self.n_features_in_ = graph, graph.num_features
        return self

    def _scores(self, graph, nodes):
        return graph.features if nodes is None else graph.features[nodes]


def make_graph(scores=SCORES):
    return Graph(sp.csr_array((len(scores), len(scores))), scores)


def test_predictions_are_the_classes_of_largest_score():
    clf = FeaturesAsScores().fit(make_graph())
    assert clf.predict().tolist() == LABELS
    assert clf.predict(nodes=[2, 0]).tolist() == ["c", "a"]
    other = make_graph(SCORES[:, ::-1])
    assert clf.predict(other).tolist() == ["c", "b", "a", "c"]


def test_probabilities_are_the_softmax_at_the_temperature():
    clf = FeaturesAsScores().fit(make_graph())
    np.testing.assert_allclose(clf.predict_proba(), scipy.special.softmax(SCORES, axis=1))
    clf.temperature_ = 2.0
    np.testing.assert_allclose(clf.predict_proba(), scipy.special.softmax(SCORES / 2, axis=1))
    assert clf.predict().tolist() == LABELS


def test_the_decision_function_of_two_classes_is_the_difference():
    clf = FeaturesAsScores().fit(make_graph())
    np.testing.assert_array_equal(clf.decision_function(), SCORES)
    binary = FeaturesAsScores().fit(make_graph(SCORES[:, :2]))
    np.testing.assert_array_equal(binary.decision_function(), SCORES[:, 1] - SCORES[:, 0])


def test_score_is_the_accuracy_over_labelled_nodes():
    clf = FeaturesAsScores().fit(make_graph())
    assert clf.score(None, LABELS) == 1
    assert clf.score(None, ["a", "a", None, "new"]) == pytest.approx(1 / 3)
    assert clf.score(None, ["a", "a", None, "new"], nodes=[0, 1]) == 0.5
    with pytest.raises(InputError, match="no labelled node to score"):
        clf.score(None, [None] * 4)


def test_graphs_that_do_not_fit_the_model_are_refused():
    clf = FeaturesAsScores().fit(make_graph())
    with pytest.raises(InputError, match="fitted with 3 features per node. Got a graph with 2"):
        clf.predict(make_graph(SCORES[:, :2]))
    with pytest.raises(InputError, match=r"must be a heatgraph.Graph. Got ndarray"):
        clf.predict(SCORES)
    del clf.graph_
    with pytest.raises(InputError, match="has no graph of its own: pass graph="):
        clf.predict()


@pytest.mark.parametrize("name", ["predict", "predict_proba", "decision_function"])
def test_an_unfitted_classifier_refuses_to_predict(name):
    with pytest.raises(NotFittedError):
        getattr(FeaturesAsScores(), name)(make_graph())


def test_scikit_learn_sees_a_classifier():
    assert is_classifier(FeaturesAsScores())
