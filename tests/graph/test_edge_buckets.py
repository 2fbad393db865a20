"""Buckets of entries in files: sorted, in parts that fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatgraph.errors import MemoryBudgetError
from heatgraph.graph._edge_buckets import LARGEST_KEY, EdgeBuckets, fewest_buckets


def sorted_entries(n, batches):
    """Rows, columns, transposed or not, and weights, by a stable sort of all."""
    listed = [(v, w, 0, x) for v, w, x in batches] + [(w, v, 1, x) for v, w, x in batches]
    return sorted(listed, key=lambda entry: entry[:3])


def read_parts(buckets, n):
    parts = list(buckets.sorted_parts())
    entries = []
    for first_row, keys, weights in parts:
        rows, columns = np.divmod(keys // 2, n)
        numbers = np.full(len(keys), np.nan) if weights is None else weights
        entries += zip(
            (rows + first_row).tolist(), columns.tolist(), (keys % 2).tolist(), numbers.tolist(),
            strict=True,
        )  # fmt: skip
    return parts, entries


@given(
    n=st.integers(1, 20),
    count=st.integers(1, 25),
    num_edges=st.integers(0, 150),
    capacity=st.integers(30, 100),
    skew=st.sampled_from([1, 3, 8]),
    seed=st.integers(0, 2**32 - 1),
)
def test_entries_are_sorted_stably(tmp_path_factory, n, count, num_edges, capacity, skew, seed):
    random = np.random.default_rng(seed)
    ends = (n * random.random((2, num_edges)) ** skew).astype(np.int64)
    weights = random.random(num_edges)
    pairs = np.minimum(*ends) * n + np.maximum(*ends) if num_edges else np.zeros(1, dtype=int)
    capacity = max(capacity, 2 * np.bincount(pairs).max())
    folder = tmp_path_factory.mktemp("buckets")
    buckets = EdgeBuckets(folder, n, count, np.dtype(np.float64), capacity)
    assert 1 <= buckets.count <= count
    for start in range(0, num_edges, 40):
        part = slice(start, start + 40)
        buckets.add(*ends[:, part], weights[part])
    parts, entries = read_parts(buckets, n)
    listed = list(zip(*ends.tolist(), weights.tolist(), strict=True)) if num_edges else []
    assert entries == sorted_entries(n, listed)
    assert all(len(part.keys) <= capacity for part in parts)
    assert list(folder.iterdir()) == []


def test_parts_do_not_divide_an_edge(tmp_path):
    """A hub with itself and its neighbours, each edge three times in both directions."""
    n, times = 40, 3
    ends = np.array([[0, v] for v in range(n)] * times + [[v, 0] for v in range(n)] * times).T
    buckets = EdgeBuckets(tmp_path, n, 1, None, 4 * times)
    buckets.add(*ends, None)
    parts, entries = read_parts(buckets, n)
    assert len(entries) == 2 * ends.shape[1]
    assert len(parts) > 10
    positions = [set((part.keys // 2).tolist()) for part in parts]
    assert sum(map(len, positions)) == len(set().union(*positions))


def test_an_edge_that_is_listed_too_often(tmp_path):
    buckets = EdgeBuckets(tmp_path, 10, 3, None, 20)
    buckets.add(np.full(30, 9), np.full(30, 2), None)
    with pytest.raises(MemoryBudgetError, match="edge 2 - 9 is listed 30 times, too often"):
        list(buckets.sorted_parts())


@pytest.mark.parametrize("n", [1, 10**6, 2**31, 2**32, 10**10])
def test_keys_fit_63_bits(n):
    rows = -(-n // fewest_buckets(n))
    assert 2 * (rows * n - 1) + 1 <= LARGEST_KEY
    if fewest_buckets(n) > 1:
        assert 2 * -(-n // (fewest_buckets(n) - 1)) * n > LARGEST_KEY


def test_the_largest_keys(tmp_path):
    n = 2**32
    buckets = EdgeBuckets(tmp_path, n, fewest_buckets(n), None, 10)
    nodes = np.array([0, n - 1, n // 2])
    buckets.add(nodes, nodes[::-1].copy(), None)
    _, entries = read_parts(buckets, n)
    listed = [(v, w, np.nan) for v, w in zip(nodes.tolist(), nodes[::-1].tolist(), strict=True)]
    assert [entry[:3] for entry in entries] == [entry[:3] for entry in sorted_entries(n, listed)]
