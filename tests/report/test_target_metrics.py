"""Metrics of numbers and of sets of labels, against scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics as sk

from heatgraph.errors import InputError
from heatgraph.report.target_metrics import MultilabelMetrics, RegressionMetrics

RANDOM = np.random.default_rng(0)


def test_numbers():
    y = RANDOM.normal(size=200)
    p = y + 0.5 * RANDOM.normal(size=200)
    bounds = np.stack([p - 0.5, p + 0.5], axis=1)
    found = RegressionMetrics.measure(p, y, bounds)
    assert found.r2 == pytest.approx(sk.r2_score(y, p))
    assert found.mae == pytest.approx(sk.mean_absolute_error(y, p))
    assert found.rmse == pytest.approx(np.sqrt(sk.mean_squared_error(y, p)))
    assert found.rmse_of_mean == pytest.approx(y.std())
    assert found.coverage == pytest.approx(np.mean(np.abs(p - y) <= 0.5))
    assert found.interval_width == pytest.approx(1)
    assert RegressionMetrics.measure(p, y).coverage is None


def test_numbers_that_do_not_vary_have_no_r2():
    assert RegressionMetrics.measure(np.array([1.0]), np.array([2.0])).r2 is None
    with pytest.raises(InputError, match="no labelled node to evaluate"):
        RegressionMetrics.measure(np.array([]), np.array([]))


def test_labels():
    names = np.array(["a", "b", "c"])
    truth = RANDOM.random((100, 3)) < [0.5, 0.2, 0.02]
    P = np.clip(0.6 * truth + 0.4 * RANDOM.random((100, 3)), 0.01, 0.99)
    found = MultilabelMetrics.measure(P, names, [tuple(names[row]) for row in truth])
    given = P > 0.5
    assert found.micro_f1 == pytest.approx(sk.f1_score(truth, given, average="micro"))
    assert found.macro_f1 == pytest.approx(sk.f1_score(truth, given, average="macro"))
    assert found.subset_accuracy == pytest.approx(sk.accuracy_score(truth, given))
    assert found.hamming_loss == pytest.approx(sk.hamming_loss(truth, given))
    assert found.mean_labels == pytest.approx(truth.sum() / 100)
    losses = [sk.log_loss(truth[:, at], P[:, at], labels=[0, 1]) for at in range(3)]
    assert found.log_loss == pytest.approx(np.mean(losses))
    precision, recall, f1, support = sk.precision_recall_fscore_support(truth, given)
    for at, one in enumerate(found.labels):
        assert (one.label, one.support, one.predicted) == (
            names[at],
            support[at],
            given[:, at].sum(),
        )
        assert (one.precision, one.recall, one.f1) == pytest.approx(
            (precision[at], recall[at], f1[at])
        )


def test_labels_that_the_model_does_not_know_are_missed():
    found = MultilabelMetrics.measure(
        np.array([[0.9], [0.9]]), np.array([1]), [("1",), (1, "new", "other")]
    )
    assert found.unknown_labels == {"new": 1, "other": 1}
    assert found.micro_f1 == pytest.approx(2 * 2 / (2 * 2 + 2))
    assert found.macro_f1 == pytest.approx(1 / 3)
    assert found.subset_accuracy == 0.5
    assert found.labels[0].f1 == 1


def test_labels_of_nobody():
    found = MultilabelMetrics.measure(np.array([[0.1]]), np.array(["a"]), [()])
    assert (found.micro_f1, found.macro_f1, found.labels[0].f1) == (0, 0, None)
    with pytest.raises(InputError, match="no labelled node to evaluate"):
        MultilabelMetrics.measure(np.empty((0, 1)), np.array(["a"]), [])
