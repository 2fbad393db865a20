"""Label the nodes of a graph: features diffuse like heat, and a linear classifier reads the result.

Nothing is imported until it is used, so ``import heatgraph`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from heatgraph import errors as errors
    from heatgraph import theory as theory
    from heatgraph.calibration import expected_calibration_error as expected_calibration_error
    from heatgraph.classifier import DGCClassifier as DGCClassifier
    from heatgraph.classifier import load as load
    from heatgraph.diffusion import diffuse as diffuse
    from heatgraph.diffusion import diffuse_many as diffuse_many
    from heatgraph.diffusion import plan as plan
    from heatgraph.explanation import Explanation as Explanation
    from heatgraph.graph import Graph as Graph
    from heatgraph.schedule import Plan as Plan
    from heatgraph.schemes import SGC as SGC
    from heatgraph.schemes import SIGN as SIGN
    from heatgraph.schemes import Euler as Euler
    from heatgraph.schemes import Heat as Heat
    from heatgraph.schemes import PersonalizedPageRank as PersonalizedPageRank
    from heatgraph.schemes import RungeKutta4 as RungeKutta4
    from heatgraph.transformer import GraphDiffusion as GraphDiffusion

_HOMES = {
    "errors": "errors",
    "theory": "theory",
    "Graph": "graph",
    "Euler": "schemes",
    "Heat": "schemes",
    "PersonalizedPageRank": "schemes",
    "RungeKutta4": "schemes",
    "SGC": "schemes",
    "SIGN": "schemes",
    "Plan": "schedule",
    "diffuse": "diffusion",
    "diffuse_many": "diffusion",
    "plan": "diffusion",
    "expected_calibration_error": "calibration",
    "Explanation": "explanation",
    "GraphDiffusion": "transformer",
    "DGCClassifier": "classifier",
    "load": "classifier",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'heatgraph' has no attribute {name!r}")
    home = import_module(f"heatgraph.{_HOMES[name]}")
    found = home if _HOMES[name] == name else getattr(home, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
