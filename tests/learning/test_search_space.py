import numpy as np
import pytest

from heatgraph import SGC, Euler, Heat, PersonalizedPageRank, RungeKutta4
from heatgraph.errors import InputError
from heatgraph.learning._search_space import (
    LARGEST_TIME,
    NUM_TIMES,
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


def test_nothing_to_choose():
    space = read().settle(("rows", "idf"))
    assert space.only() == Setting(Heat(2.0), True, "rows", 0.1, 0.2)


def test_a_search_tries_all_suitable_scalings():
    assert read(weight_decay="auto").settle(("rows", "idf")).scalings == ("rows", "idf")
    assert read(T="auto").settle(("rows", "idf")).scalings == ("rows", "idf")
    mixed = read(feature_scaling=["none", "auto", "rows"], T=[1, 2]).settle(("rows", "idf"))
    assert mixed.scalings == ("none", "rows", "idf")
    assert read(feature_scaling="idf", T="auto").settle(("rows", "idf")).scalings == ("idf",)
    assert read(feature_scaling="idf", T="auto").settle(("none",)).scalings == ("none",)


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
def test_candidates(parameters, schemes):
    assert read(**parameters).schemes == schemes
    assert read(**parameters).grid() == list(schemes)


def test_kinds():
    space = read(T="auto", K=[50, 60], scheme=["heat", "euler"])
    assert space.schemes is None
    assert space.kinds == (
        SchemeFamily(Heat, None),
        SchemeFamily(Euler, 50),
        SchemeFamily(Euler, 60),
    )
    assert len(space.grid()) == 3 * (NUM_TIMES + 1)
    assert NUM_TIMES + 1 >= 40


def test_scheme_objects_do_not_mix_with_names():
    with pytest.raises(InputError, match="scheme objects have their own T and K"):
        read(T="auto", scheme=[SGC(1), "heat"])


def test_the_grid_of_times():
    times = [scheme.T for scheme in SchemeFamily(Heat, None).grid()]
    assert times[0] == 0
    assert times[-1] == LARGEST_TIME
    steps = np.diff(np.log(np.array(times) + 0.5))
    np.testing.assert_allclose(steps, steps[0])


@pytest.mark.parametrize("scheme", [Euler, RungeKutta4])
@pytest.mark.parametrize("K", [1, 2, 7, 500])
def test_steps_are_only_tried_where_they_are_stable(scheme, K):
    """Unstable ones would warn, which is an error here."""
    grid = SchemeFamily(scheme, K).grid()
    assert pytest.approx(min(LARGEST_TIME, K * scheme.stability_limit())) == grid[-1].T
    assert len(grid) == NUM_TIMES + 1
    around = SchemeFamily(scheme, K).around(grid[-1].T, 9)
    assert all(s.stable for s in grid + around)


def test_times_around():
    kind = SchemeFamily(Heat, None)
    times = [scheme.T for scheme in kind.grid()]
    near = [scheme.T for scheme in kind.around(times[20], 9)]
    assert near[0] == pytest.approx(times[19])
    assert near[4] == pytest.approx(times[20])
    assert near[-1] == pytest.approx(times[21])
    assert kind.around(0.0, 9)[0] == Heat(0.0)
