import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from heatgraph import expected_calibration_error
from heatgraph.learning.calibration import best_temperature, log_loss


@given(seeds)
def test_log_loss_is_that_of_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(seed)
    scores, codes = random.normal(size=(2, 3, 9, 4)), random.integers(4, size=9)
    losses = log_loss(scores, codes)
    assert losses.shape == (2, 3)
    probabilities = scipy.special.softmax(scores, axis=-1)
    for position in np.ndindex(2, 3):
        expected = metrics.log_loss(codes, probabilities[position], labels=range(4))
        assert losses[position] == pytest.approx(expected)


def test_nodes_of_unknown_class_are_left_out_of_the_loss():
    scores = np.array([[2.0, 0.0], [0.0, 5.0]])
    assert log_loss(scores, np.array([0, -1])) == pytest.approx(np.log1p(np.exp(-2)))
    assert log_loss(scores, np.array([-1, -1])) == 0


@given(st.floats(0.2, 20), seeds)
def test_the_temperature_of_overconfident_scores_is_found(temperature, seed):
    random = np.random.default_rng(seed)
    true = random.normal(size=(3000, 3)) * 2
    codes = (true + random.gumbel(size=true.shape)).argmax(axis=1)
    found = best_temperature(true * temperature, codes)
    assert found == pytest.approx(temperature, rel=0.15)
    around = [log_loss(true * temperature / (found * f), codes) for f in (0.98, 1, 1.02)]
    assert min(around) == around[1]


def test_few_nodes_do_not_give_certainty():
    scores = np.array([[1.0, 0.0, 0.0]] * 10)
    temperature = best_temperature(scores, np.zeros(10, dtype=int))
    confidence = scipy.special.softmax(scores[0] / temperature)[0]
    assert 0.85 < confidence < 0.97
    more = best_temperature(np.repeat(scores, 100, axis=0), np.zeros(1000, dtype=int))
    assert more < temperature
    assert best_temperature(scores, np.full(10, -1)) == 1


def test_calibration_error_matches_its_definition():
    random = np.random.default_rng(0)
    P = random.dirichlet(np.ones(4), size=500)
    codes = random.integers(4, size=500)
    error = 0.0
    for low in np.arange(10) / 10:
        chosen = (P.max(axis=1) >= low) & (P.max(axis=1) < low + 0.1)
        if chosen.any():
            right = (P.argmax(axis=1) == codes)[chosen].mean()
            error += chosen.mean() * abs(P.max(axis=1)[chosen].mean() - right)
    assert expected_calibration_error(P, codes, bins=10) == pytest.approx(error)


def test_certain_and_right_is_calibrated():
    assert expected_calibration_error(np.eye(3), [0, 1, 2]) == 0
    assert expected_calibration_error(np.eye(3), [1, 2, 0]) == 1
