import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatgraph._engine import ranges
from heatgraph._engine.ranges import even_ranges, row_blocks, row_ranges


def rows_in(pairs):
    return [i for start, stop in pairs for i in range(start, stop)]


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=200),
    st.integers(1, 64),
    st.integers(1, 8),
    st.integers(1, 2000),
    st.integers(1, 2000),
)
def test_ranges_cover_every_row_once(degrees, width, threads, range_work, worth_sharing):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "RANGE_WORK", range_work)
        patch.setattr(ranges, "WORTH_SHARING", worth_sharing)
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        cut = row_ranges(indptr, width, 1, threads)
    assert rows_in(cut) == list(range(len(degrees)))


def test_ranges_are_of_equal_work():
    degrees = np.concatenate([np.full(100, 10_000), np.full(100_000, 1)])
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    cut = row_ranges(indptr, 64, 1, 2)
    work = [indptr[b] - indptr[a] + 5 * (b - a) for a, b in cut]
    assert len(cut) >= 2
    assert max(work) < 1.1 * min(work)


@pytest.mark.parametrize("width", [1, 64, 500])
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_a_range_is_short_enough_to_wait_for(width, threads):
    """Ctrl-C waits for the kernel to finish its range."""
    indptr = np.arange(0, 100_000_001, 100)
    cut = row_ranges(indptr, width, 1, threads)
    work = max(indptr[b] - indptr[a] + 5 * (b - a) for a, b in cut) * width
    assert work <= 1.01 * ranges.RANGE_WORK


def test_a_small_product_is_not_shared():
    assert row_ranges(np.arange(0, 1001, 10), 1, 1, threads=8) == [(0, 100)]


@given(st.integers(0, 1000), st.integers(0, 10**9))
def test_even_ranges(rows, row_work):
    cut = even_ranges(rows, row_work)
    assert rows_in(cut) == list(range(rows))
    longest = max((stop - start for start, stop in cut), default=0)
    assert longest * row_work <= max(row_work, ranges.RANGE_WORK)


@given(st.integers(0, 100), st.integers(1, 40))
def test_row_blocks(rows, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "BLOCK_ROWS", block)
        cut = row_blocks(rows)
    assert rows_in(cut) == list(range(rows))
    assert all(stop - start <= block for start, stop in cut)
