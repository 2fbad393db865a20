import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import graphs, seeds

from heatgraph import Graph, diffuse
from heatgraph._engine import kernels

DTYPES = [np.float32, np.float64]


def run_plainly(patch):
    """Have kernels run as Python, where there is no asking for memory."""
    patch.setattr(kernels, "add_rows", kernels.add_rows_plainly)
    patch.setattr(kernels, "ask_edges", lambda indices, place: None)
    patch.setattr(kernels, "ask_row", lambda panel, row: None)


def panels(S, seed, width, number):
    random = np.random.default_rng(seed)
    current, out = random.normal(size=(2, S.num_nodes, width)).astype(S.dtype)
    sums = random.normal(size=(number, S.num_nodes, width)).astype(S.dtype)
    own, coefficients = random.normal(size=(2, number)).astype(S.dtype)
    scale = random.uniform(1, 2, size=S.num_nodes).astype(S.dtype)
    scale.flags.writeable = False
    return current, out, own, coefficients, sums, scale


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    graph=graphs(max_nodes=20, featureless=True),
    self_loops=st.booleans(),
    seed=seeds,
    width=st.integers(1, 140),
    sums=st.integers(0, 3),
    alpha=st.sampled_from([1.0, 2.0, 0.3]),
    beta=st.sampled_from([0.0, -1.0, 0.7]),
    index=st.sampled_from([np.int32, np.int64]),
    tile=st.integers(1, 25),
    data=st.data(),
)
def test_recur_is_its_twin(
    dtype, graph, self_loops, seed, width, sums, alpha, beta, index, tile, data
):
    graph.indices = graph.indices.astype(index)
    S = graph.operator(self_loops, dtype)
    start = data.draw(st.integers(0, graph.num_nodes))
    stop = data.draw(st.integers(start, graph.num_nodes))
    current, *mine, scale = panels(S, seed, width, sums)
    scale = scale if data.draw(st.booleans()) else None
    twins = [array.copy() for array in mine]
    kernels.recur(S, start, stop, tile, alpha, beta, current, *mine, scale)
    kernels.recur_scipy(S, start, stop, tile, alpha, beta, current, *twins, scale)
    for one, other in zip(mine, twins, strict=True):
        assert_allclose(one, other, atol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@given(graphs(max_nodes=20, featureless=True), seeds, st.integers(1, 25), st.integers(1, 140))
def test_a_product_may_be_made_where_its_sum_is(dtype, graph, seed, tile, width):
    S = graph.operator(True, dtype)
    current, _, *factors, sums, scale = panels(S, seed, width, 1)
    apart = sums.copy()
    kernels.recur(S, 0, S.num_nodes, tile, 1, 0, current, sums[0], *factors, sums, scale)
    kernels.recur_scipy(S, 0, S.num_nodes, tile, 1, 0, current, apart[0], *factors, apart, scale)
    assert_allclose(sums, apart, atol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("beta", [0.0, -1.0])
@given(
    graphs(max_nodes=20, featureless=True),
    st.booleans(),
    seeds,
    st.integers(1, 25),
    st.integers(1, 140),
)
def test_compiled_code_is_the_python_that_one_reads(beta, graph, self_loops, seed, tile, width):
    S = graph.operator(self_loops, np.float64)
    current, *mine = panels(S, seed, width, 2)
    if beta == 0:
        mine[0][...] = mine[3][...] = np.nan  # whatever they held
    plain = [array.copy() for array in mine]
    structure = (S.indptr, S.indices, S.values, S.row_scale, S.diagonal)
    kernels.recur(S, 0, S.num_nodes, tile, 2.0, beta, current, *mine)
    with pytest.MonkeyPatch.context() as patch:
        run_plainly(patch)
        kernels._recur(*structure, 0, S.num_nodes, tile, 2.0, beta, current, *plain)
    assert all(np.isfinite(array).all() for array in mine)
    for one, other in zip(mine, plain, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_neighbours_are_summed_as_the_python_says(dtype, index, weighted, monkeypatch):
    monkeypatch.setattr(kernels, "SUMMED", 6)
    compiled = kernels.numba.njit(kernels._recur)
    random = np.random.default_rng(0)
    A = np.zeros((1500, 1500))
    A[0] = A[:, 0] = A[700] = A[:, 700] = 1
    if weighted:
        A *= np.add.outer(*[random.uniform(1, 2, 1500)] * 2)
    graph = Graph(A)
    graph.indices = graph.indices.astype(index)
    S = graph.operator(True, dtype)
    structure = (S.indptr, S.indices, S.values, S.row_scale, S.diagonal)
    for tile in (400, 1500):
        current, *mine = panels(S, 0, 70, 1)
        plain = [array.copy() for array in mine]
        numbers = (dtype(2), dtype(-1))
        compiled(*structure, 0, S.num_nodes, tile, *numbers, current, *mine)
        with pytest.MonkeyPatch.context() as patch:
            run_plainly(patch)
            kernels._recur(*structure, 0, S.num_nodes, tile, *numbers, current, *plain)
        for one, other in zip(mine, plain, strict=True):
            assert_array_equal(one, other)


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
def test_any_cut_into_rows_or_columns_gives_the_same_bits(
    dtype, graph, seed, width, cut, column, tile
):
    S = graph.operator(True, dtype)
    current, out, *factors, sums, scale = panels(S, seed, width, 2)
    middle, at = int(cut * S.num_nodes), int(column * width)
    whole = (out.copy(), sums.copy())
    kernels.recur(S, 0, S.num_nodes, tile, 2, -1, current, whole[0], *factors, whole[1], scale)
    for columns in (slice(0, at), slice(at, width)):
        left, target = (np.ascontiguousarray(Y[:, columns]) for Y in (current, out))
        part = np.ascontiguousarray(sums[:, :, columns])
        for start, stop in ((middle, S.num_nodes), (0, middle)):
            kernels.recur(S, start, stop, tile, 2, -1, left, target, *factors, part, scale)
        assert_array_equal(target, whole[0][:, columns])
        assert_array_equal(part, whole[1][:, :, columns])


@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=seeds, shape=st.tuples(*[st.integers(0, 9)] * 4))
def test_combine_is_its_twin(dtype, seed, shape):
    schemes, terms, rows, width = shape
    random = np.random.default_rng(seed)
    coefficients = random.normal(size=(schemes, terms)).astype(dtype)
    vectors = random.normal(size=(terms, rows, width)).astype(dtype)
    mine, twin = np.full((2, schemes, rows, width), 7, dtype=dtype)
    middle = rows // 2
    for start, stop in ((middle, rows), (0, middle)):
        kernels.combine(start, stop, coefficients, vectors, mine)
        kernels.combine_numpy(start, stop, coefficients, vectors, twin)
    assert_allclose(mine, twin, atol=50 * np.finfo(dtype).eps)
    plain = np.full_like(mine, 7)
    kernels._combine(0, rows, coefficients, vectors, plain)
    assert_array_equal(plain, mine)


WITHOUT_CACHE = """
    from numba.core import caching
    caching.CacheImpl._locator_classes = []
"""
DISK_FULL = """
    from numba.core import caching
    def full(self, key, data):
        raise OSError(28, "No space left on device")
    caching.IndexDataCacheFile.save = full
"""
JOB = """
    import numpy as np, heatgraph as hg
    graph = hg.Graph(np.ones((3, 3)), np.eye(3))
    assert abs(hg.diffuse(graph, 1.0).sum() - 3) < 1e-5
    print("fine")
"""


@pytest.mark.parametrize("trouble", [WITHOUT_CACHE, DISK_FULL])
def test_works_where_machine_code_cannot_be_kept(trouble, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(trouble) + textwrap.dedent(JOB)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "fine\n", done.stderr
    assert not list(tmp_path.rglob("*.nbc"))
