"""Figure 3: two Laplacians, two schemes, and accuracy over T, on Cora."""

from __future__ import annotations

from collections.abc import Sequence

from heatgraph.experiments.paper.experiment import Experiment, Scope
from heatgraph.experiments.paper.fits import line, steps_entry
from heatgraph.experiments.paper.settings import AUTHORS
from heatgraph.experiments.results import Entry, Records
from heatgraph.report.document import Chart, Panel, Part

CORA = AUTHORS["cora"]
STEPS = (2, 3, 4, 5, 6, 7, 8, 10, 15, 25, 50, 100, CORA.K)
TIMES = (0.5, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, CORA.T, 5.5, 6.0, 7.0, 8.0, 10.0, 15.0, 20.0)


def _seeds(scope: Scope) -> range:
    return range(min(scope.seeds, 2 if scope.quick else 5))


def _entries(scope: Scope) -> list[Entry]:
    over_K = [
        steps_entry("DGC", CORA.T, K, seed, **changed)
        for changed in ({}, {"self_loops": False}, {"scheme": "rk4"})
        for K in STEPS
        for seed in _seeds(scope)
    ]
    over_T = [steps_entry("DGC", T, CORA.K, seed) for T in TIMES for seed in _seeds(scope)]
    return list({entry.key: entry for entry in over_K + over_T}.values())


def _parts(records: Records) -> Sequence[Part]:
    plain = Records(
        r for r in records if "self_loops" not in r.setting and "scheme" not in r.setting
    )
    at_T = plain.where(T=CORA.T)
    bare, rk4 = records.where(self_loops=False), records.where(scheme="rk4")
    left = [
        *line("L = I − S, with self-loops", [(K, at_T.where(K=K)) for K in STEPS]),
        *line("L = I − S_sym, without", [(K, bare.where(K=K)) for K in STEPS]),
    ]
    middle = [
        *line("Euler", [(K, at_T.where(K=K)) for K in STEPS]),
        *line("Runge–Kutta", [(K, rk4.where(K=K)) for K in STEPS]),
    ]
    over_T = plain.where(K=CORA.K)
    right = line("Euler", [(T, over_T.where(T=T)) for T in TIMES])
    accuracy = "test accuracy (%)"
    panels = [
        Panel(f"Two Laplacians, T = {CORA.T}", left, "steps K", accuracy, "x"),
        Panel(f"Two schemes, T = {CORA.T}", middle, "steps K", accuracy, "x"),
        Panel(f"Over T, K = {CORA.K}", right, "T", accuracy),
    ]
    panels = [panel for panel in panels if panel.content]
    caption = "Accuracy on Cora over the number of steps and over T; bands are one spread wide."
    return [Chart("figure3", caption, panels)] if panels else []


FIGURE_3 = Experiment(
    "figure3",
    "Figure 3: Laplacians, schemes and T",
    _entries,
    _parts,
    [
        "Published protocol: the authors' learning rate and weight decay for Cora throughout; the "
        "mean of several runs. As the paper says, both Laplacians gain from more steps, the one "
        "with self-loops is ahead, and Runge–Kutta is better than Euler with few steps only.",
    ],
)
