"""Tests of significance, against SciPy's, McNemar's and by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heatgraph.experiments.compare import significance
from heatgraph.experiments.compare.significance import corrected, over_nodes, over_splits


@pytest.mark.parametrize(("better", "worse"), [(5, 0), (9, 2), (7, 7), (1, 0), (900, 700)])
def test_over_nodes_is_mcnemars_exact_test(better, worse):
    d = np.concatenate([np.ones(better), -np.ones(worse), np.zeros(100)])
    expected = stats.binomtest(better, better + worse).pvalue
    assert over_nodes(d).p == pytest.approx(expected)


def test_means_over_seeds_are_tested_exactly_if_they_are_few():
    d = np.array([1.0, 0.5, 0.5, -0.25, 0.0])
    signs = np.array(list(itertools.product([-1, 1], repeat=4)))
    expected = np.mean(np.abs(signs @ d[:4]) >= d.sum())
    assert over_nodes(d).p == pytest.approx(expected)


def test_many_nodes_are_as_good_as_normal(monkeypatch):
    d = np.random.default_rng(0).choice([-1, -0.4, 0, 0.2, 1], 900, p=[0.1, 0.1, 0.6, 0.1, 0.1])
    drawn = over_nodes(d).p
    monkeypatch.setattr(significance, "MANY", 10)
    assert over_nodes(d).p == pytest.approx(drawn, abs=0.03)


def test_the_interval_is_students():
    rng = np.random.default_rng(0)
    first, second = rng.random(200) < 0.8, rng.random(200) < 0.7
    found = over_nodes(first.astype(float) - second)
    interval = stats.ttest_rel(first.astype(float), second).confidence_interval(0.95)
    assert found.mean - found.margin == pytest.approx(interval.low)
    assert found.mean + found.margin == pytest.approx(interval.high)


def test_over_splits_is_corrected():
    d = np.array([0.02, 0.01, 0.03, 0.00, 0.02])
    found = over_splits(d, test_share=0.2)
    t = d.mean() / np.sqrt((1 / 5 + 0.25) * d.var(ddof=1))
    assert found.p == pytest.approx(2 * stats.t.sf(t, 4))
    assert found.p > stats.ttest_1samp(d, 0).pvalue


def test_too_little_to_tell():
    for found in (over_splits(np.array([0.1]), 0.5), over_splits(np.full(3, 0.5), 0.5)):
        assert (found.margin, found.p) == (None, None)
    assert over_nodes(np.array([1.0])).p == 1
    same = over_nodes(np.zeros(10))
    assert (same.mean, same.margin, same.p) == (0, None, 1)


@pytest.mark.parametrize("disagreeing", [0.006, 0.05, 0.3])
def test_chance_alone_is_rarely_significant(disagreeing):
    rng = np.random.default_rng(1)
    share = disagreeing / 2
    alarms = [
        over_nodes(rng.choice([-1.0, 0.0, 1.0], 800, p=[share, 1 - disagreeing, share])).p < 0.05
        for _ in range(200)
    ]
    assert np.mean(alarms) < 0.09


def test_splits_that_share_nodes_are_rarely_significant_by_chance():
    """Two methods that are equally good on all nodes, seen through splits of the same nodes."""
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(200):
        d = rng.normal(size=500)
        d -= d.mean()
        seen = np.array([rng.permutation(d)[:150].mean() for _ in range(5)])
        alarms += over_splits(seen, 0.3).p < 0.05
    assert alarms / 200 < 0.05


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm(p):
    found = corrected(p)
    order = np.argsort(p, kind="stable")
    for rank, place in enumerate(order):
        until = [min(1, (len(p) - at) * p[order[at]]) for at in range(rank + 1)]
        assert found[place] == pytest.approx(max(until))
