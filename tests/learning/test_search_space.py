import numpy as np
import pytest

from heatgraph import SGC, Euler, Heat, PersonalizedPageRank, RungeKutta4
from heatgraph.errors import InputError
from heatgraph.learning._search_space import (
    MAX_GRID_TIME,
    NUM_GRID_STEPS,
    Combination,
    SchemeFamily,
    SearchSpace,
    Setting,
)


def read(**parameters):
    usual = {
        "T": 2.0,
        "K": None,
        "scheme": None,
        "self_loops": True,
        "feature_scaling": "auto",
        "weight_decay": 0.1,
        "learning_rate": 0.2,
    }
    return SearchSpace.read(**(usual | parameters))


def test_values_give_a_single_setting():
    space = read().resolve_scalings("rows")
    setting = space.single_setting()
    assert setting == Setting(Heat(2.0), True, "rows", 0.1, 0.2)
    assert SearchSpace.of_setting(setting).single_setting() == setting


def test_auto_scaling_in_a_search():
    for open_parameter in ({"weight_decay": "auto"}, {"T": "auto"}, {"self_loops": [True, False]}):
        assert read(**open_parameter).resolve_scalings("rows").scalings == ("sqrt", "idf-sqrt")
    mixed = read(feature_scaling=["none", "auto", "sqrt"], T=[1, 2]).resolve_scalings("rows")
    assert mixed.scalings == ("none", "sqrt", "idf-sqrt")
    named = read(feature_scaling="idf", T="auto")
    assert named.resolve_scalings("rows").scalings == ("idf",)
    assert named.resolve_scalings("none").scalings == ("none",)


@pytest.mark.parametrize(
    ("parameters", "schemes"),
    [
        ({"T": [1, 2]}, (Heat(1.0), Heat(2.0))),
        ({"T": np.array([1.0, 2.0])}, (Heat(1.0), Heat(2.0))),
        ({"K": [5, 6]}, (Euler(2.0, 5), Euler(2.0, 6))),
        ({"K": 5, "scheme": ["euler", "rk4"]}, (Euler(2.0, 5), RungeKutta4(2.0, 5))),
        ({"K": [5, 6], "scheme": ["heat", "euler"]}, (Heat(2.0), Euler(2.0, 5), Euler(2.0, 6))),
        ({"T": "auto", "scheme": [SGC(1), SGC(2)]}, (SGC(1), SGC(2))),
        ({"T": "auto", "scheme": PersonalizedPageRank(0.1)}, (PersonalizedPageRank(0.1),)),
    ],
)
def test_candidates_of_schemes(parameters, schemes):
    assert read(**parameters).schemes == schemes


def test_auto_T_gives_one_family_per_scheme_and_K():
    space = read(T="auto", K=[50, 60], scheme=["heat", "euler"])
    assert space.schemes is None
    assert space.families == (
        SchemeFamily(Heat, None),
        SchemeFamily(Euler, 50),
        SchemeFamily(Euler, 60),
    )


def test_combinations():
    space = read(self_loops=[True, False], feature_scaling=["rows", "none"])
    assert space.combinations() == [
        Combination(loops, name) for loops in (True, False) for name in ("rows", "none")
    ]


def test_scheme_objects_do_not_mix_with_names():
    with pytest.raises(InputError, match="scheme objects have their own T and K"):
        read(T="auto", scheme=[SGC(1), "heat"])


def test_the_grid_is_uniform_in_log_time():
    times = [scheme.T for scheme in SchemeFamily(Heat, None).grid()]
    assert times[0] == 0
    assert times[-1] == MAX_GRID_TIME
    steps = np.diff(np.log(np.array(times) + 0.5))
    np.testing.assert_allclose(steps, steps[0])


@pytest.mark.parametrize("scheme", [Euler, RungeKutta4])
@pytest.mark.parametrize("K", [1, 2, 7, 500])
def test_grids_of_stepped_schemes_are_stable(scheme, K):
    """An unstable scheme would warn, and warnings are errors in tests."""
    grid = SchemeFamily(scheme, K).grid()
    assert pytest.approx(min(MAX_GRID_TIME, K * scheme.stability_limit())) == grid[-1].T
    assert len(grid) == NUM_GRID_STEPS + 1
    assert all(s.stable for s in grid)


def test_a_grid_between_two_times_includes_both():
    times = [scheme.T for scheme in SchemeFamily(Heat, None).grid_between(20.0, 80.0, 5)]
    assert (times[0], times[-1], len(times)) == (20.0, 80.0, 5)
    steps = np.diff(np.log(np.array(times) + 0.5))
    np.testing.assert_allclose(steps, steps[0])
