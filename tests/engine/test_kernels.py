import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import graphs, seeds

import heatgraph
from heatgraph import Graph, diffuse
from heatgraph._engine import kernels, row_sum, row_sum_codegen
from heatgraph._engine.kernel_arguments import Accumulators, Step
from heatgraph.errors import HeatgraphWarning

DTYPES = [np.float32, np.float64]

# The fused pass with the plain loop, interpreted by Python and compiled by numba.
INTERPRETED = kernels.make_recur(
    SimpleNamespace(
        add_rows=row_sum.add_rows.py_func,
        prefetch_indices=row_sum.prefetch_indices.py_func,
        prefetch_row=row_sum.prefetch_row.py_func,
    ),
    "",
)
PLAIN = numba.njit(kernels.make_recur(row_sum, ""))


def random_arguments(S, seed, width, M, alpha, beta):
    """A step and accumulators of random numbers; with beta = 0, outputs are uninitialised: NaN."""
    random = np.random.default_rng(seed)
    current, out = random.normal(size=(2, S.num_nodes, width)).astype(S.dtype)
    sums = random.normal(size=(M, S.num_nodes, width)).astype(S.dtype)
    initial, coefficients = random.normal(size=(2, M)).astype(S.dtype)
    scale = random.uniform(1, 2, size=S.num_nodes).astype(S.dtype)
    scale.flags.writeable = False
    if beta == 0:
        out[...] = sums[...] = np.nan
    number = S.dtype.type
    step = Step(number(alpha), number(beta), current, out)
    return step, Accumulators(initial, coefficients, sums, scale)


def copied(step, accumulators):
    """The same arguments with outputs of their own."""
    return step._replace(out=step.out.copy()), accumulators._replace(sums=accumulators.sums.copy())


def assert_same_bits(results, others):
    (step, accumulators), (other_step, other_accumulators) = results, others
    assert_array_equal(step.out, other_step.out)
    assert_array_equal(accumulators.sums, other_accumulators.sums)


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
    kernels.recur(S, *results, (start, stop), tile)
    kernels.recur_reference(S, *expected, (start, stop), tile)
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
    kernels.recur(S, step._replace(out=accumulators.sums[0]), accumulators, rows, tile)
    kernels.recur_reference(S, *expected, rows, tile)
    atol = 50 * np.finfo(dtype).eps
    assert_allclose(accumulators.sums, expected[1].sums, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    graph=graphs(max_nodes=20, featureless=True),
    self_loops=st.booleans(),
    beta=st.sampled_from([0.0, -1.0]),
    seed=seeds,
    tile=st.integers(1, 25),
    width=st.integers(1, 140),
)
def test_generated_code_compiled_loop_and_interpreted_loop_give_the_same_bits(
    dtype, graph, self_loops, beta, seed, tile, width
):
    S = graph.operator(self_loops, dtype)
    results = random_arguments(S, seed, width, 2, 2.0, beta)
    compiled, interpreted = copied(*results), copied(*results)
    kernels.recur(S, *results, (0, S.num_nodes), tile)
    arrays = kernels._operator_arrays(S)
    PLAIN(arrays, *compiled, 0, S.num_nodes, tile)
    INTERPRETED(arrays, *interpreted, 0, S.num_nodes, tile)
    assert np.isfinite(results[0].out).all()
    assert np.isfinite(results[1].sums).all()
    assert_same_bits(compiled, results)
    assert_same_bits(interpreted, results)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
def test_summation_over_blocks_gives_the_same_bits(dtype, index, weighted, monkeypatch):
    monkeypatch.setattr(row_sum, "SUM_BLOCK", 6)
    generated = numba.njit(kernels.make_recur(row_sum_codegen, ""))
    random = np.random.default_rng(0)
    A = np.zeros((1500, 1500))
    A[0] = A[:, 0] = A[700] = A[:, 700] = 1
    if weighted:
        A *= np.add.outer(*[random.uniform(1, 2, 1500)] * 2)
    graph = Graph(A)
    graph.indices = graph.indices.astype(index)
    S = graph.operator(True, dtype)
    arrays = kernels._operator_arrays(S)
    for tile in (400, 1500):
        results = random_arguments(S, 0, 70, 1, 2, -1)
        expected = copied(*results)
        generated(arrays, *results, 0, S.num_nodes, tile)
        INTERPRETED(arrays, *expected, 0, S.num_nodes, tile)
        assert_same_bits(results, expected)


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
    kernels.recur(S, whole_step, whole, (0, S.num_nodes), tile)
    for columns in (slice(0, middle_column), slice(middle_column, width)):
        current, out = (np.ascontiguousarray(Y[:, columns]) for Y in (step.current, step.out))
        sums = np.ascontiguousarray(accumulators.sums[:, :, columns])
        part = (step._replace(current=current, out=out), accumulators._replace(sums=sums))
        for rows in ((middle, S.num_nodes), (0, middle)):
            kernels.recur(S, *part, rows, tile)
        assert_array_equal(out, whole_step.out[:, columns])
        assert_array_equal(sums, whole.sums[:, :, columns])


@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=seeds, shape=st.tuples(*[st.integers(0, 9)] * 4))
def test_combine_agrees_with_the_reference(dtype, seed, shape):
    schemes, terms, rows, width = shape
    random = np.random.default_rng(seed)
    coefficients = random.normal(size=(schemes, terms)).astype(dtype)
    vectors = random.normal(size=(terms, rows, width)).astype(dtype)
    result, expected, interpreted = np.full((3, schemes, rows, width), 7, dtype=dtype)
    middle = rows // 2
    for start, stop in ((middle, rows), (0, middle)):
        kernels.combine(start, stop, coefficients, vectors, result)
        kernels.combine_reference(start, stop, coefficients, vectors, expected)
    assert_allclose(result, expected, atol=50 * np.finfo(dtype).eps)
    kernels._combine(0, rows, coefficients, vectors, interpreted)
    assert_array_equal(interpreted, result)


DIFFUSE = """
    import numpy as np, heatgraph as hg
    graph = hg.Graph(np.ones((3, 3)), np.eye(3))
    assert abs(hg.diffuse(graph, 1.0).sum() - 3) < 1e-5
    print("fine")
"""
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


def run_python(code, **environment):
    """Run some code in a process of its own, in which warnings are errors."""
    return subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [WITHOUT_CACHE, DISK_FULL])
def test_works_where_machine_code_cannot_be_cached(trouble, tmp_path):
    done = run_python(trouble + DIFFUSE, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout == "fine\n", done.stderr
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.slow
def test_a_change_of_a_module_that_is_compiled_in_invalidates_the_cache(tmp_path):
    package = tmp_path / "heatgraph"
    shutil.copytree(heatgraph.__path__[0], package, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(module, old, new):
        file = package / "_engine" / module
        source = file.read_text(encoding="utf-8")
        assert old in source
        file.write_text(source.replace(old, new), encoding="utf-8")

    def count_cache_hits_and_misses():
        done = run_python(
            """
            import numpy as np
            from heatgraph import Graph, __file__
            from heatgraph._engine import kernels
            kernels.compile_for(Graph(np.ones((3, 3))).operator(True, np.float32))
            stats = kernels._recur_compiled.stats
            print(__file__, stats.cache_hits.total(), stats.cache_misses.total())
            """,
            NUMBA_CACHE_DIR=str(tmp_path / "cache"),
            PYTHONPATH=str(tmp_path),
        )
        file, hits, misses = done.stdout.split()
        assert Path(file) == package / "__init__.py"
        return int(hits), int(misses)

    edit("row_sum_codegen.py", "REGISTER_BYTES = 256", "REGISTER_BYTES = 8")  # compiles faster
    assert count_cache_hits_and_misses() == (0, 1)
    assert count_cache_hits_and_misses() == (1, 0)
    edit("row_sum_codegen.py", "PREFETCH_DISTANCE = 16", "PREFETCH_DISTANCE = 17")
    assert count_cache_hits_and_misses() == (0, 1)
    edit("row_sum.py", "SUM_BLOCK = 256", "SUM_BLOCK = 128")
    assert count_cache_hits_and_misses() == (0, 1)
    edit("kernel_arguments.py", "alpha: float\n    beta: float", "beta: float\n    alpha: float")
    assert count_cache_hits_and_misses() == (0, 1)


def fail_to_import(monkeypatch):
    monkeypatch.delattr(heatgraph._engine, "row_sum_codegen")
    monkeypatch.setitem(sys.modules, "heatgraph._engine.row_sum_codegen", None)


def fail_to_generate(monkeypatch):
    monkeypatch.setattr(row_sum_codegen, "ir", SimpleNamespace())


@pytest.mark.parametrize(
    ("fail", "reason"),
    [(fail_to_import, "ModuleNotFoundError: "), (fail_to_generate, "AttributeError: ")],
)
def test_falls_back_to_the_plain_loop_where_code_cannot_be_generated(fail, reason, monkeypatch):
    random = np.random.default_rng(0)
    graph = Graph(
        random.uniform(size=(30, 30)) < 0.2, random.normal(size=(30, 70)), symmetrize="max"
    )
    expected = diffuse(graph, 3.0)
    monkeypatch.setattr(kernels, "_recur_compiled", None)
    monkeypatch.setattr(kernels, "_compiled", numba.njit(nogil=True))  # not from the cache
    fail(monkeypatch)
    with pytest.warns(HeatgraphWarning, match="products will take") as caught:
        first = diffuse(graph, 3.0)
    second = diffuse(graph, 3.0)  # a second warning would be an error
    assert_array_equal(first, expected)
    assert_array_equal(second, expected)
    (warning,) = caught
    assert warning.filename == __file__
    assert reason in str(warning.message)
    assert "numba>=" in str(warning.message)
