import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from heatgraph import DGCClassifier, Graph
from heatgraph._io import memory
from heatgraph.datasets import synthetic
from heatgraph.datasets.splits import random_split
from heatgraph.datasets.synthetic import make_block_graph, reddit_like
from heatgraph.errors import InputError, MemoryBudgetError


@pytest.fixture(scope="module")
def blocks():
    return make_block_graph(20_000, 200_000, num_classes=5, num_features=8, seed=3)


def rows(graph):
    return np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))


def homophily(data):
    return np.mean(data.labels[rows(data.graph)] == data.labels[data.graph.indices])


def assert_canonical(graph):
    """Check what Graph._from_canonical assumes."""
    assert graph.indptr[0] == 0
    assert graph.indptr[-1] == len(graph.indices)
    row = rows(graph)
    assert ((np.diff(row) > 0) | (np.diff(graph.indices) > 0)).all()
    assert (row != graph.indices).all()
    assert (graph.adjacency != graph.adjacency.T).nnz == 0


def test_graph_is_canonical(blocks):
    graph = blocks.graph
    assert_canonical(graph)
    checked = Graph(graph.adjacency, features=graph.features)
    assert_array_equal(checked.indices, graph.indices)
    assert graph.weights is None
    assert graph.indices.dtype == np.int32
    assert graph.features.dtype == np.float32
    assert blocks.labels.dtype == np.int64
    assert blocks.splits.keys() == {"fractions"}
    assert [len(part) for part in (blocks.split.train, blocks.split.val, blocks.split.test)] == [
        12_000, 4000, 4000,
    ]  # fmt: skip


def test_counts(blocks):
    assert 199_000 <= blocks.graph.num_edges <= 200_000
    assert_array_equal(np.bincount(blocks.labels), np.full(5, 4000))
    assert blocks.graph.num_features == 8


@pytest.mark.parametrize("share", [0.0, 0.25, 0.8, 1.0])
@pytest.mark.parametrize("class_exponent", [0.0, 1.5])
def test_homophily(share, class_exponent):
    data = make_block_graph(
        3000, 12_000, 6, 2, homophily=share, class_exponent=class_exponent, seed=1
    )
    assert homophily(data) == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize("seed", [0, 5])
def test_splits_depend_neither_on_classes_nor_on_degrees(seed):
    """The split and the classes must come from different permutations."""
    data = make_block_graph(4000, 20_000, 4, 2, seed=seed)
    splits = [data.split, random_split(data.labels, 600, 400, 800, seed=seed)]
    for split in splits:
        for part in (split.train, split.val, split.test):
            shares = np.bincount(data.labels[part], minlength=4) / len(part)
            assert_allclose(shares, 0.25, atol=0.08)
            assert data.graph.degrees[part].mean() == pytest.approx(10, abs=2.5)
    copy = reddit_like(seed, 0.01)
    shares = [
        np.mean(copy.labels[part] == 0)
        for part in (copy.split.train, copy.split.val, copy.split.test)
    ]
    assert_allclose(shares, np.mean(copy.labels == 0), atol=0.08)


def test_few_classes_of_uneven_size():
    data = make_block_graph(2000, 8000, 3, 2, homophily=0.5, class_exponent=2)
    sizes = np.bincount(data.labels)
    assert_allclose(sizes, 2000 / (1 + 1 / 4 + 1 / 9) * np.array([1, 1 / 4, 1 / 9]), atol=2)
    assert homophily(data) == pytest.approx(0.5, abs=0.006)


def test_degrees_follow_the_power_law(blocks):
    """The degree of rank r falls like r^(-1 / (exponent - 1)), between the cap and the mean."""
    degrees = np.sort(blocks.graph.degrees)[::-1]
    assert degrees.mean() == pytest.approx(20, rel=0.01)
    assert 20 * degrees.mean() < degrees[0] <= 1.2 * math.sqrt(20_000 * 20)
    ranks = np.arange(200, 2000)
    slope = np.polyfit(np.log(ranks), np.log(degrees[ranks]), 1)[0]
    assert slope == pytest.approx(-1 / 1.5, abs=0.06)


def test_infinite_exponent_gives_equal_degrees():
    degrees = make_block_graph(5000, 50_000, 1, 2, homophily=1.0, exponent=math.inf).graph.degrees
    assert degrees.var() == pytest.approx(degrees.mean(), rel=0.15)


def test_a_smaller_exponent_is_more_uneven():
    largest = [
        make_block_graph(5000, 25_000, 2, 2, exponent=exponent).graph.degrees.max()
        for exponent in (2.2, 3.0, 6.0)
    ]
    assert largest == sorted(largest, reverse=True)


@pytest.mark.parametrize(("exponent", "n", "edges"), [(2.5, 10**5, 10**6), (3.5, 1000, 5000)])
def test_propensities_are_capped_at_the_structural_cutoff(exponent, n, edges):
    f, beta = synthetic._cutoff(exponent, n, edges)
    t = (np.arange(10**6) + 0.5) / 10**6
    theta = (t + f) ** -beta
    assert f**-beta / theta.mean() == pytest.approx(n / math.sqrt(2 * edges), rel=0.01)


def test_draws_follow_the_propensities():
    """Against the integral in the module's docstring, by counting."""
    blocks = synthetic._Blocks.make(np.array([4, 6]), (0.05, 0.6), False, np.random.default_rng(0))
    draws = blocks._by_propensity(np.random.default_rng(1).random(200_000) * 10)
    for start, size in ((0, 4), (4, 6)):
        ends = (np.arange(size + 1) / size + 0.05) ** 0.4
        expected = np.diff(ends) / (ends[-1] - ends[0]) * size / 10
        drawn = [np.mean(draws == node) for node in blocks.nodes[start : start + size]]
        assert_allclose(drawn, expected, atol=0.005)


def test_seeds(blocks):
    again = make_block_graph(20_000, 200_000, num_classes=5, num_features=8, seed=3)
    other = make_block_graph(20_000, 200_000, num_classes=5, num_features=8, seed=4)
    assert_array_equal(again.graph.indices, blocks.graph.indices)
    assert again.graph.features.tobytes() == blocks.graph.features.tobytes()
    assert_array_equal(again.labels, blocks.labels)
    assert_array_equal(again.split.train, blocks.split.train)
    assert not np.array_equal(other.labels, blocks.labels)
    assert not np.array_equal(other.graph.indices[:1000], blocks.graph.indices[:1000])
    assert not np.array_equal(other.split.train, blocks.split.train)


@pytest.mark.parametrize("signal", [0.0, 3.0])
def test_features_are_class_means_and_noise(signal):
    data = make_block_graph(4000, 4000, 2, 16, signal=signal)
    X = data.graph.features
    for label in (0, 1):
        own = X[data.labels == label]
        assert np.linalg.norm(own.mean(axis=0)) == pytest.approx(signal, abs=0.2)
        assert_allclose(own.std(axis=0), 1.0, atol=0.1)


def test_diffusion_helps():
    data = make_block_graph(1000, 5000)
    accuracies = [
        DGCClassifier(T=T, K=10)
        .fit(data.graph, data.labels, train=data.split.train)
        .score(None, data.labels, data.split.test)
        for T in (0.0, 3.0)
    ]
    assert accuracies[1] > accuracies[0] + 0.2


def too_many(n, edges, classes, share, uneven):
    """Whether edges take more than half of the pairs within classes, or between them."""
    labels = np.repeat(np.arange(classes), synthetic._class_sizes(n, classes, uneven))
    one, other = np.triu_indices(n, 1)
    inside = np.count_nonzero(labels[one] == labels[other])
    edges_inside = round(edges * share)
    return 2 * edges_inside > inside or 2 * (edges - edges_inside) > len(one) - inside


@given(
    st.integers(1, 30), st.integers(1, 60), st.integers(1, 5), st.floats(0, 1),
    st.floats(2.01, 9), st.floats(0, 3), st.integers(0, 100),
)  # fmt: skip
def test_small_graphs_are_correct_or_refused(n, edges, classes, share, exponent, uneven, seed):
    try:
        data = make_block_graph(
            n, edges, classes, 2,
            homophily=share, exponent=exponent, class_exponent=uneven, seed=seed,
        )  # fmt: skip
    except InputError:
        assert classes > n or too_many(n, edges, classes, share, uneven)
        return
    assert_canonical(data.graph)
    assert data.graph.num_edges == edges
    assert np.count_nonzero(np.bincount(data.labels)) == classes
    inside = np.count_nonzero(data.labels[rows(data.graph)] == data.labels[data.graph.indices]) / 2
    assert inside == round(edges * share)


def test_many_chunks(monkeypatch):
    """Edges are drawn, deduplicated and placed in many chunks."""
    monkeypatch.setattr(synthetic, "CHUNK_EDGES", 100)
    data = make_block_graph(300, 4000, 3, 4)
    assert_canonical(data.graph)
    assert 3980 <= data.graph.num_edges <= 4000
    assert homophily(data) == pytest.approx(0.8, abs=0.006)


def test_distinct_keys_move_to_the_front(monkeypatch):
    monkeypatch.setattr(synthetic, "CHUNK_EDGES", 7)
    keys = np.sort(np.random.default_rng(0).integers(0, 40, 100))
    expected = np.unique(keys)
    count = synthetic._move_distinct(keys)
    assert_array_equal(keys[:count], expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_nodes": 0}, "num_nodes must be an integer >= 1. Got 0"),
        ({"num_nodes": 2**31, "num_features": 1}, "num_nodes must be at most 2,147,483,647"),
        ({"num_edges": 1.5}, "num_edges must be an integer"),
        ({"num_classes": 0}, "num_classes must be an integer"),
        ({"num_classes": 1001}, "num_classes must be at most num_nodes, 1,000. Got 1,001"),
        ({"num_features": 0}, "num_features must be an integer"),
        ({"homophily": 1.1}, r"homophily must be a number in \[0, 1\]. Got 1.1"),
        ({"homophily": math.nan}, "homophily must be a number"),
        ({"homophily": "high"}, "homophily must be a number"),
        ({"homophily": True}, "homophily must be a number"),
        ({"signal": -1}, "signal must be a number >= 0. Got -1"),
        ({"signal": math.inf}, "signal must be a number >= 0. Got inf"),
        ({"exponent": 2}, "exponent must be a number > 2"),
        ({"exponent": math.nan}, "exponent must be a number > 2"),
        ({"exponent": "3"}, "exponent must be a number > 2"),
        ({"class_exponent": -0.5}, r"class_exponent must be a number in \[0, 10\]. Got -0.5"),
        ({"seed": -1}, "seed must be an integer >= 0. Got -1"),
        ({"seed": 1.0}, "seed must be an integer >= 0"),
        (
            {"num_edges": 200_000},
            "ask for 160,000 edges within classes, and there are 124,500 pairs",
        ),
        (
            {"num_edges": 400_000, "homophily": 0.0},
            "ask for 400,000 edges between classes, and there are 375,000 pairs",
        ),
        ({"num_classes": 1}, "ask for 1,000 edges between classes, and there are 0 pairs"),
    ],
)
def test_invalid_parameters(arguments, message):
    with pytest.raises(InputError, match=message):
        make_block_graph(**arguments)


def test_edges_that_are_rarely_drawn(monkeypatch):
    monkeypatch.setattr(synthetic, "MAX_ROUNDS", 3)
    with pytest.raises(InputError, match=r"4,950 edges within classes, and only .* in 3 rounds"):
        make_block_graph(100, 4950, 1, 2, homophily=1.0)


def test_rare_pairs_exhaust_the_rounds(monkeypatch):
    """One class of two nodes among many of one: nearly every draw is a loop."""
    monkeypatch.setattr(synthetic, "MAX_ROUNDS", 3)
    with pytest.raises(InputError, match="1 edges within classes, and only 0 distinct"):
        make_block_graph(10**6, 1, 10**6 - 1, 1, homophily=1.0)


def test_graphs_beyond_memory(monkeypatch):
    monkeypatch.setattr(memory, "memory_budget_bytes", lambda _: 1e6)
    with pytest.raises(MemoryBudgetError, match="100,000 edges needs 1.6 MB, .* has 1.0 MB"):
        make_block_graph(1000, 100_000, homophily=0.3)
    with pytest.raises(MemoryBudgetError, match="1,000 features"):
        make_block_graph(1000, 10, num_features=1000)


@pytest.mark.parametrize("columns", [1, 100])
def test_peak_memory_is_near_the_size_of_the_graph(monkeypatch, columns):
    monkeypatch.setattr(synthetic, "CHUNK_EDGES", 1 << 14)
    make_block_graph(100, 200)  # imports what it needs
    tracemalloc.start()
    data = make_block_graph(20_000, 1_000_000, 4, columns)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    graph = data.graph
    size = graph.indptr.nbytes + graph.indices.nbytes + graph.features.nbytes
    assert peak < (2.5 if columns == 1 else 1.4) * size


def test_reddit_like():
    data = reddit_like(scale=0.01)
    assert data.graph.num_nodes == 2330
    assert data.graph.num_features == 602
    assert data.graph.num_edges == pytest.approx(0.02 * 2330**2 / 2, rel=0.01)
    assert_canonical(data.graph)
    assert homophily(data) == pytest.approx(0.76, abs=0.01)
    sizes = np.bincount(data.labels)
    assert len(sizes) == 41
    assert sizes[0] > 8 * sizes[-1] > 0
    assert list(data.splits) == ["inductive"]
    assert [len(part) for part in (data.split.train, data.split.val, data.split.test)] == [
        1535, 238, 557,
    ]  # fmt: skip
    assert "Synthetic" in data.notes
    assert "not comparable" in data.notes
    again = reddit_like(scale=0.01)
    assert_array_equal(again.split.train, data.split.train)
    assert not np.array_equal(reddit_like(1, 0.01).split.train, data.split.train)


def test_reddit_like_has_the_size_of_reddit(monkeypatch):
    calls = []

    def remember(*arguments, **settings):
        calls.append(arguments)
        return make_block_graph(232_965, 10, 41, 1, **settings)

    monkeypatch.setattr(synthetic, "make_block_graph", remember)
    split = reddit_like().split
    assert calls == [(232_965, 57_307_946, 41, 602)]
    assert (len(split.train), len(split.val), len(split.test)) == (153_431, 23_831, 55_703)


@pytest.mark.parametrize("scale", [0, -1, math.nan, "small", 1e9])
def test_invalid_scales(scale):
    with pytest.raises(InputError, match="scale must be a number in"):
        reddit_like(scale=scale)


class TestDirected:
    def test_edges_lead_within_a_class_or_to_the_next(self):
        data = make_block_graph(900, 9000, 3, 4, homophily=0.4, directed=True, seed=1)
        A = data.graph.directed_adjacency
        src, dst = A.nonzero()
        steps = np.bincount((data.labels[dst] - data.labels[src]) % 3, minlength=3) / A.nnz
        assert_allclose(steps, [0.4, 0.6, 0], atol=0.01)
        assert 8955 <= A.nnz <= 9000
        assert A.has_canonical_format
        assert not A.diagonal().any()
        assert_canonical(data.graph)
        again = make_block_graph(900, 9000, 3, 4, homophily=0.4, directed=True, seed=1)
        assert again.digest() == data.digest()

    def test_without_directions_no_pair_of_classes_stands_out(self):
        data = make_block_graph(3000, 60_000, 3, 4, homophily=1 / 3, directed=True)
        Y = np.eye(3)[data.labels]
        counts = Y.T @ data.graph.adjacency @ Y
        assert_allclose(counts / counts.sum(), np.full((3, 3), 1 / 9), atol=0.005)

    def test_full_classes(self):
        """Every pair that may be joined: 2 edges in each class, 4 from each to the next."""
        data = make_block_graph(6, 18, 3, 1, homophily=1 / 3, exponent=math.inf, directed=True)
        assert data.graph.directed_adjacency.nnz == 18

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"directed": 1}, "directed must be True or False. Got 1"),
            (
                {"num_classes": 1, "num_edges": 10, "homophily": 0.5},
                "5 edges between classes.* 0 p",
            ),
            ({"num_edges": 400, "homophily": 0.5}, "200 edges within classes.* 180 pairs"),
        ],
    )
    def test_refused(self, arguments, message):
        options = {"num_classes": 2, "directed": True} | arguments
        with pytest.raises(InputError, match=message):
            make_block_graph(20, num_features=1, **options)

    def test_peak_memory_is_as_announced(self, monkeypatch):
        announced = []
        monkeypatch.setattr(synthetic, "require_memory", lambda _, needed: announced.append(needed))
        tracemalloc.start()
        make_block_graph(20_000, 400_000, 3, 1, directed=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.1 * announced[0]
