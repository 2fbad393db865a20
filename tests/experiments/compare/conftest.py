from dataclasses import replace

import numpy as np
import pytest
from strategies import planted

from heatgraph import DGCClassifier
from heatgraph.baselines.schemes import features_alone, sgc
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.experiments.compare import comparison
from heatgraph.experiments.compare.measures import measure
from heatgraph.experiments.compare.methods import METHODS
from heatgraph.experiments.results import ResultStore

GRAPH, LABELS = planted(kind="dense")
OWN_SPLIT = Split(np.arange(15), np.arange(15, 45), np.arange(45, 90))


@pytest.fixture
def data():
    """Ninety nodes of three classes."""
    return Dataset("planted", GRAPH, LABELS, {"own": OWN_SPLIT})


@pytest.fixture
def store(tmp_path):
    """A function that opens the results in the test's folder."""
    return lambda: ResultStore(tmp_path, "compare", "heatgraph compare planted")


@pytest.fixture
def jobs(monkeypatch):
    """Lists the jobs that ran, in this process and with small search grids to be quick."""
    ran = []
    grid = {"weight_decay": [1e-3, 1e-1], "feature_scaling": "none"}
    small = {
        "dgc": lambda _: DGCClassifier(T=[0.0, 2.0], **grid),
        "dgc-extended": lambda _: DGCClassifier(T=2.0, extensions=["class-offsets"], **grid),
        "dgc-refit": lambda _: DGCClassifier(T=[0.0, 2.0], final_fit="train+val", **grid),
        "sgc": lambda _: sgc([1, 2], **grid),
        "features": lambda _: features_alone(**grid),
    }
    for name, make in small.items():
        monkeypatch.setitem(METHODS, name, replace(METHODS[name], make=make))

    def run(job, report):
        ran.append(job)
        return measure(job, report)

    monkeypatch.setattr(comparison, "run_in_subprocess", run)
    return ran
