"""Shares of features in differences between groups, against explanations of every node."""

import numpy as np
import pytest
from strategies import planted

from heatgraph import DGCClassifier, DGCMultilabelClassifier, DGCRegressor
from heatgraph.learning.feature_effects import contrast_with_others, feature_effects

N = 60


def by_explanations(model, outputs, contrasts):
    """Sums of the shares of single nodes, weighted by contrasts."""
    found = []
    for column, options in enumerate(outputs):
        shares = [model.explain(v, **options).feature_shares for v in range(N)]
        found.append(contrasts[:, column] @ np.array(shares))
    return np.array(found)


def contrasts(count):
    return np.random.default_rng(0).normal(size=(N, count))


@pytest.mark.parametrize("kind", ["words", "dense"])
@pytest.mark.parametrize("classes", [2, 3])
def test_of_a_classifier_with_every_kind_of_term(kind, classes):
    graph, labels = planted(n=N, classes=classes, kind=kind)
    model = DGCClassifier(T=2.0, weight_decay=1e-3).fit(graph, labels)
    rng = np.random.default_rng(1)
    model.similar_coef_ = rng.normal(size=model.coef_.shape)
    model.channel_coefs_ = {
        "features": rng.normal(size=model.coef_.shape),
        "neighbours": rng.normal(size=model.coef_.shape),
        "links": rng.normal(size=(classes, N)),
    }
    outputs = [{"label": c} for c in range(classes)]
    expected = by_explanations(model, outputs, contrasts(classes))
    found = feature_effects(model, contrasts(classes))
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_of_numbers():
    graph, labels = planted(n=N)
    model = DGCRegressor(T=2.0).fit(graph, labels + 0.1 * np.arange(N))
    expected = by_explanations(model, [{}], contrasts(1))
    assert feature_effects(model, contrasts(1)) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_of_two_labels():
    graph, labels = planted(n=N)
    sets = [["a"] * bool(code) + ["b"] * (at % 3 == 0) for at, code in enumerate(labels)]
    model = DGCMultilabelClassifier(T=2.0).fit(graph, sets)
    expected = by_explanations(model, [{"label": "a"}, {"label": "b"}], contrasts(2))
    assert feature_effects(model, contrasts(2)) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_a_group_of_none_or_all_has_no_contrast():
    members = np.array([[True, False, True], [True, False, False]])
    assert contrast_with_others(members).tolist() == [[0, 0, 1], [0, 0, -1]]
