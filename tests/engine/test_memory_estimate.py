import itertools
import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from heun import Heun
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import random_graph, requests

from heatgraph import SGC, Euler, Graph, Heat, RungeKutta4, diffuse, diffuse_many, plan
from heatgraph._engine import kernels
from heatgraph._engine.memory_estimate import (
    LINE_COLUMNS,
    Panels,
    estimate_column,
    estimate_memory,
    padded_width,
)
from heatgraph.errors import MemoryBudgetError

# Small random graphs are soon smoothed to their equilibrium.
pytestmark = pytest.mark.filterwarnings("ignore::heatgraph.errors.CollapseWarning")

RANDOM = np.random.default_rng(0)


def peak(function, *args, **options):
    """Peak of the bytes that Python and NumPy allocate in a second call, after compiling."""
    function(*args, **options)
    tracemalloc.start()
    function(*args, **options)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.fixture
def in_lockstep(monkeypatch):
    """Two panels wait for each other at every product.

    Otherwise the scheduler decides whether both are at their peak at the same time.
    """
    recur, barrier = kernels.recur, threading.Barrier(2, timeout=60)

    def wait_and_recur(P, step, accumulators, rows, tile_ends):
        barrier.wait()
        recur(P, step, accumulators, rows, tile_ends)

    monkeypatch.setattr(kernels, "recur", wait_and_recur)


class TestParts:
    """The estimate as a pure function of sizes."""

    @given(requests(), st.booleans(), st.integers(1, 100), st.integers(1, 100))
    def test_more_columns_never_take_less(self, request, reordered, width, more):
        for side in ("features", "rows"):
            few = estimate_memory(request, side, reordered, Panels(width, 1000, 1))
            many = estimate_memory(request, side, reordered, Panels(width + more, 1000, 1))
            assert many.peak >= few.peak

    @given(requests(), st.booleans(), st.integers(1, 100), st.integers(1, 8), st.integers(1, 8))
    def test_more_panels_in_parallel_never_take_less(self, request, reordered, width, few, more):
        for side in ("features", "rows"):
            one = estimate_memory(request, side, reordered, Panels(width, 1000, few))
            two = estimate_memory(request, side, reordered, Panels(width, 1000, few + more))
            assert two.peak >= one.peak

    @given(requests(), st.sampled_from(["num_nodes", "num_edges"]), st.integers(1, 10**6))
    def test_a_larger_graph_never_takes_less(self, request, size, more):
        assume(request.num_rows is not None and not request.graph.sparse_features)
        sizes = replace(request.graph, **{size: getattr(request.graph, size) + more})
        larger = replace(request, graph=sizes)
        for side, reordered in itertools.product(("features", "rows"), (False, True)):
            peaks = [estimate_column(r, side, reordered).peak for r in (request, larger)]
            assert peaks == sorted(peaks)

    @given(requests(), st.booleans())
    def test_what_is_cached_or_given_is_not_counted(self, request, reordered):
        cached = replace(request.graph, permutation_cached=True, components_cached=True)
        cheaper = replace(request, graph=cached)
        for side in ("features", "rows"):
            estimate = estimate_column(request, side, reordered)
            assert estimate_column(cheaper, side, reordered).peak <= estimate.peak
            into_array = estimate_column(replace(request, destination="array"), side, reordered)
            assert into_array.result == 0
            assert into_array.peak <= estimate.peak

    @given(requests(), st.booleans())
    def test_the_peak_holds_every_part(self, request, reordered):
        for side in ("features", "rows"):
            estimate = estimate_column(request, side, reordered)
            parts = (estimate.permutation, estimate.operator, estimate.source)
            assert estimate.peak >= estimate.result + sum(part.retained for part in parts)
            assert all(estimate.peak >= estimate.result + part.building for part in parts)
            assert all(part.building >= part.retained for part in parts)
            assert estimate.peak >= estimate.result + estimate.components

    @given(st.integers(1, 10_000))
    def test_padding_is_less_than_a_cache_line(self, columns):
        assert columns <= padded_width(columns) < columns + LINE_COLUMNS


class TestAllocations:
    """The estimate against the peak that tracemalloc measures."""

    def test_panels_keep_to_the_budget_and_change_nothing(self):
        graph = random_graph()
        free = diffuse(graph, 4.0)
        for budget in (1_000_000, 1_100_000, "1.5MB", 2**22):
            assert plan(graph, 4.0, memory_budget=budget).memory <= 2**22
            assert_array_equal(diffuse(graph, 4.0, memory_budget=budget), free)

    def test_too_little_is_refused(self):
        with pytest.raises(MemoryBudgetError, match=r"needs .* kB, budget 800.0 kB"):
            diffuse(random_graph(), 4.0, memory_budget="800kB")

    @pytest.mark.parametrize("rows", [None, range(30), range(5000), range(8000)])
    @pytest.mark.parametrize("schemes", [[Heat(3.0)], [Heat(1.0), Heat(2.0), Heat(3.0)], [SGC(1)]])
    @pytest.mark.parametrize("kind", ["plain", "weighted", "sparse", "double", "sparse double"])
    def test_the_plan_is_what_is_allocated(self, kind, schemes, rows):
        """Peak of the arrays that are allocated, against the plan, for every way to work."""
        graph = random_graph(n=20_000, edges=80_000, d=96, weighted=kind == "weighted")
        X = graph.features
        if "double" in kind:
            X = X.astype(np.float64)
        if "sparse" in kind:
            X = sp.csr_array(X * (RANDOM.random(X.shape) < 0.3))
        graph = graph.with_features(X)
        options = {"rows": rows, "n_threads": 1}
        need = plan(graph, scheme=schemes, **options).memory
        taken = peak(diffuse_many, graph, schemes, **options)
        assert abs(taken - need) < 0.05 * need

    def test_padding_is_in_the_plan(self):
        graph = random_graph(n=20_000, edges=80_000, d=49)
        need = plan(graph, 3.0, 3, n_threads=2).memory
        assert abs(peak(diffuse, graph, 3.0, 3, n_threads=2) - need) < 0.15 * need

    @pytest.mark.parametrize("options", [{"method": "steps"}, {"rows": range(5000)}])
    @pytest.mark.usefixtures("always_cut")
    def test_padding_of_panels_in_parallel_is_in_the_plan(self, options, in_lockstep):
        graph = random_graph(n=20_000, edges=80_000, d=49)
        options = {"n_threads": 2, **options}
        planned = plan(graph, 3.0, 3, **options)
        assert planned.panels_at_once == len(planned.panels) == 2
        taken = peak(diffuse, graph, 3.0, 3, **options)
        assert abs(taken - planned.memory) < 0.15 * planned.memory

    def test_many_rows_take_no_more_than_all_of_them_and_their_copy(self):
        graph = random_graph(n=20_000, edges=80_000, d=96)
        whole = plan(graph, 6.0, n_threads=1).memory
        some = plan(graph, 6.0, rows=range(15_000), n_threads=1).memory
        assert some <= whole + 15_000 * 96 * 4

    @pytest.mark.parametrize("scheme", [Euler(3.0, 3), Heun(3.0, 3), RungeKutta4(3.0, 3)])
    def test_literal_steps_keep_to_the_plan(self, scheme):
        graph = random_graph(n=20_000, edges=80_000, d=96)
        options = {"method": "steps", "n_threads": 1}
        need = plan(graph, scheme=scheme, **options).memory
        assert abs(peak(diffuse_many, graph, [scheme], **options) - need) < 0.05 * need

    @pytest.mark.parametrize("d", [8, 40, 100, 500])
    @pytest.mark.parametrize("threads", [1, 2, 8, 32])
    def test_a_dense_diffusion_takes_four_arrays_at_most(self, d, threads):
        graph = random_graph(n=20_000, edges=80_000, d=d)
        size = graph.features.nbytes
        need = plan(graph, 6.0, n_threads=threads).memory
        operator = 3 * 20_000 * 4
        assert size + need <= 4 * size + operator
        assert peak(diffuse, graph, 6.0, n_threads=threads) <= need + 2**20

    def test_components_are_in_the_plan(self):
        graph = random_graph(n=5_000, edges=300_000, d=1)
        out = np.empty((5_000, 1), dtype=np.float32)
        need = plan(graph, 200.0, out=out).memory
        assert plan(graph, 2.0, out=out).memory < need / 2
        diffuse(graph, 2.0, out=out)
        tracemalloc.start()
        diffuse(graph, 200.0, out=out)
        _, taken = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert abs(taken - need) < 0.15 * need
        with pytest.raises(MemoryBudgetError):
            plan(Graph(graph.adjacency, graph.features), 200.0, memory_budget=need // 2)
        assert plan(graph, 200.0, out=out).memory < need / 2  # now they are known

    @pytest.mark.filterwarnings("ignore::heatgraph.errors.CollapseWarning")
    def test_many_components_keep_to_the_budget(self):
        nodes = np.arange(40_000)
        X = np.random.default_rng(0).random((40_000, 40), dtype=np.float32)
        graph = Graph.from_edges(nodes[::2], nodes[1::2], features=X, symmetrize="max")
        options = {"out": np.empty_like(X), "memory_budget": 8_000_000}
        assert peak(diffuse, graph, 20.0, **options) <= 8_500_000

    def test_the_check_for_oversmoothing_keeps_to_the_budget(self):
        graph = random_graph(n=60_000, edges=120_000, d=40)
        out = np.empty((60_000, 40), dtype=np.float32)
        assert len(graph.components) == 60_000  # cached before measuring
        budget = 4_000_000
        assert peak(diffuse, graph, 200.0, out=out, memory_budget=budget) <= 2 * budget

    def test_many_literal_steps_keep_to_the_budget(self):
        graph = random_graph(n=20_000, edges=80_000, d=16)
        schemes = [Euler(3.0, 3 + k) for k in range(40)]
        out = np.empty((40, 20_000, 16), dtype=np.float32)
        options = {"method": "steps", "out": out, "memory_budget": 30_000_000}
        assert peak(diffuse_many, graph, schemes, **options) <= 31_000_000
