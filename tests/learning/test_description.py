import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import dense_operator
from scipy.sparse.linalg import ArpackNoConvergence
from strategies import graphs, planted, seeds

from heatgraph import Graph
from heatgraph.errors import InputError
from heatgraph.learning import description
from heatgraph.learning.description import describe

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def proper_edges(A):
    return [(u, v) for u, v in itertools.combinations(range(len(A)), 2) if A[u, v]]


def homophily_of(A, y):
    """Share, chance and homophily, one edge at a time."""
    edges = [(u, v) for u, v in proper_edges(A) if y[u] is not None and y[v] is not None]
    if not edges:
        return None
    share = np.mean([y[u] == y[v] for u, v in edges])
    ends = [y[w] for edge in edges for w in edge]
    chance = sum((ends.count(label) / len(ends)) ** 2 for label in set(ends))
    return None if chance == 1 else (len(edges), share, chance, (share - chance) / (1 - chance))


def agreement_of(A, X):
    """The correlation across edges, from the formula."""
    edges = proper_edges(A)
    if not edges:
        return None
    mean = np.mean([X[w] for edge in edges for w in edge], axis=0)
    above = sum((X[u] - mean) @ (X[v] - mean) for u, v in edges)
    below = sum(((X[u] - mean) ** 2).sum() + ((X[v] - mean) ** 2).sum() for u, v in edges) / 2
    return None if below < 1e-12 else above / below


@given(graphs())
def test_counts(graph):
    A = graph.adjacency.toarray()
    found = describe(graph)
    reached = np.linalg.matrix_power((A > 0) + np.eye(len(A)), len(A)) > 0
    assert found.nodes == len(A)
    assert found.edges == np.count_nonzero(np.triu(A))
    assert found.self_loops == np.count_nonzero(np.diag(A))
    assert found.isolated == np.count_nonzero(~A.any(axis=1))
    assert found.components == len({tuple(row) for row in reached})
    assert found.largest_component == reached.sum(axis=1).max()
    assert found.features == graph.features.shape[1]
    neighbours = np.count_nonzero(A, axis=1)
    assert found.mean_degree == pytest.approx(neighbours.mean())
    assert found.median_degree == np.median(neighbours)
    assert found.largest_degree == neighbours.max()
    assert found.unlabelled == len(A)
    assert found.classes is None
    assert found.homophily is None


@given(graphs())
def test_spectrum(graph):
    found = describe(graph).spectrum
    values = np.linalg.eigvalsh(np.eye(graph.num_nodes) - dense_operator(graph.adjacency.toarray()))
    assert found.largest == pytest.approx(values.max(), abs=2e-3)
    positive = values[values > 1e-9]
    expected = positive.min() if len(positive) else np.inf
    assert found.gap == pytest.approx(expected, abs=2e-3)


def test_a_spectrum_that_does_not_converge_is_none(monkeypatch):
    def fail(*args, **options):
        raise ArpackNoConvergence("no", np.zeros(0), np.zeros((0, 0)))

    monkeypatch.setattr(description, "spectrum", fail)
    assert describe(Graph(PATH)).spectrum is None


@given(graphs(), seeds, st.integers(1, 4))
def test_homophily(graph, seed, classes):
    random = np.random.default_rng(seed)
    y = [
        None if random.random() < 0.2 else "abcd"[random.integers(classes)]
        for _ in range(graph.num_nodes)
    ]
    found = describe(graph, y)
    assert found.unlabelled == y.count(None)
    assert found.classes == {label: y.count(label) for label in sorted(set(y) - {None})}
    expected = homophily_of(graph.adjacency.toarray(), y)
    if expected is None:
        assert found.homophily is None
    else:
        h = found.homophily
        assert_allclose((h.edges, h.share, h.chance, h.value), expected, atol=1e-12)
        k = expected[1] * expected[0]
        p = (k + 1) / (expected[0] + 2)
        assert h.error == pytest.approx(np.sqrt(p * (1 - p) / expected[0]) / (1 - expected[2]))


@given(graphs())
def test_agreement(graph):
    expected = agreement_of(graph.adjacency.toarray(), dense(graph.features))
    found = describe(graph).agreement
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-7)
        assert -1 - 1e-9 <= found <= 1 + 1e-9


@pytest.mark.parametrize("value", [0.0, 0.1, -3e4])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_constant_features_have_no_agreement(value, form):
    X = form(np.full((40, 7), value, dtype=np.float32))
    assert describe(Graph(np.ones((40, 40)), X)).agreement is None


def test_agreement_of_a_sample(monkeypatch):
    graph, labels = planted(n=300, kind="dense", noise=0.3)
    whole = describe(graph, labels)
    monkeypatch.setattr(description, "SAMPLED_EDGES", 500)
    sampled = describe(graph, labels)
    assert sampled.agreement != whole.agreement
    assert sampled.agreement == pytest.approx(whole.agreement, abs=0.15)
    assert sampled.agreement == describe(graph).agreement


def test_one_node():
    for A in ([[0.0]], [[1.0]]):
        found = describe(Graph(np.array(A)), [3])
        assert found.components == found.largest_component == 1
        assert found.classes == {3: 1}
        assert found.homophily is found.agreement is None
        assert found.verdict == "unlikely"
        assert "no edges" in found.reason


def test_labels_that_are_all_missing():
    found = describe(Graph(PATH), [None, -1, None])
    assert found.classes == {}
    assert found.unlabelled == 3
    assert found.homophily is found.informativeness is found.neighbours is None
    assert found.verdict == "unclear"


def test_one_class_has_no_homophily():
    found = describe(Graph(np.ones((9, 9))), ["x"] * 9)
    assert found.homophily is None
    assert found.verdict == "unclear"
    assert "or all of one class" in found.reason


def test_edge_weights_do_not_change_homophily():
    A = np.triu(np.ones((5, 5)), 1) * np.arange(1, 26).reshape(5, 5)
    y = [0, 0, 1, 1, 1]
    weighted, plain = describe(Graph(A + A.T), y), describe(Graph((A + A.T) > 0), y)
    assert weighted.homophily == plain.homophily


class TestVerdicts:
    def test_likely_by_labels(self):
        graph, labels = planted(kind=None)
        found = describe(graph, labels)
        assert found.verdict == "likely"
        assert f"of {found.homophily.edges:,} edges between labelled nodes" in found.reason
        assert "78% join the same label, where chance would give 34%." in found.reason

    def test_unlikely_by_labels(self):
        A = np.zeros((40, 40))
        A[:20, 20:] = 1
        found = describe(Graph(A + A.T), [0] * 20 + [1] * 20)
        assert found.homophily.value == -1
        assert found.informativeness.value == pytest.approx(1)
        assert found.neighbours.relation == "differ"
        assert found.verdict == "unlikely"
        assert "neighbours share labels no more often than at random" in found.reason

    def test_likely_by_features_where_labels_are_few(self):
        graph, labels = planted(kind="dense", noise=0.2)
        y = np.full(len(labels), -1)
        y[:3] = labels[:3]
        found = describe(graph, y)
        assert found.agreement > 0.1
        assert found.verdict == "likely"
        assert "features of neighbours agree" in found.reason
        assert "too few edges join labelled nodes" in found.reason

    def test_unclear(self):
        graph, _ = planted(kind=None)
        found = describe(graph)
        assert found.verdict == "unclear"
        assert found.reason == "there are no labels to tell by."
        found = describe(graph, np.zeros(graph.num_nodes))
        assert found.verdict == "unclear"
        assert "heatgraph tune" in found.reason

    def test_labels_at_random_are_not_likely(self):
        graph, labels = planted(n=300, kind=None)
        shuffled = np.random.default_rng(1).permutation(labels)
        assert describe(graph, shuffled).verdict != "likely"

    def test_few_edges_give_no_verdict(self):
        A = np.kron(np.eye(10), np.ones((2, 2))) - np.eye(20)
        found = describe(Graph(A), np.repeat(np.arange(10), 2) % 2)
        assert found.homophily.share == 1
        assert found.neighbours is None
        assert found.verdict == "unclear"
        assert "to tell by labels (10, where 30 are needed)" in found.reason


def test_not_a_graph():
    with pytest.raises((InputError, TypeError), match="[Gg]raph"):
        describe(PATH)


def test_labels_of_another_length():
    with pytest.raises(InputError, match="one label per node"):
        describe(Graph(PATH), [0, 1])
