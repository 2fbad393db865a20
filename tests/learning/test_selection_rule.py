"""The rule that picks T and weight decay, on made-up results."""

import numpy as np
import pytest

import heatgraph as hg
from heatgraph.learning._search_space import SearchSpace, Setting
from heatgraph.learning._selection_rule import ValidationResult, heaviest_group, plateau_center


def result(T, decay, accuracy, loss=1.0, **setting):
    usual = {"self_loops": True, "feature_scaling": "rows", "learning_rate": 0.2}
    setting = Setting(hg.Heat(T), weight_decay=decay, **(usual | setting))
    return ValidationResult(setting, 1.0, accuracy, loss)


def space(**parts):
    usual = {"schemes": None, "families": (), "self_loops": (True,), "scalings": ("rows",),
             "weight_decays": None, "learning_rates": (0.2,)}  # fmt: skip
    return SearchSpace(**(usual | parts))


def test_the_center_of_a_plateau_is_chosen():
    plateau = [result(T, 1e-3, 0.8) for T in (2.0, 3.0, 4.5)]
    valley = [result(T, 1e-3, 0.5) for T in (0.5, 1.0, 9.0, 14.0)]
    center = plateau_center(space(), plateau + valley, num_held_out=10_000)
    assert pytest.approx(np.prod([2.5, 3.5, 5.0]) ** (1 / 3) - 0.5, rel=1e-6) == center.scheme.T
    assert center.weight_decay == pytest.approx(1e-3)


def test_weight_decay_is_averaged_relative_to_its_scale_at_each_T():
    """Scales of 4 at T = 1 and of 1 at T = 4, and relative weight decays around 1."""
    group = [
        ValidationResult(Setting(hg.Heat(T), True, "rows", scale * relative, 0.2), scale, 0.8, 1.0)
        for T, scale in ((1.0, 4.0), (4.0, 1.0))
        for relative in (0.1, 10.0)
    ]
    center = plateau_center(space(), group, num_held_out=100)
    assert pytest.approx(np.sqrt(1.5 * 4.5) - 0.5) == center.scheme.T
    assert center.weight_decay == pytest.approx(2.0)


def test_a_spike_weighs_more_on_more_held_out_nodes():
    grid = [result(T, 1.0, 0.80) for T in (1.0, 2.0, 4.0)] + [result(8.0, 1.0, 0.82)]
    sure = plateau_center(space(), grid, num_held_out=1_000_000).scheme.T
    unsure = plateau_center(space(), grid, num_held_out=20).scheme.T
    assert sure == pytest.approx(8.0)
    assert unsure == pytest.approx((1.5 * 2.5 * 4.5 * 8.5) ** 0.25 - 0.5, rel=0.1)


def test_candidates_are_chosen_unchanged():
    fixed = space(schemes=(hg.Heat(1.0), hg.Heat(2.0)), weight_decays=(0.1, 0.2))
    results = [result(1.0, 0.1, 0.7), result(1.0, 0.2, 0.9, 0.5), result(2.0, 0.1, 0.9, 0.4)]
    (best,) = heaviest_group(fixed, results, num_held_out=50)
    assert best.setting == results[2].setting  # as accurate as the second, with less log-loss
    assert plateau_center(fixed, [best], num_held_out=50) == best.setting


def test_a_group_is_chosen_by_the_sum_of_its_weights():
    spiky = [result(T, 1.0, a) for T, a in ((1.0, 0.5), (2.0, 0.81), (3.0, 0.5))]
    steady = [result(T, 1.0, 0.8, feature_scaling="idf") for T in (1.0, 2.0, 3.0)]
    assert heaviest_group(space(), spiky + steady, num_held_out=200) == steady


def test_perfect_accuracy_has_a_standard_error_too():
    for accuracy in (0.0, 1.0):
        grid = [result(T, 1.0, accuracy) for T in (1.0, 4.0)]
        assert 1 < plateau_center(space(), grid, num_held_out=10).scheme.T < 4
