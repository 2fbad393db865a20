"""Predictions at other T are those of the same classifier, fitted there."""

import numpy as np
import pytest
from explorer.explored import blocks, fitted

import heatgraph as hg
from heatgraph.explorer.time_sweep import plateau, standard_errors, sweep_times, time_sweep
from heatgraph.learning._search_space import SchemeFamily


def sweep_of(model, data):
    return time_sweep(model, data.graph, data, model.predict_proba(data.graph))


def test_each_frame_is_a_classifier_fitted_at_its_time():
    data = blocks()
    model = fitted(data)
    sweep = sweep_of(model, data)
    train, val, _ = data.partition()
    for frame in (0, 5, 9):
        other = hg.DGCClassifier(T=sweep.times[frame], weight_decay=1e-3, extensions=None)
        other.fit(data.graph, data.labels, train, val)
        expected = np.searchsorted(model.classes_, other.predict())
        assert np.array_equal(sweep.predictions[frame], expected)
    own = np.searchsorted(model.classes_, model.predict())
    assert np.array_equal(sweep.predictions[sweep.chosen], own)
    assert np.array_equal(sweep.confidences[sweep.chosen], model.predict_proba().max(axis=1))


def test_extensions_and_searched_settings_are_kept():
    data = blocks()
    model = fitted(data, T="auto", weight_decay="auto", extensions="auto")
    sweep = sweep_of(model, data)
    assert sweep.times[sweep.chosen] == model.T_
    assert sweep.validation[sweep.chosen] == model.validation_accuracy_
    assert len(sweep.validation) == len(sweep.times)


def test_accuracies():
    data = blocks()
    model = fitted(data)
    sweep = sweep_of(model, data)
    codes = np.searchsorted(model.classes_, data.labels)
    test = data.split.test
    found = sweep.accuracies(codes, test)[sweep.chosen]
    assert found == pytest.approx(model.score(None, data.labels, test))


@pytest.mark.parametrize("T", [0.0, 0.01, 0.3, 5.27, 99.0, 100.0, 800.0])
def test_times_include_that_of_the_model(T):
    times = sweep_times(T, SchemeFamily.from_scheme(hg.Heat(T)))
    assert T in times
    assert times[0] == 0
    assert times[-1] >= 100
    assert (np.diff(times) > 0).all()
    assert 15 <= len(times) <= 18


def test_times_of_few_steps_are_stable():
    times = sweep_times(2.0, SchemeFamily.from_scheme(hg.Euler(2.0, 2)))
    assert 2.0 in times
    assert max(times) <= 2 * hg.Euler.stability_limit()


def test_a_scheme_without_time_has_one_frame():
    data = blocks()
    model = fitted(data, T="auto", scheme=hg.PersonalizedPageRank(0.1))
    sweep = sweep_of(model, data)
    assert sweep.times == (None,)
    assert "no time T" in sweep.note


@pytest.mark.parametrize("labels", [None, "others"])
def test_without_the_labels_of_the_fit_there_is_one_frame(labels):
    data = blocks()
    model = fitted(data)
    if labels == "others":
        labels = np.array([f"class {label}" for label in data.labels])
    other = hg.Dataset("other", data.graph, labels, data.splits)
    sweep = sweep_of(model, other)
    assert sweep.times == (3.0,)
    assert "need the labels" in sweep.note


def test_the_plateau_is_around_the_best():
    accuracy = np.array([0.8, 0.5, 0.795, 0.8, 0.81, 0.6, 0.81])
    assert plateau(accuracy, standard_errors(accuracy, 500)) == (2, 4)
    assert plateau(np.array([0.9]), np.array([0.1])) == (0, 0)
