"""The non-linear methods of Tables 2 and 3: networks with their authors' settings (extra: gnn).

Protocol: *published*, with early stopping on validation nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from heatgraph.baselines.gnn.estimator import authors_network
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
MAX_SEEDS = 5
PROTOCOLS = {"published": "published"}


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


def public_split_trials(config: RunConfig) -> list[Trial]:
    """The networks of Table 2."""
    return _trials(config, PUBLIC_SPLIT, "public")


def supervised_trials(config: RunConfig) -> list[Trial]:
    """The networks of Table 3."""
    return _trials(config, SUPERVISED, "fractions")


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
        "for the public split, also with 60 % training nodes. GraphSAGE takes the mean over a node "
        "and its neighbours, since the paper names no aggregator; JKNet takes the maximum.",
    ],
)
