"""The squared error and the logistic loss, from their formulas."""

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose

from heatgraph.learning._target_losses import LOGISTIC, SQUARED_ERROR, Targets, log_odds

RANDOM = np.random.default_rng(0)
SCORES = RANDOM.normal(size=(2, 3, 4, 10))
TARGETS = {
    SQUARED_ERROR: Targets(RANDOM.normal(size=(10, 4)), RANDOM.normal(size=4)),
    LOGISTIC: Targets(RANDOM.integers(0, 2, (10, 4)).astype(float), RANDOM.normal(size=4)),
}


def formula(loss, scores, targets):
    z, Y = scores + targets.base[:, np.newaxis], targets.values.T
    if loss is SQUARED_ERROR:
        return (z - Y) ** 2 / 2
    p = scipy.special.expit(z)
    return -(Y * np.log(p) + (1 - Y) * np.log(1 - p))


@pytest.mark.parametrize("loss", TARGETS, ids=lambda loss: loss.metric)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_values_and_gradients(loss, is_weighted):
    targets = TARGETS[loss]
    weights = RANDOM.random(10)
    weights = weights / weights.sum() if is_weighted else None
    values, gradient = loss.evaluate(SCORES, targets, weights)
    shares = np.full(10, 0.1) if weights is None else weights
    assert_allclose(values, formula(loss, SCORES, targets).sum(axis=-2) @ shares)
    step = 1e-6 * RANDOM.normal(size=SCORES.shape)
    up, down = (loss.evaluate(SCORES + s, targets, weights)[0] for s in (step, -step))
    assert_allclose(((up - down) / 2), (gradient * step).sum(axis=(-1, -2)), rtol=1e-3, atol=1e-12)


@pytest.mark.parametrize("loss", TARGETS, ids=lambda loss: loss.metric)
def test_the_curvature_is_a_bound(loss):
    h, targets = 1e-4, TARGETS[loss]
    scores = np.linspace(-8, 8, 161)[:, np.newaxis, np.newaxis] * np.ones((1, 1, 1))
    one = Targets(targets.values[:1, :1], np.zeros(1))
    gradients = [loss.evaluate(scores + s, one, None)[1] for s in (h, -h)]
    second = (gradients[0] - gradients[1]) / (2 * h)
    assert second.max() <= loss.curvature * (1 + 1e-6)
    assert second.max() >= loss.curvature * (1 - 1e-3)


def test_bases():
    Y = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0]])
    assert_allclose(log_odds(Y), np.log([4.5 / 0.5, 2.5 / 2.5, 0.5 / 4.5]))
    assert_allclose(SQUARED_ERROR.targets(Y).base, [1, 0.5, 0])


def test_ratings_average_to_r2_and_log_loss():
    from sklearn.metrics import log_loss, r2_score

    Y = RANDOM.normal(size=(50, 2))
    scores = Y + RANDOM.normal(size=Y.shape)
    rated = SQUARED_ERROR.rate(scores, Y, Y.var(axis=0)).mean()
    assert rated == pytest.approx(r2_score(Y, scores))
    labels = RANDOM.integers(0, 2, (50, 2))
    rated = LOGISTIC.rate(scores, labels, np.ones(2)).mean()
    expected = [log_loss(labels[:, at], scipy.special.expit(scores[:, at])) for at in range(2)]
    assert -rated == pytest.approx(np.mean(expected))
    assert np.isfinite(SQUARED_ERROR.rate(scores, Y, np.zeros(2))).all()
