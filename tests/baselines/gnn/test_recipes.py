"""Settings of networks, and the checks of them."""

from dataclasses import replace

import pytest

from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.errors import InputError


@pytest.mark.parametrize("published", RECIPES.values(), ids=RECIPES)
def test_published_recipes_pass_their_own_check(published):
    for recipe in (published.default, *published.by_dataset.values()):
        published.check(recipe)
        assert recipe.options.keys() == published.default.options.keys()
    assert set(published.may_be_zero) <= published.default.options.keys()


def test_titles_are_distinct():
    titles = [published.title for published in RECIPES.values()]
    assert len(set(titles)) == len(titles)


def test_recipes_for_a_data_set():
    assert recipe_for("gat", "cora") is RECIPES["gat"].default
    assert recipe_for("gat", "pubmed").weight_decay == 1e-3


def test_options_have_the_type_of_the_published_ones():
    gcde = RECIPES["gcde"]
    gcde.check(replace(gcde.default, options={"inner_dropout": 0, "method": "euler"}))
    with pytest.raises(InputError, match="option method must be a text. Got 3."):
        gcde.check(replace(gcde.default, options={"method": 3}))
