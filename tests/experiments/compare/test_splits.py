"""Splits to compare methods on."""

from dataclasses import replace

import numpy as np
import pytest

from heatgraph.datasets.splits import Split
from heatgraph.errors import InputError
from heatgraph.experiments.compare.splits import DEFAULT_SPLITS, comparison_splits


def test_the_own_split_is_the_default(data):
    assert list(comparison_splits(data, None)) == ["own"]


def test_all_own_splits_are_used(data):
    untested = Split(np.arange(15), np.arange(15, 45), np.empty(0, dtype=int))
    other = Split(np.arange(20, 40), np.arange(10), np.arange(50, 80))
    several = replace(data, splits={**data.splits, "x": untested, "y": other})
    splits = comparison_splits(several, None)
    assert list(splits) == ["own 0", "own 1"]
    assert splits["own 0"].test.tolist() == data.split.test.tolist()
    assert splits["own 1"].test.tolist() == other.test.tolist()
    assert [len(part.test) for part in comparison_splits(several, 2).values()] == [45, 45]


def test_random_splits_have_the_sizes_of_the_own_one(data):
    splits = comparison_splits(data, 3)
    assert list(splits) == ["random 0", "random 1", "random 2"]
    for split in splits.values():
        assert np.bincount(data.labels[split.train]).tolist() == [5, 5, 5]
        assert (len(split.val), len(split.test)) == (30, 45)
    assert set(splits["random 0"].train) != set(splits["random 1"].train)


def test_an_unbalanced_own_split_gives_shares(data):
    own = Split(np.r_[np.arange(15), 18], np.arange(20, 45), np.arange(45, 90))
    split = comparison_splits(replace(data, splits={"x": own}), 1)["random 0"]
    assert abs(len(split.train) - 16) <= 3
    assert abs(len(split.test) - 45) <= 3
    parts = np.concatenate([split.train, split.val, split.test])
    assert len(set(parts)) == len(parts)


def test_classes_without_training_nodes_in_the_own_split(data):
    labels = data.labels.copy()
    labels[np.flatnonzero(labels == 2)[5:9]] = 3  # four nodes, fewer than any other class has
    own = Split(np.flatnonzero(labels < 2)[:20], np.arange(45, 60), np.arange(60, 90))
    splits = comparison_splits(replace(data, labels=labels, splits={"x": own}), 2)
    assert all(len(split.test) > 20 for split in splits.values())


def test_data_without_a_split(data):
    splits = comparison_splits(replace(data, splits={}), None)
    assert len(splits) == DEFAULT_SPLITS
    assert [len(part) for part in (splits["random 0"].train, splits["random 0"].test)] == [54, 18]


def test_splits_without_test_nodes_are_refused(data):
    own = Split(np.arange(15), np.arange(15, 45), np.empty(0, dtype=int))
    with pytest.raises(InputError, match="names no test nodes"):
        comparison_splits(replace(data, splits={"x": own}), None)
    assert len(comparison_splits(replace(data, splits={"x": own}), 2)["random 1"].test) == 18


def test_data_without_labels_are_refused(data):
    with pytest.raises(InputError, match="labels are needed"):
        comparison_splits(replace(data, labels=None), None)
