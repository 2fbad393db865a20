import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import by_eigenvalues, dense_operator, response_matrix, rounding
from processes import start
from strategies import adjacencies, features, graphs, random_graph, schemes, stepped_schemes

from heatgraph import (
    SGC,
    SIGN,
    Euler,
    Graph,
    Heat,
    PersonalizedPageRank,
    RungeKutta4,
    diffuse,
    diffuse_many,
    plan,
)
from heatgraph._engine import kernels, ranges
from heatgraph._engine import plan as plan_module
from heatgraph._engine.threads import WorkerThreads
from heatgraph.errors import InputError, StabilityWarning

# Small random graphs are soon at their equilibrium; engine/test_oversmoothing.py tests the warning.
pytestmark = pytest.mark.filterwarnings("ignore::heatgraph.errors.CollapseWarning")

DTYPES = [np.float32, np.float64]


def dense(X, n):
    if X is None:
        return np.eye(n)
    return X.toarray() if sp.issparse(X) else X


def check(graph, scheme, result, exact, dtype, **options):
    """The error is within the certificate, and what rounding may add."""
    planned = plan(graph, scheme=scheme, dtype=dtype, **options)
    norm = np.linalg.norm(dense(graph.features, graph.num_nodes))
    schemes = scheme if isinstance(scheme, list) else [scheme]
    T = max(1 / s.alpha if isinstance(s, PersonalizedPageRank) else s.T for s in schemes)
    allowed = planned.error_bound + rounding(dtype, planned.products, T)
    assert result.dtype == dtype
    assert np.linalg.norm(result - exact) <= allowed * norm


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("self_loops", [True, False])
class TestAgainstOracles:
    @given(graph=graphs(), scheme=schemes, tol=st.sampled_from([1e-3, 1e-6, 1e-12]))
    def test_all_nodes(self, dtype, self_loops, graph, scheme, tol):
        S = dense_operator(graph.adjacency.toarray(), self_loops)
        X = dense(graph.features, graph.num_nodes)
        result = diffuse(graph, scheme=scheme, self_loops=self_loops, tol=tol, dtype=dtype)
        for oracle in (response_matrix, by_eigenvalues):
            check(graph, scheme, result, oracle(S, scheme) @ X, dtype, tol=tol)

    @given(graph=graphs(), scheme=stepped_schemes)
    def test_literal_steps(self, dtype, self_loops, graph, scheme):
        S = dense_operator(graph.adjacency.toarray(), self_loops)
        exact = response_matrix(S, scheme) @ dense(graph.features, graph.num_nodes)
        result = diffuse(graph, scheme=scheme, self_loops=self_loops, method="steps", dtype=dtype)
        check(graph, scheme, result, exact, dtype, method="steps")

    @pytest.mark.parametrize("side", ["features", "rows"])
    @pytest.mark.parametrize("method", ["chebyshev", "steps"])
    @given(data=st.data(), scheme=stepped_schemes)
    def test_rows(self, dtype, self_loops, side, method, scheme, data):
        A = data.draw(adjacencies(max_nodes=20))
        n = len(A)
        rows = np.array(
            data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True))
        )
        graph = Graph(A, data.draw(features(n, max_columns=4)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plan_module, "cheaper_side", lambda *_: side)
            options = {"method": method, "rows": rows}
            assert plan(graph, scheme=scheme, **options).side == side
            result = diffuse(graph, scheme=scheme, self_loops=self_loops, dtype=dtype, **options)
        S = dense_operator(A, self_loops)
        exact = (response_matrix(S, scheme) @ dense(graph.features, n))[rows]
        check(graph, scheme, result, exact, dtype, **options)

    @given(graph=graphs(featureless=True), scheme=schemes, data=st.data())
    def test_without_features_rows_of_the_kernel(self, dtype, self_loops, graph, scheme, data):
        rows = data.draw(st.none() | st.just([graph.num_nodes - 1]))
        S = dense_operator(graph.adjacency.toarray(), self_loops)
        exact = response_matrix(S, scheme)
        result = diffuse(graph, scheme=scheme, self_loops=self_loops, rows=rows, dtype=dtype)
        check(graph, scheme, result, exact if rows is None else exact[rows], dtype, rows=rows)

    @given(graph=graphs(), many=st.lists(schemes, min_size=1, max_size=4), data=st.data())
    def test_many(self, dtype, self_loops, graph, many, data):
        rows = data.draw(st.none() | st.just([0]) | st.just(range(graph.num_nodes - 1, -1, -2)))
        S = dense_operator(graph.adjacency.toarray(), self_loops)
        X = dense(graph.features, graph.num_nodes)
        results = diffuse_many(graph, many, self_loops=self_loops, rows=rows, dtype=dtype)
        assert len(results) == len(many)
        for scheme, result in zip(many, results, strict=True):
            exact = response_matrix(S, scheme) @ X
            check(graph, many, result, exact if rows is None else exact[rows], dtype, rows=rows)


@given(graphs(), stepped_schemes)
def test_the_two_methods_agree(graph, scheme):
    options = {"dtype": np.float64, "tol": 1e-12}
    assert_allclose(
        diffuse(graph, scheme=scheme, **options),
        diffuse(graph, scheme=scheme, method="steps", **options),
        atol=1e-10,
    )


@given(graphs(), st.floats(0, 20))
def test_many_is_one_after_the_other(graph, T):
    many = [Heat(T), Heat(20.0), Euler(T, 30), *SIGN(3), PersonalizedPageRank(0.2)]
    together = diffuse_many(graph, many, dtype=np.float64, tol=1e-13)
    for scheme, result in zip(many, together, strict=True):
        alone = diffuse(graph, scheme=scheme, dtype=np.float64, tol=1e-13)
        assert_allclose(result, alone, atol=1e-11)


@pytest.mark.filterwarnings("ignore::heatgraph.errors.StabilityWarning")
@pytest.mark.parametrize(("kind", "K"), [(Euler, 3), (Euler, 7), (RungeKutta4, 4)])
def test_unstable_steps(kind, K):
    A = np.ones((6, 6)) - np.eye(6)
    A[:3, :3] = A[3:, 3:] = 0
    graph = Graph(A, np.eye(6))
    scheme = kind(10.0, K)
    exact = response_matrix(dense_operator(A, self_loops=False), scheme)
    assert np.linalg.norm(exact, 2) > 2
    for method in ("steps", "chebyshev"):
        result = diffuse(
            graph, scheme=scheme, self_loops=False, method=method, dtype=np.float64, tol=1e-10
        )
        assert_allclose(result, exact, rtol=1e-8, atol=1e-8)
    assert plan(graph, scheme=scheme).products <= scheme.degree


@pytest.fixture
def always_sharing(monkeypatch, always_cut):
    monkeypatch.setattr(ranges, "WORTH_SHARING", 1)
    monkeypatch.setattr(ranges, "RANGE_WORK", 50_000)
    monkeypatch.setattr(ranges, "BLOCK_ROWS", 700)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("always_sharing")
class TestThreads:
    """The same bits, whatever the number of threads and whatever they share."""

    @pytest.mark.parametrize("rows", [None, np.arange(5), np.arange(2900)])
    @pytest.mark.parametrize("sparse", [False, True])
    def test_same_bits(self, weighted, dtype, rows, sparse):
        graph = random_graph(weighted=weighted)
        if sparse:
            graph = graph.with_features(sp.csr_array(graph.features))
        for method in ("chebyshev", "steps"):
            one, *others = (
                diffuse(graph, 4.0, 20, rows=rows, method=method, dtype=dtype, n_threads=k)
                for k in (1, 2, 3, 7)
            )
            for other in others:
                assert_array_equal(one, other)

    def test_same_bits_from_many_callers_at_once(self, weighted, dtype):
        graph = random_graph(weighted=weighted)
        alone = diffuse(graph, 4.0, dtype=dtype)
        results = [None] * 16

        def call(k):
            results[k] = diffuse(graph, 4.0, dtype=dtype)

        callers = [threading.Thread(target=call, args=(k,)) for k in range(16)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        for result in results:
            assert_array_equal(result, alone)


def test_the_plan_is_what_happens(monkeypatch):
    calls = []
    recur = kernels.recur
    monkeypatch.setattr(kernels, "recur", lambda *args: calls.append(args) or recur(*args))
    graph = random_graph()
    for options in ({}, {"rows": range(4)}, {"method": "steps"}):
        for scheme in (Euler(5.27, 40), Heat(3.0), SGC(2), RungeKutta4(1.0, 3), Heat(0.0)):
            if options.get("method") == "steps" and isinstance(scheme, Heat):
                continue
            calls.clear()
            planned = plan(graph, scheme=scheme, **options)
            calls.clear()
            diffuse(graph, scheme=scheme, n_threads=1, **options)
            done = [args for args in calls if args[3][1] > args[3][0]]
            assert len(done) == planned.products * len(planned.panels)
            columns = sum(args[1].current.shape[1] for args in done)
            # The last panel may be wider than there are columns for.
            assert 0 <= columns - planned.products * planned.columns < 16 * max(1, planned.products)


def test_never_more_products_than_literal_steps():
    graph = random_graph()
    for scheme in (SGC(1), SGC(2), SGC(5), Euler(0.5, 1), Euler(3, 3), RungeKutta4(0.1, 1)):
        assert plan(graph, scheme=scheme, tol=1e-13).products <= scheme.degree


class TestOut:
    @pytest.mark.parametrize("d", [70, 135])
    @pytest.mark.parametrize("n", [1, 3])
    @pytest.mark.usefixtures("always_cut")
    def test_a_panel_that_is_padded_stays_within_its_place(self, n, d):
        X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
        A = np.ones((n, n)) - np.eye(n)
        graph = Graph(A, X)
        assert len(plan(graph, 2.0).panels) > 1
        for rows, scheme in ((None, Heat(2.0)), ([0], Heat(2.0)), (None, SGC(1))):
            wanted = by_eigenvalues(dense_operator(A), scheme) @ X
            beyond = np.full((2, n if rows is None else 1, d), 7.0, dtype=np.float32)
            diffuse(graph, scheme=scheme, rows=rows, out=beyond[0])
            assert_allclose(beyond[0], wanted if rows is None else wanted[rows], atol=1e-5)
            assert (beyond[1] == 7).all()

    @pytest.mark.parametrize("d", [8, 70])
    def test_out_is_filled_and_returned(self, tmp_path, d):
        graph = random_graph(d=d)
        wanted = diffuse(graph, 4.0)
        mapped = np.lib.format.open_memmap(
            tmp_path / "out.npy", mode="w+", dtype=np.float32, shape=wanted.shape
        )
        strided = np.empty((wanted.shape[0], 2 * wanted.shape[1]), np.float32)[:, ::2]
        for out in (mapped, strided, np.empty_like(wanted, order="F")):
            assert diffuse(graph, 4.0, out=out) is out
            assert_array_equal(out, wanted)
        mapped.flush()
        assert_array_equal(np.load(tmp_path / "out.npy"), wanted)

    def test_out_of_many(self):
        graph, many = random_graph(), [Heat(1.0), Heat(2.0)]
        out = np.empty((2, 3, graph.num_features), np.float32)
        assert diffuse_many(graph, many, rows=[5, 6, 7], out=out) is out
        assert_array_equal(out, diffuse_many(graph, many, rows=[5, 6, 7]))

    def test_out_is_not_counted_as_new_memory(self):
        graph = random_graph()
        out = np.empty((graph.num_nodes, graph.num_features), np.float32)
        diffuse(graph, 4.0, out=out, memory_budget=out.nbytes // 2)

    def test_bad_out(self):
        graph = random_graph()
        shape = (graph.num_nodes, graph.num_features)
        X = np.ones(shape, np.float32)
        alias, X.flags.writeable = X[:], False
        graph = graph.with_features(X)
        frozen = np.empty(shape, np.float32)
        frozen.flags.writeable = False
        for out, message in [
            (np.empty(shape, np.float64), "float32 and shape .* Got float64 of shape"),
            (np.empty(shape[::-1], np.float32), "Got float32 of shape"),
            ([1, 2], "Got list"),
            (frozen, "read-only"),
            (alias, "share memory"),
        ]:
            with pytest.raises(InputError, match=message):
                diffuse(graph, 4.0, out=out)


class TestPrecision:
    @pytest.mark.parametrize("rows", [None, [0]])
    @pytest.mark.parametrize("size", [3e38, 1e39])
    @pytest.mark.parametrize("sparse", [False, True])
    def test_features_beyond_float32(self, size, sparse, rows):
        star = np.zeros((101, 101))
        star[0, 1:] = star[1:, 0] = 1
        X = np.full((101, 2), size)
        graph = Graph(star, sp.csr_array(X) if sparse else X)
        with pytest.raises(InputError, match=r"exceeds float32.*or pass dtype=np.float64"):
            diffuse(graph, 1.0, rows=rows)
        assert np.isfinite(diffuse(graph, 1.0, rows=rows, dtype=np.float64)).all()

    def test_growth_beyond_float32(self):
        graph = Graph(np.array([[0.0, 1], [1, 0]]), np.eye(2))
        with pytest.warns(StabilityWarning):
            scheme = Euler(1000.0, 20)
        assert abs(scheme.response(-1.0)) > np.finfo(np.float32).max
        for method in ("chebyshev", "steps"):
            with pytest.raises(InputError, match="exceeds float32: .* unstable steps amplify"):
                diffuse(graph, scheme=scheme, self_loops=False, method=method)
        assert np.isfinite(diffuse(graph, scheme=scheme, dtype=np.float64)).all()

    def test_float32_stays_near_float64(self):
        graph = random_graph()
        single = diffuse(graph, 6.0, tol=1e-10)
        double = diffuse(graph, 6.0, tol=1e-10, dtype=np.float64)
        assert np.linalg.norm(single - double) <= 1e-6 * np.linalg.norm(double)


class TestLargeTimes:
    """S rounded to float32 has a norm of 1 + 1e-7, whose T-th power would not be 1."""

    @pytest.mark.parametrize(
        "scheme", [*map(Heat, (1, 10, 100, 1e3, 3e3, 1e4, 1e6, 1e8)), PersonalizedPageRank(1e-6)]
    )
    def test_ones_stay_ones(self, scheme):
        graph = Graph(np.ones((58, 58)) - np.eye(58), np.ones((58, 1)))
        result = diffuse(graph, scheme=scheme)
        planned = plan(graph, scheme=scheme)
        assert result.dtype == np.float32
        T = min(getattr(scheme, "T", 0), 1e3)
        assert np.abs(result - 1).max() <= planned.error_bound + rounding(
            np.float32, 0, T
        ) + rounding(np.float64, planned.products, 1e8)

    def test_the_budget_knows(self):
        graph = random_graph()
        assert plan(graph, 1e4).memory > plan(graph, 5.0).memory

    def test_literal_steps_too(self):
        graph = Graph(np.ones((58, 58)) - np.eye(58), np.ones((58, 1)))
        result = diffuse(graph, 1e4, 10**4, method="steps")
        assert_allclose(result, 1, rtol=1e-5)


class TestSmallGraphs:
    def test_isolated_nodes_without_self_loops(self):
        graph = Graph(np.diag([0.0, 0.0]) + np.zeros((2, 2)), np.eye(2))
        assert_allclose(diffuse(graph, 1e4, self_loops=False), np.eye(2), rtol=1e-4)

    @pytest.mark.parametrize("self_loops", [True, False])
    def test_one_node_keeps_its_features(self, self_loops):
        graph = Graph(np.zeros((1, 1)), np.array([[3.0, 4.0]]))
        assert_allclose(diffuse(graph, 7.0, self_loops=self_loops), [[3, 4]], rtol=1e-6)

    def test_no_time_is_no_change(self):
        graph = random_graph()
        for result in (diffuse(graph, 0), diffuse(graph, 0, 0), diffuse(graph, 0.0, 5)):
            assert_array_equal(result, graph.features)
        assert plan(graph, 0).products == 0

    def test_no_rows(self):
        assert diffuse(random_graph(), 4.0, rows=[]).shape == (0, 70)
        assert diffuse_many(random_graph(), [Heat(1.0)], rows=[]).shape == (1, 0, 70)

    def test_repeated_rows_in_any_order(self):
        graph = random_graph()
        rows = [5, 2, 5]
        assert_allclose(diffuse(graph, 4.0, rows=rows), diffuse(graph, 4.0)[rows], atol=1e-5)


class TestBadArguments:
    GRAPH = Graph(np.ones((3, 3)), np.eye(3))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"T": None}, "T is missing"),
            ({"method": "euler"}, "method must be 'auto', 'chebyshev' or 'steps'. Got 'euler'"),
            ({"method": "steps"}, r"Heat\(T=1.0\) has no literal steps"),
            ({"tol": 0.0}, r"tol must be a number in \[1e-13, 1\). Got 0.0"),
            ({"tol": 2.0}, "tol must be"),
            ({"tol": float("nan")}, "tol must be"),
            ({"tol": "1e-6"}, "tol must be"),
            ({"dtype": np.float16}, "dtype must be float32 or float64. Got .*float16"),
            ({"dtype": int}, "dtype must be"),
            ({"rows": [7]}, r"rows\[0\]: node 7 is outside"),
            ({"n_threads": 0}, "n_threads must be"),
            ({"memory_budget": "lots"}, "memory_budget must be"),
            ({"scheme": [Heat(1.0)]}, "scheme must be one of.*there is diffuse_many"),
            ({"dtype": None}, "dtype must be"),
        ],
    )
    def test_diffuse(self, options, message):
        with pytest.raises(InputError, match=message):
            diffuse(self.GRAPH, **{"T": 1.0, **options})

    def test_not_a_graph(self):
        with pytest.raises(InputError, match="graph must be a heatgraph.Graph. Got ndarray"):
            diffuse(np.eye(3), 1.0)

    def test_plan(self):
        with pytest.raises(InputError, match="scheme must be one of"):
            plan(self.GRAPH, 3.0, scheme=[Heat(1.0)])
        with pytest.raises(InputError, match="schemes must be a list"):
            plan(self.GRAPH, scheme=5)

    @pytest.mark.parametrize("bad", [[], [1.0, 2.0], [Heat(1.0), "heat"], Heat(1.0), None])
    def test_diffuse_many(self, bad):
        with pytest.raises(InputError, match="schemes must be a list of scheme objects"):
            diffuse_many(self.GRAPH, bad)


class TestProgress:
    @pytest.mark.parametrize("threads", [1, 2])
    def test_counts_up_to_the_end(self, threads):
        seen = []
        graph = random_graph(d=300)
        diffuse(graph, 4.0, n_threads=threads, progress=lambda *counts: seen.append(counts))
        planned = plan(graph, 4.0)
        total = planned.products * len(planned.panels)
        assert len(planned.panels) > 1
        assert seen == [(k + 1, total) for k in range(total)]

    def test_its_exception_stops_the_work(self):
        def stop(done, total):
            raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            diffuse(random_graph(d=300), 4.0, n_threads=2, progress=stop)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("kernel", "rows", "bounds"),
    [("recur", None, lambda args: args[3]), ("combine", range(900), lambda args: args[3])],
)
@pytest.mark.usefixtures("always_sharing")
def test_ctrl_c_stops_at_the_end_of_a_range(monkeypatch, kernel, rows, bounds, threads):
    """Ctrl-C comes in the middle of a range: no thread begins another one.

    `bounds` gives the range of rows out of the kernel's arguments.
    """
    ranges_begun, stopping = [], threading.Event()
    compute, leave = getattr(kernels, kernel), WorkerThreads.__exit__

    def interrupted(*args):
        start, stop = bounds(args)
        if start == stop:  # compiling
            return compute(*args)
        ranges_begun.append((start, stop))
        if len(ranges_begun) == 1:
            signal.raise_signal(signal.SIGINT)
        assert stopping.wait(60)
        return compute(*args)

    def exit_and_tell(self, *args):
        stopping.set()
        return leave(self, *args)

    graph = random_graph(d=32)
    options = {"rows": rows, "n_threads": threads}
    diffuse(graph, 3.0, **options)  # compiles
    monkeypatch.setattr(kernels, kernel, interrupted)
    monkeypatch.setattr(WorkerThreads, "__exit__", exit_and_tell)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            diffuse(graph, 3.0, **options)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert 1 <= len(ranges_begun) <= threads
    assert all(stop - start < graph.num_nodes for start, stop in ranges_begun)


ENDLESS_JOB = """
    import numpy as np, heatgraph as hg
    random = np.random.default_rng(0)
    src, dst = random.integers(0, 200_000, (2, 2_000_000))
    graph = hg.Graph.from_edges(src, dst, features=np.ones((200_000, 64), np.float32),
                                symmetrize="max")
    def report(done, total):
        if done == 1:
            print("running", flush=True)
    hg.diffuse(graph, 1e7, n_threads={threads}, progress=report)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.signals
@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_the_process(threads):
    code = textwrap.dedent(ENDLESS_JOB.format(threads=threads))
    process = start(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_after_threads_does_not_hang():
    job = """
        import multiprocessing, numpy as np, heatgraph as hg
        graph = hg.Graph(np.ones((50, 50)), np.ones((50, 100)))
        hg.diffuse(graph, 1.0, n_threads=2)
        context = multiprocessing.get_context("fork")
        child = context.Process(target=hg.diffuse, args=(graph, 1.0), kwargs={"n_threads": 2})
        child.start()
        child.join(60)
        print(child.exitcode)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(job)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "0\n", done.stderr


class TestPubmed:
    """The published setting on the real data: T = 6.0498, K = 900."""

    SCHEME = Euler(6.0498, 900)

    def test_products(self, pubmed):
        planned = plan(pubmed.graph, scheme=self.SCHEME)
        assert planned.products <= 16
        assert planned.error_bound <= 1e-6

    def test_rows_are_the_rows(self, pubmed):
        assert plan(pubmed.graph, scheme=self.SCHEME, rows=pubmed.split.train).side == "rows"
        everywhere = diffuse(pubmed.graph, scheme=self.SCHEME)
        rows = diffuse(pubmed.graph, scheme=self.SCHEME, rows=pubmed.split.train)
        wanted = everywhere[pubmed.split.train]
        assert np.linalg.norm(rows - wanted) <= 1e-5 * np.linalg.norm(wanted)
