"""Quantiles of held-out errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatgraph.errors import InputError
from heatgraph.learning.conformal import error_quantile


@given(st.integers(1, 60), st.floats(0.01, 0.99), st.integers(0, 99))
def test_a_further_node_is_covered_with_the_probability_promised(m, coverage, seed):
    """Of m + 1 exchangeable errors, leave each one out in turn: enough of them are covered."""
    errors = np.random.default_rng(seed).random(m + 1)
    if (m + 1) * coverage > m - 1e-6:
        with pytest.raises(InputError, match="held-out nodes"):
            error_quantile(errors[:m, np.newaxis], coverage + 0.01 if coverage < 0.98 else 0.999)
        return
    covered = [
        errors[at] <= error_quantile(np.delete(errors, at)[:, np.newaxis], coverage)[0]
        for at in range(m + 1)
    ]
    assert np.mean(covered) >= coverage - 1e-9
    assert np.mean(covered) < coverage + 1 / (m + 1)


def test_columns_have_quantiles_of_their_own():
    errors = np.array([[3.0, 10.0], [1.0, 30.0], [2.0, 20.0]])
    assert error_quantile(errors, 0.5).tolist() == [2.0, 20.0]
    assert error_quantile(errors, 0.75).tolist() == [3.0, 30.0]


def test_nine_nodes_allow_nine_tenths():
    errors = np.arange(1.0, 10)[:, np.newaxis]
    assert error_quantile(errors, 0.9).tolist() == [9.0]
    with pytest.raises(InputError, match=r"at least 9 held-out nodes, .* of 8; 8 allow .* 0.889"):
        error_quantile(errors[:8], 0.9)
    with pytest.raises(InputError, match="those of 0. Ask for less"):
        error_quantile(errors[:0], 0.5)


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1, float("nan"), "0.9", True, None])
def test_coverage_must_be_between_zero_and_one(coverage):
    with pytest.raises(InputError, match="coverage must be a number between 0 and 1"):
        error_quantile([[1.0]], coverage)
