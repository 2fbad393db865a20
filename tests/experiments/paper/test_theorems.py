"""Theorems 1 to 3 on Citeseer: rates, orders and bounds."""

import numpy as np
import pytest

from heatgraph.experiments.paper import theorem1
from heatgraph.experiments.paper.catalogue import EXPERIMENTS


def results_of(name, datasets, config):
    return [trial.run(datasets) for trial in EXPERIMENTS[name].trials(config)]


@pytest.mark.slow
def test_energy_decays_at_the_rate_of_the_spectral_gap(datasets, config, monkeypatch):
    # Some small times, and the asymptotic range in which the slope is fitted.
    monkeypatch.setattr(theorem1, "TIMES", theorem1.TIMES[:40:2] + theorem1.TIMES[54:])
    for result in results_of("theorem1", datasets, config):
        assert result["slope"] == pytest.approx(-2 * result["gap"], rel=0.02)
        assert np.all(np.diff(result["energy"][:20]) < 0)


def test_errors_have_the_orders_of_their_schemes_and_obey_the_bound(datasets, config):
    for result in results_of("theorem2", datasets, config):
        assert result["Euler order"] == pytest.approx(1, abs=0.05)
        assert result["Runge-Kutta order"] == pytest.approx(4, abs=0.2)
        assert np.all(np.array(result["Euler"]) <= result["Euler bound"])


@pytest.mark.slow
def test_risk_is_least_at_the_true_time_and_of_order_two(datasets, config):
    for result in results_of("theorem3", datasets, config):
        assert result["best T"]["heat kernel"] == result["best T"]["256"] == 2.0
        assert result["best T"]["8"] < 2.0  # the error of few steps favours a shorter T
        assert result["order"] == pytest.approx(2, abs=0.05)
        assert np.all(np.array(result["over K"]) <= result["bound over K"])
