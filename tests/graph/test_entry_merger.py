"""Merging sorted entries, against sums over a dictionary."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatgraph.errors import InputError
from heatgraph.graph._edge_buckets import SortedEntries
from heatgraph.graph._entry_merger import EntryMerger

MERGES = {"sum": sum, "max": max}
n = 5


def sorted_part(edges):
    """Sorted entries of A and A^T."""
    entries = [(2 * (v * n + w), x) for v, w, x in edges]
    entries += [(2 * (w * n + v) + 1, x) for v, w, x in edges]
    entries.sort(key=lambda entry: entry[0])
    keys = np.array([key for key, _ in entries], dtype=np.int64)
    return SortedEntries(0, keys, np.array([x for _, x in entries], dtype=np.float64))


def merge_by_dictionary(edges, symmetrize, duplicates):
    listed = defaultdict(list)
    for v, w, x in edges:
        listed[v, w].append(x)
    directed = {edge: MERGES[duplicates](weights) for edge, weights in listed.items()}
    directed = {edge: weight for edge, weight in directed.items() if weight}
    merged = {}
    for v, w in sorted({*directed, *((w, v) for v, w in directed)}):
        both = [directed[edge] for edge in {(v, w), (w, v)} if edge in directed]
        merged[v, w] = MERGES[symmetrize](both)
    num_duplicates = len(edges) - len(listed)
    return merged, num_duplicates, len(directed)


whole_numbers = st.integers(0, 3).map(float)
edge_lists = st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), whole_numbers))


@given(edge_lists, st.sampled_from(["sum", "max"]), st.sampled_from(["sum", "max"]))
def test_duplicates_and_directions(edges, symmetrize, duplicates):
    merger = EntryMerger(n, symmetrize, duplicates)
    rows, columns, weights = merger.merge(sorted_part(edges))
    merger.check()
    expected, num_duplicates, num_entries = merge_by_dictionary(edges, symmetrize, duplicates)
    assert list(zip(rows, columns, strict=True)) == list(expected)
    assert weights.tolist() == list(expected.values())
    assert merger.num_duplicates == num_duplicates
    assert merger.num_entries == num_entries
    assert merger.num_self_loops == sum(v == w for v, w in expected)


def test_errors_count_over_all_parts():
    merger = EntryMerger(n, None, "error")
    merger.merge(SortedEntries(0, *sorted_part([(0, 1, 1.0), (0, 1, 2.0), (1, 0, 1.0)])[1:]))
    merger.merge(SortedEntries(7, *sorted_part([(2, 3, 1.0), (2, 3, 4.0)])[1:]))
    with pytest.raises(InputError, match=r"edge 0 -> 1 is given several times .* \(2 such edges"):
        merger.check()
    merger = EntryMerger(n, None, "max")
    merger.merge(SortedEntries(0, *sorted_part([(0, 1, 1.0), (1, 0, 1.0)])[1:]))
    merger.merge(SortedEntries(3, *sorted_part([(0, 1, 1.0), (0, 2, 1.0), (0, 0, 1.0)])[1:]))
    with pytest.raises(InputError, match=r"2 of 5 edges go one way only \(first: 3 - 1\)"):
        merger.check()


def test_no_entries():
    merger = EntryMerger(n, "sum", "sum")
    empty = np.empty(0)
    for weights in (None, empty):
        merged = merger.merge(SortedEntries(0, empty.astype(np.int64), weights))
        assert len(merged.rows) == len(merged.columns) == 0
