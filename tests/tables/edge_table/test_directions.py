"""Edges in both directions, against dictionaries."""

import numpy as np
import pytest

from heatgraph.tables.edge_table.directions import count_directions
from heatgraph.tables.from_tables import read_tables
from heatgraph.tables.options import TableOptions


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
@pytest.mark.parametrize("seed", range(10))
def test_random_graphs(seed, duplicates):
    rng = np.random.default_rng(seed)
    n, m = (int(size) for size in rng.integers((2, 0), (12, 60)))
    source, target = rng.integers(0, n, (2, m))
    weight = rng.integers(0, 3, m).astype(float)
    found = count_directions(source, target, weight, n, duplicates)
    assert found == count_slowly(source, target, weight, duplicates)
    edges = {"source": source, "target": target}
    plain = read_tables({"id": np.arange(n)}, edges, TableOptions()).directions
    assert plain == count_slowly(source, target, None, duplicates)


def test_many_nodes():
    n = 2**31
    ends = np.array([n - 1, n - 2, 5]), np.array([n - 2, n - 1, 6])
    assert count_directions(*ends, np.ones(3), n, "error") == (1, 0)
