"""Methods by name."""

import json

import pytest

from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.errors import InputError
from heatgraph.experiments.compare import contestants
from heatgraph.experiments.compare.contestants import (
    CONTESTANTS,
    DEFAULT,
    GROUPS,
    LINEAR,
    chosen,
    described,
)


def test_chosen():
    assert chosen("gcn, SGC") == ["dgc", "gcn", "sgc"]
    assert chosen("sgc,dgc,sgc") == ["dgc", "sgc"]
    assert chosen("linear") == list(LINEAR)
    assert chosen("all") == list(CONTESTANTS)
    assert set(chosen("gnn")) == {"dgc", *GROUPS["gnn"]}
    assert set(chosen(DEFAULT)) <= set(CONTESTANTS)
    with pytest.raises(InputError, match=r"models are: dgc, sgc, .* Got 'gin'\."):
        chosen("gcn,gin")


def test_every_network_takes_part():
    known = {CONTESTANTS[name].make("").network for name in GROUPS["gnn"]}
    assert known == set(RECIPES)


@pytest.mark.parametrize("name", CONTESTANTS)
def test_details_are_plain(name):
    json.dumps(described(name, "pubmed"), allow_nan=False)


def test_networks_have_their_authors_settings_for_a_data_set():
    assert CONTESTANTS["gat"].make("pubmed").learning_rate == 0.01
    assert described("gat", "pubmed")["learning_rate"] == recipe_for("gat", "pubmed").learning_rate
    assert described("gat", "other")["learning_rate"] == 0.005


def test_estimators_take_what_they_have():
    given = {"random_state": 7, "feature_scaling": "none", "n_threads": 1, "memory_budget": "1GB"}
    model = CONTESTANTS["sgc"].estimator("cora", **given)
    assert given.items() <= model.get_params().items()
    assert CONTESTANTS["label-propagation"].estimator("cora", **given).get_params()["tol"] == 1e-6


def test_what_is_not_installed(monkeypatch):
    monkeypatch.setitem(contestants.EXTRAS, "gnn", ("no_such_library",))
    assert not CONTESTANTS["gcn"].is_installed
    assert CONTESTANTS["dgc"].is_installed
