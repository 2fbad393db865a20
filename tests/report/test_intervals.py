"""Intervals of metrics, against resampled nodes."""

import numpy as np
import pytest

from heatgraph.report.intervals import (
    _balanced_accuracy_and_f1,
    mean_interval,
    metric_intervals,
    roc_auc_influences,
)
from heatgraph.report.metrics import ClassificationMetrics


def sample(m, C, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, C, m)
    scores = rng.normal(size=(m, C)) + 1.2 * (truth[:, None] == np.arange(C))
    P = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return truth, P


def measure(truth, P):
    return ClassificationMetrics.measure(P, np.arange(P.shape[1]), truth)


@pytest.mark.parametrize("C", [2, 4])
def test_intervals_are_those_of_resampled_nodes(C):
    truth, P = sample(300, C, C)
    metrics = measure(truth, P)
    found = metric_intervals(metrics, P, np.arange(C), truth)
    assert set(found) == {"accuracy", "balanced_accuracy", "macro_f1", "log_loss", "roc_auc"}
    rng = np.random.default_rng(5)
    drawn = [measure(truth[at], P[at]) for at in rng.integers(0, 300, (400, 300))]
    for name, (low, high) in found.items():
        values = [getattr(one, name) for one in drawn]
        assert low < getattr(metrics, name) < high
        width = np.subtract(*np.quantile(values, [0.975, 0.025]))
        assert high - low == pytest.approx(width, rel=0.2), name
        assert low == pytest.approx(np.quantile(values, 0.025), abs=0.25 * width), name


def test_confusion_metrics_are_those_of_nodes():
    truth, P = sample(50, 3, 0)
    metrics = measure(truth, P)
    balanced, f1 = _balanced_accuracy_and_f1(np.array([metrics.confusion]))
    assert balanced == pytest.approx(metrics.balanced_accuracy)
    assert f1 == pytest.approx(metrics.macro_f1)


def test_an_unknown_label_is_a_class_of_its_own():
    truth, P = sample(50, 3, 0)
    labels = ["odd" if at < 5 else str(code) for at, code in enumerate(truth)]
    classes = np.array(["0", "1", "2"])
    metrics = ClassificationMetrics.measure(P, classes, labels)
    balanced, f1 = _balanced_accuracy_and_f1(np.array([metrics.confusion]))
    assert balanced == pytest.approx(metrics.balanced_accuracy)
    assert f1 == pytest.approx(metrics.macro_f1)
    several = ClassificationMetrics.measure(P, classes, ["other", *labels[1:]])
    found = metric_intervals(several, P, classes, ["other", *labels[1:]])
    assert set(found) == {"accuracy", "log_loss", "roc_auc"}


@pytest.mark.parametrize("C", [2, 3])
def test_influences_are_derivatives(C):
    """The influence of a node is m times the change of the area by its weight."""
    from sklearn.metrics import roc_auc_score

    truth, P = sample(40, C, 1)

    def area(weights):
        codes = range(C) if C > 2 else [1]
        return np.mean([roc_auc_score(truth == c, P[:, c], sample_weight=weights) for c in codes])

    step = 1e-6
    expected = [(area(np.ones(40) + step * (np.arange(40) == v)) - area(None)) / step * 40
                for v in range(40)]  # fmt: skip
    assert roc_auc_influences(P, truth) == pytest.approx(np.array(expected), rel=1e-3, abs=1e-4)


def test_one_node():
    assert mean_interval(0.3, np.array([0.3])) == (0.3, 0.3)
    found = metric_intervals(measure(np.array([0]), np.array([[0.7, 0.3]])),
                             np.array([[0.7, 0.3]]), np.arange(2), np.array([0]))  # fmt: skip
    assert found["balanced_accuracy"] == (1.0, 1.0)
    assert "roc_auc" not in found
