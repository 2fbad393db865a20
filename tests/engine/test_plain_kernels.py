import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import seeds

from heatgraph._engine import plain_kernels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@given(seed=seeds, width=st.integers(1, 70), edges=st.integers(0, 600), data=st.data())
def test_add_rows_adds_a_weighted_sum(dtype, weighted, seed, width, edges, data):
    random = np.random.default_rng(seed)
    target, *X = random.normal(size=(10, width)).astype(dtype)
    indices = random.integers(0, 9, edges).astype(np.int32)
    values = random.uniform(1, 2, edges).astype(dtype) if weighted else None
    first = data.draw(st.integers(0, edges))
    last = data.draw(st.integers(first, edges))
    rows = np.array(X)[indices[first:last]].astype(np.float64)
    if values is not None:
        rows *= values[first:last, np.newaxis]
    expected = target + 0.5 * rows.sum(axis=0)
    plain_kernels.add_rows(target, dtype(0.5), np.array(X), indices, values, first, last)
    assert_allclose(target, expected, atol=4 * np.finfo(dtype).eps * max(1, edges))


def test_a_sum_of_millions_keeps_its_digits():
    """Added one by one in float32, equal numbers stop counting at 2^24."""
    edges = 2**24 + 2**20
    target, X = np.zeros(1, dtype=np.float32), np.ones((1, 1), dtype=np.float32)
    indices = np.zeros(edges, dtype=np.int32)
    plain_kernels.add_rows(target, np.float32(1), X, indices, None, 0, edges)
    assert target[0] == edges
