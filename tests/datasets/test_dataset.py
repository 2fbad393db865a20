"""`Dataset`: the default split, partitions, counts and digests."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import heatgraph as hg
from heatgraph.errors import InputError

PATH = hg.Graph.from_edges(range(5), range(1, 6), num_nodes=6, symmetrize="max")
LABELS = np.array([0, 1, 0, 1, -1, 0])


def dataset(train, val, test, labels=LABELS):
    split = hg.Split(*(np.array(part, dtype=int) for part in (train, val, test)))
    return hg.Dataset("path", PATH, labels, {"first": split, "other": hg.Split([0], [1], [2])})


def test_first_split_is_the_default():
    data = dataset([0], [1], [2])
    assert data.split is data.splits["first"]
    assert "'first': Split(train=1, val=1, test=1)" in repr(data)
    with pytest.raises(InputError, match="mine comes without a split. heatgraph.random_split"):
        _ = hg.Dataset("mine", PATH).split


def test_partition_of_a_complete_split():
    for part, expected in zip(
        dataset([0, 1], [2], [3]).partition(), ([0, 1], [2], [3]), strict=True
    ):
        assert_array_equal(part, expected)


def test_partition_trains_on_the_other_labelled_nodes():
    train, val, test = dataset([], [1], [2, 4]).partition()
    assert_array_equal(train, [0, 3, 5])
    assert_array_equal(val, [1])
    assert_array_equal(test, [2])


def test_partition_without_validation_or_labelled_test_nodes():
    train, val, test = dataset([0, 1], [], [4]).partition()
    assert_array_equal(train, [0, 1])
    assert val is None
    assert test is None


def test_partition_without_a_split():
    assert hg.Dataset("path", PATH, LABELS).partition() == (None, None, None)


def test_statistics():
    counts = dataset([0, 1], [2], [3, 5]).statistics
    assert (counts["nodes"], counts["edges"], counts["features"]) == (6, 5, 0)
    assert (counts["labelled"], counts["classes"]) == (5, 2)
    assert counts["splits"] == {"first": (2, 1, 2), "other": (1, 1, 1)}
    assert "labelled" not in hg.Dataset("mine", PATH).statistics


def test_digest_depends_on_everything_but_the_name():
    data = dataset([0], [1], [2])
    digest = data.digest()
    assert replace(data, name="other", notes="other").digest() == digest
    changed = [
        replace(data, labels=LABELS[::-1]),
        replace(data, labels=None),
        replace(data, graph=PATH.with_features(np.eye(6))),
        replace(data, graph=hg.Graph(2 * PATH.adjacency)),
        replace(data, graph=PATH.subgraph([0, 1, 2, 3, 5])),
        dataset([0], [1], [3]),
    ]
    assert digest not in {other.digest() for other in changed}
    assert len({other.digest() for other in changed}) == len(changed)


def test_digest_of_text_labels():
    data = dataset([0], [1], [2], np.array(["a", "b", "a", "b", None, "a"], dtype=object))
    assert data.digest() == replace(data, labels=data.labels.copy()).digest()
