"""Splits: sizes, reproducibility and errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from heatgraph import Split, column_split, fraction_split, random_split
from heatgraph.errors import InputError

LABELS = np.arange(600) % 3


def parts(split):
    return split.train, split.val, split.test


def test_nodes_per_class():
    split = random_split(LABELS, per_class=20, val=100, test=200)
    assert repr(split) == "Split(train=60, val=100, test=200)"
    np.testing.assert_array_equal(np.bincount(LABELS[split.train]), [20, 20, 20])


@pytest.mark.parametrize(
    "make",
    [
        lambda y, seed: random_split(y, 5, 20, 30, seed=seed),
        lambda y, seed: fraction_split(y, seed=seed),
        lambda y, seed: fraction_split(y, stratify=True, seed=seed),
    ],
)
@given(data=st.data())
def test_parts_are_labelled_disjoint_and_reproducible(make, data):
    random = np.random.default_rng(data.draw(seeds))
    labels = random.permutation(np.repeat([0, 1, 2, -1], [40, 30, 20, 25]))
    seed = data.draw(st.integers(0, 1000))
    split = make(labels, seed)
    nodes = np.concatenate(parts(split))
    assert len(np.unique(nodes)) == len(nodes)
    assert (labels[nodes] >= 0).all()
    for part, again in zip(parts(split), parts(make(labels, seed)), strict=True):
        np.testing.assert_array_equal(part, again)
        assert (np.diff(part) > 0).all()
    assert set(split.train) != set(make(labels, seed + 1).train)


def test_seeds_give_the_published_splits():
    """The results in docs/ depend on these draws."""
    labels = np.arange(60) % 3
    split = random_split(labels, per_class=2, val=3, test=4)
    expected = ([8, 16, 20, 27, 34, 42], [4, 51, 52], [2, 10, 44, 57])
    assert tuple(part.tolist() for part in parts(split)) == expected
    val = fraction_split(labels, seed=1).val
    assert val.tolist() == [2, 11, 12, 26, 34, 42, 43, 47, 48, 49, 50, 59]
    test = fraction_split(labels, stratify=True).test
    assert test.tolist() == [7, 13, 14, 15, 29, 31, 33, 39, 41, 45, 49, 56]


@pytest.mark.parametrize(
    ("nodes", "sizes"),
    # The paper's Table 7, for Cora, Citeseer and Pubmed.
    [(2708, (1624, 541, 543)), (3327, (1996, 665, 666)), (19717, (11830, 3943, 3944))],
)
def test_sizes_of_the_papers_table_7(nodes, sizes):
    assert tuple(map(len, parts(fraction_split(np.zeros(nodes, dtype=int))))) == sizes


def test_stratified_parts_have_the_same_classes():
    labels = np.repeat(["a", "b"], [500, 100])
    split = fraction_split(labels, (0.5, 0.3, 0.2), stratify=True)
    for part, share in zip(parts(split), (0.5, 0.3, 0.2), strict=True):
        values, counts = np.unique(labels[part], return_counts=True)
        assert dict(zip(values, counts, strict=True)) == {"a": 500 * share, "b": 100 * share}


def test_fractions_may_leave_nodes_out():
    assert tuple(map(len, parts(fraction_split(LABELS, (0.1, 0.2, 0.3))))) == (60, 120, 180)
    assert tuple(map(len, parts(fraction_split(LABELS, (0.5, 0.5, 0))))) == (300, 300, 0)


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.6, 0.6, 0.1), (-0.1, 0.5, 0.2), "abc"])
def test_bad_fractions(fractions):
    with pytest.raises(InputError, match="fractions must be three numbers"):
        fraction_split(LABELS, fractions)


def test_column():
    split = column_split(
        ["train", "Validation", "", None, " TEST ", float("nan"), "dev", "training"]
    )
    for part, nodes in zip(parts(split), ([0, 7], [1, 6], [4]), strict=True):
        np.testing.assert_array_equal(part, nodes)
    with pytest.raises(InputError, match="entry 1: the split is 'tset', where 'train', 'val'"):
        column_split(["train", "tset"])


def test_labels_of_any_kind():
    labels = ["x", None, "y", "x", "y", None]
    split = random_split(labels, per_class=1, val=1, test=1)
    assert sorted(np.concatenate(parts(split))) == [0, 2, 3, 4]


def test_counts_that_do_not_fit():
    with pytest.raises(InputError, match="per_class=201 is more than the smallest class has: 200"):
        random_split(LABELS, per_class=201)
    with pytest.raises(InputError, match="that fit into the 540 labelled nodes"):
        random_split(LABELS, per_class=20, val=500, test=1000)
    with pytest.raises(InputError, match="per_class must be an integer"):
        random_split(LABELS, per_class=0)
    with pytest.raises(InputError, match="nothing to split"):
        fraction_split([None, None])


def test_overlapping_parts():
    with pytest.raises(InputError, match="train and test overlap in 2 nodes, the first of them 1"):
        Split(np.array([0, 1, 2]), np.array([5]), np.array([1, 2]))
    with pytest.raises(InputError, match="val and test overlap"):
        Split(np.array([0]), np.array([5]), np.array([5]))


@pytest.mark.parametrize("nodes", [[1.5], [-1], ["a"], [[1, 2]]])
def test_parts_that_are_not_indices(nodes):
    with pytest.raises(InputError, match="val must be indices of nodes"):
        Split(np.array([0]), nodes, [])


def test_counts_and_seeds_are_whole_numbers():
    for counts in ({"val": 2.5}, {"test": -1}, {"val": True}):
        with pytest.raises(InputError, match="must be integers that fit"):
            random_split(LABELS, 5, **({"val": 10, "test": 10} | counts))
    for seed in (-1, 0.5, None):
        with pytest.raises(InputError, match="seed must be an integer >= 0"):
            fraction_split(LABELS, seed=seed)


def test_column_of_pandas():
    pandas = pytest.importorskip("pandas")
    split = column_split(pandas.array(["train", pandas.NA, "test"], dtype="string"))
    assert repr(split) == "Split(train=1, val=0, test=1)"
