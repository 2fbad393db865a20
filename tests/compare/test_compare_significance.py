"""Tests of significance, against SciPy's and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heatgraph.compare.significance import corrected, over_nodes, over_splits


def test_over_nodes_is_a_paired_t_test():
    rng = np.random.default_rng(0)
    first, second = rng.random(200) < 0.8, rng.random(200) < 0.7
    found = over_nodes(first.astype(float) - second)
    expected = stats.ttest_rel(first.astype(float), second.astype(float))
    assert found.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert found.mean - found.margin == pytest.approx(interval.low)
    assert found.mean + found.margin == pytest.approx(interval.high)


def test_over_splits_is_corrected():
    d = np.array([0.02, 0.01, 0.03, 0.00, 0.02])
    found = over_splits(d, test_per_train=0.25)
    t = d.mean() / np.sqrt((1 / 5 + 0.25) * d.var(ddof=1))
    assert found.p == pytest.approx(2 * stats.t.sf(t, 4))
    assert found.p > stats.ttest_1samp(d, 0).pvalue


def test_too_little_or_nothing_to_tell():
    assert over_splits(np.array([0.1]), 1.0) == over_nodes(np.array([0.1]))
    assert over_nodes(np.array([0.1])).p is None
    same = over_nodes(np.zeros(10))
    assert (same.mean, same.margin, same.p) == (0, 0, 1)
    assert over_splits(np.full(3, 0.5), 1.0).p == 0


def test_chance_alone_is_rarely_significant():
    rng = np.random.default_rng(1)
    alarms = [
        over_nodes((rng.random(300) < 0.8).astype(float) - (rng.random(300) < 0.8)).p < 0.05
        for _ in range(400)
    ]
    assert 0.02 < np.mean(alarms) < 0.09


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm(p):
    found = corrected(p)
    order = np.argsort(p, kind="stable")
    for rank, place in enumerate(order):
        until = [min(1, (len(p) - at) * p[order[at]]) for at in range(rank + 1)]
        assert found[place] == pytest.approx(max(until))
