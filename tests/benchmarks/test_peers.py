import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import peers
from benchmarks.workloads import Workload, write_arrays
from heatgraph import make_block_graph


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workload")
    write_arrays(make_block_graph(50, 120, 3, 4), folder)
    return Workload(folder)


def mark_torch(names):
    return [
        pytest.param(name, marks=pytest.mark.torch) if name.startswith(("torch", "PyG ")) else name
        for name in names
    ]


def build(factory, *arguments):
    try:
        return factory(*arguments)
    except ImportError as error:
        pytest.skip(f"{error.name} is not installed")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", mark_torch(peers.MULTIPLIERS))
def test_multiplier_computes_the_product(name, workload):
    S, X = workload.S(), workload.dense_features()
    multiplier = build(peers.MULTIPLIERS[name], S)
    product = multiplier.to_numpy(multiplier.multiply(multiplier.from_numpy(X)))
    np.testing.assert_allclose(product, S @ X, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", mark_torch(peers.HEAT_FILTERS))
def test_heat_filter_applies_the_matrix_exponential(name, workload):
    T = 2.0
    L = sp.eye_array(50) - workload.S().astype(float)
    heat = build(peers.HEAT_FILTERS[name], workload, T, 20)
    X = workload.dense_features().astype(heat.dtype)
    values, vectors = np.linalg.eigh(L.toarray())
    expected = vectors @ (np.exp(-T * values)[:, None] * (vectors.T @ X))
    np.testing.assert_allclose(heat.apply(X), expected, atol=1e-5)


def test_euler_step_is_computed_in_place(workload):
    S = workload.S()
    expected = 0.75 * np.eye(50) + 0.25 * S.toarray()
    assert peers.euler_step(S, 1.0, 4) is S
    np.testing.assert_allclose(S.toarray(), expected, atol=1e-6)


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(peers.time, "perf_counter", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("K", "budget", "taken", "seconds"),
    [
        (5, 60, 5, 5),  # within the budget, all steps are taken
        (1000, 10, 3, 1000),  # beyond it, the fewest
        (1000, 100, 11, 1000),  # but no less than a tenth of the budget is spent
    ],
)
def test_steps_are_extrapolated_beyond_the_budget_only(clock, K, budget, taken, seconds):
    def step(x):
        clock[0] += 1.0
        return x + 1

    assert peers.take_steps(step, 0, K, budget) == peers.Steps(taken, taken, seconds)


def test_columns_are_reduced_to_what_the_budget_affords(clock):
    def apply(X):
        clock[0] += X.shape[1]

    X = np.ones((3, 100))
    assert peers.affordable_columns(apply, X, budget=100) == 100
    assert peers.affordable_columns(apply, X, budget=60) == 30
