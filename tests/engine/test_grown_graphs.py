"""Scores at new nodes from their neighbourhood: against dense matrix functions of the whole."""

from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import dense_operator, response_matrix, rounding
from strategies import adjacencies, precisions, schemes, seeds

from heatgraph import Graph, Heat
from heatgraph._engine import grown_graphs
from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph._engine.grown_graphs import Change, ClenshawVectors, local_scores


@contextmanager
def growing(step_by_step=False):
    """Never give up; perhaps start from the sources alone, and grow around one node at a time."""

    def around_one(graph, nodes, parts, share):
        return grown_graphs._with_neighbours(graph, nodes, nodes[[parts.argmax()]])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grown_graphs, "MAX_SHARE", np.inf)
        if step_by_step:
            patch.setattr(grown_graphs, "FEW_NEIGHBOURS", 0)
            patch.setattr(grown_graphs, "_grow", around_one)
        yield


def split(A, R, changed=None):
    """A graph without the last R nodes of A, with other edges in part, and the change to A."""
    n = len(A) - R
    before = np.zeros_like(A)
    before[:n, :n] = A[:n, :n] if changed is None else changed
    rows, cols = np.nonzero(A - before)
    return Graph(sp.csr_array(before[:n, :n])), rows, cols, (A - before)[rows, cols]


def compute(A, R, x, scheme, self_loops, tol, dtype, changed=None):
    n = len(A) - R
    graph, rows, cols, values = split(A, R, changed)
    before = ClenshawVectors.compute(graph, x[:n], scheme, self_loops, tol, dtype, 1)
    return local_scores(before, Change(x[n:], rows, cols, values))


def check(A, R, x, scheme, self_loops, tol, dtype, changed=None):
    found = compute(A, R, x, scheme, self_loops, tol, dtype, changed)
    expected = (response_matrix(dense_operator(A, self_loops), scheme) @ x)[len(A) - R :]
    s = np.linspace(-1, 1, 1001)
    norm = max(1, np.abs(scheme.response(s)).max())
    K = len(chebyshev_series(scheme, tol / 2)[0])
    allowed = norm * (tol + 4 * rounding(dtype, K, getattr(scheme, "T", 0)))
    assert (np.abs(found.scores - expected) <= allowed * np.linalg.norm(x, axis=0)).all()
    assert found.error_bound <= norm * tol / 2
    return found


@given(adjacencies(14), schemes, st.booleans(), precisions, st.sampled_from([1e-3, 1e-6]), seeds)
def test_agrees_with_dense_matrices(A, scheme, self_loops, dtype, tol, seed):
    random = np.random.default_rng(seed)
    R = random.integers(1, len(A) + 1) if len(A) > 1 else 1
    if len(A) == R:
        A = np.pad(A, ((1, 0), (1, 0)))
    x = random.normal(size=(len(A), 3)).astype(dtype).astype(np.float64)
    with growing():
        check(A, R, x, scheme, self_loops, tol, dtype)


@given(adjacencies(30), schemes, st.booleans(), st.sampled_from([1e-1, 1e-3, 1e-6]), seeds)
def test_the_bound_holds_in_any_neighbourhood(A, scheme, self_loops, tol, seed):
    random = np.random.default_rng(seed)
    A = np.pad(A, ((3, 0), (3, 0)))
    x = random.normal(size=(len(A), 2))
    with growing(step_by_step=True):
        check(A, 1, x, scheme, self_loops, tol, np.dtype(np.float64))


@given(adjacencies(12), schemes, st.booleans(), precisions, seeds)
def test_edges_between_known_nodes_may_change(A, scheme, self_loops, dtype, seed):
    random = np.random.default_rng(seed)
    A = np.pad(A, ((2, 0), (2, 0)))
    n = len(A) - 1
    changed = A[:n, :n].copy()
    v, w = random.integers(0, n, (2, 3))
    changed[v, w] = changed[w, v] = random.choice([0.0, 1.0, 0.5])
    x = random.normal(size=(len(A), 2)).astype(dtype).astype(np.float64)
    with growing():
        check(A, 1, x, scheme, self_loops, 1e-6, dtype, changed)


def ring(n):
    A = np.zeros((n, n))
    A[np.arange(n), np.arange(n) - 1] = A[np.arange(n) - 1, np.arange(n)] = 1
    return A


def test_a_neighbourhood_of_a_large_ring_is_small():
    x = np.random.default_rng(0).normal(size=(900, 2))
    found = check(ring(900), 1, x, Heat(2.0), True, 1e-6, np.dtype(np.float64))
    assert found.num_nodes < 30
    assert found.work < 0.2 * found.full_work
    assert found.error_bound > 0


def test_a_hub_keeps_its_neighbours_out():
    """A new node beside the hub of a star: its other neighbours hardly matter to it."""
    n = 3000
    A = sp.lil_array((n, n))
    A[0, 1:] = A[1:, 0] = 1
    A = sp.csr_array(A)
    x = np.random.default_rng(0).normal(size=(n, 2))
    graph = Graph(A[: n - 1, : n - 1])
    before = ClenshawVectors.compute(
        graph, x[: n - 1], Heat(1.0), True, 1e-4, np.dtype(np.float64), 1
    )
    found = local_scores(before, Change(x[n - 1 :], np.array([0, n - 1]), np.array([n - 1, 0]),
                                        np.ones(2)))  # fmt: skip
    assert found.num_nodes == 2
    whole = ClenshawVectors.compute(Graph(A), x, Heat(1.0), True, 1e-12, np.dtype(float), 1)
    b = np.concatenate([whole.vectors, np.zeros((n, 2, 2))], axis=1)
    S = Graph(A).operator(True, np.float64).to_scipy()
    expected = (whole.coefficients[0] * x + S @ b[:, 0] - b[:, 1])[-1]
    assert (np.abs(found.scores[0] - expected) <= 1e-4 * np.linalg.norm(x, axis=0)).all()


def test_gives_up_where_everything_is_near():
    x = np.ones((40, 2))
    A = np.ones((40, 40)) - np.eye(40)
    assert compute(A, 1, x, Heat(3.0), True, 1e-6, np.dtype(np.float32)) is None
    assert compute(ring(40), 30, x, Heat(3.0), True, 1e-6, np.dtype(np.float32)) is None


def test_without_diffusion_nothing_is_touched():
    x = np.arange(8.0).reshape(4, 2)
    found = compute(ring(4), 1, x, Heat(0.0), True, 1e-6, np.dtype(np.float64))
    np.testing.assert_allclose(found.scores, x[3:])
    assert found.work == 0


@given(adjacencies(25), schemes, st.booleans(), seeds)
def test_the_error_of_any_set_of_nodes_is_within_its_bound(A, scheme, self_loops, seed):
    """Not only where growth stops: scores within a random set, however large the bound is."""
    random = np.random.default_rng(seed)
    A = np.pad(A, ((3, 0), (3, 0)))
    n, x = len(A) - 2, random.normal(size=(len(A), 2))
    graph, rows, cols, values = split(A, 2)
    before = ClenshawVectors.compute(
        graph, x[:n], scheme, self_loops, 1e-12, np.dtype(np.float64), 1
    )
    if len(before.coefficients) == 1:
        return
    change = Change(x[n:], rows, cols, values)
    sources = grown_graphs._Sources.of(before, change)
    others = np.flatnonzero(random.random(n) < random.random())
    nodes = np.union1d(sources.nodes, others)
    block = grown_graphs._Neighbourhood.of(before, change, sources, nodes)
    scores, t, d = grown_graphs._diffuse(sources, block, 2)
    norms = np.linalg.norm(x, axis=0)
    bound, parts = grown_graphs._bound(block.leaving, t, d, norms)
    expected = (response_matrix(dense_operator(A, self_loops), scheme) @ x)[n:]
    slack = 1e-12 + 4 * rounding(float, len(before.coefficients), getattr(scheme, "T", 0))
    assert (np.abs(scores - expected) <= (bound + before.norm * slack) * norms).all()
    assert bound == 0 or (parts > 0).any()  # there is a node to grow around
