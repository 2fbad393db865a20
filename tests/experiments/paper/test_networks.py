"""Networks as trials, which need torch."""

from dataclasses import replace

import pytest

from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.experiments.paper.networks import network_trial


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
