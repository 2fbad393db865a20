"""Label the nodes of a graph: features diffuse like heat, and a linear classifier reads the result.

Nothing is imported until it is used, so ``import heatgraph`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from heatgraph import errors as errors
    from heatgraph import plot as plot
    from heatgraph import theory as theory
    from heatgraph._engine.plan import Plan as Plan
    from heatgraph.datasets.catalogue import load_dataset as load_dataset
    from heatgraph.datasets.dataset import Dataset as Dataset
    from heatgraph.datasets.splits import Split as Split
    from heatgraph.datasets.splits import column_split as column_split
    from heatgraph.datasets.splits import fraction_split as fraction_split
    from heatgraph.datasets.splits import random_split as random_split
    from heatgraph.datasets.synthetic import make_block_graph as make_block_graph
    from heatgraph.diffusion import diffuse as diffuse
    from heatgraph.diffusion import diffuse_many as diffuse_many
    from heatgraph.diffusion import plan as plan
    from heatgraph.exchange.dgl import from_dgl as from_dgl
    from heatgraph.exchange.networkx import from_networkx as from_networkx
    from heatgraph.exchange.pyg import DiffuseFeatures as DiffuseFeatures
    from heatgraph.exchange.pyg import from_pyg as from_pyg
    from heatgraph.explorer.explore import explore as explore
    from heatgraph.graph import Graph as Graph
    from heatgraph.learning.calibration import (
        expected_calibration_error as expected_calibration_error,
    )
    from heatgraph.learning.classifier import DGCClassifier as DGCClassifier
    from heatgraph.learning.description import describe as describe
    from heatgraph.learning.explanation import Explanation as Explanation
    from heatgraph.learning.model_files import load as load
    from heatgraph.learning.multilabel import DGCMultilabelClassifier as DGCMultilabelClassifier
    from heatgraph.learning.progress import FitProgress as FitProgress
    from heatgraph.learning.progress_bar import ProgressBar as ProgressBar
    from heatgraph.learning.regressor import DGCRegressor as DGCRegressor
    from heatgraph.learning.transformer import GraphDiffusion as GraphDiffusion
    from heatgraph.report.fit_report import fit_report as fit_report
    from heatgraph.schemes import SGC as SGC
    from heatgraph.schemes import SIGN as SIGN
    from heatgraph.schemes import Euler as Euler
    from heatgraph.schemes import Heat as Heat
    from heatgraph.schemes import PersonalizedPageRank as PersonalizedPageRank
    from heatgraph.schemes import RungeKutta4 as RungeKutta4
    from heatgraph.tables.from_tables import from_tables as from_tables

_HOMES = {
    "errors": "errors",
    "plot": "plot",
    "theory": "theory",
    "Graph": "graph",
    "Euler": "schemes",
    "Heat": "schemes",
    "PersonalizedPageRank": "schemes",
    "RungeKutta4": "schemes",
    "SGC": "schemes",
    "SIGN": "schemes",
    "Plan": "_engine.plan",
    "diffuse": "diffusion",
    "diffuse_many": "diffusion",
    "plan": "diffusion",
    "expected_calibration_error": "learning.calibration",
    "Explanation": "learning.explanation",
    "FitProgress": "learning.progress",
    "ProgressBar": "learning.progress_bar",
    "GraphDiffusion": "learning.transformer",
    "DGCClassifier": "learning.classifier",
    "DGCMultilabelClassifier": "learning.multilabel",
    "DGCRegressor": "learning.regressor",
    "load": "learning.model_files",
    "load_dataset": "datasets.catalogue",
    "Dataset": "datasets.dataset",
    "Split": "datasets.splits",
    "random_split": "datasets.splits",
    "fraction_split": "datasets.splits",
    "column_split": "datasets.splits",
    "make_block_graph": "datasets.synthetic",
    "from_tables": "tables.from_tables",
    "from_networkx": "exchange.networkx",
    "from_pyg": "exchange.pyg",
    "from_dgl": "exchange.dgl",
    "DiffuseFeatures": "exchange.pyg",
    "describe": "learning.description",
    "fit_report": "report.fit_report",
    "explore": "explorer.explore",
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
