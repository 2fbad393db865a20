import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from numpy.polynomial.chebyshev import chebval
from scipy.special import ive
from strategies import schemes

from heatgraph import SGC, Euler, Heat, PersonalizedPageRank, RungeKutta4
from heatgraph._engine import chebyshev
from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph.errors import InputError, StabilityWarning

S_RANGE = np.cos(np.linspace(0, np.pi, 2001))


@given(schemes, st.sampled_from([1e-2, 1e-6, 1e-10, 1e-13]))
def test_the_bound_holds(scheme, tol):
    coefficients, bound = chebyshev_series(scheme, tol)
    error = np.abs(chebval(S_RANGE, coefficients) - scheme.response(S_RANGE)).max()
    assert bound <= max(tol, 2e-12)
    assert error <= bound + 1e-13


@pytest.mark.parametrize(
    ("scheme", "tol"),
    [
        (Euler(5.3, 10**5), 1e-13),
        (Euler(5.3, 10**9), 1e-10),
        (RungeKutta4(5.3, 10**5), 1e-13),
        (Heat(5.3), 1e-13),
        (Heat(1e4), 1e-13),
        (PersonalizedPageRank(1e-3), 1e-13),
        (SGC(1000), 1e-13),
    ],
)
def test_the_bound_holds_in_exact_arithmetic(scheme, tol):
    """The bound covers rounding of samples and coefficients: checked with 40 digits."""
    coefficients, bound = chebyshev_series(scheme, tol)
    with mp.workdps(40):
        exact = [mp.mpf(float(c)) for c in coefficients]
        for s in map(mp.mpf, [-1, -0.999999, -0.5, 0, 0.3, 0.9, 0.999, 0.9999999, 1]):
            angle = mp.acos(s)
            series = mp.fsum(c * mp.cos(k * angle) for k, c in enumerate(exact))
            assert abs(series - exact_response(scheme, 1 - s)) <= bound


def exact_response(scheme, x):
    match scheme:
        case Heat(T):
            return mp.exp(-mp.mpf(T) * x)
        case PersonalizedPageRank(alpha):
            return mp.mpf(alpha) / (1 - (1 - mp.mpf(alpha)) * (1 - x))
    z = -mp.mpf(scheme.T) / scheme.K * x
    step = 1 + z if isinstance(scheme, Euler) else 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24
    return step**scheme.K


def test_the_bound_covers_aliasing(monkeypatch):
    """With far too few samples, the error is large and the bound holds."""
    monkeypatch.setattr(chebyshev, "_TAIL_TOLERANCE", 1.0)
    scheme = PersonalizedPageRank(0.012345)
    coefficients, bound = chebyshev_series(scheme, 1e-6)
    error = np.abs(chebval(S_RANGE, coefficients) - scheme.response(S_RANGE)).max()
    assert 1e-5 < error <= bound


@given(schemes, st.sampled_from([1e-3, 1e-6, 1e-10]))
def test_the_bound_is_nearly_attained(scheme, tol):
    """The bound exceeds the error by at most a factor of 50."""
    coefficients, bound = chebyshev_series(scheme, tol)
    error = np.abs(chebval(S_RANGE, coefficients) - scheme.response(S_RANGE)).max()
    assert bound <= 50 * error + 1e-12


@given(schemes, st.sampled_from([1e-3, 1e-6]))
def test_the_series_is_the_shortest(scheme, tol):
    coefficients, bound = chebyshev_series(scheme, tol)
    if len(coefficients) > 1:
        assert bound + abs(coefficients[-1]) > tol


@given(schemes, st.sampled_from([1e-6, 1e-13]))
def test_never_more_products_than_literal_steps(scheme, tol):
    coefficients, _ = chebyshev_series(scheme, tol)
    assert len(coefficients) - 1 <= scheme.degree


@pytest.mark.parametrize("T", [0.0, 1e-3, 1.0, 30.0, 1e4])
def test_heat_coefficients_are_bessel_functions(T):
    coefficients, _ = chebyshev_series(Heat(T), 1e-13)
    k = np.arange(len(coefficients))
    np.testing.assert_allclose(coefficients, np.where(k == 0, 1, 2) * ive(k, T), atol=1e-14)


@pytest.mark.parametrize(
    ("scheme", "max_degree"),
    [(Euler(5.27, 250), 13), (Euler(3.78, 300), 12), (Euler(6.0498, 900), 14)],
)
def test_degree_at_the_published_settings(scheme, max_degree):
    coefficients, bound = chebyshev_series(scheme, 1e-6)
    assert len(coefficients) - 1 <= max_degree
    assert bound <= 1e-6


@pytest.mark.filterwarnings("ignore::heatgraph.errors.StabilityWarning")
@pytest.mark.parametrize("scheme", [(Euler, 10.0, 3), (Euler, 10.0, 9), (RungeKutta4, 10.0, 5)])
def test_unstable_schemes_are_approximated_too(scheme):
    kind, T, K = scheme
    scheme = kind(T, K)
    coefficients, bound = chebyshev_series(scheme, 1e-6)
    norm = np.abs(scheme.response(S_RANGE)).max()
    assert norm > 1
    error = np.abs(chebval(S_RANGE, coefficients) - scheme.response(S_RANGE)).max()
    assert error <= (bound + 1e-12) * norm * 1.001
    assert bound <= 1e-6
    assert len(coefficients) - 1 <= scheme.degree


def test_a_billion_steps_take_as_many_terms_as_the_limit():
    many, _ = chebyshev_series(Euler(5.3, 10**9), 1e-6)
    limit, _ = chebyshev_series(Heat(5.3), 1e-6)
    assert len(many) == len(limit)


def test_powers_have_exact_series():
    coefficients, bound = chebyshev_series(SGC(3), 1e-13)
    np.testing.assert_allclose(coefficients, [0, 0.75, 0, 0.25], atol=1e-15)
    assert bound < 1e-13


def test_slowly_decaying_coefficients():
    coefficients, bound = chebyshev_series(PersonalizedPageRank(1e-4), 1e-6)
    error = np.abs(
        chebval(S_RANGE, coefficients) - PersonalizedPageRank(1e-4).response(S_RANGE)
    ).max()
    assert error <= bound + 1e-13 <= 1e-6 + 1e-13


def test_extreme_times_are_rejected():
    with pytest.raises(InputError, match="millions of products"):
        chebyshev_series(Heat(1e15), 1e-6)
    with pytest.warns(StabilityWarning):
        scheme = Euler(1e6, 100)
    with pytest.raises(InputError, match="overflows"):
        chebyshev_series(scheme, 1e-6)
