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
from heatgraph._engine import kernels
from heatgraph._engine import plan as schedule_module
from heatgraph._engine import reordering as locality
from heatgraph._engine.reordering import edge_locality, reordered_graph
from heatgraph.datasets.synthetic import make_block_graph
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError


@pytest.fixture
def small_caches(monkeypatch):
    """Have a graph of a few hundred nodes count as one that exceeds the cache."""
    monkeypatch.setattr(locality, "NEAR", 16)
    monkeypatch.setattr(schedule_module, "NEAR", 16)


def blocks(weighted=False, features=5):
    """A ring of twenty tight groups, numbered by chance, and features for them."""
    random = np.random.default_rng(0)
    groups, size = 20, 12
    A = np.kron(np.eye(groups), np.ones((size, size))) * (random.random((240, 240)) < 0.8)
    A += np.kron(np.roll(np.eye(groups), 1, axis=1), random.random((size, size)) < 0.02)
    A = np.triu(A, 1) * (random.uniform(0.5, 2, A.shape) if weighted else 1)
    A += A.T
    mixed = random.permutation(240)
    return Graph(A[mixed][:, mixed], random.normal(size=(240, features)))


@given(graph=graphs(max_nodes=30, featureless=True), seed=seeds)
def test_permute_is_indexing(graph, seed):
    order = np.random.default_rng(seed).permutation(graph.num_nodes)
    rank = np.argsort(order)
    indptr = np.concatenate([[0], np.cumsum(np.diff(graph.indptr)[order])])
    indices = np.empty_like(graph.indices)
    weights = None if graph.weights is None else np.empty_like(graph.weights)
    middle, end = graph.num_nodes // 2, indptr[:-1].copy()
    for start, stop in ((0, middle), (middle, graph.num_nodes)):
        kernels.permute_symmetric(
            graph.indptr, graph.indices, graph.weights, order, rank, end, indices, weights,
            start, stop,
        )  # fmt: skip
    wanted = sp.csr_array(graph.adjacency[order][:, order])
    wanted.sort_indices()
    assert_array_equal(indptr, wanted.indptr)
    assert_array_equal(indices, wanted.indices)
    if weights is not None:
        assert_array_equal(weights, wanted.data)


@given(
    graph=graphs(max_nodes=30, featureless=True), asked=st.integers(1, 8), most=st.integers(1, 9)
)
def test_communities_are_what_the_python_says_and_stay_small(graph, asked, most):
    def passes(function):
        n = graph.num_nodes
        labels, sizes, counts = np.arange(n), np.ones(n, dtype=int), np.zeros(n, dtype=int)
        changed = [
            function(graph.indptr, graph.indices, labels, sizes, counts, asked, most, 0, n)
            for _ in range(3)
        ]
        assert not counts.any()
        assert_array_equal(sizes, np.bincount(labels, minlength=n))
        assert sizes.max() <= most
        return labels, changed

    compiled, plain = passes(kernels.propagate_labels), passes(kernels._propagate_labels)
    assert_array_equal(compiled[0], plain[0])
    assert compiled[1] == plain[1]


def test_groups_come_together(small_caches):
    graph = blocks()
    there = reordered_graph(graph)
    given = np.arange(graph.num_nodes)
    assert edge_locality(graph, given) < 0.3
    assert edge_locality(graph, there.rank) > 0.8
    assert_array_equal(there.rank[there.order], given)
    A = graph.adjacency.toarray()
    assert_array_equal(there.graph.adjacency.toarray(), A[there.order][:, there.order])


@pytest.mark.parametrize("features", ["dense", "sparse", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [None, [5, 3, 200]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("self_loops", [False, True])
def test_the_order_is_undone_at_the_door(small_caches, features, weighted, rows, dtype, self_loops):
    graph = blocks(weighted)
    if features == "sparse":
        graph = graph.with_features(sp.csr_array(np.maximum(graph.features, 0)))
    elif features == "none":
        graph = graph.with_features(None)
    options = {"rows": rows, "dtype": dtype, "self_loops": self_loops}
    schemes = [Heat(1.0), Heat(4.0)]
    given = diffuse_many(graph, schemes, reorder=False, **options)
    other = diffuse_many(graph, schemes, reorder=True, **options)
    assert graph.cache["arrangement"] is not None
    assert_allclose(other, given, atol=200 * np.finfo(dtype).eps)
    one, two = (
        diffuse(graph, 2.0, 5, method="steps", reorder=reorder, **options)
        for reorder in (False, True)
    )
    assert_allclose(one, two, atol=200 * np.finfo(dtype).eps)


def test_an_order_is_found_once_and_shared(small_caches, monkeypatch):
    graph = blocks()
    first = reordered_graph(graph)
    monkeypatch.setattr(locality, "_arrange", None)
    assert reordered_graph(graph.with_features(None)) is first
    assert pickle.loads(pickle.dumps(graph)).cache == {}
    assert graph.subgraph([0, 1]).cache == {}


def test_an_order_is_saved_with_the_graph(small_caches, monkeypatch, tmp_path):
    graph = blocks(weighted=True)
    wanted = diffuse(graph, 2.0, reorder=True)
    graph.save(tmp_path / "graph.hg")
    again = Graph.load(tmp_path / "graph.hg")
    assert_array_equal(again.cache["order"], graph.cache["order"])
    monkeypatch.setattr(locality, "_by_community", None)
    assert_array_equal(diffuse(again, 2.0, reorder=True), wanted)
    Graph.load(tmp_path / "graph.hg").save(tmp_path / "again.hg")
    assert (tmp_path / "again.hg").read_bytes() == (tmp_path / "graph.hg").read_bytes()


@pytest.mark.parametrize("wrong", [-1, 1, 240])
def test_a_saved_order_is_checked(small_caches, tmp_path, wrong):
    graph = blocks()
    reordered_graph(graph)
    order = graph.cache["order"] = graph.cache["order"].copy()
    order[order == 0] = wrong
    graph.save(tmp_path / "graph.hg")
    with pytest.raises(FileFormatError, match="order must name each node once"):
        Graph.load(tmp_path / "graph.hg")


def test_no_order_is_kept_where_none_is_better(small_caches):
    random = np.random.default_rng(0)
    A = np.triu(random.random((1000, 1000)) < 0.05, 1)
    graph = Graph(A | A.T, random.normal(size=(1000, 3)))
    assert reordered_graph(graph) is None
    assert_array_equal(diffuse(graph, 2.0, reorder=True), diffuse(graph, 2.0, reorder=False))
    ring = Graph(np.roll(np.eye(40), 1, axis=0) + np.roll(np.eye(40), -1, axis=0))
    assert reordered_graph(ring) is None
    assert reordered_graph(Graph(np.zeros((5, 5)))) is None


def test_when_it_pays():
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


def test_a_budget_too_small_for_another_order_takes_the_given_one():
    n = 300_000
    graph = make_block_graph(n, 2 * n, num_features=1).graph
    wide = graph.with_features(np.broadcast_to(np.float32(1), (n, 640)))
    out = np.broadcast_to(np.float32(0), (n, 640))
    orders = []
    for budget in np.linspace(1e6, 1e9, 100):
        try:
            course = plan(wide, 1.0, memory_budget=budget, out=out)
        except MemoryBudgetError:
            continue
        assert course.memory <= budget
        orders.append(course.reordered)
    assert orders == sorted(orders)
    assert set(orders) == {False, True}


@pytest.mark.parametrize("rows", [None, range(30), range(8000)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_plan_counts_another_order(small_caches, monkeypatch, weighted, rows):
    monkeypatch.setattr(locality, "WORTHWHILE", -1)
    random = np.random.default_rng(0)
    ends = random.integers(0, 20_000, size=(2, 80_000))
    weights = random.uniform(1, 2, 80_000) if weighted else None
    X = random.normal(size=(20_000, 96)).astype(np.float32)
    graph = Graph.from_edges(*ends, weights, features=X, symmetrize="max", duplicates="max")
    options = {"rows": rows, "n_threads": 1, "reorder": True}
    diffuse(graph.subgraph(range(50)), 3.0, reorder=True, n_threads=1)  # compiles
    for _ in range(2):  # the order is found, and then it is there
        need = plan(graph, 3.0, **options).memory
        tracemalloc.start()
        diffuse(graph, 3.0, **options)
        _, taken = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert abs(taken - need) < 0.15 * need
