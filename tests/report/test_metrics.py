"""Metrics of predictions, against counts by hand and scikit-learn's."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics
from strategies import seeds

from heatgraph import expected_calibration_error
from heatgraph.errors import InputError
from heatgraph.report.metrics import ClassificationMetrics

ABC = np.array(["a", "b", "c"])


def measure(probabilities, classes, labels):
    return ClassificationMetrics.measure(np.asarray(probabilities), np.asarray(classes), labels)


@given(seeds, st.integers(2, 4), st.integers(1, 40))
def test_against_loops(seed, C, m):
    """Labels 0, ..., C, of which the model does not know C."""
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.ones(C), size=m)
    truth = random.integers(C + 1, size=m)
    predicted = P.argmax(axis=1)
    found = measure(P, range(C), truth)
    assert found.nodes == m
    assert found.accuracy == pytest.approx((predicted == truth).mean())
    recalls, f1 = [], []
    for code in range(C + 1):
        hits = sum(p == t == code for p, t in zip(predicted, truth, strict=True))
        support, guesses = (truth == code).sum(), (predicted == code).sum()
        if support:
            recalls.append(hits / support)
        if support + guesses:
            f1.append(2 * hits / (support + guesses))
        if code < C:
            one = found.classes[code]
            assert (one.label, one.support, one.predicted) == (code, support, guesses)
            assert one.precision == (pytest.approx(hits / guesses) if guesses else None)
            assert one.recall == (pytest.approx(hits / support) if support else None)
            assert one.f1 == (pytest.approx(f1[-1]) if support + guesses else None)
    assert found.balanced_accuracy == pytest.approx(np.mean(recalls))
    assert found.macro_f1 == pytest.approx(np.mean(f1))
    assert found.macro_f1 == pytest.approx(
        sklearn_metrics.f1_score(truth, predicted, average="macro", zero_division=0)
    )
    assert found.largest_class == np.bincount(truth).max() / m
    assert found.calibration_error == expected_calibration_error(P, truth)
    known = truth < C
    if known.any():
        loss = -np.mean([math.log(P[i, truth[i]]) for i in range(m) if known[i]])
        assert found.log_loss == pytest.approx(loss)
    else:
        assert found.log_loss is None
    unknown = int((~known).sum())
    assert found.unknown_labels == ({str(C): unknown} if unknown else {})
    counts = np.zeros((C + bool(unknown), C), dtype=int)
    np.add.at(counts, (truth, predicted), 1)
    assert found.confusion == tuple(map(tuple, counts.tolist()))
    json.dumps(dataclasses.asdict(found))


@given(seeds, st.integers(2, 5))
def test_roc_auc_is_that_of_scikit_learn(seed, C):
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.ones(C), size=40)
    truth = np.concatenate([np.arange(C), random.integers(C, size=40 - C)])
    expected = (
        sklearn_metrics.roc_auc_score(truth, P[:, 1])
        if C == 2
        else sklearn_metrics.roc_auc_score(truth, P, multi_class="ovr")
    )
    assert measure(P, range(C), truth).roc_auc == pytest.approx(expected)


def test_roc_auc_of_two_classes_by_pairs():
    P = np.array([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.2, 0.8], [0.6, 0.4]])
    found = measure(P, ["a", "b"], ["a", "a", "b", "b", "c"])
    # Of the four pairs of an "a" and a "b", three are in order.
    assert found.roc_auc == 3 / 4


def test_roc_auc_leaves_out_classes_that_do_not_occur():
    P = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1]])
    assert measure(P, ABC, ["a", "b", "b"]).roc_auc == 1
    assert measure(P, ABC, ["b", "b", "b"]).roc_auc is None


def test_wilson_interval():
    """From the formula, for 8 of 10."""
    P = np.array([[0.9, 0.1]] * 8 + [[0.1, 0.9]] * 2)
    z, p, n = 1.959963984540054, 0.8, 10
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    found = measure(P, ["a", "b"], ["a"] * 10)
    assert found.accuracy_interval == pytest.approx((middle - half, middle + half))


def test_certain_and_right():
    found = measure(np.eye(3), ABC, ABC)
    assert found.accuracy == found.balanced_accuracy == found.macro_f1 == found.roc_auc == 1
    assert found.log_loss == pytest.approx(0)
    assert found.accuracy_interval[0] < 1
    assert found.confusion == ((1, 0, 0), (0, 1, 0), (0, 0, 1))


class TestLabels:
    def test_that_the_model_does_not_know(self):
        P = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.2, 0.8]])
        found = measure(P, ["a", "b"], ["a", "x", "y", "y"])
        assert found.accuracy == 1 / 4
        assert found.unknown_labels == {"y": 2, "x": 1}
        assert list(found.unknown_labels) == ["y", "x"]
        assert found.balanced_accuracy == pytest.approx(1 / 3)
        assert found.largest_class == 1 / 2
        assert found.log_loss == pytest.approx(-math.log(0.9))
        assert found.roc_auc is None
        assert found.confusion == ((1, 0), (0, 0), (1, 2))

    def test_none_of_them_known(self):
        found = measure(np.eye(2), ["a", "b"], ["x", "y"])
        assert found.accuracy == found.balanced_accuracy == found.macro_f1 == 0
        assert found.log_loss is found.roc_auc is None

    @pytest.mark.parametrize(
        ("classes", "labels"),
        [
            (np.array([1, 2]), ["1", "2"]),
            (np.array(["1", "2"]), [1, 2]),
            (np.array([1, 2]), [1.0, 2.0]),
            (np.array([False, True]), ["False", "True"]),
            (np.array([1, "1"], dtype=object), [1, "1"]),
        ],
    )
    def test_written_alike(self, classes, labels):
        found = measure(np.eye(2), classes, labels)
        assert found.accuracy == 1
        assert not found.unknown_labels

    def test_written_otherwise(self):
        assert measure(np.eye(2), [7, 8], ["007", "8"]).unknown_labels == {"007": 1}

    def test_none_at_all(self):
        with pytest.raises(InputError, match="no labelled node to evaluate"):
            measure(np.zeros((0, 2)), ["a", "b"], [])


def test_average_precision_is_that_of_the_rarer_class():
    # Ranked by the probability of "b": b, a, b, a, a.
    P = np.array([[0.1, 0.9], [0.3, 0.7], [0.4, 0.6], [0.6, 0.4], [0.8, 0.2]])
    classes = np.array(["a", "b"])
    found = ClassificationMetrics.measure(P, classes, ["b", "a", "b", "a", "a"])
    assert found.average_precision == pytest.approx((1 + 2 / 3) / 2)
    assert found.rarer_class.label == "b"
    found = ClassificationMetrics.measure(P[:, ::-1], classes, ["a", "b", "a", "b", "b"])
    assert found.average_precision == pytest.approx((1 + 2 / 3) / 2)
    assert found.rarer_class.label == "a"
    assert ClassificationMetrics.measure(P[:2], classes, ["a", "b"]).rarer_class.label == "b"
    assert ClassificationMetrics.measure(P[:2], classes, ["a", "a"]).average_precision is None
    three = np.full((3, 3), 1 / 3)
    found = ClassificationMetrics.measure(three, np.array(["a", "b", "c"]), ["a", "b", "c"])
    assert found.average_precision is None
