r"""Theorem 1: smoothing. The Dirichlet energy of diffused features over T, on Citeseer.

For H(T) = exp(-T L) X, the energy tr(H^T L H) decays no slower than exp(-2 T gap), where gap is the
smallest positive eigenvalue of L. SGC's powers S^K X smooth as well, except that without self-loops
a bipartite component oscillates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatgraph.experiments.paper.experiment import Experiment
from heatgraph.experiments.paper.theorem_trials import (
    LAPLACIAN_TITLES,
    slopes_table,
    theorem_trials,
)
from heatgraph.experiments.results import Records
from heatgraph.graph import Graph
from heatgraph.report.document import MISSING, Chart, Panel, Part, Series
from heatgraph.schemes import SGC, Heat
from heatgraph.theory import smoothing, spectrum

TIMES = tuple(np.round(np.geomspace(0.1, 8000, 60), 3).tolist())
POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Features have norm 1 and the energy is a difference: below this it is rounding.
ENERGY_FLOOR = 1e-14


def _measure(graph: Graph, loops: bool) -> dict[str, Any]:
    ends = spectrum(graph, loops)
    energies = smoothing(graph, [Heat(T) for T in TIMES], loops)
    powers = smoothing(graph, [SGC(K) for K in POWERS], loops)
    # The asymptotic range, where the energy is that of the slowest eigenvector.
    late = [
        place
        for place, T in enumerate(TIMES)
        if T * ends.gap > 3 and energies[place] > ENERGY_FLOOR
    ]
    slope = None
    if len(late) > 1:
        slope = float(np.polyfit(np.array(TIMES)[late], np.log(energies[late]), 1)[0])
    return {
        "gap": ends.gap,
        "norm_L": ends.largest,
        "T": TIMES,
        "energy": energies.tolist(),
        "K": POWERS,
        "SGC energy": powers.tolist(),
        "slope": slope,
    }


def _parts(records: Records) -> Sequence[Part]:
    panels, rows = [], []
    for record in records:
        laplacian, result = LAPLACIAN_TITLES[record.setting["self_loops"]], record.result
        times, gap = result["T"], result["gap"]
        bound = [result["energy"][0] * float(np.exp(-2 * (T - times[0]) * gap)) for T in times]
        lines = [
            Series.through("heat kernel, over T", _above_floor(times, result["energy"])),
            Series("SGC, over K", result["K"], result["SGC energy"]),
            Series.through("bound by the gap", _above_floor(times, bound), dashed=True),
        ]
        panels.append(Panel(laplacian, lines, "T or K", "Dirichlet energy", "xy"))
        slope = result["slope"]
        rows.append(
            [
                f"log energy over T, {laplacian}",
                f"−2 × gap = {-2 * gap:.5f}",
                MISSING if slope is None else f"{slope:.5f}",
            ]
        )
    if not panels:
        return []
    caption = "How much features differ across edges, after diffusion for a time T."
    return [Chart("theorem1", caption, panels, 2), slopes_table(rows)]


def _above_floor(times: Sequence[float], energies: Sequence[float]) -> list[tuple[float, float]]:
    return [(T, e) for T, e in zip(times, energies, strict=True) if e > ENERGY_FLOOR]


THEOREM_1 = Experiment(
    "theorem1",
    "Theorem 1: smoothing",
    lambda config: theorem_trials(1, _measure, {"T": TIMES, "K": POWERS}),
    _parts,
    [
        "By the theorem, features converge, as T grows, to an equilibrium in each connected "
        "component, at a rate given by the smallest positive eigenvalue of L. SGC's steps smooth "
        "as well, but without self-loops a bipartite component oscillates for ever. On Citeseer, "
        "with random features.",
    ],
)
