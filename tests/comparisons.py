"""Assertions that two graphs or splits are the same, and the shared conversion to dense arrays."""

import scipy.sparse as sp
from numpy.testing import assert_array_equal


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def assert_same_edges(one, other):
    assert_array_equal(one.indptr, other.indptr)
    assert_array_equal(one.indices, other.indices)
    assert (one.weights is None) == (other.weights is None)
    if one.weights is not None:
        assert_array_equal(one.weights, other.weights)


def assert_same_graph(one, other):
    """The same edges, and equal features whether they are dense or sparse."""
    assert_same_edges(one, other)
    assert (one.features is None) == (other.features is None)
    if one.features is not None:
        assert_array_equal(dense(one.features), dense(other.features))


def assert_same_split(one, other):
    for part in ("train", "val", "test"):
        assert_array_equal(getattr(one, part), getattr(other, part))
