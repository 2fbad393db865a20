"""Tests of significance, against SciPy's, McNemar's and by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heatgraph.experiments.compare import significance
from heatgraph.experiments.compare.significance import (
    compare_over_nodes,
    compare_over_splits,
    holm_adjusted,
)


@pytest.mark.parametrize(("better", "worse"), [(5, 0), (9, 2), (7, 7), (1, 0), (900, 700)])
def test_over_nodes_is_mcnemars_exact_test(better, worse):
    d = np.concatenate([np.ones(better), -np.ones(worse), np.zeros(100)])
    expected = stats.binomtest(better, better + worse).pvalue
    assert compare_over_nodes(d).p == pytest.approx(expected)


def test_few_differences_are_tested_by_enumeration():
    d = np.array([1.0, 0.5, 0.5, -0.25, 0.0])
    signs = np.array(list(itertools.product([-1, 1], repeat=4)))
    expected = np.mean(np.abs(signs @ d[:4]) >= d.sum())
    assert compare_over_nodes(d).p == pytest.approx(expected)


def test_normal_approximation_for_many_nodes(monkeypatch):
    d = np.random.default_rng(0).choice([-1, -0.4, 0, 0.2, 1], 900, p=[0.1, 0.1, 0.6, 0.1, 0.1])
    drawn = compare_over_nodes(d).p
    monkeypatch.setattr(significance, "NORMAL_APPROXIMATION_FROM", 10)
    assert compare_over_nodes(d).p == pytest.approx(drawn, abs=0.03)


def test_interval_is_students():
    rng = np.random.default_rng(0)
    first, second = rng.random(200) < 0.8, rng.random(200) < 0.7
    found = compare_over_nodes(first.astype(float) - second)
    interval = stats.ttest_rel(first.astype(float), second).confidence_interval(0.95)
    assert found.mean - found.margin == pytest.approx(interval.low)
    assert found.mean + found.margin == pytest.approx(interval.high)


def test_over_splits_is_corrected():
    d = np.array([0.02, 0.01, 0.03, 0.00, 0.02])
    found = compare_over_splits(d, test_share=0.2)
    t = d.mean() / np.sqrt((1 / 5 + 0.25) * d.var(ddof=1))
    assert found.p == pytest.approx(2 * stats.t.sf(t, 4))
    assert found.p > stats.ttest_1samp(d, 0).pvalue


def test_differences_without_variance_have_no_p():
    for found in (
        compare_over_splits(np.array([0.1]), 0.5),
        compare_over_splits(np.full(3, 0.5), 0.5),
    ):
        assert (found.margin, found.p) == (None, None)
    assert compare_over_nodes(np.array([1.0])).p == 1
    same = compare_over_nodes(np.zeros(10))
    assert (same.mean, same.margin, same.p) == (0, None, 1)


@pytest.mark.parametrize("disagreeing", [0.006, 0.05, 0.3])
def test_false_positive_rate_over_nodes(disagreeing):
    rng = np.random.default_rng(1)
    share = disagreeing / 2
    false_positives = [
        compare_over_nodes(rng.choice([-1.0, 0.0, 1.0], 800, p=[share, 1 - disagreeing, share])).p
        < 0.05
        for _ in range(200)
    ]
    assert np.mean(false_positives) < 0.09


def test_false_positive_rate_over_splits_that_share_nodes():
    """Two methods that are equally good on all nodes, seen through splits of the same nodes."""
    rng = np.random.default_rng(2)
    false_positives = 0
    for _ in range(200):
        d = rng.normal(size=500)
        d -= d.mean()
        seen = np.array([rng.permutation(d)[:150].mean() for _ in range(5)])
        false_positives += compare_over_splits(seen, 0.3).p < 0.05
    assert false_positives / 200 < 0.05


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_adjustment(p):
    found = holm_adjusted(p)
    order = np.argsort(p, kind="stable")
    for rank, place in enumerate(order):
        until = [min(1, (len(p) - at) * p[order[at]]) for at in range(rank + 1)]
        assert found[place] == pytest.approx(max(until))
