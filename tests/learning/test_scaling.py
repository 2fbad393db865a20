import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.learning import scaling as scaling_module
from heatgraph.learning.scaling import (
    BY_ROW,
    SCALINGS,
    Scaling,
    candidate_scalings,
    check_scaling,
    default_scaling,
)

RANDOM = np.random.default_rng(0)
COUNTS = RANDOM.poisson(0.5, size=(40, 6)).astype(np.float64)
COUNTS[3] = 0
TRAIN = np.array([0, 3, 5, 8, 13, 21])
FORMATS = [np.asarray, sp.csr_array]
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def by_formula(name, X, train):
    """Entry by entry, from the module's table."""
    Y = np.array(X, dtype=np.float64)
    n, d = Y.shape
    if name == "standard":
        return (Y - Y[train].mean(axis=0)) / np.where(
            Y[train].std(axis=0) > 0, Y[train].std(axis=0), 1
        )
    if name.startswith("idf"):
        for j in range(d):
            documents = sum(X[i, j] != 0 for i in train)
            Y[:, j] *= np.log((1 + len(train)) / (1 + documents)) + 1
    if name != "none":
        for i in range(n):
            if Y[i].sum() > 0:
                Y[i] /= Y[i].sum()
    return np.sqrt(Y) if name.endswith("sqrt") else Y


@pytest.mark.parametrize(
    ("name", "form"),
    [pair for pair in itertools.product(SCALINGS, FORMATS) if pair != ("standard", sp.csr_array)],
)
def test_scalings_match_their_formulas(name, form):
    X = form(COUNTS)
    scaling = Scaling.learn(name, X, TRAIN)
    scaled = scaling.apply(X, DOUBLE)
    assert sp.issparse(scaled) == sp.issparse(X)
    np.testing.assert_allclose(dense(scaled), by_formula(name, COUNTS, TRAIN), atol=1e-14)
    np.testing.assert_allclose(dense(scaling.apply(X, SINGLE)), dense(scaled), rtol=1e-6)
    assert dense(scaling.apply(X, SINGLE)).dtype == np.float32


def test_standard_divides_sparse_columns_and_leaves_zeros():
    constant = COUNTS.copy()
    constant[:, 2] = 0.1
    scaling = Scaling.learn("standard", sp.csr_array(constant), TRAIN)
    scaled = scaling.apply(sp.csr_array(constant), DOUBLE).toarray()
    deviation = constant[TRAIN].std(axis=0)
    deviation[2] = 1
    np.testing.assert_allclose(scaled, constant / np.where(deviation > 0, deviation, 1), rtol=1e-9)


def test_a_column_that_is_constant_in_training_is_not_blown_up():
    X = RANDOM.normal(size=(20, 3))
    X[TRAIN[TRAIN < 20], 1] = 0.1
    train = TRAIN[TRAIN < 20]
    scaled = Scaling.learn("standard", X, train).apply(X, DOUBLE)
    np.testing.assert_allclose(scaled[:, 1], X[:, 1] - 0.1, atol=1e-15)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", SCALINGS)
def test_statistics_come_from_training_nodes_alone(name, form):
    other = COUNTS.copy()
    other[~np.isin(np.arange(40), TRAIN)] = 7
    one, two = (Scaling.learn(name, form(X), TRAIN) for X in (COUNTS, other))
    for statistic in ("factor", "shift"):
        np.testing.assert_array_equal(getattr(one, statistic), getattr(two, statistic))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", SCALINGS)
def test_product_with_weights(name, form, monkeypatch):
    monkeypatch.setattr("heatgraph.learning.scaling.BLOCK_ROWS", 7)
    X = form(COUNTS)
    before = dense(X).copy()
    scaling = Scaling.learn(name, X, TRAIN)
    weights = RANDOM.normal(size=(6, 3))
    expected = dense(scaling.apply(X, DOUBLE)) @ weights
    np.testing.assert_allclose(scaling.times(X, weights), expected, atol=1e-14)
    np.testing.assert_array_equal(dense(X), before)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", BY_ROW)
def test_negative_features_are_refused(name, form, monkeypatch):
    monkeypatch.setattr("heatgraph.learning.scaling.BLOCK_ROWS", 7)
    X = COUNTS.copy()
    X[30, 4] = -2
    X[31, 1] = -1
    X = form(X)
    with pytest.raises(InputError, match="Row 30, column 4 is negative. Choose 'standard'"):
        Scaling.learn(name, X, TRAIN).apply(X, SINGLE)


@pytest.mark.parametrize(
    ("name", "form"), [("none", np.asarray), ("none", sp.csr_array), ("rows", sp.csr_array)]
)
def test_features_beyond_float32_are_refused(name, form):
    X = form(COUNTS * 1e39)
    with pytest.raises(InputError, match="exceed float32.*dtype='float64'"):
        Scaling(name).apply(X, SINGLE)
    with pytest.raises(InputError, match="exceed float32.*dtype='float64'"):
        Scaling(name).times(X, np.ones((6, 2), dtype=np.float32))
    assert np.isfinite(dense(Scaling(name).apply(X, DOUBLE))).all()


@pytest.mark.parametrize("block", [1, 7, 40, 100])
def test_blocks_of_rows_have_the_moments_of_all(block, monkeypatch):
    monkeypatch.setattr(scaling_module, "MOMENT_ROWS", block)
    monkeypatch.setattr(scaling_module, "BLOCK_ROWS", block)
    X = RANDOM.normal(loc=[0, 5, -3, 1e6], scale=[1, 1e-3, 10, 1], size=(60, 4))
    X[:, 2] = -3.7
    train = RANDOM.permutation(60)[:40]
    scaling = Scaling.learn("auto", X, train)
    assert scaling.name == "standard"
    expected = by_formula("standard", X, train)
    expected[:, 2] = X[:, 2] - X[train, 2].mean()
    np.testing.assert_allclose(scaling.apply(X, DOUBLE), expected, rtol=1e-8, atol=1e-8)


def test_squares_do_not_overflow():
    X = RANDOM.normal(size=(10, 2)) * 1e200
    for form in FORMATS:
        scaled = dense(Scaling.learn("standard", form(X), np.arange(10)).apply(form(X), DOUBLE))
        np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-5)


def test_a_negative_entry_in_any_row_rules_out_scaling_by_row():
    X = COUNTS.copy()
    X[39, 0] = -1
    assert 39 not in TRAIN
    assert default_scaling(sp.csr_array(X), TRAIN) == "standard"


def test_standardised_in_double_even_if_values_exceed_float32():
    X = RANDOM.normal(size=(10, 2)) * 1e60
    scaled = Scaling.learn("standard", X, np.arange(10)).apply(X, SINGLE)
    np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("X", "name"),
    [
        (sp.csr_array(COUNTS), "rows"),
        (sp.csr_array((40, 6)), "rows"),
        (sp.csr_array(COUNTS - 1), "standard"),
        (RANDOM.normal(size=(40, 3)), "standard"),
        (RANDOM.random((40, 3)), "standard"),
        (np.eye(40), "rows"),
        (-np.eye(40), "standard"),
        (None, "none"),
    ],
)
def test_default_scaling(X, name):
    assert default_scaling(X, TRAIN) == name


def test_a_search_compares_scalings_of_unit_length():
    assert candidate_scalings("rows") == ("sqrt", "idf-sqrt")
    assert candidate_scalings("standard") == ("standard",)
    for name in candidate_scalings("rows"):
        scaled = Scaling.learn(name, COUNTS, TRAIN).apply(COUNTS, DOUBLE)
        lengths = np.linalg.norm(scaled, axis=1)
        np.testing.assert_allclose(lengths[COUNTS.any(axis=1)], 1)


@pytest.mark.parametrize("name", ["row", 3, None])
def test_unknown_names(name):
    with pytest.raises(InputError, match="must be one of 'auto', 'none', 'rows'"):
        check_scaling(name)


def test_a_graph_without_features_is_not_scaled():
    assert Scaling.learn("rows", None, TRAIN) == Scaling("none")


def test_a_centred_scaling_centres_sparse_features_of_other_graphs():
    X = np.random.default_rng(0).normal(2.0, 3.0, size=(40, 5))
    scaling = Scaling.learn("standard", X, np.arange(40))
    expected = scaling.apply(X, np.dtype(np.float64))
    np.testing.assert_allclose(scaling.apply(sp.csr_array(X), np.dtype(np.float64)), expected)
    weights = np.arange(10.0).reshape(5, 2)
    np.testing.assert_allclose(scaling.times(sp.csr_array(X), weights), expected @ weights)


@pytest.mark.parametrize("other", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("fitted", [np.asarray, sp.csr_array])
def test_relearned_statistics_are_centred_like_the_first(fitted, other):
    random = np.random.default_rng(1)
    X, Y = random.normal(1.0, 2.0, size=(30, 4)), random.normal(5.0, 0.3, size=(50, 4))
    scaling = Scaling.learn("standard", fitted(X), np.arange(30)).relearned(other(Y))
    expected = Y / Y.std(axis=0) - (Y.mean(axis=0) / Y.std(axis=0) if fitted is np.asarray else 0)
    np.testing.assert_allclose(dense(scaling.apply(other(Y), np.dtype(np.float64))), expected)
