"""Scores of held-out nodes, against scikit-learn, and their standard errors, against samples."""

import numpy as np
import pytest
import scipy.special
from sklearn import metrics

from heatgraph.errors import InputError
from heatgraph.learning._scoring import SCORINGS, proportion_error, read_scoring
from heatgraph.learning.calibration import log_loss

NAMES = tuple(SCORINGS)


def draw(seed, m=400):
    """Scores (m, C) that agree with the codes more often than not, in classes of unequal sizes."""
    random = np.random.default_rng(seed)
    codes = random.choice(3, size=m, p=[0.7, 0.2, 0.1])
    scores = random.normal(size=(m, 3))
    scores[np.arange(m), codes] += 1.2
    return scores, codes


def by_sklearn(name, scores, codes):
    P, labels = scipy.special.softmax(scores, axis=1), scores.argmax(axis=1)
    if name == "accuracy":
        return metrics.accuracy_score(codes, labels)
    if name == "balanced_accuracy":
        return metrics.balanced_accuracy_score(codes, labels)
    if name == "f1_macro":
        return metrics.f1_score(codes, labels, average="macro")
    if name == "log_loss":
        return -metrics.log_loss(codes, P)
    return metrics.roc_auc_score(codes, P, multi_class="ovr")


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_scikit_learn(name):
    drawn = [draw(seed) for seed in range(3)]
    codes = drawn[0][1]
    stacked = np.stack([scores for scores, _ in drawn])[:, np.newaxis]
    values, errors = read_scoring(name)(stacked, codes)
    assert values.shape == errors.shape == (3, 1)
    for (scores, _), value in zip(drawn, values[:, 0], strict=True):
        assert value == pytest.approx(by_sklearn(name, scores, codes), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_standard_errors_are_the_deviations_of_scores_over_samples(name):
    found = [read_scoring(name)(*draw(seed)) for seed in range(300)]
    deviation = np.std([value for value, _ in found])
    # F1 and areas have approximate errors.
    assert np.mean([error for _, error in found]) == pytest.approx(deviation, rel=0.25)


@pytest.mark.parametrize("name", NAMES)
def test_nodes_of_unknown_class(name):
    scores, codes = draw(0)
    unknown = np.where(np.arange(400) < 50, -1, codes)
    value, _ = read_scoring(name)(scores, unknown)
    if name == "accuracy":
        assert value == (scores.argmax(axis=1) == unknown).mean()
    else:
        assert value == pytest.approx(read_scoring(name)(scores[50:], codes[50:])[0])


@pytest.mark.parametrize("name", NAMES)
def test_perfect_scores_have_an_error_too(name):
    codes = np.arange(30) % 3
    value, error = read_scoring(name)(50 * np.eye(3)[codes], codes)
    assert value == pytest.approx(0 if name == "log_loss" else 1)
    assert error > 0 or name == "log_loss"


def test_one_class_has_no_curve():
    scores, _ = draw(0)
    assert read_scoring("roc_auc")(scores, np.zeros(400, dtype=int)) == (0.5, 0.5)


def test_log_loss_of_unknown_classes_alone_is_zero():
    assert log_loss(np.ones((2, 4, 3)), np.full(4, -1)).tolist() == [0, 0]


def test_proportions():
    assert proportion_error(0.8, 400) == pytest.approx(0.02)
    assert proportion_error(1.0, 10) == proportion_error(0.95, 10) > 0


def test_unknown_scoring():
    with pytest.raises(InputError, match=r"scoring must be one of 'accuracy'.*Got 'auc'"):
        read_scoring("auc")
