from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from heatgraph import DGCClassifier
from heatgraph.baselines.gnn.grid_search import TunedGNNClassifier
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import random_split
from heatgraph.datasets.synthetic import make_block_graph
from heatgraph.experiments.paper import (
    experiment,
    figure1,
    figure2,
    figure3,
    networks,
    table2,
    times,
)
from heatgraph.experiments.paper.experiment import DatasetCache, RunConfig


def small_dataset(name):
    """A graph that takes no time to fit, with non-negative features."""
    made = make_block_graph(300, 900, 3, 12, signal=2.0)
    graph = made.graph.with_features(np.abs(made.graph.features))
    return Dataset(name, graph, made.labels, {"public": made.split})


def network_substitute(network, dataset, layers=2, random_state=0):
    """A DGC in the place of a network, which needs torch and time."""
    model = DGCClassifier(T=1.0, weight_decay=1e-3, random_state=random_state)
    model.epochs_ = layers
    return model


def fit_tuned_substitute(network, graph, y, train, val):
    """A fitted DGC in the place of a tuned network."""
    return DGCClassifier(T=1.0, weight_decay=1e-3).fit(graph, y, train, val)


@pytest.fixture
def small_data(monkeypatch):
    """Small graphs in place of all data sets, and DGC in place of networks; gives them by name."""
    made = {}

    def load(name, folder=None):
        if name not in made:
            made[name] = small_dataset(name)
        return made[name]

    monkeypatch.setattr(experiment, "load_dataset", load)
    monkeypatch.setattr(experiment, "reddit_like", lambda scale: load("reddit-like"))
    monkeypatch.setattr(experiment, "random_split", partial(random_split, val=60, test=100))
    monkeypatch.setattr(figure1, "QUICK_NODES", 40)
    monkeypatch.setattr(figure1, "COMPONENTS", 5)
    for module in (figure1, figure2, figure3):
        monkeypatch.setattr(module, "TIMES", module.TIMES[1::3])
        monkeypatch.setattr(module, "STEPS", module.STEPS[1::3])
    monkeypatch.setattr(times, "QUICK_ROUNDS", 1)
    for module in (figure2, networks, times):
        monkeypatch.setattr(module, "authors_network", network_substitute)
    monkeypatch.setattr(TunedGNNClassifier, "fit", fit_tuned_substitute)
    monkeypatch.delitem(table2.VALIDATED, "DeepWalk")
    monkeypatch.delenv("HEATGRAPH_DATA", raising=False)
    with threadpool_limits(1):  # threads of t-SNE and BLAS only compete on graphs this small
        yield made


@pytest.fixture
def config():
    return RunConfig(seeds=1, quick=True)


@pytest.fixture(scope="session")
def datasets():
    """The real data sets."""
    return DatasetCache()
