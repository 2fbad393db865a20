import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from heatgraph import Euler, Graph, Heat, plan
from heatgraph._engine import plan as schedule_module
from heatgraph._engine.plan import even_ranges, row_ranges
from heatgraph.errors import MemoryBudgetError


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=200),
    st.integers(1, 64),
    st.integers(1, 8),
    st.integers(1, 2000),
    st.integers(1, 2000),
)
def test_ranges_cover_every_row_once(degrees, width, threads, range_work, worth_sharing):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule_module, "RANGE_WORK", range_work)
        patch.setattr(schedule_module, "WORTH_SHARING", worth_sharing)
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        ranges = row_ranges(indptr, width, 1, threads)
    rows = [i for start, stop in ranges for i in range(start, stop)]
    assert rows == list(range(len(degrees)))


def test_ranges_are_of_equal_work():
    degrees = np.concatenate([np.full(100, 10_000), np.full(100_000, 1)])
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    ranges = row_ranges(indptr, 64, 1, 2)
    work = [indptr[b] - indptr[a] + 5 * (b - a) for a, b in ranges]
    assert len(ranges) >= 2
    assert max(work) < 1.1 * min(work)
    assert max(work) * 64 <= 1.1 * schedule_module.RANGE_WORK


def ring(n, d=8, sparse=False, dtype=np.float32):
    nodes = np.arange(n)
    X = np.ones((n, d), dtype=dtype)
    return Graph.from_edges(
        nodes, (nodes + 1) % n, features=sp.csr_array(X) if sparse else X, symmetrize="max"
    )


def test_few_rows_are_taken_from_the_rows_side():
    graph = ring(1000, d=50)
    assert plan(graph, 5.0, rows=range(3)).side == "rows"
    assert plan(graph, 5.0, rows=range(999)).side == "features"
    assert plan(graph, 5.0).side == "features"
    assert plan(Graph(graph.adjacency), 5.0).side == "rows"
    assert plan(graph, 5.0, rows=range(3)).columns == 3
    assert plan(graph, 5.0).columns == 50


def test_plan_counts_products():
    graph = ring(100)
    assert plan(graph, 5.27, 250).products == plan(graph, 5.27, 250).degree == 12
    assert plan(graph, 5.27, 250, method="steps").products == 250
    assert plan(graph, 5.27, 250, method="steps").degree is None
    assert plan(graph, 5.27, 10, "rk4", method="steps").products == 40
    grid = [Heat(1.0), Heat(9.0)]
    assert plan(graph, scheme=grid).products == plan(graph, 9.0).products
    assert plan(graph, scheme=[Euler(1, 5), Euler(1, 6)], method="steps").products == 11


def test_plan_reads_well():
    text = str(plan(ring(100), 5.27, 250))
    assert text.startswith("12 products (Chebyshev degree 12, error at most ")
    assert "with 8 columns from the features side, 8 at a time" in text
    assert "250 products (literal steps)" in str(plan(ring(100), 5.27, 250, method="steps"))


def test_panels_do_not_depend_on_threads():
    graph = ring(100, d=500)
    widths = {plan(graph, 5.0, n_threads=k).panel_width for k in (1, 2, 3, 16)}
    assert len(widths) == 1


def test_a_smaller_budget_means_fewer_panels_at_once_then_narrower_ones_then_an_error():
    graph = ring(20_000, d=500)
    free = plan(graph, 5.0, n_threads=4)
    assert free.panels_at_once == free.threads == 4
    result = 20_000 * 500 * 4
    between = plan(graph, 5.0, n_threads=4, memory_budget=result + 40_000_000)
    assert between.panels_at_once == 1
    assert between.panel_width == free.panel_width
    tight = plan(graph, 5.0, n_threads=4, memory_budget=result + 3_000_000)
    assert tight.memory <= result + 3_000_000
    assert (tight.panels_at_once, tight.panel_width) == (1, 11)
    with pytest.raises(MemoryBudgetError, match=r"needs 40\.7 MB, budget 40\.1 MB. Raise"):
        plan(graph, 5.0, memory_budget=result + 100_000)
    out = np.empty((20_000, 500), dtype=np.float32)
    assert plan(graph, 5.0, memory_budget=3_000_000, out=out).memory <= 3_000_000


@given(st.integers(0, 1000), st.integers(0, 10**9))
def test_even_ranges(rows, row_work):
    ranges = even_ranges(rows, row_work)
    assert [i for start, stop in ranges for i in range(start, stop)] == list(range(rows))
    longest = max((stop - start for start, stop in ranges), default=0)
    assert longest * row_work <= max(row_work, schedule_module.RANGE_WORK)


def test_the_impossible_is_refused_before_allocating():
    graph = Graph(sp.csr_array((3_000_000, 3_000_000)))
    with pytest.raises(MemoryBudgetError, match=r"needs 36\.0 TB, budget 8\.0 GB"):
        plan(graph, 1.0, memory_budget="8GB")


def test_bytes_moved_grow_with_the_work():
    graph = ring(1000, d=64)
    one = plan(graph, 5.0).bytes_moved
    # Twelve products with 64 columns read and write each about nine times.
    assert 5 * 12 * 1000 * 64 * 4 < one < 15 * 12 * 1000 * 64 * 4
    assert plan(graph, 5.0, dtype=np.float64).bytes_moved > 1.8 * one
    assert plan(Graph(2 * graph.adjacency, graph.features), 5.0).bytes_moved > one
