import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import graphs, seeds

from heatgraph import Graph, Heat, diffuse, diffuse_many, plan
from heatgraph._engine import plain_kernels, reordering
from heatgraph._engine import plan as plan_module
from heatgraph._engine.reordering import edge_locality, reordered_graph
from heatgraph.datasets.synthetic import make_block_graph
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError


@pytest.fixture
def small_cache(monkeypatch):
    """Treat graphs of a few hundred nodes as larger than the cache."""
    monkeypatch.setattr(reordering, "CACHE_NODES", 16)
    monkeypatch.setattr(plan_module, "CACHE_NODES", 16)


def shuffled_communities(weighted=False, features=5):
    """A ring of twenty dense communities, with nodes in random order."""
    random = np.random.default_rng(0)
    groups, size = 20, 12
    A = np.kron(np.eye(groups), np.ones((size, size))) * (random.random((240, 240)) < 0.8)
    A += np.kron(np.roll(np.eye(groups), 1, axis=1), random.random((size, size)) < 0.02)
    A = np.triu(A, 1) * (random.uniform(0.5, 2, A.shape) if weighted else 1)
    A += A.T
    shuffled = random.permutation(240)
    return Graph(A[shuffled][:, shuffled], random.normal(size=(240, features)))


@given(graph=graphs(max_nodes=30, featureless=True), seed=seeds)
def test_permute_symmetric_agrees_with_indexing(graph, seed):
    order = np.random.default_rng(seed).permutation(graph.num_nodes)
    rank = np.argsort(order)
    indptr = np.concatenate([[0], np.cumsum(np.diff(graph.indptr)[order])])
    indices = np.empty_like(graph.indices)
    weights = None if graph.weights is None else np.empty_like(graph.weights)
    middle, row_end = graph.num_nodes // 2, indptr[:-1].copy()
    for start, stop in ((0, middle), (middle, graph.num_nodes)):
        plain_kernels.permute_symmetric(
            graph.indptr, graph.indices, graph.weights, order, rank, row_end,
            indices, weights,            start, stop,
        )  # fmt: skip
    expected = sp.csr_array(graph.adjacency[order][:, order])
    expected.sort_indices()
    assert_array_equal(indptr, expected.indptr)
    assert_array_equal(indices, expected.indices)
    if weights is not None:
        assert_array_equal(weights, expected.data)


@given(
    graph=graphs(max_nodes=30, featureless=True), sampled=st.integers(1, 8), limit=st.integers(1, 9)
)
def test_label_propagation_bounds_communities_compiled_or_interpreted(graph, sampled, limit):
    def propagate(function):
        n = graph.num_nodes
        labels, sizes, counts = np.arange(n), np.ones(n, dtype=int), np.zeros(n, dtype=int)
        changed = [
            function(graph.indptr, graph.indices, labels, sizes, counts, sampled, limit, 0, n)
            for _ in range(3)
        ]
        assert not counts.any()
        assert_array_equal(sizes, np.bincount(labels, minlength=n))
        assert sizes.max() <= limit
        return labels, changed

    compiled = propagate(plain_kernels.propagate_labels)
    interpreted = propagate(plain_kernels.propagate_labels.py_func)
    assert_array_equal(compiled[0], interpreted[0])
    assert compiled[1] == interpreted[1]


def test_communities_become_consecutive(small_cache):
    graph = shuffled_communities()
    reordered = reordered_graph(graph)
    identity = np.arange(graph.num_nodes)
    assert edge_locality(graph, identity) < 0.3
    assert edge_locality(graph, reordered.rank) > 0.8
    assert_array_equal(reordered.rank[reordered.order], identity)
    A = graph.adjacency.toarray()
    order = reordered.order
    assert_array_equal(reordered.graph.adjacency.toarray(), A[order][:, order])


@pytest.mark.parametrize("features", ["dense", "sparse", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [None, [5, 3, 200]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("self_loops", [False, True])
def test_results_are_permuted_back(small_cache, features, weighted, rows, dtype, self_loops):
    graph = shuffled_communities(weighted)
    if features == "sparse":
        graph = graph.with_features(sp.csr_array(np.maximum(graph.features, 0)))
    elif features == "none":
        graph = graph.with_features(None)
    options = {"rows": rows, "dtype": dtype, "self_loops": self_loops}
    schemes = [Heat(1.0), Heat(4.0)]
    expected = diffuse_many(graph, schemes, reorder=False, **options)
    result = diffuse_many(graph, schemes, reorder=True, **options)
    assert graph.cache["reordered_graph"] is not None
    assert_allclose(result, expected, atol=200 * np.finfo(dtype).eps)
    expected, result = (
        diffuse(graph, 2.0, 5, method="steps", reorder=reorder, **options)
        for reorder in (False, True)
    )
    assert_allclose(result, expected, atol=200 * np.finfo(dtype).eps)


def test_a_graph_is_reordered_once_for_all_features(small_cache, monkeypatch):
    graph = shuffled_communities()
    first = reordered_graph(graph)
    monkeypatch.setattr(reordering, "_reorder", None)
    assert reordered_graph(graph.with_features(None)) is first
    assert pickle.loads(pickle.dumps(graph)).cache == {}
    assert graph.subgraph([0, 1]).cache == {}


def test_the_order_is_saved_with_the_graph(small_cache, monkeypatch, tmp_path):
    graph = shuffled_communities(weighted=True)
    expected = diffuse(graph, 2.0, reorder=True)
    graph.save(tmp_path / "graph.hg")
    loaded = Graph.load(tmp_path / "graph.hg")
    assert_array_equal(loaded.cache["order"], graph.cache["order"])
    monkeypatch.setattr(reordering, "_community_order", None)
    assert_array_equal(diffuse(loaded, 2.0, reorder=True), expected)
    Graph.load(tmp_path / "graph.hg").save(tmp_path / "again.hg")
    assert (tmp_path / "again.hg").read_bytes() == (tmp_path / "graph.hg").read_bytes()


@pytest.mark.parametrize("wrong", [-1, 1, 240])
def test_a_loaded_order_must_be_a_permutation(small_cache, tmp_path, wrong):
    graph = shuffled_communities()
    reordered_graph(graph)
    order = graph.cache["order"] = graph.cache["order"].copy()
    order[order == 0] = wrong
    graph.save(tmp_path / "graph.hg")
    with pytest.raises(FileFormatError, match="order must contain each node once"):
        Graph.load(tmp_path / "graph.hg")


def test_a_graph_without_communities_is_not_reordered(small_cache):
    random = np.random.default_rng(0)
    A = np.triu(random.random((1000, 1000)) < 0.05, 1)
    graph = Graph(A | A.T, random.normal(size=(1000, 3)))
    assert reordered_graph(graph) is None
    assert_array_equal(diffuse(graph, 2.0, reorder=True), diffuse(graph, 2.0, reorder=False))
    ring = Graph(np.roll(np.eye(40), 1, axis=0) + np.roll(np.eye(40), -1, axis=0))
    assert reordered_graph(ring) is None
    assert reordered_graph(Graph(np.zeros((5, 5)))) is None


def test_the_plan_reorders_large_sparse_graphs_with_many_columns():
    n = 300_000
    graph = make_block_graph(n, 2 * n, num_features=1).graph
    wide = graph.with_features(np.broadcast_to(np.float32(1), (n, 64)))
    wider = graph.with_features(np.broadcast_to(np.float32(1), (n, 640)))
    assert not plan(wide, 1.0).reordered
    assert plan(wider, 1.0).reordered
    assert not plan(wider, 1.0, reorder=False).reordered
    assert plan(wide, 1.0, reorder=True).reordered
    assert plan(wider, 1.0).memory > plan(wider, 1.0, reorder=False).memory
    with pytest.raises(InputError, match="reorder must be True, False or None"):
        plan(wide, 1.0, reorder="yes")
    dense = make_block_graph(2000, 100_000, num_features=640).graph
    assert not plan(dense, 9.0).reordered


def test_the_plan_does_not_reorder_beyond_the_memory_budget():
    n = 300_000
    graph = make_block_graph(n, 2 * n, num_features=1).graph
    wide = graph.with_features(np.broadcast_to(np.float32(1), (n, 640)))
    out = np.broadcast_to(np.float32(0), (n, 640))
    choices = []
    for budget in np.linspace(1e6, 1e9, 100):
        try:
            planned = plan(wide, 1.0, memory_budget=budget, out=out)
        except MemoryBudgetError:
            continue
        assert planned.memory <= budget
        choices.append(planned.reordered)
    assert choices == sorted(choices)
    assert set(choices) == {False, True}


@pytest.mark.parametrize("rows", [None, range(30), range(8000)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_plan_counts_the_memory_of_reordering(small_cache, monkeypatch, weighted, rows):
    monkeypatch.setattr(reordering, "MIN_LOCALITY_GAIN", -1)
    random = np.random.default_rng(0)
    ends = random.integers(0, 20_000, size=(2, 80_000))
    weights = random.uniform(1, 2, 80_000) if weighted else None
    X = random.normal(size=(20_000, 96)).astype(np.float32)
    graph = Graph.from_edges(*ends, weights, features=X, symmetrize="max", duplicates="max")
    options = {"rows": rows, "n_threads": 1, "reorder": True}
    diffuse(graph.subgraph(range(50)), 3.0, reorder=True, n_threads=1)  # compiles
    for _ in range(2):  # the reordered graph is computed, then taken from the cache
        expected = plan(graph, 3.0, **options).memory
        tracemalloc.start()
        diffuse(graph, 3.0, **options)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert abs(peak - expected) < 0.15 * expected
