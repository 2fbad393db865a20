import threading
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.chebyshev import chebval
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense_operator, response_matrix
from strategies import graphs, seeds

from heatgraph import Euler, Graph, RungeKutta4
from heatgraph._engine.kernel_arguments import Step
from heatgraph._engine.ranges import tile_ends
from heatgraph._engine.recurrence import (
    PanelOperator,
    accumulates_all_rows,
    chebyshev,
    empty_panel,
    stepwise,
)
from heatgraph._engine.threads import WorkerThreads

FLOAT64 = np.dtype(np.float64)


def panel_operator(graph, self_loops=True, workers=None, ranges=None, progress=None):
    P = graph.operator(self_loops, FLOAT64)
    workers = workers or WorkerThreads(1)
    ranges = ranges or [(0, graph.num_nodes)]
    return PanelOperator(
        P,
        P.root,
        tile_ends(graph.num_nodes, graph.num_nodes),
        workers,
        workers,
        ranges,
        9,
        progress,
    )


def random_panel(operator, seed, width):
    """A panel X, and R^(-1) X, which is what a recurrence starts from."""
    X = np.random.default_rng(seed).normal(size=(operator.P.num_nodes, width))
    return X, X.copy() if operator.root is None else X / operator.root[:, np.newaxis]


@given(
    graph=graphs(max_nodes=12, featureless=True),
    self_loops=st.booleans(),
    seed=seeds,
    shape=st.tuples(st.integers(1, 3), st.integers(1, 6)),
    num_rows=st.sampled_from([None, 1, 5, 40]),
)
def test_chebyshev_sums_the_series(graph, self_loops, seed, shape, num_rows):
    operator = panel_operator(graph, self_loops)
    X, scaled = random_panel(operator, seed, 4)
    if shape[1] == 1:
        operator.root, scaled = None, X.copy()  # no product, no change of basis
    random = np.random.default_rng(seed)
    coefficients = random.normal(size=shape)
    rows = None if num_rows is None else random.integers(graph.num_nodes, size=num_rows)
    out = np.full((shape[0], num_rows or graph.num_nodes, 4), np.nan)
    chebyshev(operator, scaled, coefficients, rows, out)
    s, U = np.linalg.eigh(dense_operator(graph.adjacency.toarray(), self_loops))
    for series, result in zip(coefficients, out, strict=True):
        expected = (U * chebval(s, series)) @ U.T @ X
        assert_allclose(result, expected if rows is None else expected[rows], atol=1e-12)


def test_vectors_are_kept_at_few_rows_and_summed_at_many():
    assert not accumulates_all_rows(num_nodes=1000, num_schemes=1, num_rows=100)
    assert accumulates_all_rows(num_nodes=1000, num_schemes=1, num_rows=600)
    assert not accumulates_all_rows(num_nodes=1000, num_schemes=16, num_rows=600)


@given(
    graph=graphs(max_nodes=12, featureless=True),
    self_loops=st.booleans(),
    seed=seeds,
    some_rows=st.booleans(),
)
def test_stepwise_takes_the_steps(graph, self_loops, seed, some_rows):
    operator = panel_operator(graph, self_loops)
    X, scaled = random_panel(operator, seed, 3)
    schemes = [Euler(1.5, 4), RungeKutta4(2.0, 2), Euler(0.0, 0)]
    rows = np.array([0, 0]) if some_rows else None
    out = np.full((3, 2 if some_rows else graph.num_nodes, 3), np.nan)
    stepwise(operator, scaled, schemes, rows, out)
    S = dense_operator(graph.adjacency.toarray(), self_loops)
    for scheme, result in zip(schemes, out, strict=True):
        expected = response_matrix(S, scheme) @ X
        assert_allclose(result, expected if rows is None else expected[rows], atol=1e-12)


@pytest.mark.parametrize("kind", ["none", "dense", "sparse"])
def test_contract_multiplies_the_transpose_by_the_features(kind):
    random = np.random.default_rng(0)
    columns = random.normal(size=(30, 4))
    X = random.normal(size=(30, 7)) * (random.random((30, 7)) < 0.5)
    given_X = {"none": None, "dense": X.astype(np.float32), "sparse": sp.csc_array(X)}[kind]
    product = panel_operator(Graph(np.ones((30, 30)))).contract(columns, given_X)
    expected = columns.T if kind == "none" else columns.T @ X
    assert product.dtype == FLOAT64
    assert_allclose(product, expected, atol=1e-5 if kind == "dense" else 1e-13)


def test_threads_and_ranges_do_not_change_a_bit():
    random = np.random.default_rng(0)
    graph = Graph(random.random((50, 50)) < 0.2, symmetrize="max")
    current = random.normal(size=(50, 20))
    expected = np.empty_like(current)
    panel_operator(graph).recur(Step(1, 0, current, expected))
    with WorkerThreads(3) as workers:
        ranges = [(0, 7), (7, 30), (30, 31), (31, 50)]
        operator = panel_operator(graph, workers=workers, ranges=ranges)
        result = np.empty_like(current)
        operator.recur(Step(1, 0, current, result))
    assert_array_equal(result, expected)


def test_progress_counts_products():
    calls = []
    operator = panel_operator(
        Graph(np.ones((3, 3))), progress=lambda done, total: calls.append((done, total))
    )
    chebyshev(operator, np.eye(3), np.ones((1, 4)), None, np.empty((1, 3, 3)))
    assert calls == [(1, 9), (2, 9), (3, 9)]


def test_products_are_cancelled_when_workers_stop():
    workers = WorkerThreads(1)
    operator = panel_operator(Graph(np.ones((3, 3))), workers=workers)
    X, out = np.ones((3, 2)), np.full((3, 2), 7.0)
    workers.stopping = True
    with pytest.raises(CancelledError):
        operator.recur(Step(1, 0, X, out))
    with pytest.raises(CancelledError):
        operator.contract(X, np.eye(3))
    assert (out == 7).all()


def test_an_exception_cancels_the_ranges_of_other_threads():
    started, cancelled = threading.Event(), []
    workers = WorkerThreads(2)
    operator = panel_operator(Graph(np.ones((3, 3))), workers=workers)

    def work(start, stop):
        if start == 0:
            started.wait(10)
            raise ZeroDivisionError
        started.set()
        for _ in range(1000):
            time.sleep(0.01)
            if workers.stopping:
                cancelled.append(start)
                return

    with pytest.raises(ZeroDivisionError), workers:
        operator.run_ranges(work, [(0, 1), (1, 3)])
    assert cancelled == [1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5, 3), (0, 4), (1000, 16)])
def test_panels_are_aligned_to_cache_lines(dtype, shape):
    panel = empty_panel(shape, np.dtype(dtype))
    assert panel.shape == shape
    assert panel.dtype == dtype
    assert panel.flags.c_contiguous
    assert panel.flags.writeable
    assert panel.size == 0 or panel.ctypes.data % 64 == 0
