import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import dense_operator
from strategies import graphs

from heatgraph import (
    SGC,
    Euler,
    Graph,
    Heat,
    PersonalizedPageRank,
    RungeKutta4,
    diffuse,
    theory,
)
from heatgraph.errors import InputError

# Small graphs are soon smoothed away, which here is the point.
pytestmark = pytest.mark.filterwarnings("ignore::heatgraph.errors.CollapseWarning")


def communities(n=600, d=3, seed=0):
    """Two components, each of two loosely tied communities, and an isolated node."""
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, n // 2, (2, 6 * n))
    crossing = (src < n // 4) != (dst < n // 4)
    keep = ~crossing | (random.random(len(src)) < 0.02)
    src, dst = src[keep], dst[keep]
    half = n // 2
    return Graph.from_edges(
        np.concatenate([src, src + half]),
        np.concatenate([dst, dst + half]),
        features=random.normal(size=(n + 1, d)),
        symmetrize="max",
    )


@pytest.mark.parametrize("self_loops", [True, False])
class TestSpectrum:
    @given(graph=graphs())
    def test_small_graphs(self, self_loops, graph):
        S = dense_operator(graph.adjacency.toarray(), self_loops)
        eigenvalues = np.linalg.eigvalsh(np.eye(len(S)) - S)
        ends = theory.spectrum(graph, self_loops)
        positive = eigenvalues[len(set(graph.components)) :]
        assert ends.largest == pytest.approx(eigenvalues[-1], abs=1e-12)
        assert ends.gap == pytest.approx(positive.min(initial=math.inf), abs=1e-12)

    def test_sparse_solver(self, self_loops):
        graph = communities()
        assert graph.num_nodes > theory._DENSE_NODES
        S = dense_operator(graph.adjacency.toarray(), self_loops)
        eigenvalues = np.linalg.eigvalsh(np.eye(len(S)) - S)
        components = len(set(graph.components))
        ends = theory.spectrum(graph, self_loops)
        assert components >= 3
        assert ends.gap == pytest.approx(eigenvalues[components], abs=1e-9)
        assert ends.largest == pytest.approx(eigenvalues[-1], abs=1e-9)

    def test_sparse_solver_where_all_else_is_negative(self, self_loops):
        n = theory._DENSE_NODES + 44
        ends = theory.spectrum(Graph(np.ones((n, n)) - np.eye(n)), self_loops)
        assert ends.gap == pytest.approx(1.0 if self_loops else n / (n - 1), abs=1e-9)


def test_self_loops_shrink_the_spectrum():
    """What the paper says of its two Laplacians."""
    graph = communities()
    with_loops, without = (theory.spectrum(graph, loops).largest for loops in (True, False))
    assert with_loops < without


class TestSmoothing:
    @given(graph=graphs(), T=st.floats(0, 30), self_loops=st.booleans())
    def test_heat_decays_at_least_at_the_rate_of_the_gap(self, graph, T, self_loops):
        ends = theory.spectrum(graph, self_loops)
        before, after = theory.smoothing(graph, [Heat(0), Heat(T)], self_loops)
        rate = 0.0 if math.isinf(ends.gap) else math.exp(-2 * T * ends.gap)
        assert -1e-12 <= after <= before * rate + 1e-10

    @given(graphs(), st.booleans())
    def test_energy_is_a_sum_over_edges(self, graph, self_loops):
        X = graph.features
        X = X.toarray() if hasattr(X, "toarray") else X
        A = graph.adjacency.toarray() + self_loops * np.eye(graph.num_nodes)
        degrees = np.where(A.sum(1) > 0, A.sum(1), 1)
        Y = X / np.sqrt(degrees)[:, None]
        pairs = np.sum((Y[:, None] - Y[None]) ** 2, axis=2)
        assert theory.dirichlet_energy(graph, self_loops) == pytest.approx(
            np.sum(A * pairs) / 2, abs=1e-10
        )

    @pytest.mark.parametrize("self_loops", [True, False])
    def test_the_limit_is_the_equilibrium(self, self_loops):
        graph = communities(n=40)
        late = diffuse(graph, 1e5, self_loops=self_loops, dtype=np.float64, tol=1e-13)
        np.testing.assert_allclose(late, theory.equilibrium(graph, self_loops), atol=1e-9)
        still = graph.with_features(theory.equilibrium(graph, self_loops))
        assert theory.dirichlet_energy(still, self_loops) == pytest.approx(0, abs=1e-10)

    def test_more_sgc_steps_smooth_more_but_more_euler_steps_do_not(self):
        graph = communities()
        sgc = theory.smoothing(graph, [SGC(k) for k in (1, 10, 100)])
        euler = theory.smoothing(graph, [Euler(5.0, k) for k in (10, 100, 1000)])
        heat = theory.smoothing(graph, [Heat(5.0)])[0]
        assert sgc[0] > 10 * sgc[1] > 100 * sgc[2]
        assert (np.diff(np.abs(euler - heat)) < 0).all()
        assert euler[2] == pytest.approx(heat, rel=0.01)

    def test_sgc_does_not_smooth_a_bipartite_graph_without_self_loops(self):
        graph = Graph(np.array([[0.0, 1], [1, 0]]), np.array([[1.0], [-1.0]]))
        energies = theory.smoothing(graph, [SGC(0), SGC(101)], self_loops=False)
        assert energies[0] == pytest.approx(energies[1])

    def test_features_are_needed(self):
        for attempt in (theory.dirichlet_energy, lambda g: theory.smoothing(g, [Heat(1.0)])):
            with pytest.raises(InputError, match="no features"):
                attempt(Graph(np.ones((2, 2))))


class TestNumericalError:
    @settings(max_examples=25)
    @given(graph=graphs(), T=st.floats(0.1, 8), K=st.integers(8, 100), self_loops=st.booleans())
    def test_theorem_2(self, graph, T, K, self_loops):
        X = graph.features
        norm_X = np.linalg.norm(X.toarray() if hasattr(X, "toarray") else X)
        norm_L = theory.spectrum(graph, self_loops).largest
        bound = theory.euler_error_bound(T, K, norm_L, norm_X)
        assert theory.numerical_error(graph, Euler(T, K), self_loops) <= bound + 1e-10

    @pytest.mark.parametrize(
        ("kind", "steps"), [(Euler, (100, 200, 400)), (RungeKutta4, (20, 40, 80))]
    )
    @pytest.mark.parametrize("self_loops", [True, False])
    def test_orders_are_fitted(self, kind, steps, self_loops):
        graph = communities()
        errors = [theory.numerical_error(graph, kind(3.0, K), self_loops) for K in steps]
        assert theory.convergence_order(steps, errors) == pytest.approx(kind.order, abs=0.15)

    def test_the_bound_is_the_papers(self):
        assert theory.euler_error_bound(3.0, 7, 1.5, 2.0) == pytest.approx(
            3.0 * 1.5 * 2.0 / (2 * 7) * (math.exp(3.0 * 1.5) - 1)
        )
        assert theory.euler_error_bound(0.0, 0, 2.0, 1.0) == 0
        assert theory.euler_error_bound(400.0, 500, 2.0, 1.0) == math.inf

    def test_schemes_without_steps_have_no_such_error(self):
        with pytest.raises(InputError, match="as Euler has. Got PersonalizedPageRank"):
            theory.numerical_error(communities(40), PersonalizedPageRank(0.1))

    def test_self_loops_lower_the_bound(self):
        """What the paper concludes from the spectra; the true error need not follow."""
        with_loops, without = (
            theory.euler_error_bound(5.0, 50, theory.spectrum(communities(), loops).largest, 1.0)
            for loops in (True, False)
        )
        assert with_loops < without


T_STAR = 2.0


@pytest.fixture(scope="module")
def problem():
    return theory.CorruptedRegression.draw(communities(), T_STAR, noise=0.3)


class TestRisk:
    def test_clean_features_are_what_was_corrupted(self, problem):
        S = dense_operator(problem.graph.adjacency.toarray())
        eigenvalues, U = np.linalg.eigh(np.eye(len(S)) - S)
        corrupted = (U * np.exp(T_STAR * eigenvalues)) @ U.T @ problem.clean
        np.testing.assert_allclose(corrupted, problem.graph.features, atol=1e-8)

    def test_risk_is_the_expectation(self, problem):
        random = np.random.default_rng(1)
        X_T = diffuse(problem.graph, 1.0, 20, dtype=np.float64)
        signal = problem.clean @ problem.W
        Y = signal + problem.noise * random.standard_normal((4000, len(signal)))
        sampled = np.mean(np.sum((Y - X_T @ problem.W) ** 2, axis=1))
        assert problem.risk([Euler(1.0, 20)])[0] == pytest.approx(sampled, rel=0.01)

    def test_least_near_the_true_time(self, problem):
        times = np.linspace(0, 4, 81)
        risks = problem.risk([Heat(T) for T in times])
        assert times[risks.argmin()] == pytest.approx(T_STAR)
        assert risks.min() == pytest.approx(problem.least_risk)
        assert (np.diff(risks[:41]) < 0).all()
        assert (np.diff(risks[40:]) > 0).all()

    def test_more_steps_less_risk(self, problem):
        risks = problem.risk([Euler(T_STAR, K) for K in (2, 4, 8, 16, 32)])
        assert (np.diff(risks) < 0).all()
        excess = risks - problem.least_risk
        order = theory.convergence_order([8, 16, 32], excess[2:])
        assert order == pytest.approx(2, abs=0.3)

    @pytest.mark.parametrize("scheme", [Euler(2.0, 10), Euler(1.0, 5), Euler(3.0, 50), SGC(2)])
    def test_theorem_3(self, problem, scheme):
        risk = problem.risk([scheme])[0]
        assert problem.least_risk < risk <= problem.risk_bound(scheme)

    def test_the_bound_is_the_papers(self, problem):
        scheme = Euler(3.0, 50)
        S = dense_operator(problem.graph.adjacency.toarray())
        x, U = np.linalg.eigh(np.eye(len(S)) - S)
        e_hat = (U * ((1 - 3.0 / 50 * x) ** 50 - np.exp(-3.0 * x))) @ U.T @ problem.graph.features
        mistimed = np.exp(2 * T_STAR * x[-1]) * np.abs(np.exp(-T_STAR * x) - np.exp(-3 * x)).max()
        mistimed *= np.abs(np.exp(-T_STAR * x) - np.exp(-3 * x)).max()
        bound = problem.least_risk + 2 * np.sum(problem.W**2) * (
            np.linalg.norm(e_hat) ** 2 + np.sum(problem.clean**2) * mistimed
        )
        assert problem.risk_bound(scheme) == pytest.approx(bound, rel=0.02)

    def test_the_bound_overflows_to_infinity(self):
        problem = theory.CorruptedRegression.draw(communities(40), 400.0)
        assert problem.risk_bound(Euler(1.0, 10)) == math.inf

    def test_the_bound_is_least_at_the_true_time(self, problem):
        times = np.linspace(0.5, 4, 15)
        bounds = [problem.risk_bound(Euler(T, 1000)) for T in times]
        assert times[np.argmin(bounds)] == pytest.approx(T_STAR)

    @given(st.floats(0, 5), st.floats(0, 5), st.floats(0.1, 2))
    def test_distance_of_heat_kernels(self, T1, T2, largest):
        x = np.linspace(0, largest, 2001)
        sampled = np.abs(np.exp(-T1 * x) - np.exp(-T2 * x)).max()
        assert theory._heat_distance(T1, T2, largest) == pytest.approx(sampled, abs=1e-5)
