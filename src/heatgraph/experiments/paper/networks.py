"""The non-linear methods of Tables 2 and 3: networks with early stopping (extra: gnn).

Protocols: *published*, with the settings of their authors, which are for the public split; and for
Table 3 also *validated*, with the best of 16 settings on validation nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sklearn.base import clone

from heatgraph.baselines.gnn.estimator import authors_network
from heatgraph.baselines.gnn.grid_search import GRIDS, Grid, TunedGNNClassifier
from heatgraph.baselines.gnn.recipes import recipe_for
from heatgraph.experiments.paper.accuracy_tables import accuracy_table
from heatgraph.experiments.paper.experiment import (
    CITATION_GRAPHS,
    DatasetCache,
    Experiment,
    RunConfig,
)
from heatgraph.experiments.paper.fitting import evaluate
from heatgraph.experiments.results import Records, Trial
from heatgraph.report.document import Part

# Networks by the names that the paper gives them.
PUBLIC_SPLIT = {
    "GCN": "gcn",
    "GAT": "gat",
    "GraphSAGE": "graphsage-gcn",
    "JKNet": "jknet-max",
    "APPNP": "appnp",
    "GWNN": "gwnn",
    "GraphHeat": "graphheat",
    "CGNN": "cgnn",
    "GCDE": "gcde",
}
SUPERVISED = {
    "GCN": "gcn",
    "GAT": "gat",
    "JK-MaxPool": "jknet-max",
    "JK-Concat": "jknet-concat",
    "JK-LSTM": "jknet-lstm",
    "APPNP": "appnp",
}
# The authors of JKNet search for the number of layers.
JKNET_GRID: Grid = {
    "learning_rate": (0.005, 0.01),
    "weight_decay": (5e-5, 5e-4),
    "dropout": (0.5, 0.8),
    "layers": (2, 4),
}
SUPERVISED_GRIDS: dict[str, Grid] = {
    "GCN": GRIDS["gcn"],
    **dict.fromkeys(("JK-MaxPool", "JK-Concat", "JK-LSTM"), JKNET_GRID),
    "APPNP": GRIDS["appnp"],
}
MAX_SEEDS = 5
MAX_TUNED_SEEDS = 3
PROTOCOLS = {"published": "published", "validated": "validated"}


def network_trial(method: str, network: str, name: str, split: str, seed: int) -> Trial:
    """One fit of a network with its authors' settings, evaluated on the test nodes."""

    def run(datasets: DatasetCache) -> dict[str, Any]:
        data = datasets.load(name, split, seed)
        model = authors_network(network, name, random_state=seed)
        model.fit(data.graph, data.labels, data.split.train, data.split.val)
        return evaluate(model, data) | {
            "epochs": model.epochs_,
            "validation_accuracy": model.validation_accuracy_,
        }

    setting = {"method": method, "dataset": name, "protocol": "published", "split": split,
               "network": network, "seed": seed}  # fmt: skip
    return Trial(setting, run, asdict(recipe_for(network, name)))


def tuned_trial(method: str, name: str, seed: int) -> Trial:
    """One search over the settings of a network of Table 3, evaluated on the test nodes."""
    network = SUPERVISED[method]
    model = TunedGNNClassifier(network, dict(SUPERVISED_GRIDS[method]), random_state=seed)

    def run(datasets: DatasetCache) -> dict[str, Any]:
        data = datasets.load(name, "fractions", seed)
        split = data.split
        fitted = clone(model).fit(data.graph, data.labels, split.train, split.val)
        return evaluate(fitted, data) | {
            "epochs": fitted.epochs_,
            "validation_accuracy": fitted.validation_accuracy_,
        }

    setting = {"method": method, "dataset": name, "protocol": "validated", "split": "fractions",
               "network": network, "seed": seed}  # fmt: skip
    return Trial(setting, run, {"recipes": [asdict(recipe) for recipe in model.recipes()]})


def public_split_trials(config: RunConfig) -> list[Trial]:
    """The networks of Table 2."""
    return _trials(config, PUBLIC_SPLIT, "public")


def supervised_trials(config: RunConfig) -> list[Trial]:
    """The networks of Table 3, with their authors' settings and tuned."""
    tuned = [
        tuned_trial(method, name, seed)
        for seed in range(0 if config.quick else min(config.seeds, MAX_TUNED_SEEDS))
        for name in CITATION_GRAPHS
        for method in SUPERVISED_GRIDS
    ]
    return _trials(config, SUPERVISED, "fractions") + tuned


def _trials(config: RunConfig, methods: dict[str, str], split: str) -> list[Trial]:
    """Trials with the seed in the outer loop, so that an interrupted run covers all methods."""
    return [
        network_trial(method, network, name, split, seed)
        for seed in range(1 if config.quick else min(config.seeds, MAX_SEEDS))
        for name in (CITATION_GRAPHS[:1] if config.quick else CITATION_GRAPHS)
        for method, network in methods.items()
    ]


def _parts(records: Records) -> Sequence[Part]:
    public, supervised = records.where(split="public"), records.where(split="fractions")
    return [
        accuracy_table("Public split", public, list(PUBLIC_SPLIT), PROTOCOLS, "Table 2"),
        accuracy_table("Random 60/20/20 splits", supervised, list(SUPERVISED), PROTOCOLS,
                       "Table 3"),
    ]  # fmt: skip


NETWORK_BASELINES = Experiment(
    "networks",
    "Tables 2 and 3: networks",
    lambda config: [*public_split_trials(config), *supervised_trials(config)],
    _parts,
    [
        "Non-linear methods on PyTorch Geometric's layers, with the settings of their authors "
        "(`heatgraph.baselines.gnn.recipes`), early stopping on validation nodes, and the weights "
        "that were best there. This takes hours, so `all` leaves it out. The settings are those "
        "for the public split, also with 60 % training nodes; *validated* has the best of 16 on "
        "validation nodes there: learning rate, weight decay, dropout, and the hidden size of GCN, "
        "alpha of APPNP, or the number of layers of JKNet. GraphSAGE takes the mean over a node "
        "and its neighbours, since the paper names no aggregator; JKNet takes the maximum.",
    ],
)
