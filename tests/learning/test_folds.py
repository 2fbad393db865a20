import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from heatgraph.learning._folds import Folds, SampleSize, stratified_parts, stratified_sample

codes_lists = st.lists(st.integers(0, 3), min_size=1, max_size=60).map(np.array)


@given(codes_lists, st.integers(1, 5), seeds)
def test_stratified_parts_balance_sizes_and_classes(codes, parts, seed):
    part = stratified_parts(codes, parts, np.random.default_rng(seed))
    sizes = np.bincount(part, minlength=parts)
    assert sizes.max() - sizes.min() <= 1
    for code in set(codes.tolist()):
        counts = np.bincount(part[codes == code], minlength=parts)
        assert counts.max() - counts.min() <= 1


@given(codes_lists, st.integers(1, 60), seeds)
def test_a_stratified_sample_has_every_class_in_its_share(codes, size, seed):
    sample = stratified_sample(codes, size, np.random.default_rng(seed))
    assert len(sample) == min(size, len(codes))
    assert (np.diff(sample) > 0).all()
    classes = set(codes.tolist())
    if size >= len(classes):
        assert set(codes[sample].tolist()) == classes
    for code in classes:
        share = np.count_nonzero(codes == code) * len(sample) / len(codes)
        assert abs(np.count_nonzero(codes[sample] == code) - share) <= 1 + len(classes)


def test_the_standard_error_gives_the_number_of_held_out_nodes():
    """At an accuracy of one half, where it is largest."""
    for error in (0.007, 0.02):
        m = SampleSize(10, error).max_held_out
        assert np.sqrt(0.25 / m) <= error < np.sqrt(0.25 / (m - 1))


def problem(n, classes, seed=0):
    random = np.random.default_rng(seed)
    return random.permutation(10 * n)[:n], np.arange(n) % classes


def check(folds, nodes, codes):
    """Positions are valid, parts are disjoint, and codes are those of the nodes."""
    code_of = dict(zip(nodes.tolist(), codes.tolist(), strict=True))
    assert [code_of[node] for node in folds.nodes.tolist()] == folds.codes.tolist()
    for train, held_out in folds.folds:
        assert not set(train.tolist()) & set(held_out.tolist())
        assert train.max() < folds.num_train_nodes
        assert set(folds.codes[train].tolist()) == set(codes.tolist())
    assert folds.num_held_out == sum(len(held_out) for _, held_out in folds.folds)
    assert folds.num_fold_train == len(folds.folds[0][0])


def test_few_training_nodes_are_held_out_in_folds():
    nodes, codes = problem(23, 3)
    folds = Folds.hold_out_training(nodes, codes, SampleSize(30, 0.1), seed=0)
    check(folds, nodes, codes)
    assert len(folds.folds) == 5
    assert folds.num_held_out == 23
    held_out = np.concatenate([held_out for _, held_out in folds.folds])
    assert sorted(held_out) == list(range(23))


def test_of_many_training_nodes_one_sample_is_held_out():
    nodes, codes = problem(1000, 3)
    folds = Folds.hold_out_training(nodes, codes, SampleSize(30, 0.05), seed=0)
    check(folds, nodes, codes)
    assert len(folds.folds) == 1
    assert (folds.num_fold_train, folds.num_held_out) == (30, 100)
    scarce = Folds.hold_out_training(nodes, codes, SampleSize(700, 0.02), seed=0)
    assert (scarce.num_fold_train, scarce.num_held_out) == (700, 300)


def test_validation_nodes_are_held_out():
    nodes, codes = problem(1000, 3)
    val = 20_000 + np.arange(500)
    val_codes = np.arange(500) % 4 - 1
    folds = Folds.hold_out_validation(nodes, codes, val, val_codes, SampleSize(30, 0.05), seed=0)
    assert (folds.num_fold_train, folds.num_held_out) == (30, 100)
    assert folds.nodes[:30].max() < 20_000 <= folds.nodes[30:].min()
    assert set(folds.codes[30:].tolist()) == {-1, 0, 1, 2}
    few = Folds.hold_out_validation(
        nodes[:9], codes[:9], val[:5], val_codes[:5], SampleSize(30, 0.05), seed=0
    )
    np.testing.assert_array_equal(few.nodes, [*nodes[:9], *val[:5]])


def test_many_classes_keep_a_few_nodes_each():
    nodes, codes = problem(2000, 100)
    folds = Folds.hold_out_training(nodes, codes, SampleSize(30, 0.05), seed=0)
    check(folds, nodes, codes)
    assert np.bincount(folds.codes[folds.folds[0][0]]).min() >= 3


def test_rare_classes_keep_a_few_nodes_each():
    codes = np.repeat([0, 1, 2], [100_000, 50, 3])
    folds = Folds.hold_out_training(np.arange(len(codes)), codes, SampleSize(1000, 0.05), seed=0)
    kept = np.bincount(folds.codes[folds.folds[0][0]])
    assert kept.sum() == 1000
    assert kept[1] >= 4
    assert kept[2] == 3


@pytest.mark.parametrize("seed", [0, 1])
def test_the_seed_decides(seed):
    nodes, codes = problem(1000, 3)
    size = SampleSize(30, 0.05)
    one, two, other = (Folds.hold_out_training(nodes, codes, size, s) for s in (seed, seed, 7))
    np.testing.assert_array_equal(one.nodes, two.nodes)
    assert set(one.nodes.tolist()) != set(other.nodes.tolist())
