from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import MATRICES, random_graph, requests

from heatgraph import Euler, Graph, Heat, plan
from heatgraph._engine.memory_estimate import GraphSizes, Request, estimate_column
from heatgraph._engine.plan import cheaper_side, choose_panels, make_plan
from heatgraph.errors import MemoryBudgetError

UNLIMITED = float("inf")


def planned(request, budget=UNLIMITED, threads=1, reorder=None):
    return make_plan(request, error_bound=0.0, budget=budget, threads=threads, reorder=reorder)


def ring(n, d=8):
    nodes = np.arange(n)
    X = np.ones((n, d), dtype=np.float32)
    return Graph.from_edges(nodes, (nodes + 1) % n, features=X, symmetrize="max")


class TestSide:
    def test_few_rows_are_diffused_from_the_rows_side(self):
        graph = ring(1000, d=50)
        assert plan(graph, 5.0, rows=range(3)).side == "rows"
        assert plan(graph, 5.0, rows=range(999)).side == "features"
        assert plan(graph, 5.0).side == "features"
        assert plan(Graph(graph.adjacency), 5.0).side == "rows"
        assert plan(graph, 5.0, rows=range(3)).columns == 3
        assert plan(graph, 5.0).columns == 50

    @given(requests(), st.integers(1, 1000))
    def test_more_rows_never_favour_the_rows_side(self, request, more):
        assume(request.num_rows is not None)
        assume(request.graph.features_dtype is not None)
        if cheaper_side(request) == "features":
            larger = replace(request, num_rows=request.num_rows + more)
            assert cheaper_side(larger) == "features"


class TestPanels:
    @given(requests(), st.booleans(), st.floats(1, 2), st.floats(1, 100), st.integers(1, 8))
    def test_a_larger_budget_never_narrows_panels(self, request, reordered, slack, factor, threads):
        side = cheaper_side(request)
        budget = slack * estimate_column(request, side, reordered).peak
        tight = choose_panels(request, side, reordered, budget, threads)
        loose = choose_panels(request, side, reordered, factor * budget, threads)
        assert loose.width >= tight.width
        assert loose.count <= tight.count

    @given(requests(), st.booleans(), st.floats(1, 50), st.integers(1, 16))
    def test_the_plan_keeps_to_the_budget(self, request, reordered, slack, threads):
        budget = slack * estimate_column(request, cheaper_side(request), reordered).peak
        result = planned(request, budget, threads, reordered)
        assert result.memory <= budget

    def test_blocks_of_features_that_each_thread_converts_are_in_the_budget(self):
        """Float64 features, wide against the panels: eight threads would convert eight blocks."""
        single, double = np.dtype(np.float32), np.dtype(np.float64)
        graph = GraphSizes(
            num_nodes=16_384, num_edges=160_000, num_features=5000,
            feature_entries=16_384 * 5000, features_dtype=double,
        )  # fmt: skip
        request = Request(graph, 1, 1000, 12, 12, 0, single, single)
        budget = 2 * estimate_column(request, "rows", False).peak
        result = planned(request, budget, threads=8)
        assert result.side == "rows"
        assert result.memory <= budget

    @given(requests(), st.booleans())
    def test_the_smallest_budget_is_that_of_one_column(self, request, reordered):
        side = cheaper_side(request)
        smallest = estimate_column(request, side, reordered).peak
        assert choose_panels(request, side, reordered, smallest, 4).width >= 1
        with pytest.raises(MemoryBudgetError, match="needs .*, budget .* Raise memory_budget="):
            choose_panels(request, side, reordered, smallest - 1, 4)

    @given(requests(), st.booleans(), st.floats(1, 50))
    def test_panels_do_not_depend_on_threads(self, request, reordered, slack):
        """A product of kernel rows with features depends on the width, to the last bit."""
        side = cheaper_side(request)
        budget = slack * estimate_column(request, side, reordered).peak
        widths = {
            choose_panels(request, side, reordered, budget, threads).width
            for threads in (1, 2, 3, 16)
        }
        assert len(widths) == 1

    @given(requests(), st.floats(1, 50), st.integers(1, 16))
    def test_panels_cover_every_column_once(self, request, slack, threads):
        side = cheaper_side(request)
        budget = slack * estimate_column(request, side, False).peak
        result = planned(request, budget, threads, reorder=False)
        assume(result.columns <= 10_000)
        columns = [j for panel in result.panels for j in range(panel.start, panel.stop)]
        assert columns == list(range(result.columns))
        assert 1 <= result.panels_at_once <= max(1, len(result.panels))

    def test_a_smaller_budget_means_fewer_panels_at_once_then_narrower_ones_then_an_error(self):
        graph = ring(20_000, d=500)
        free = plan(graph, 5.0, n_threads=4)
        assert free.panels_at_once == free.threads == 4
        between = plan(graph, 5.0, n_threads=4, memory_budget=free.memory - 1)
        assert between.panels_at_once == 1
        assert between.panel_width == free.panel_width
        tight = plan(graph, 5.0, n_threads=4, memory_budget=between.memory - 1)
        assert tight.panels_at_once == 1
        assert tight.panel_width < free.panel_width
        result = 20_000 * 500 * 4
        with pytest.raises(MemoryBudgetError, match=r"needs .*, budget 40\.0 MB"):
            plan(graph, 5.0, memory_budget=result)
        out = np.empty((20_000, 500), dtype=np.float32)
        assert plan(graph, 5.0, memory_budget=result // 10, out=out).memory <= result // 10

    def test_threads_share_a_panel_where_two_would_take_more_than_the_result(self):
        sizes = GraphSizes(170_000, 3_400_000, 4, 0, 600, 102_000_000, np.dtype(np.float32))
        single = np.dtype(np.float32)
        request = Request(sizes, 1, 102_000, 24, 24, 0, single, single)
        assert planned(request, threads=2).panels_at_once == 1
        assert planned(replace(request, num_rows=None), threads=2).panels_at_once == 2
        result = 4 * 102_000 * 600
        assert planned(request, threads=2).memory <= 2 * result

    def test_a_file_takes_one_panel_at_a_time(self, tmp_path):
        graph = ring(20_000, d=500)
        assert plan(graph, 5.0, n_threads=4).panels_at_once == 4
        assert plan(graph, 5.0, n_threads=4, out=tmp_path / "X.npy").panels_at_once == 1


class TestProducts:
    def test_are_counted(self):
        graph = ring(100)
        assert plan(graph, 5.27, 250).products == plan(graph, 5.27, 250).degree == 12
        assert plan(graph, 5.27, 250, method="steps").products == 250
        assert plan(graph, 5.27, 250, method="steps").degree is None
        assert plan(graph, 5.27, 10, "rk4", method="steps").products == 40
        grid = [Heat(1.0), Heat(9.0)]
        assert plan(graph, scheme=grid).products == plan(graph, 9.0).products
        assert plan(graph, scheme=[Euler(1, 5), Euler(1, 6)], method="steps").products == 11


class TestCost:
    @given(requests(), st.integers(1, 5))
    def test_more_products_cost_more(self, request, more):
        assume(request.products > 0 and request.columns(cheaper_side(request)) > 0)
        assume(request.degree is None)
        longer = replace(request, products=request.products + more)
        side = cheaper_side(request)
        assume(cheaper_side(longer) == side)
        short, long = planned(request, reorder=False), planned(longer, reorder=False)
        assert long.bytes_moved > short.bytes_moved
        assert long.seconds > short.seconds

    @given(requests(), st.integers(2, 16))
    def test_more_threads_never_take_longer(self, request, threads):
        one, many = planned(request), planned(request, threads=threads)
        assert many.seconds <= one.seconds
        assert many.bytes_moved == one.bytes_moved

    def test_bytes_moved_grow_with_precision_and_weights(self):
        graph = ring(1000, d=64)
        one = plan(graph, 5.0)
        vectors = one.products * 1000 * 64 * 4
        assert 5 * vectors < one.bytes_moved < 15 * vectors
        assert plan(graph, 5.0, dtype=np.float64).bytes_moved > 1.8 * one.bytes_moved
        weighted = Graph(2 * graph.adjacency, graph.features)
        assert plan(weighted, 5.0).bytes_moved > one.bytes_moved


@pytest.mark.parametrize("features", MATRICES)
def test_plans_read_the_sizes_of_a_graph(features):
    """Every kind of features can be planned, and twice the columns never take less."""
    X = MATRICES[features](np.ones((3000, 40)))
    graph = random_graph(d=40).with_features(X)
    wide = graph.with_features(sp.hstack([X, X]).tocsr() if sp.issparse(X) else np.hstack([X, X]))
    for rows in (None, range(10), range(2900)):
        assert plan(wide, 3.0, rows=rows).memory >= plan(graph, 3.0, rows=rows).memory


def test_the_impossible_is_refused_before_allocating():
    graph = Graph(sp.csr_array((3_000_000, 3_000_000)))
    with pytest.raises(MemoryBudgetError, match=r"needs \d+\.\d TB, budget 8\.0 GB"):
        plan(graph, 1.0, memory_budget="8GB")


def test_a_plan_as_text():
    text = str(plan(ring(100), 5.27, 250))
    assert text.startswith("12 products (Chebyshev degree 12, error at most ")
    assert "with 8 columns from the features side, 8 at a time" in text
    assert "250 products (literal steps)" in str(plan(ring(100), 5.27, 250, method="steps"))
