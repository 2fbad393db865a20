import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import graphs

from heatgraph import Euler, Graph, Heat, PersonalizedPageRank, diffuse, diffuse_many, theory
from heatgraph._engine import oversmoothing
from heatgraph._engine.oversmoothing import may_oversmooth, warn_if_oversmoothed
from heatgraph.errors import CollapseWarning

RANDOM = np.random.default_rng(0)
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def is_oversmoothed(graph, X_T, rows=None, self_loops=True):
    """Whether a result (n, d) is warned of, when the scheme says nothing against it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_oversmoothed(graph, [Heat(1e6)], rows, self_loops, X_T[np.newaxis])
    return [warning.category for warning in caught] == [CollapseWarning]


class TestSuspicion:
    def test_short_times_are_not_suspected(self):
        assert not may_oversmooth(Heat(5.0), SINGLE)
        assert not may_oversmooth(PersonalizedPageRank(0.1), SINGLE)
        assert may_oversmooth(Heat(100.0), SINGLE)

    def test_a_response_that_returns_is_not_suspected(self):
        """Euler steps of size 1 give r(s) = s^K, which is 0 at s = 0 and 1 at s = -1."""
        assert not may_oversmooth(Euler(50.0, 50), SINGLE)

    def test_float64_takes_longer(self):
        assert may_oversmooth(Heat(20.0), SINGLE)
        assert not may_oversmooth(Heat(20.0), DOUBLE)


class TestEquilibrium:
    @given(graphs(), st.booleans(), st.sampled_from([SINGLE, DOUBLE]))
    def test_the_equilibrium_is_oversmoothed(self, graph, self_loops, dtype):
        X = theory.equilibrium(graph, self_loops).astype(dtype)
        alone = len(set(graph.components)) == graph.num_nodes
        assert is_oversmoothed(graph, X, None, self_loops) is not alone

    @given(graphs(), st.data())
    def test_one_row_that_differs_is_not(self, graph, data):
        X = theory.equilibrium(graph)
        component = graph.components
        shared = [i for i in range(len(X)) if (component == component[i]).sum() > 1]
        if shared and np.abs(X).max() > 0:
            X[data.draw(st.sampled_from(shared))] += 0.01 * np.abs(X).max()
            assert not is_oversmoothed(graph, X)

    @pytest.mark.parametrize("size", [1, 3, 100])
    def test_blocks_do_not_matter(self, monkeypatch, size):
        monkeypatch.setattr(oversmoothing, "BLOCK_SIZE", size)
        A = np.kron(np.eye(2), np.ones((5, 5)))
        graph = Graph(A, RANDOM.normal(size=(10, 4)))
        X = theory.equilibrium(graph)
        assert is_oversmoothed(graph, X)
        X[-1, -1] += 0.1
        assert not is_oversmoothed(graph, X)
        assert is_oversmoothed(graph, X[:9], rows=np.arange(9))


class TestWarning:
    GRAPH = Graph(np.kron(np.eye(2), np.ones((3, 3))), RANDOM.normal(size=(6, 2)))

    def test_a_huge_time_is_finite_and_warned_of_at_the_callers_line(self):
        with pytest.warns(CollapseWarning, match=r"Heat\(T=1000000.0\) has smoothed") as caught:
            result = diffuse(self.GRAPH, 1e6)
        assert np.isfinite(result).all()
        assert_allclose(result, np.repeat(result[[0, 3]], 3, axis=0), rtol=1e-4)
        assert caught[0].filename == __file__

    def test_at_rows_and_in_many(self):
        with pytest.warns(CollapseWarning):
            diffuse(self.GRAPH, 1e4, rows=[0, 1, 4])
        with pytest.warns(CollapseWarning) as caught:
            diffuse_many(self.GRAPH, [Heat(1.0), Heat(1e4)])
        assert len(caught) == 1

    @pytest.mark.parametrize("T", [20.0, 100.0, 150.0])
    def test_a_wide_spectral_gap_oversmooths_early(self, T):
        with pytest.warns(CollapseWarning):
            diffuse(self.GRAPH, T)

    def test_isolated_nodes_do_not_hide_it(self):
        A = np.zeros((4, 4))
        A[:3, :3] = 1
        with pytest.warns(CollapseWarning):
            diffuse(Graph(A, np.eye(4)), 1e3, self_loops=False)

    @pytest.mark.filterwarnings("error")
    def test_no_warning_while_rows_differ(self):
        diffuse(self.GRAPH, 1e4, rows=[0, 4])
        diffuse(self.GRAPH, 5.0)
        n = 200
        ring = Graph.from_edges(
            np.arange(n),
            (np.arange(n) + 1) % n,
            features=RANDOM.normal(size=(n, 2)),
            symmetrize="max",
        )
        diffuse(ring, 500.0)
