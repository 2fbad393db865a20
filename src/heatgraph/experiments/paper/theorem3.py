r"""Theorem 3: risk. The excess risk of a linear model over T and over K, on Citeseer.

Features are corrupted by the inverse of diffusion for a time T*, with noise. The risk of a
linear model on diffused features is least at T = T*, and there the excess risk of Euler's method
falls with the square of its numerical error, as 1/K^2.
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
from heatgraph.report.document import Chart, Panel, Part, Series
from heatgraph.schemes import Euler, Heat
from heatgraph.theory import CorruptedRegression, convergence_order

T_STAR = 2.0
OFFSETS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75)
TIMES = (*(T_STAR - away for away in OFFSETS[::-1]), T_STAR, *(T_STAR + away for away in OFFSETS))
STEPS = (4, 8, 16, 32, 64, 128, 256)
NOISE = 0.1
# An excess risk below this is rounding.
RISK_FLOOR = 1e-9


def _measure(graph: Graph, loops: bool) -> dict[str, Any]:
    problem = CorruptedRegression.draw(graph, T_STAR, noise=NOISE, self_loops=loops)
    least = problem.least_risk
    few, many = STEPS[1], STEPS[-1]
    over_T = {
        str(K): (problem.risk([Euler(T, K) for T in TIMES]) - least).tolist() for K in (few, many)
    }
    over_T["heat kernel"] = (problem.risk([Heat(T) for T in TIMES]) - least).tolist()
    schemes = [Euler(T_STAR, K) for K in STEPS]
    over_K = problem.risk(schemes) - least
    return {
        "least": least,
        "T": TIMES,
        "over T": over_T,
        "K": STEPS,
        "over K": over_K.tolist(),
        "bound over K": [problem.risk_bound(scheme) - least for scheme in schemes],
        "order": convergence_order(STEPS[3:], over_K[3:]),
        "best T": {name: TIMES[int(np.argmin(risks))] for name, risks in over_T.items()},
    }


def _parts(records: Records) -> Sequence[Part]:
    panels, rows = [], []
    for record in records:
        laplacian, result = LAPLACIAN_TITLES[record.setting["self_loops"]], record.result
        risks_by_title = {
            "heat kernel" if key == "heat kernel" else f"Euler, K = {key}": values
            for key, values in result["over T"].items()
        }
        over_T = [
            Series.through(
                title,
                [(T, r) for T, r in zip(result["T"], risks, strict=True) if r > RISK_FLOOR],
            )
            for title, risks in risks_by_title.items()
        ]
        over_K = [
            Series("excess risk", result["K"], result["over K"]),
            Series("bound", result["K"], result["bound over K"], dashed=True),
        ]
        panels += [
            Panel(f"T⋆ = {T_STAR:g}, {laplacian}", over_T, "T", "excess risk", "y"),
            Panel(f"T = T⋆, {laplacian}", over_K, "steps K", "excess risk", "xy"),
        ]
        rows += [
            [f"order in K at T = T⋆, {laplacian}", "2", f"{result['order']:.3f}"],
            *(
                [f"T of the least risk, {title}, {laplacian}", f"{T_STAR:g}", f"{best:g}"]
                for title, best in zip(risks_by_title, result["best T"].values(), strict=True)
            ),
        ]
    if not panels:
        return []
    caption = "Excess risk over the T that features diffuse for, and over the number of steps."
    return [Chart("theorem3", caption, panels, 2), slopes_table(rows)]


THEOREM_3 = Experiment(
    "theorem3",
    "Theorem 3: risk",
    lambda config: theorem_trials(
        3, _measure, {"T*": T_STAR, "T": TIMES, "K": STEPS, "noise": NOISE}
    ),
    _parts,
    [
        "Features are corrupted by running the heat equation backwards for a time T⋆. By the "
        "theorem, the risk of a linear model on diffused features is least at T = T⋆ if there are "
        "many steps, and there falls with the square of the numerical error, as 1/K² for Euler.",
    ],
)
