import numpy as np
import pytest

from heatgraph import DGCClassifier
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.synthetic import make_block_graph
from heatgraph.experiments.paper import experiment, figure1, figure2, networks, table2, times
from heatgraph.experiments.paper.experiment import Scope


def small(name, seed=0):
    """A graph large enough for every split, and small enough to fit in no time."""
    made = make_block_graph(1700, 5000, 3, 12, signal=2.0, seed=seed)
    graph = made.graph.with_features(np.abs(made.graph.features))
    return Dataset(name, graph, made.labels, {"public": made.split})


def stand_in(network, dataset, layers=2, random_state=0):
    """What takes the place of a network, which needs torch and time."""
    model = DGCClassifier(T=1.0, weight_decay=1e-3, random_state=random_state)
    model.epochs_ = layers
    return model


@pytest.fixture
def shrunk(monkeypatch):
    """Small graphs in the place of all others, and less of what takes long."""
    made = {}

    def load(name, folder=None):
        if name not in made:
            made[name] = small(name)
        return made[name]

    monkeypatch.setattr(experiment, "load_dataset", load)
    monkeypatch.setattr(experiment, "reddit_like", lambda scale: load("reddit-like"))
    monkeypatch.setattr(figure1, "QUICK_NODES", 90)
    monkeypatch.setattr(figure1, "COMPONENTS", 5)
    monkeypatch.setattr(times, "QUICK_ROUNDS", 1)
    for module in (figure2, networks, times):
        monkeypatch.setattr(module, "authors_network", stand_in)
    monkeypatch.delitem(table2.VALIDATED, "DeepWalk")
    monkeypatch.delenv("HEATGRAPH_DATA", raising=False)
    return made


@pytest.fixture
def scope():
    return Scope(seeds=1, quick=True)
