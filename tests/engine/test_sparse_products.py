import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from heatgraph._engine import ranges
from heatgraph._engine.sparse_products import sparse_times_dense


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@given(seed=seeds, shape=st.tuples(*[st.integers(1, 12)] * 3))
def test_agrees_with_a_dense_product(dtype, form, seed, shape):
    rows, inner, columns = shape
    random = np.random.default_rng(seed)
    matrix = sp.random_array((rows, inner), density=0.4, format=form, rng=random)
    dense = np.asfortranarray(random.normal(size=(inner, columns)).astype(dtype))
    product = sparse_times_dense(matrix, dense)
    assert product.dtype == dtype
    assert_allclose(product, matrix.toarray() @ dense, atol=30 * np.finfo(dtype).eps)


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(ranges, "WORTH_SHARING", 1)
    random = np.random.default_rng(0)
    matrix = sp.random_array((500, 300), density=0.1, format="csr", rng=random)
    dense = random.normal(size=(300, 17)).astype(np.float32)
    one, three = (sparse_times_dense(matrix, dense, threads) for threads in (1, 3))
    assert_array_equal(one, three)


def test_arrays_of_any_layout():
    random = np.random.default_rng(0)
    matrix = sp.random_array((50, 40), density=0.2, format="csr", rng=random)
    expected = matrix.toarray() @ np.eye(40)
    padded = np.full(2 * matrix.nnz, np.nan)
    padded[::2] = matrix.data
    strided = sp.csr_array((padded[::2], matrix.indices, matrix.indptr), shape=matrix.shape)
    assert_array_equal(sparse_times_dense(strided, np.eye(40)), expected)
    mixed = matrix.copy()
    mixed.indptr = mixed.indptr.astype(np.int64)
    assert_array_equal(sparse_times_dense(mixed, np.eye(40)), expected)
