import numpy as np
import pytest
from numpy.testing import assert_array_equal

from heatgraph import Graph, diffuse
from heatgraph.cluster import Cluster, _blocks


def test_groups_of_products_give_the_same_bits(client, tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5)).astype(np.float32)
    graph = Graph.from_edges(*random.integers(0, 400, (2, 1500)), features=X, symmetrize="max")
    cluster = Cluster(client, mode="blocks", blocks=3)
    expected = diffuse(graph, 4.0)
    for every in (1, 3, 100):
        monkeypatch.setattr(_blocks, "SAVE_EVERY", every)
        path = tmp_path / f"{every}.npy"
        assert_array_equal(diffuse(graph, 4.0, out=path, cluster=cluster), expected)


def test_a_panel_resumes_from_its_last_states(client, tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5)).astype(np.float32)
    graph = Graph.from_edges(*random.integers(0, 400, (2, 1500)), features=X, symmetrize="max")
    cluster, path = Cluster(client, mode="blocks"), tmp_path / "X_T.npy"
    monkeypatch.setattr(_blocks, "SAVE_EVERY", 4)
    groups = _blocks._group_of_products
    begun = []

    def interrupted(job, sends, panel, begin, end):
        begun.append(begin)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return groups(job, sends, panel, begin, end)

    monkeypatch.setattr(_blocks, "_group_of_products", interrupted)
    with pytest.raises(KeyboardInterrupt):
        diffuse(graph, 10.0, out=path, cluster=cluster)
    assert begun == [0, 4, 8]
    assert_array_equal(diffuse(graph, 10.0, out=path, cluster=cluster), diffuse(graph, 10.0))
    assert begun[3] == 8
