"""Generated code keeps the nearest as the plain loops do, and as sorting does."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import seeds

from heatgraph._engine import kernels, plain_kernels
from heatgraph._engine.kernel_arguments import NearestLists
from heatgraph._engine.nearest_code import LANES


@given(
    seed=seeds,
    sizes=st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 5)),
    levels=st.integers(1, 5),
)
def test_keep_nearest(seed, sizes, levels):
    """With ties and negative similarities, in two ranges of rows."""
    first_row, first_column, k = sizes
    random = np.random.default_rng(seed)
    rows, width = 23, 2 * LANES
    values = (random.integers(-1, levels, size=(rows, width)) / levels).astype(np.float32)
    n = max(first_row + rows, first_column + width)
    results = []
    for kernel in (kernels.keep_nearest, plain_keep_nearest):
        lists = empty_lists(n, k)
        for part in ((9, rows), (0, 9)):
            kernel(values, lists, (first_row, first_column), part)
        results.append(lists)
    for found, plain in zip(*results, strict=True):
        assert_array_equal(found, plain)
    nodes, similarity = nearest_by_sorting(values, first_row, first_column, n, k)
    assert_array_equal(results[0].nodes, nodes)
    assert_array_equal(results[0].similarity, similarity)


def plain_keep_nearest(values, lists, first, rows):
    plain_kernels.keep_nearest(values, lists, *first, *rows)


def empty_lists(n, k):
    return NearestLists(
        np.full((n, k), -1, dtype=np.int64),
        np.zeros((n, k), dtype=np.float32),
        np.full(n, np.finfo(np.float32).tiny, dtype=np.float32),
    )


def nearest_by_sorting(values, first_row, first_column, n, k):
    """The k largest positive similarities of each node; among equals, lower indices come first."""
    pairs = np.zeros((n, n), dtype=np.float32)
    for (row, column), value in np.ndenumerate(values):
        if first_column + column < first_row + row:
            pairs[first_row + row, first_column + column] = value
            pairs[first_column + column, first_row + row] = value
    nodes, similarity = np.full((n, k), -1), np.zeros((n, k), dtype=np.float32)
    for node, row in enumerate(pairs):
        order = np.lexsort((np.arange(n), -row))[:k]
        order = order[row[order] > 0]
        nodes[node, : len(order)], similarity[node, : len(order)] = order, row[order]
    return nodes, similarity
