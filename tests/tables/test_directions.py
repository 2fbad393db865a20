"""Edges in both directions, against dictionaries."""

import numpy as np
import pytest

from heatgraph.tables.directions import count_directions


def count_slowly(source, target, weight, duplicates):
    merged = {}
    for at, pair in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        value = 1.0 if weight is None else weight[at]
        if pair[0] == pair[1] or value == 0:
            continue
        before = merged.get(pair, 0.0)
        merged[pair] = before + value if duplicates == "sum" else max(before, value)
    both = [pair for pair in merged if pair < pair[::-1] and pair[::-1] in merged]
    unequal = sum(merged[pair] != merged[pair[::-1]] for pair in both)
    return len(both), 0 if weight is None else unequal


@pytest.mark.parametrize("duplicates", ["sum", "max"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_random_graphs(seed, weighted, duplicates):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 12), rng.integers(0, 60)
    source, target = rng.integers(0, n, (2, m))
    weight = rng.integers(0, 3, m).astype(float) if weighted else None
    found = count_directions(source, target, weight, int(n), duplicates)
    assert found == count_slowly(source, target, weight, duplicates)


def test_many_nodes():
    n = 2**31
    ends = np.array([n - 1, n - 2, 5]), np.array([n - 2, n - 1, 6])
    assert count_directions(*ends, None, n, "error") == (1, 0)
