"""Networks as trials, which need torch."""

from dataclasses import asdict, replace

import pytest

from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.experiments.paper import networks
from heatgraph.experiments.paper.experiment import CITATION_GRAPHS, RunConfig
from heatgraph.experiments.paper.networks import network_trial, supervised_trials, tuned_trial


@pytest.mark.slow
@pytest.mark.torch
def test_a_network_runs_as_a_trial(datasets, monkeypatch):
    reason = "graph neural networks need torch, torch_geometric and torchdiffeq: the extra gnn"
    pytest.importorskip("torch_geometric", reason=reason)
    brief = replace(recipe_for("gcn"), epochs=20)
    monkeypatch.setitem(RECIPES, "gcn", replace(RECIPES["gcn"], default=brief))
    result = network_trial("GCN", "gcn", "citeseer", "public", 0).run(datasets)
    assert result["epochs"] == 20
    assert result["accuracy"] > 50
    assert result["validation_accuracy"] > 0.5


def test_networks_of_table_3_are_tuned_on_16_settings_with_the_authors_among_them():
    trials = supervised_trials(RunConfig(seeds=10))
    tuned = [trial for trial in trials if trial.setting["protocol"] == "validated"]
    assert {(trial.setting["method"], trial.setting["dataset"]) for trial in tuned} == {
        (method, name) for method in networks.SUPERVISED_GRIDS for name in CITATION_GRAPHS
    }
    for trial in tuned:
        recipes = trial.details["recipes"]
        assert len(recipes) == 16
        assert asdict(recipe_for(trial.setting["network"])) in recipes
    assert len({trial.key for trial in trials}) == len(trials)


@pytest.mark.slow
@pytest.mark.torch
def test_a_tuned_network_runs_as_a_trial(datasets, monkeypatch):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra gnn")
    grid = {"dropout": (0.5, 0.8), "epochs": (5,)}
    monkeypatch.setitem(networks.SUPERVISED_GRIDS, "APPNP", grid)
    result = tuned_trial("APPNP", "citeseer", 0).run(datasets)
    assert result["setting"]["dropout"] in grid["dropout"]
    assert result["epochs"] == 5
    assert result["accuracy"] > 30
