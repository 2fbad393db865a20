"""The rule that picks T and weight decay, on made-up results."""

from dataclasses import replace

import numpy as np
import pytest

import heatgraph as hg
from heatgraph.learning import _selection_rule
from heatgraph.learning._scoring import proportion_error
from heatgraph.learning._search_space import SearchSpace, Setting
from heatgraph.learning._selection_rule import ValidationResult, decay_scale_at


def result(T, decay, accuracy, loss=1.0, **setting):
    usual = {"self_loops": True, "feature_scaling": "rows", "learning_rate": 0.2}
    setting = Setting(hg.Heat(T), weight_decay=decay, **(usual | setting))
    return made_up(setting, 1.0, accuracy, loss)


def made_up(setting, scale, accuracy, loss):
    return ValidationResult(setting, scale, accuracy, np.nan, accuracy, loss)


def measured(results, num_held_out):
    """Results with the standard errors that accuracies have on so many nodes."""
    return [replace(r, error=float(proportion_error(r.score, num_held_out))) for r in results]


def plateau_center(space, group, num_held_out):
    return _selection_rule.plateau_center(space, measured(group, num_held_out), num_held_out)


def heaviest_group(space, results, num_held_out):
    return _selection_rule.heaviest_group(space, measured(results, num_held_out))


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
        made_up(Setting(hg.Heat(T), True, "rows", scale * relative, 0.2), scale, 0.8, 1.0)
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
    chosen = heaviest_group(space(), spiky + steady, num_held_out=200)
    assert chosen == measured(steady, 200)


def test_perfect_accuracy_has_a_standard_error_too():
    for accuracy in (0.0, 1.0):
        grid = [result(T, 1.0, accuracy) for T in (1.0, 4.0)]
        assert 1 < plateau_center(space(), grid, num_held_out=10).scheme.T < 4


def results_over_time(accuracies):
    """Two weight decays at every T of a dictionary, the second one less accurate."""
    return [
        result(T, decay, accuracy - loss)
        for T, accuracy in accuracies.items()
        for decay, loss in ((1e-3, 0.0), (1e-1, 0.001))
    ]


def test_features_alone_are_chosen_if_they_are_ahead_of_the_center():
    """On 2,500 nodes, a quarter of the standard error is a fifth of a point."""
    diffused = {0.5: 0.795, 1.0: 0.79, 2.0: 0.785, 4.0: 0.5}
    for alone, is_chosen in ((0.81, True), (0.79, False)):
        results = results_over_time({0.0: alone} | diffused)
        center = plateau_center(space(), results, num_held_out=2500)
        assert (center.scheme.T == 0) == is_chosen
        assert center.scheme.T == 0 or center.scheme.T > 0.5


def test_one_lucky_setting_does_not_decide_against_the_edges():
    results = results_over_time({0.0: 0.70, 0.5: 0.78, 1.0: 0.79, 2.0: 0.78})
    lucky = [result(0.0, decay, accuracy) for decay, accuracy in ((1.0, 0.80), (10.0, 0.6))]
    assert plateau_center(space(), results + lucky, num_held_out=400).scheme.T > 0


def test_the_plateau_does_not_include_features_alone():
    results = results_over_time({0.0: 0.80, 2.0: 0.80, 3.0: 0.80, 4.5: 0.80})
    center = plateau_center(space(), results, num_held_out=10_000)
    assert pytest.approx(np.prod([2.5, 3.5, 5.0]) ** (1 / 3) - 0.5, rel=1e-6) == center.scheme.T


def test_without_other_T_features_alone_are_the_choice():
    center = plateau_center(space(), results_over_time({0.0: 0.8}), num_held_out=100)
    assert center.scheme == hg.Heat(0.0)


def test_the_scale_of_weight_decay_is_interpolated():
    group = [
        made_up(Setting(hg.Heat(T), True, "rows", 1.0, 0.2), scale, 0.8, 1.0)
        for T, scale in ((0.5, 8.0), (3.5, 2.0))
    ]
    between = Setting(hg.Heat(1.5), True, "rows", 1.0, 0.2)
    assert decay_scale_at(between, group) == pytest.approx(4.0)
    assert decay_scale_at(group[0].setting, group) == pytest.approx(8.0)
