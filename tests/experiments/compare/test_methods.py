"""Methods by name."""

import json

import pytest

from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.errors import InputError
from heatgraph.experiments.compare import methods
from heatgraph.experiments.compare.methods import (
    DEFAULT_METHODS,
    GROUPS,
    LINEAR_METHODS,
    METHODS,
    method_settings,
    parse_methods,
)


def test_parse_methods():
    assert parse_methods("gcn, SGC") == ["dgc", "gcn", "sgc"]
    assert parse_methods("sgc,dgc,sgc") == ["dgc", "sgc"]
    assert parse_methods("linear") == list(LINEAR_METHODS)
    assert parse_methods("all") == list(METHODS)
    assert set(parse_methods("gnn")) == {"dgc", *GROUPS["gnn"]}
    assert set(parse_methods(DEFAULT_METHODS)) <= set(METHODS)
    with pytest.raises(InputError, match=r"models are: dgc, sgc, .* Got 'gin'\."):
        parse_methods("gcn,gin")


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


def test_estimators_ignore_parameters_they_do_not_have():
    given = {"random_state": 7, "feature_scaling": "none", "n_threads": 1, "memory_budget": "1GB"}
    model = METHODS["sgc"].estimator("cora", **given)
    assert given.items() <= model.get_params().items()
    assert METHODS["label-propagation"].estimator("cora", **given).get_params()["tol"] == 1e-6


def test_methods_without_their_packages_are_not_installed(monkeypatch):
    monkeypatch.setitem(methods.EXTRA_PACKAGES, "gnn", ("no_such_library",))
    assert not METHODS["gcn"].is_installed
    assert METHODS["dgc"].is_installed
