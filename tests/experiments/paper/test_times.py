"""Timed variants of preprocessing: what they compute, and what is stored of them."""

from dataclasses import replace

import numpy as np
import pytest

from heatgraph.experiments.paper import times
from heatgraph.experiments.paper.experiment import DatasetCache


@pytest.fixture
def pubmed_stand_in(small_data):
    data = DatasetCache().load("pubmed")
    return replace(data, name="pubmed")


def test_all_variants_are_timed_in_both_stages(small_data):
    result = times.stage_times_trial(2, rounds=1).run(DatasetCache())
    assert set(result["milliseconds"]) == set(times.VARIANTS)
    for stages in result["milliseconds"].values():
        assert [len(stages[stage]) for stage in ("preprocessing", "training")] == [1, 1]
    assert result["products"] == {"steps": 2, "Chebyshev": 2}


def test_variants_compute_the_same_features(pubmed_stand_in):
    """SIGN's last block is that of SGC."""
    for K in (2, 10):
        X = {name: f() for name, f in times._preprocessing_variants(pubmed_stand_in, K).items()}
        np.testing.assert_allclose(X["Chebyshev"], X["steps"], atol=1e-5)
        np.testing.assert_allclose(X["rows"], X["steps"], atol=1e-5)
        if K == 2:
            last = X["SIGN"][:, -X["steps"].shape[1] :]
            np.testing.assert_allclose(last, X["steps"], atol=1e-5)


def test_sign_is_left_out_where_memory_is_short(pubmed_stand_in, monkeypatch):
    monkeypatch.setattr(times, "memory_budget_bytes", lambda _: 1e5)
    assert "SIGN" not in times._preprocessing_variants(pubmed_stand_in, 10)
