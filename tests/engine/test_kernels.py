import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from kernel_arguments import copied, random_arguments
from numpy.testing import assert_allclose, assert_array_equal
from strategies import graphs, seeds

import heatgraph
from heatgraph import Graph, diffuse
from heatgraph._engine import kernel_code, kernels
from heatgraph._engine.ranges import tile_ends
from heatgraph.errors import HeatgraphWarning

DTYPES = [np.float32, np.float64]


def assert_close(results, others, rows):
    (step, accumulators), (other_step, other_accumulators) = results, others
    atol = 50 * np.finfo(step.out.dtype).eps
    assert_allclose(step.out[rows], other_step.out[rows], atol=atol)
    assert_allclose(accumulators.sums[:, rows], other_accumulators.sums[:, rows], atol=atol)


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    graph=graphs(max_nodes=20, featureless=True),
    self_loops=st.booleans(),
    seed=seeds,
    width=st.integers(1, 140),
    M=st.integers(0, 3),
    alpha=st.sampled_from([1.0, 2.0, 0.3]),
    beta=st.sampled_from([0.0, -1.0, 0.7]),
    index=st.sampled_from([np.int32, np.int64]),
    tile=st.integers(1, 25),
    data=st.data(),
)
def test_recur_agrees_with_the_reference(
    dtype, graph, self_loops, seed, width, M, alpha, beta, index, tile, data
):
    graph.indices = graph.indices.astype(index)
    S = graph.operator(self_loops, dtype)
    start = data.draw(st.integers(0, graph.num_nodes))
    stop = data.draw(st.integers(start, graph.num_nodes))
    results = random_arguments(S, seed, width, M, alpha, beta)
    if data.draw(st.booleans()):
        results = results[0], results[1]._replace(scale=S.row_scale[:0])
    expected = copied(*results)
    untouched = copied(*results)
    kernels.recur(S, *results, (start, stop), tile_ends(S.num_nodes, tile))
    kernels.recur_reference(S, *expected, (start, stop), tile_ends(S.num_nodes, tile))
    assert_close(results, expected, slice(start, stop))
    for rows in (slice(0, start), slice(stop, None)):
        assert_array_equal(results[0].out[rows], untouched[0].out[rows])
        assert_array_equal(results[1].sums[:, rows], untouched[1].sums[:, rows])


@pytest.mark.parametrize("dtype", DTYPES)
@given(graphs(max_nodes=20, featureless=True), seeds, st.integers(1, 25), st.integers(1, 140))
def test_the_accumulator_may_double_as_the_output(dtype, graph, seed, tile, width):
    S = graph.operator(True, dtype)
    rows = (0, S.num_nodes)
    step, accumulators = random_arguments(S, seed, width, 1, 1, 0)
    expected = copied(step, accumulators)
    kernels.recur(
        S, step._replace(out=accumulators.sums[0]), accumulators, rows, tile_ends(S.num_nodes, tile)
    )
    kernels.recur_reference(S, *expected, rows, tile_ends(S.num_nodes, tile))
    atol = 50 * np.finfo(dtype).eps
    assert_allclose(accumulators.sums, expected[1].sums, atol=atol)


def test_hubs_keep_their_digits():
    leaves = 1 << 22
    hub = np.zeros(leaves, dtype=np.int32)
    graph = Graph.from_edges(hub, 1 + np.arange(leaves), num_nodes=leaves + 1, symmetrize="max")
    equilibrium = graph.stationary()[:, np.newaxis].astype(np.float32)
    X_T = diffuse(graph.with_features(equilibrium), 1.0)
    error = np.linalg.norm(X_T - equilibrium) / np.linalg.norm(equilibrium)
    assert error < 8 * np.finfo(np.float32).eps * 10


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    graph=graphs(max_nodes=20, featureless=True),
    seed=seeds,
    width=st.integers(1, 140),
    cut=st.floats(0, 1),
    column=st.floats(0, 1),
    tile=st.integers(1, 25),
)
def test_any_split_of_rows_and_columns_gives_the_same_bits(
    dtype, graph, seed, width, cut, column, tile
):
    S = graph.operator(True, dtype)
    step, accumulators = random_arguments(S, seed, width, 2, 2, -1)
    middle, middle_column = int(cut * S.num_nodes), int(column * width)
    whole_step, whole = copied(step, accumulators)
    kernels.recur(S, whole_step, whole, (0, S.num_nodes), tile_ends(S.num_nodes, tile))
    for columns in (slice(0, middle_column), slice(middle_column, width)):
        current, out = (np.ascontiguousarray(Y[:, columns]) for Y in (step.current, step.out))
        sums = np.ascontiguousarray(accumulators.sums[:, :, columns])
        part = (step._replace(current=current, out=out), accumulators._replace(sums=sums))
        for rows in ((middle, S.num_nodes), (0, middle)):
            kernels.recur(S, *part, rows, tile_ends(S.num_nodes, tile))
        assert_array_equal(out, whole_step.out[:, columns])
        assert_array_equal(sums, whole.sums[:, :, columns])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@given(seed=seeds, shape=st.tuples(*[st.integers(1, 9)] * 2), width=st.integers(0, 140))
def test_multiply_agrees_with_the_reference(dtype, index, seed, shape, width):
    random = np.random.default_rng(seed)
    matrix = sp.random_array(shape, density=0.5, format="csr", rng=random).astype(dtype)
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    dense = random.normal(size=(shape[1], width)).astype(dtype)
    result, expected = np.full((2, shape[0], width), np.nan, dtype=dtype)
    middle = shape[0] // 2
    for rows in ((middle, shape[0]), (0, middle)):
        kernels.multiply(matrix, dense, result, rows)
        kernels.multiply_reference(matrix, dense, expected, rows)
    assert_allclose(result, expected, atol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=seeds, shape=st.tuples(*[st.integers(0, 9)] * 4))
def test_combine_agrees_with_the_reference(dtype, seed, shape):
    schemes, terms, rows, width = shape
    random = np.random.default_rng(seed)
    coefficients = random.normal(size=(schemes, terms)).astype(dtype)
    vectors = random.normal(size=(terms, rows, width)).astype(dtype)
    result, expected = np.full((2, schemes, rows, width), 7, dtype=dtype)
    middle = rows // 2
    for part in ((middle, rows), (0, middle)):
        kernels.combine(coefficients, vectors, result, part)
        kernels.combine_reference(coefficients, vectors, expected, part)
    assert_allclose(result, expected, atol=50 * np.finfo(dtype).eps)


def fail_to_import(monkeypatch):
    monkeypatch.delattr(heatgraph._engine, "kernel_code")
    monkeypatch.setitem(sys.modules, "heatgraph._engine.kernel_code", None)


def fail_to_generate(monkeypatch):
    monkeypatch.setattr(kernel_code, "ir", SimpleNamespace())


@pytest.fixture
def nothing_compiled(monkeypatch):
    """Forget compiled kernels, before the test and after it."""
    monkeypatch.setattr(kernels, "_warned_about_plain_loops", False)
    compiled = (kernels.compiled_recur, kernels.compiled_multiply, kernels.compiled_combine)
    for function in compiled:
        function.cache_clear()
    yield
    for function in compiled:
        function.cache_clear()


@pytest.mark.parametrize(
    ("fail", "reason"),
    [(fail_to_import, "ModuleNotFoundError: "), (fail_to_generate, "AttributeError: ")],
)
def test_falls_back_to_plain_loops_where_code_cannot_be_generated(
    fail, reason, monkeypatch, nothing_compiled
):
    random = np.random.default_rng(0)
    adjacency = random.uniform(size=(30, 30)) < 0.2
    X = sp.csr_array(random.normal(size=(30, 9)) * (random.random((30, 9)) < 0.5))
    graph = Graph(adjacency, X, symmetrize="max")
    calls = ({}, {"rows": [3]}, {"rows": range(9)})
    expected = [diffuse(graph, 3.0, **call) for call in calls]
    for function in (kernels.compiled_recur, kernels.compiled_multiply, kernels.compiled_combine):
        assert function.cache_info().currsize == 1
        function.cache_clear()
    fail(monkeypatch)
    with pytest.warns(HeatgraphWarning, match="products will take") as caught:
        found = [diffuse(graph, 3.0, **call) for call in calls]  # a second warning is an error
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)
    (warning,) = caught
    assert warning.filename == __file__
    assert reason in str(warning.message)
    assert "llvmlite<" in str(warning.message)
