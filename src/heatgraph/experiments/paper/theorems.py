"""Theorems 1 to 3, looked at on Citeseer: smoothing, numerical error, and risk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from heatgraph.datasets.dataset import Dataset
from heatgraph.experiments.paper.experiment import Experiment, Materials
from heatgraph.experiments.paper.settings import AUTHORS
from heatgraph.experiments.results import Entry, Records
from heatgraph.graph import Graph
from heatgraph.report.document import Chart, Panel, Part, Series, Table
from heatgraph.schemes import SGC, Euler, Heat, RungeKutta4
from heatgraph.theory import (
    CorruptedRegression,
    convergence_order,
    euler_error_bound,
    numerical_error,
    smoothing,
    spectrum,
)

DATASET = "citeseer"
LOOPS = {True: "with self-loops", False: "without self-loops"}
# Random directions show as much of L as 3,703 words do, at a fraction of the cost.
DIRECTIONS = 16

# Theorem 1
TIMES = tuple(np.round(np.geomspace(0.1, 8000, 60), 3).tolist())
# Features have a norm of 1, and the energy is a difference: below this it is rounding.
FLOOR = 1e-14
POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Theorem 2
T_ERROR = AUTHORS["citeseer"].T
EULER_STEPS = (8, 16, 32, 64, 128, 256, 512, 1024)
RK4_STEPS = (4, 8, 16, 32, 64, 128)
# Theorem 3
T_STAR = 2.0
NEAR = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75)
GUESSES = (*(T_STAR - away for away in NEAR[::-1]), T_STAR, *(T_STAR + away for away in NEAR))
# Below this there is nothing left but rounding.
ROUNDING = 1e-9
RISK_STEPS = (4, 8, 16, 32, 64, 128, 256)
NOISE = 0.1


DETAILS: dict[int, dict[str, Any]] = {
    1: {"T": TIMES, "K": POWERS},
    2: {"T": T_ERROR, "Euler": EULER_STEPS, "Runge-Kutta": RK4_STEPS},
    3: {"T*": T_STAR, "T": GUESSES, "K": RISK_STEPS, "noise": NOISE},
}


def _graph(data: Dataset) -> Graph:
    """Citeseer with random features of length 1."""
    random = np.random.default_rng(0)
    X = random.standard_normal((data.graph.num_nodes, DIRECTIONS))
    return data.graph.with_features(X / np.linalg.norm(X))


def _entry(theorem: int, loops: bool, find: Callable[[Graph, bool], dict[str, Any]]) -> Entry:
    def run(materials: Materials) -> dict[str, Any]:
        return find(_graph(materials.data(DATASET)), loops)

    setting = {"what": f"theorem {theorem}", "dataset": DATASET, "self_loops": loops, "seed": 0}
    return Entry(setting, run, DETAILS[theorem])


def _smoothing(graph: Graph, loops: bool) -> dict[str, Any]:
    ends = spectrum(graph, loops)
    energies = smoothing(graph, [Heat(T) for T in TIMES], loops)
    powers = smoothing(graph, [SGC(K) for K in POWERS], loops)
    # Where only the slowest direction is left, energy falls as exp(-2 T gap).
    late = [place for place, T in enumerate(TIMES) if T * ends.gap > 3 and energies[place] > FLOOR]
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


def _errors(graph: Graph, loops: bool) -> dict[str, Any]:
    norm_L = spectrum(graph, loops).largest
    norm_X = float(np.linalg.norm(graph.features))
    euler = [numerical_error(graph, Euler(T_ERROR, K), loops) for K in EULER_STEPS]
    rk4 = [numerical_error(graph, RungeKutta4(T_ERROR, K), loops) for K in RK4_STEPS]
    return {
        "Euler steps": EULER_STEPS,
        "Euler": euler,
        "Euler bound": [euler_error_bound(T_ERROR, K, norm_L, norm_X) for K in EULER_STEPS],
        "Runge-Kutta steps": RK4_STEPS,
        "Runge-Kutta": rk4,
        "Euler order": convergence_order(EULER_STEPS[3:], euler[3:]),
        "Runge-Kutta order": convergence_order(RK4_STEPS[2:], rk4[2:]),
    }


def _risks(graph: Graph, loops: bool) -> dict[str, Any]:
    problem = CorruptedRegression.draw(graph, T_STAR, noise=NOISE, self_loops=loops)
    least = problem.least_risk
    few, many = RISK_STEPS[1], RISK_STEPS[-1]
    guesses = {
        str(K): (problem.risk([Euler(T, K) for T in GUESSES]) - least).tolist() for K in (few, many)
    }
    guesses["heat kernel"] = (problem.risk([Heat(T) for T in GUESSES]) - least).tolist()
    steps = [Euler(T_STAR, K) for K in RISK_STEPS]
    excess = problem.risk(steps) - least
    return {
        "least": least,
        "T": GUESSES,
        "over T": guesses,
        "K": RISK_STEPS,
        "over K": excess.tolist(),
        "bound over K": [problem.risk_bound(scheme) - least for scheme in steps],
        "order": convergence_order(RISK_STEPS[3:], excess[3:]),
        "best T": {name: GUESSES[int(np.argmin(risks))] for name, risks in guesses.items()},
    }


def _entries(theorem: int, find: Callable[[Graph, bool], dict[str, Any]]) -> Any:
    return lambda scope: [_entry(theorem, loops, find) for loops in LOOPS]


def _slopes(rows: Sequence[Sequence[str]]) -> Table:
    return Table("Slopes", ["what", "expected", "found"], rows)


def _parts_1(records: Records) -> Sequence[Part]:
    panels, rows = [], []
    for record in records:
        loops, found = record.setting["self_loops"], record.result
        start, times = found["energy"][0], found["T"]
        # As fast as the slowest direction, from where the energy stood first.
        bound = [start * float(np.exp(-2 * (T - times[0]) * found["gap"])) for T in times]
        heat = [(T, e) for T, e in zip(times, found["energy"], strict=True) if e > FLOOR]
        below = [(T, e) for T, e in zip(times, bound, strict=True) if e > FLOOR]
        lines = [
            Series.through("heat kernel, over T", heat),
            Series("SGC, over K", found["K"], found["SGC energy"]),
            Series.through("bound by the gap", below, dashed=True),
        ]
        panels.append(Panel(LOOPS[loops], lines, "T or K", "Dirichlet energy", "xy"))
        slope = found["slope"]
        rows.append(
            [
                f"log energy over T, {LOOPS[loops]}",
                f"−2 × gap = {-2 * found['gap']:.5f}",
                "–" if slope is None else f"{slope:.5f}",
            ]
        )
    if not panels:
        return []
    caption = "How much features differ across edges, after diffusion for a time T."
    return [Chart("theorem1", caption, panels, 2), _slopes(rows)]


def _parts_2(records: Records) -> Sequence[Part]:
    panels, rows = [], []
    for record in records:
        loops, found = record.setting["self_loops"], record.result
        lines = [
            Series("Euler", found["Euler steps"], found["Euler"]),
            Series("Runge–Kutta", found["Runge-Kutta steps"], found["Runge-Kutta"]),
            Series("bound for Euler", found["Euler steps"], found["Euler bound"], dashed=True),
        ]
        panels.append(Panel(LOOPS[loops], lines, "steps K", "relative error", "xy"))
        loose = np.array(found["Euler bound"]) / np.array(found["Euler"])
        rows += [
            [f"Euler, {LOOPS[loops]}", "1", f"{found['Euler order']:.3f}"],
            [f"Runge–Kutta, {LOOPS[loops]}", "4", f"{found['Runge-Kutta order']:.3f}"],
            [f"bound over true error of Euler, {LOOPS[loops]}", "at least 1",
             f"{loose.min():.0f} to {loose.max():.0f}"],
        ]  # fmt: skip
    if not panels:
        return []
    caption = f"Error of K steps to T = {T_ERROR} against the heat equation's exact solution."
    table = Table("Orders p in error ~ K^−p", ["what", "expected", "found"], rows)
    return [Chart("theorem2", caption, panels, 2), table]


def _parts_3(records: Records) -> Sequence[Part]:
    panels, rows = [], []
    for record in records:
        loops, found = record.setting["self_loops"], record.result
        named = {
            "heat kernel" if key == "heat kernel" else f"Euler, K = {key}": values
            for key, values in found["over T"].items()
        }
        over_T = [
            Series.through(
                name,
                [(T, risk) for T, risk in zip(found["T"], values, strict=True) if risk > ROUNDING],
            )
            for name, values in named.items()
        ]
        over_K = [
            Series("excess risk", found["K"], found["over K"]),
            Series("bound", found["K"], found["bound over K"], dashed=True),
        ]
        panels += [
            Panel(f"T⋆ = {T_STAR:g}, {LOOPS[loops]}", over_T, "T", "excess risk", "y"),
            Panel(f"T = T⋆, {LOOPS[loops]}", over_K, "steps K", "excess risk", "xy"),
        ]
        rows += [
            [f"order in K at T = T⋆, {LOOPS[loops]}", "2", f"{found['order']:.3f}"],
            *(
                [f"T of the least risk, {name}, {LOOPS[loops]}", f"{T_STAR:g}", f"{best:g}"]
                for name, best in zip(named, found["best T"].values(), strict=True)
            ),
        ]
    if not panels:
        return []
    caption = "Excess risk over the T that features diffuse for, and over the number of steps."
    return [Chart("theorem3", caption, panels, 2), _slopes(rows)]


THEOREM_1 = Experiment(
    "theorem1",
    "Theorem 1: smoothing",
    _entries(1, _smoothing),
    _parts_1,
    [
        "As T grows, features tend to an equilibrium in each connected component, as fast as "
        "the smallest positive eigenvalue of L lets them. SGC's steps smooth as well, but "
        "without self-loops a bipartite component swings for ever. On Citeseer, with random "
        "features.",
    ],
)
THEOREM_2 = Experiment(
    "theorem2",
    "Theorem 2: numerical error",
    _entries(2, _errors),
    _parts_2,
    [
        "The error of Euler's steps falls as 1/K and stays below the bound, which is loose by "
        "orders of magnitude; Runge–Kutta's falls as 1/K⁴. On Citeseer, with random features.",
    ],
)
THEOREM_3 = Experiment(
    "theorem3",
    "Theorem 3: risk",
    _entries(3, _risks),
    _parts_3,
    [
        "Features are corrupted by running the heat equation backwards for a time T⋆. The risk of "
        "a linear model on diffused features is least at T = T⋆ if there are many steps, and there "
        "falls with the square of the numerical error, as 1/K² for Euler. With few steps, whose "
        "error counts, a T a little shorter does better.",
    ],
)
