import json
import math
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from heun import Heun, heun_is_registered  # noqa: F401
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import POLYNOMIALS, by_eigenvalues, dense_operator, response_matrix
from strategies import adjacencies, stable_schemes

from heatgraph import (
    SGC,
    SIGN,
    Euler,
    Graph,
    Heat,
    PersonalizedPageRank,
    RungeKutta4,
    diffuse,
)
from heatgraph.errors import InputError, StabilityWarning
from heatgraph.schemes import SCHEMES, scheme_from, scheme_from_record, scheme_record
from heatgraph.theory import convergence_order

S_RANGE = np.linspace(-1, 1, 401)


# Heun is no part of the package: whatever these tests promise holds for a new scheme as well.
STEPPED = [kind for kind in SCHEMES.values() if kind.takes_K] + [Heun]
KINDS = [*SCHEMES.values(), PersonalizedPageRank, Heun]

all_kinds = pytest.mark.parametrize("kind", KINDS)
stepped_kinds = pytest.mark.parametrize("kind", STEPPED)


@all_kinds
@given(A=adjacencies(), self_loops=st.booleans(), data=st.data())
def test_response_is_the_matrix_function(kind, A, self_loops, data):
    scheme = data.draw(stable_schemes(kind))
    S = dense_operator(A, self_loops)
    assert_allclose(by_eigenvalues(S, scheme), response_matrix(S, scheme), atol=1e-10)


@stepped_kinds
@given(A=adjacencies(), data=st.data())
def test_literal_steps_are_the_published_polynomial(kind, A, data):
    scheme = data.draw(stable_schemes(kind))
    assert kind in POLYNOMIALS
    S = dense_operator(A)
    X = np.eye(len(S))
    for _ in range(scheme.K):
        X = scheme.step(lambda Y: S @ Y, X)
    assert_allclose(X, response_matrix(S, scheme), atol=1e-10)


@all_kinds
@given(data=st.data())
def test_stable_schemes_never_amplify(kind, data):
    scheme = data.draw(stable_schemes(kind))
    assert scheme.stable
    assert np.abs(scheme.response(S_RANGE)).max() <= 1 + 1e-12


@all_kinds
@given(data=st.data())
def test_equilibrium_is_preserved(kind, data):
    assert data.draw(stable_schemes(kind)).response(1.0) == pytest.approx(1.0)


@all_kinds
@given(data=st.data(), excess=st.floats(0.01, 2))
def test_growth_bounds_the_response_in_the_complex_plane(kind, data, excess):
    scheme = data.draw(stable_schemes(kind))
    radius = 1 + excess
    circle = radius * np.exp(1j * np.linspace(0, 2 * np.pi, 64))
    bound = scheme.log_growth(np.array([radius]))[0]
    if math.isinf(bound):
        return
    largest = np.abs(np.diag(response_matrix(np.diag(circle), scheme))).max()
    assert math.log(largest) <= bound + 1e-9


@stepped_kinds
def test_order_is_the_fitted_slope(kind):
    steps = np.array([32, 64, 128, 256])
    exact = Heat(3.0).response(S_RANGE)
    errors = [np.abs(kind(3.0, K).response(S_RANGE) - exact).max() for K in steps]
    assert convergence_order(steps, errors) == pytest.approx(kind.order, abs=0.1)


@stepped_kinds
def test_products_of_a_step_are_counted(kind):
    products = []

    def S(X):
        products.append(X)
        return X

    scheme = kind(1.0, 7)
    scheme.step(S, np.eye(2))
    assert len(products) == kind.products_per_step
    assert scheme.degree == 7 * kind.products_per_step


def test_sgc_is_a_power_of_s():
    assert_allclose(SGC(3).response(S_RANGE), S_RANGE**3, atol=1e-15)
    assert SGC(0).response(0.3) == 1.0
    assert SGC(100).stable


def test_sign_is_the_stack_of_powers():
    stack = SIGN(4)
    assert len(stack) == 5
    for k, scheme in enumerate(stack):
        assert_allclose(scheme.response(S_RANGE), S_RANGE**k, atol=1e-15)


def test_degree_of_schemes_without_steps():
    assert Heat(5.3).degree == math.inf
    assert Heat(0).degree == 0
    assert PersonalizedPageRank(0.1).degree == math.inf
    assert PersonalizedPageRank(1).degree == 0


@stepped_kinds
@given(T=st.floats(0.1, 50))
def test_stability_limit_is_sharp(kind, T):
    K = kind(T, 10**6).smallest_stable_steps()
    assert kind(T, K).stable
    assert np.abs(kind(T, K).response(S_RANGE)).max() <= 1 + 1e-9
    if K > 1:
        with pytest.warns(StabilityWarning, match=f"smallest stable K for this T is {K}"):
            unstable = kind(T, K - 1)
        assert not unstable.stable
        assert abs(unstable.response(-1.0)) > 1


@stepped_kinds
def test_stability_limit_allows_for_rounding(kind):
    """T / K can exceed the limit by a rounding error although K is ceil(T / limit)."""
    limit = kind.stability_limit()
    for K in range(1, 200):
        edge = K * limit
        for T in (edge, np.nextafter(edge, 0), np.nextafter(edge, np.inf)):
            smallest = kind(T, 10**6).smallest_stable_steps()
            assert kind(T, smallest).stable


@pytest.mark.parametrize("make", [Euler, lambda T, K: diffuse(Graph(np.eye(2)), T, K)])
def test_unstable_step_is_warned_of_at_the_callers_line(make):
    with pytest.warns(StabilityWarning, match=r"T/K = 2\.5") as caught:
        make(10, 4)
    assert caught[0].filename == __file__


def test_many_steps_lose_nothing_to_rounding():
    x = np.array([1e-12, 1e-6, 0.1, 1.0])
    np.testing.assert_allclose(Euler(5.0, 10**12).decay(x), Heat(5.0).decay(x), rtol=1e-10)
    np.testing.assert_allclose(1 - Heat(5.0).decay(1e-12), 5e-12, rtol=1e-3)


@pytest.mark.parametrize("T", [-1, math.nan, math.inf, "5", None, True, 1j, 10**400])
@pytest.mark.parametrize("kind", [*SCHEMES.values(), Heun])
def test_bad_time_is_refused(kind, T):
    with pytest.raises(InputError, match="T must be a finite number >= 0"):
        kind(T, 10) if kind.takes_K else kind(T)


@pytest.mark.parametrize("K", [-1, 2.5, 250.0, "3", None, True, 10**400])
@pytest.mark.parametrize("make", [*(partial(kind, 1.0) for kind in STEPPED), SGC, SIGN])
def test_bad_steps_are_refused(make, K):
    with pytest.raises(InputError, match="K must be"):
        make(K)


@stepped_kinds
def test_zero_steps_require_zero_time(kind):
    assert kind(0, 0).response(0.5) == 1.0
    with pytest.raises(InputError, match=r"0 only with T = 0\)\. Got K=0 with T=1"):
        kind(1.0, 0)


@pytest.mark.parametrize("alpha", [0, -0.1, 1.1, math.nan, "0.1", True])
def test_bad_alpha_is_refused(alpha):
    with pytest.raises(InputError, match="alpha must be a number in"):
        PersonalizedPageRank(alpha)


def test_schemes_are_plain_values():
    assert Euler(5.3, 250) == Euler(np.float64(5.3), np.int64(250))
    assert repr(Euler(np.float32(0.5), np.int64(3))) == "Euler(T=0.5, K=3)"
    assert len({Heat(1.0), Heat(1), Euler(1, 1), SGC(1)}) == 2
    assert pickle.loads(pickle.dumps(RungeKutta4(1.0, 3))) == RungeKutta4(1.0, 3)
    with pytest.raises(AttributeError):
        Heat(1.0).T = 2.0


def test_scheme_by_arguments():
    assert scheme_from(5.3, None, None) == Heat(5.3)
    assert scheme_from(5.3, 250, None) == Euler(5.3, 250)
    assert scheme_from(5.3, 10, "rk4") == RungeKutta4(5.3, 10)
    assert scheme_from(5.3, None, "heat") == Heat(5.3)
    assert scheme_from(None, None, SGC(2)) == Euler(2.0, 2)


@pytest.mark.parametrize("name", SCHEMES)
def test_every_registered_scheme_is_chosen_by_its_name(name):
    K = 7 if SCHEMES[name].takes_K else None
    scheme = scheme_from(3.0, K, name)
    assert type(scheme) is SCHEMES[name]
    assert (scheme.T, getattr(scheme, "K", None), scheme.name) == (3.0, K, name)


@all_kinds
@pytest.mark.usefixtures("heun_is_registered")
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_schemes_survive_json(kind, data):
    scheme = data.draw(stable_schemes(kind))
    assert scheme_from_record(json.loads(json.dumps(scheme_record(scheme)))) == scheme


@pytest.mark.parametrize("record", [{}, {"kind": "Heun", "T": 1.0, "K": 1}, {"kind": "Heat"}])
def test_records_of_no_scheme_are_refused(record):
    with pytest.raises(InputError, match="is no scheme"):
        scheme_from_record(record)


def test_an_unregistered_scheme_is_not_serialized():
    with pytest.raises(InputError, match="no scheme of heatgraph"):
        scheme_record(Heun(1.0, 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, None, None), "T is missing"),
        ((5.3, 10, "heat"), "takes no K"),
        ((5.3, None, "euler"), "give K"),
        ((5.3, None, "rk5"), "'heat', 'euler', 'rk4', or a scheme object. Got 'rk5'"),
        ((5.3, None, Heat), "or a scheme object"),
        ((5.3, None, Heat(1.0)), "leave out T and K"),
    ],
)
def test_contradictory_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        scheme_from(*arguments)


def test_unpickling_does_not_warn_again():
    with pytest.warns(StabilityWarning):
        stored = pickle.dumps(Euler(10, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(stored).K == 2


@all_kinds
@given(data=st.data())
def test_squares(kind, data):
    scheme = data.draw(stable_schemes(kind))
    squared = scheme.squared()
    if kind is PersonalizedPageRank:
        assert squared is None
        return
    s = np.linspace(-1, 1, 50)
    np.testing.assert_allclose(squared.response(s), scheme.response(s) ** 2, rtol=1e-9, atol=1e-300)
