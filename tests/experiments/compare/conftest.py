import numpy as np
import pytest
from strategies import planted

from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.experiments.compare import trials
from heatgraph.experiments.compare.measures import measure

GRAPH, LABELS = planted(kind="dense")
OWN = Split(np.arange(15), np.arange(15, 45), np.arange(45, 90))


@pytest.fixture
def data():
    """Ninety nodes of three classes."""
    return Dataset("planted", GRAPH, LABELS, {"own": OWN})


@pytest.fixture
def in_this_process(monkeypatch):
    """Runs without processes of their own, which take seconds to start; gives the jobs."""
    jobs = []

    def run(job, report):
        jobs.append(job)
        return measure(job, report)

    monkeypatch.setattr(trials, "isolated", run)
    return jobs
