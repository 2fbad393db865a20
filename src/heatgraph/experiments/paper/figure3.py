"""Figure 3: accuracy with two Laplacians and two schemes over K, and over T, on Cora.

Protocol: *published*, the authors' learning rate and weight decay at every T and K.
"""

from __future__ import annotations

from collections.abc import Sequence

from heatgraph.experiments.paper.experiment import Experiment, RunConfig
from heatgraph.experiments.paper.fitting import accuracy_series, steps_trial
from heatgraph.experiments.paper.settings import AUTHORS
from heatgraph.experiments.results import Records, Trial
from heatgraph.report.document import Chart, Panel, Part

CORA = AUTHORS["cora"]
STEPS = (2, 3, 4, 5, 6, 7, 8, 10, 15, 25, 50, 100, CORA.K)
TIMES = (0.5, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, CORA.T, 5.5, 6.0, 7.0, 8.0, 10.0, 15.0, 20.0)


def _seeds(config: RunConfig) -> range:
    return range(min(config.seeds, 2 if config.quick else 5))


def _trials(config: RunConfig) -> list[Trial]:
    over_K = [
        steps_trial("DGC", CORA.T, K, seed, **overrides)
        for overrides in ({}, {"self_loops": False}, {"scheme": "rk4"})
        for K in STEPS
        for seed in _seeds(config)
    ]
    over_T = [steps_trial("DGC", T, CORA.K, seed) for T in TIMES for seed in _seeds(config)]
    return list({trial.key: trial for trial in over_K + over_T}.values())


def _parts(records: Records) -> Sequence[Part]:
    plain = Records(
        r for r in records if "self_loops" not in r.setting and "scheme" not in r.setting
    )
    at_T = plain.where(T=CORA.T)
    bare, rk4 = records.where(self_loops=False), records.where(scheme="rk4")
    left = [
        *accuracy_series("L = I − S, with self-loops", [(K, at_T.where(K=K)) for K in STEPS]),
        *accuracy_series("L = I − S_sym, without", [(K, bare.where(K=K)) for K in STEPS]),
    ]
    middle = [
        *accuracy_series("Euler", [(K, at_T.where(K=K)) for K in STEPS]),
        *accuracy_series("Runge–Kutta", [(K, rk4.where(K=K)) for K in STEPS]),
    ]
    over_T = plain.where(K=CORA.K)
    right = accuracy_series("Euler", [(T, over_T.where(T=T)) for T in TIMES])
    accuracy = "test accuracy (%)"
    panels = [
        Panel(f"Two Laplacians, T = {CORA.T}", left, "steps K", accuracy, "x"),
        Panel(f"Two schemes, T = {CORA.T}", middle, "steps K", accuracy, "x"),
        Panel(f"Over T, K = {CORA.K}", right, "T", accuracy),
    ]
    panels = [panel for panel in panels if panel.content]
    caption = (
        "Accuracy on Cora over the number of steps and over T; bands are one standard deviation."
    )
    return [Chart("figure3", caption, panels)] if panels else []


FIGURE_3 = Experiment(
    "figure3",
    "Figure 3: Laplacians, schemes and T",
    _trials,
    _parts,
    [
        "Published protocol: the authors' learning rate and weight decay for Cora throughout; the "
        "mean of several runs.",
    ],
)
