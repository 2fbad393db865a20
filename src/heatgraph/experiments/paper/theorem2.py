r"""Theorem 2: numerical error. The relative error of K steps to time T, on Citeseer.

Against the exact exp(-T L) X, the error of Euler's method falls as 1/K and stays below the paper's
bound (`heatgraph.theory.euler_error_bound`); that of Runge-Kutta falls as 1/K^4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatgraph.experiments.paper.experiment import Experiment
from heatgraph.experiments.paper.settings import AUTHORS
from heatgraph.experiments.paper.theorem_trials import LAPLACIAN_TITLES, theorem_trials
from heatgraph.experiments.results import Records
from heatgraph.graph import Graph
from heatgraph.report.document import Chart, Panel, Part, Series, Table
from heatgraph.schemes import Euler, RungeKutta4
from heatgraph.theory import convergence_order, euler_error_bound, numerical_error, spectrum

T = AUTHORS["citeseer"].T
EULER_STEPS = (8, 16, 32, 64, 128, 256, 512, 1024)
RK4_STEPS = (4, 8, 16, 32, 64, 128)


def _measure(graph: Graph, loops: bool) -> dict[str, Any]:
    norm_L = spectrum(graph, loops).largest
    norm_X = float(np.linalg.norm(graph.features))
    euler = [numerical_error(graph, Euler(T, K), loops) for K in EULER_STEPS]
    rk4 = [numerical_error(graph, RungeKutta4(T, K), loops) for K in RK4_STEPS]
    return {
        "Euler steps": EULER_STEPS,
        "Euler": euler,
        "Euler bound": [euler_error_bound(T, K, norm_L, norm_X) for K in EULER_STEPS],
        "Runge-Kutta steps": RK4_STEPS,
        "Runge-Kutta": rk4,
        "Euler order": convergence_order(EULER_STEPS[3:], euler[3:]),
        "Runge-Kutta order": convergence_order(RK4_STEPS[2:], rk4[2:]),
    }


def _parts(records: Records) -> Sequence[Part]:
    panels, rows = [], []
    for record in records:
        laplacian, result = LAPLACIAN_TITLES[record.setting["self_loops"]], record.result
        lines = [
            Series("Euler", result["Euler steps"], result["Euler"]),
            Series("Runge–Kutta", result["Runge-Kutta steps"], result["Runge-Kutta"]),
            Series("bound for Euler", result["Euler steps"], result["Euler bound"], dashed=True),
        ]
        panels.append(Panel(laplacian, lines, "steps K", "relative error", "xy"))
        ratios = np.array(result["Euler bound"]) / np.array(result["Euler"])
        rows += [
            [f"Euler, {laplacian}", "1", f"{result['Euler order']:.3f}"],
            [f"Runge–Kutta, {laplacian}", "4", f"{result['Runge-Kutta order']:.3f}"],
            [f"bound over true error of Euler, {laplacian}", "at least 1",
             f"{ratios.min():.0f} to {ratios.max():.0f}"],
        ]  # fmt: skip
    if not panels:
        return []
    caption = f"Error of K steps to T = {T} against the heat equation's exact solution."
    table = Table("Orders p in error ~ K^−p", ["what", "expected", "found"], rows)
    return [Chart("theorem2", caption, panels, 2), table]


THEOREM_2 = Experiment(
    "theorem2",
    "Theorem 2: numerical error",
    lambda config: theorem_trials(
        2, _measure, {"T": T, "Euler": EULER_STEPS, "Runge-Kutta": RK4_STEPS}
    ),
    _parts,
    [
        "By the theorem, the error of Euler's steps falls as 1/K and stays below the bound; "
        "Runge–Kutta's falls as 1/K⁴. On Citeseer, with random features.",
    ],
)
