"""Learning from validation nodes too, once settings are chosen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import heatgraph as hg
from heatgraph import DGCClassifier
from heatgraph.errors import InputError

DATA = hg.make_block_graph(600, 1200, 3, 20, signal=1.5, seed=3)
SPLIT = hg.random_split(DATA.labels, 5, 150, 300, seed=0)
GRAPH, LABELS = DATA.graph, DATA.labels


def fitted(labels=LABELS, val=SPLIT.val, **parameters):
    return DGCClassifier(**parameters).fit(GRAPH, labels, SPLIT.train, val)


@pytest.mark.parametrize("extensions", ["auto", None])
def test_learns_from_validation_nodes(extensions):
    before = fitted(extensions=extensions)
    after = fitted(extensions=extensions, final_fit="train+val")
    assert before.final_fit_nodes_ == len(SPLIT.train)
    assert after.final_fit_nodes_ == len(SPLIT.train) + len(SPLIT.val)
    assert after.T_ == before.T_
    assert after.validation_accuracy_ == before.validation_accuracy_
    assert after.search_ == before.search_
    assert after.score(None, LABELS, SPLIT.test) > before.score(None, LABELS, SPLIT.test)


def test_is_a_fit_of_all_labels_with_the_chosen_settings():
    chosen = fitted(extensions=None)
    after = fitted(extensions=None, final_fit="train+val")
    both = np.concatenate([SPLIT.train, SPLIT.val])
    alike = DGCClassifier(
        T=chosen.T_, weight_decay=after.weight_decay_, feature_scaling=chosen.feature_scaling_
    ).fit(GRAPH, LABELS, both)
    assert_allclose(after.coef_, alike.coef_, atol=1e-5 * np.abs(alike.coef_).max())


def test_a_given_weight_decay_is_kept():
    assert fitted(weight_decay=0.01, final_fit="train+val").weight_decay_ == 0.01


def test_validation_nodes_are_learned_from_only_if_that_is_said():
    wrong = np.array(LABELS).copy()
    wrong[SPLIT.val] = np.roll(wrong[SPLIT.val], 1)
    settings = {"T": 2.0, "weight_decay": 0.01, "extensions": None}
    assert_array_equal(fitted(**settings).coef_, fitted(wrong, **settings).coef_)
    after = [fitted(y, final_fit="train+val", **settings).coef_ for y in (LABELS, wrong)]
    assert not np.array_equal(*after)


def test_without_validation_nodes_nothing_changes():
    one, two = (fitted(val=None, final_fit=name) for name in ("train", "train+val"))
    assert_array_equal(one.coef_, two.coef_)


def test_other_values_are_refused():
    with pytest.raises(InputError, match="final_fit must be 'train' or 'train\\+val'. Got 'all'"):
        fitted(final_fit="all")


def test_survives_a_file(tmp_path):
    model = fitted(final_fit="train+val")
    model.save(tmp_path / "model.safetensors")
    loaded = hg.load(tmp_path / "model.safetensors")
    assert loaded.final_fit_nodes_ == model.final_fit_nodes_
    assert_array_equal(loaded.decision_function(GRAPH), model.decision_function())
