"""The classifier on Cora, Citeseer and Pubmed, if their files are present."""

import numpy as np
import pytest

import heatgraph as hg
from heatgraph import DGCClassifier
from heatgraph.datasets.planetoid import read_planetoid
from heatgraph.experiments.paper.published import published_numbers
from heatgraph.experiments.paper.settings import AUTHORS, authors_sgc
from heatgraph.learning._adam import adam


@pytest.fixture(scope="module", params=AUTHORS)
def citations(request, planetoid_folder):
    return request.param, read_planetoid(planetoid_folder, request.param)


def with_authors_setting(name, data, seed=None):
    return AUTHORS[name].classifier(seed).fit(data.graph, data.labels, train=data.split.train)


def test_published_settings_give_the_published_accuracy(citations):
    name, data = citations
    accuracies = [
        100 * with_authors_setting(name, data, seed).score(None, data.labels, data.split.test)
        for seed in range(10)
    ]
    (number,) = published_numbers(source="Table 2", method="DGC", dataset=name)
    assert np.mean(accuracies) == pytest.approx(number.value, abs=0.3)


def test_sgc_as_its_authors_do_it(citations):
    name, data = citations
    split = data.split
    accuracies = [
        100
        * authors_sgc(seed)
        .fit(data.graph, data.labels, split.train, split.val)
        .score(None, data.labels, split.test)
        for seed in range(3)
    ]
    (number,) = published_numbers(source="Table 2", method="SGC", dataset=name)
    assert np.mean(accuracies) == pytest.approx(number.value, abs=0.5)


# Citeseer's 300 steps with 3,703 features would take a minute more.
@pytest.mark.parametrize("citations", ["cora", "pubmed"], indirect=True)
def test_literal_steps_predict_the_same(citations):
    """K literal steps of all features give the same predictions and the same weights."""
    name, data = citations
    clf = with_authors_setting(name, data)
    X = clf.scaling_.apply(data.graph.features, np.dtype(np.float32))
    T, K = AUTHORS[name].T, AUTHORS[name].K
    graph = data.graph.with_features(X)
    diffused = hg.diffuse(graph, T, K, method="steps")
    assert np.linalg.norm(hg.diffuse(graph, T, K) - diffused) <= 1e-5 * np.linalg.norm(diffused)
    by_steps = (diffused @ clf.coef_.T + clf.intercept_).argmax(axis=1)
    assert (clf.predict() == by_steps).mean() >= 0.999
    # Weights trained on literal steps predict the same.
    rows = diffused[np.newaxis, data.split.train]
    again = adam(
        rows, data.labels[data.split.train], len(clf.classes_), [clf.weight_decay_],
        [clf.learning_rate_], epochs=100, seed=0,
    )  # fmt: skip
    trained = (diffused @ again[0, 0, :-1] + again[0, 0, -1]).argmax(axis=1)
    assert (clf.predict() == trained).mean() >= 0.999


# Test accuracies of a prototype with validated settings on the public split.
VALIDATED = {"cora": 81.3, "citeseer": 72.2, "pubmed": 79.5}


def test_validated_settings(citations):
    name, data = citations
    clf = DGCClassifier().fit(data.graph, data.labels, train=data.split.train, val=data.split.val)
    assert 100 * clf.score(None, data.labels, data.split.test) >= VALIDATED[name]
    assert clf.converged_
    codes = data.labels[data.split.test]
    error = hg.expected_calibration_error(clf.predict_proba(nodes=data.split.test), codes)
    assert error < 0.08


def test_inductive(citations):
    """Fitted to one half of the graph, it labels the other half."""
    _, data = citations
    labelled = data.labels >= 0
    part = np.flatnonzero(np.random.default_rng(0).random(len(labelled)) < 0.5)
    clf = DGCClassifier(T=3.0, weight_decay=1e-4, feature_scaling="sqrt").fit(
        data.graph.subgraph(part), data.labels[part]
    )
    unseen = labelled.copy()
    unseen[part] = False
    majority = np.bincount(data.labels[unseen]).max() / unseen.sum()
    assert clf.score(data.graph, data.labels, unseen) > majority + 0.3
