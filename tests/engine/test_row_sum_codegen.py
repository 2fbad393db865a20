import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import seeds

from heatgraph._engine import row_sum, row_sum_codegen


@numba.njit
def generated_add_rows(target, weight, X, indices, values, first, last, last_prefetch):
    row_sum_codegen.add_rows(target, weight, X, indices, values, first, last, last_prefetch)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
@given(seed=seeds, width=st.integers(1, 140), edges=st.integers(0, 600), data=st.data())
def test_gives_the_bits_of_the_plain_loop(dtype, index, weighted, seed, width, edges, data):
    random = np.random.default_rng(seed)
    target = random.normal(size=width).astype(dtype)
    X = random.normal(size=(9, width)).astype(dtype)
    indices = random.integers(0, 9, edges).astype(index)
    values = random.uniform(1, 2, edges).astype(dtype) if weighted else None
    first = data.draw(st.integers(0, edges))
    last = data.draw(st.integers(first, edges))
    expected = target.copy()
    row_sum.add_rows(expected, dtype(0.3), X, indices, values, first, last, edges - 1)
    generated_add_rows(target, dtype(0.3), X, indices, values, first, last, edges - 1)
    assert_array_equal(target, expected)
