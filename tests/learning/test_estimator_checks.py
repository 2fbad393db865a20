"""scikit-learn's own checks of estimators.

They feed tables, so most of them are given an estimator that makes a graph without edges of a
table, where DGC is plain softmax regression. What cannot pass is listed with its reason.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import validate_data

from heatgraph import (
    DGCClassifier,
    DGCMultilabelClassifier,
    DGCRegressor,
    Graph,
    GraphDiffusion,
)
from heatgraph.baselines.deepwalk import DeepWalkClassifier
from heatgraph.baselines.gnn.estimator import GNNClassifier
from heatgraph.baselines.gnn.grid_search import TunedGNNClassifier
from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.baselines.stacked import PairNormClassifier, SIGNClassifier


class Tables:
    """Rows of a table as nodes without edges."""

    def _graph(self, X, reset=False):
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        return Graph(sp.csr_array((X.shape[0],) * 2), X)

    def fit(self, X, y):
        return super().fit(self._graph(X, reset=True), y)

    def predict(self, X):
        return super().predict(self._graph(X))

    def score(self, X, y):
        return super().score(self._graph(X), y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.input_tags.sparse = True
        return tags


class ClassifierTables(Tables):
    """The same for classifiers."""

    def predict_proba(self, X):
        return super().predict_proba(self._graph(X))

    def decision_function(self, X):
        return super().decision_function(self._graph(X))


class OnTables(ClassifierTables, DGCClassifier):
    """DGC without edges: softmax regression."""


class RegressorOnTables(Tables, DGCRegressor):
    """DGC without edges: ridge regression."""


class MultilabelOnTables(ClassifierTables, DGCMultilabelClassifier):
    """DGC without edges: logistic regressions."""


class SIGNOnTables(ClassifierTables, SIGNClassifier):
    """SIGN without edges: softmax regression on copies of the features."""


class DiffusionOnTables(GraphDiffusion):
    """The same for the transformer."""

    def _graph(self, X, reset=False):
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        return Graph(sp.csr_array((X.shape[0],) * 2), X)

    def fit(self, X, y=None):
        return super().fit(self._graph(X, reset=True), y)

    def transform(self, X):
        return super().transform(self._graph(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.input_tags.sparse = True
        return tags


CANNOT_PASS = {
    "check_classifiers_classes": "it takes -1 for a class, which means unlabelled here",
}
ONE_COLUMN = "it feeds one column of any two values, and several labels are a matrix of 0 and 1"
MULTILABEL_CANNOT_PASS = CANNOT_PASS | {
    "check_classifiers_multilabel_representation_invariance": "it takes lists of lists for a "
    "matrix, which are lists of labels here",
    **dict.fromkeys(
        (
            "check_classifier_data_not_an_array",
            "check_classifier_not_supporting_multiclass",
            "check_classifiers_one_label",
            "check_classifiers_regression_target",
            "check_classifiers_train",
            "check_decision_proba_consistency",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
            "check_estimators_dtypes",
            "check_fit2d_1feature",
        ),
        ONE_COLUMN,
    ),
}


def checks():
    """Every check of every estimator; the plain ones are asked what needs no table."""
    plain = [DGCClassifier(), GraphDiffusion(T=1.0), DiffusionOnTables(T=1.0)]
    plain += [SIGNClassifier(), PairNormClassifier(), LabelPropagation(), DeepWalkClassifier()]
    plain += [GNNClassifier(), TunedGNNClassifier(), DGCRegressor(), DGCMultilabelClassifier()]
    tables = [OnTables(T=1.0, weight_decay=1e-3), OnTables(feature_scaling="standard")]
    tables += [RegressorOnTables(T=1.0, weight_decay=1e-3), RegressorOnTables(dtype="float64")]
    tables += [MultilabelOnTables(T=1.0, weight_decay=1e-3, dtype="float64")]
    tables += [SIGNOnTables(r=(1, 2), feature_scaling="standard")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        for estimator in plain:
            yield from estimator_checks_generator(estimator)
        for estimator in tables:
            several = isinstance(estimator, DGCMultilabelClassifier)
            expected = MULTILABEL_CANNOT_PASS if several else CANNOT_PASS
            yield from estimator_checks_generator(
                estimator, expected_failed_checks=expected, mark="xfail"
            )


def name(value):
    return getattr(getattr(value, "func", None), "__name__", None) or repr(value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(checks()), ids=name)
def test_estimators(estimator, check):
    check(estimator)
