"""Methods by name."""

import json
from dataclasses import replace

import pytest

from heatgraph.baselines.gnn import grid_search
from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.errors import InputError
from heatgraph.experiments.compare import methods
from heatgraph.experiments.compare.methods import (
    DEFAULT_METHODS,
    GROUPS,
    LINEAR_METHODS,
    METHODS,
    TUNED_METHODS,
    method_settings,
    parse_methods,
)


def test_parse_methods():
    assert parse_methods("gcn, SGC") == ["dgc", "gcn", "sgc"]
    assert parse_methods("sgc,dgc,sgc") == ["dgc", "sgc"]
    assert parse_methods("linear") == list(LINEAR_METHODS)
    assert parse_methods("all") == list(METHODS)
    assert parse_methods("tuned") == ["dgc", "gcn-tuned", "appnp-tuned"]
    assert set(parse_methods("gnn")) == {"dgc", *GROUPS["gnn"]}
    assert set(parse_methods(DEFAULT_METHODS)) <= set(METHODS)
    with pytest.raises(InputError, match=r"no model 'gin'\. Did you mean .* There are dgc, "):
        parse_methods("gcn,gin")


def test_dgc_is_the_papers_and_beside_it_extended_and_refitted():
    made = {name: METHODS[name].make("") for name in ("dgc", "dgc-extended", "dgc-refit")}
    assert [model.extensions for model in made.values()] == [None, "auto", "auto"]
    assert [model.final_fit for model in made.values()] == ["train", "train", "train+val"]
    assert parse_methods(DEFAULT_METHODS)[:2] == ["dgc", "dgc-extended"]


def test_methods_that_learn_from_validation_nodes_have_a_protocol_of_their_own():
    refitted = [name for name, method in METHODS.items() if not method.is_comparable]
    assert refitted == ["dgc-refit"]
    assert METHODS["dgc-refit"].protocol == "validated, then refitted"
    assert [name for name, group in GROUPS.items() if "dgc-refit" in group] == ["all"]
    assert "dgc-refit" not in DEFAULT_METHODS


def test_every_network_is_a_method():
    assert {METHODS[name].make("").network for name in GROUPS["gnn"]} == set(RECIPES)


@pytest.mark.parametrize("name", METHODS)
def test_settings_are_json_values(name):
    json.dumps(method_settings(name, "pubmed"), allow_nan=False)


def test_networks_have_their_authors_settings_for_the_data_set():
    assert METHODS["gat"].make("pubmed").learning_rate == 0.01
    settings = method_settings("gat", "pubmed")
    assert settings["learning_rate"] == recipe_for("gat", "pubmed").learning_rate
    assert method_settings("gat", "other")["learning_rate"] == 0.005


@pytest.mark.parametrize("name", TUNED_METHODS)
def test_tuned_networks_are_validated(name):
    method, network = METHODS[name], name.removesuffix("-tuned")
    assert (method.protocol, method.extra, method.is_random) == ("validated", "gnn", True)
    assert method.title == f"{METHODS[network].title}, tuned"
    assert method.make("pubmed").network == network
    assert {"epochs", "feature_scaling", "n_threads"} <= method.make("").get_params().keys()


def test_settings_of_tuned_networks_change_with_their_grid_and_recipe(monkeypatch):
    before = method_settings("gcn-tuned", "cora")
    assert len(before["recipes"]) == 16
    assert before == method_settings("gcn-tuned", "pubmed")
    with monkeypatch.context() as patch:
        patch.setitem(grid_search.GRIDS, "gcn", {"dropout": [0.1]})
        assert method_settings("gcn-tuned", "cora") != before
    longer = replace(RECIPES["gcn"], default=replace(recipe_for("gcn"), epochs=7))
    monkeypatch.setitem(RECIPES, "gcn", longer)
    assert method_settings("gcn-tuned", "cora") != before


def test_estimators_ignore_parameters_they_do_not_have():
    given = {"random_state": 7, "feature_scaling": "none", "n_threads": 1, "memory_budget": "1GB"}
    model = METHODS["sgc"].estimator("cora", **given)
    assert given.items() <= model.get_params().items()
    assert METHODS["label-propagation"].estimator("cora", **given).get_params()["tol"] == 1e-6


def test_methods_without_their_packages_are_not_installed(monkeypatch):
    monkeypatch.setitem(methods.EXTRA_PACKAGES, "gnn", ("no_such_library",))
    assert not METHODS["gcn"].is_installed
    assert METHODS["dgc"].is_installed
