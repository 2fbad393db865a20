"""Generated code gives the bits of the plain loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from kernel_arguments import copied, random_arguments
from numpy.testing import assert_array_equal
from strategies import graphs, seeds

from heatgraph import Graph
from heatgraph._engine import kernel_code, kernels, plain_kernels
from heatgraph._engine.kernel_arguments import OperatorArrays
from heatgraph._engine.ranges import tile_ends

DTYPES = [np.float32, np.float64]


def assert_same_bits(results, others):
    (step, accumulators), (other_step, other_accumulators) = results, others
    assert_array_equal(step.out, other_step.out)
    assert_array_equal(accumulators.sums, other_accumulators.sums)


def plain_recur(S, step, accumulators, tile):
    arrays = OperatorArrays(S.indptr, S.indices, S.values, S.row_scale, S.diagonal)
    plain_kernels.recur(arrays, step, accumulators, 0, S.num_nodes, tile_ends(S.num_nodes, tile))


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    graph=graphs(max_nodes=20, featureless=True),
    self_loops=st.booleans(),
    beta=st.sampled_from([0.0, -1.0]),
    seed=seeds,
    tile=st.integers(1, 25),
    width=st.integers(1, 140),
)
def test_recur(dtype, graph, self_loops, beta, seed, tile, width):
    S = graph.operator(self_loops, dtype)
    results = random_arguments(S, seed, width, 2, 2.0, beta)
    plain = copied(*results)
    kernels.recur(S, *results, (0, S.num_nodes), tile_ends(S.num_nodes, tile))
    plain_recur(S, *plain, tile)
    assert np.isfinite(results[0].out).all()
    assert np.isfinite(results[1].sums).all()
    assert_same_bits(plain, results)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
def test_recur_sums_many_edges_by_blocks(dtype, index, weighted, monkeypatch):
    """With small blocks, in code that is generated for them and in interpreted loops."""
    for module in (plain_kernels, kernel_code):
        monkeypatch.setattr(module, "SUM_BLOCK", 6)
    kernels.compiled_recur.cache_clear()
    monkeypatch.setattr(plain_kernels, "add_rows", plain_kernels.add_rows.py_func)
    random = np.random.default_rng(0)
    A = np.zeros((1500, 1500))
    A[0] = A[:, 0] = A[700] = A[:, 700] = 1
    if weighted:
        A *= np.add.outer(*[random.uniform(1, 2, 1500)] * 2)
    graph = Graph(A)
    graph.indices = graph.indices.astype(index)
    S = graph.operator(True, dtype)
    monkeypatch.setattr(plain_kernels, "recur", plain_kernels.recur.py_func)
    for tile in (400, 1500):
        results = random_arguments(S, 0, 70, 1, 2, -1)
        expected = copied(*results)
        kernels.recur(S, *results, (0, S.num_nodes), tile_ends(S.num_nodes, tile))
        plain_recur(S, *expected, tile)
        assert_same_bits(results, expected)
    kernels.compiled_recur.cache_clear()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@given(seed=seeds, width=st.integers(1, 140), columns=st.integers(1, 600), is_cached=st.booleans())
def test_multiply(dtype, index, seed, width, columns, is_cached):
    random = np.random.default_rng(seed)
    matrix = sp.random_array((7, columns), density=0.9, format="csr", rng=random).astype(dtype)
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    dense = random.normal(size=(columns, width)).astype(dtype)
    result, plain = np.full((2, 7, width), np.nan, dtype=dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "CACHED_BYTES", dense.nbytes if is_cached else 0)
        kernels.multiply(matrix, dense, result, (0, 7))
    plain_kernels.multiply(matrix.indptr, matrix.indices, matrix.data, dense, plain, 0, 7)
    assert_array_equal(result, plain)


@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=seeds, shape=st.tuples(*[st.integers(0, 9)] * 4))
def test_combine(dtype, seed, shape):
    schemes, terms, rows, width = shape
    random = np.random.default_rng(seed)
    coefficients = random.normal(size=(schemes, terms)).astype(dtype)
    vectors = random.normal(size=(terms, rows, width)).astype(dtype)
    result, plain = np.full((2, schemes, rows, width), 7, dtype=dtype)
    kernels.combine(coefficients, vectors, result, (0, rows))
    plain_kernels.combine(coefficients, vectors, plain, 0, rows)
    assert_array_equal(result, plain)
