import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs, seeds

from heatgraph import Graph, make_block_graph
from heatgraph.learning import neighbours
from heatgraph.learning.neighbours import (
    MIN_LABELLED_EDGES,
    Homophily,
    Informativeness,
    judge_neighbours,
    measure_neighbours,
)


def labelled_edges(A, codes):
    """Edges (u, v) with u < v and two labels, one at a time."""
    pairs = itertools.combinations(range(len(A)), 2)
    return [(u, v) for u, v in pairs if A[u, v] and codes[u] >= 0 and codes[v] >= 0]


def homophily_of(A, codes):
    """Adjusted homophily: p(k) = D_k / 2|E|, from the degrees of classes."""
    edges = labelled_edges(A, codes)
    agreeing = sum(codes[u] == codes[v] for u, v in edges) / len(edges)
    D = Counter(codes[w] for edge in edges for w in edge)
    chance = sum((d / (2 * len(edges))) ** 2 for d in D.values())
    return (agreeing - chance) / (1 - chance)


def informativeness_of(A, codes):
    """Label informativeness, by the double sum over classes."""
    edges = labelled_edges(A, codes)
    q = Counter()
    p = Counter()
    for u, v in edges:
        for a, b in ((codes[u], codes[v]), (codes[v], codes[u])):
            q[a] += 1 / (2 * len(edges))
            p[a, b] += 1 / (2 * len(edges))
    above = sum(p[a, b] * math.log(p[a, b] / (q[a] * q[b])) for a, b in p)
    return -above / sum(share * math.log(share) for share in q.values())


@given(graphs(), seeds, st.integers(1, 4))
def test_against_sums_over_edges(graph, seed, classes):
    random = np.random.default_rng(seed)
    codes = random.integers(-1, classes, size=graph.num_nodes)
    A = graph.adjacency.toarray()
    edges = labelled_edges(A, codes)
    found = measure_neighbours(graph, codes)
    if len({codes[w] for edge in edges for w in edge}) < 2:
        assert found is None
        return
    homophily, informativeness = found
    assert homophily.edges == len(edges)
    assert homophily.value == pytest.approx(homophily_of(A, codes), abs=1e-12)
    assert informativeness.value == pytest.approx(informativeness_of(A, codes), abs=1e-12)
    assert -1 - 1e-12 <= homophily.value <= 1
    assert 0 <= informativeness.value <= 1 + 1e-12


@given(graphs(), seeds)
def test_names_of_classes_weights_and_self_loops_do_not_matter(graph, seed):
    random = np.random.default_rng(seed)
    codes = random.integers(-1, 3, size=graph.num_nodes)
    renamed = np.where(codes >= 0, 7 - 2 * codes, -1)
    plain = graph.adjacency.toarray() > 0
    np.fill_diagonal(plain, False)
    found, other = measure_neighbours(graph, codes), measure_neighbours(Graph(plain), renamed)
    assert (found is None) == (other is None)
    if found is not None:
        for one, two in zip(found, other, strict=True):
            assert vars(one) == pytest.approx(vars(two))


class TestKnownValues:
    def test_two_cliques_of_one_class_each(self):
        A = np.kron(np.eye(2), np.ones((5, 5)))
        homophily, informativeness = measure_neighbours(Graph(A), np.repeat([0, 1], 5))
        assert homophily.value == pytest.approx(1)
        assert informativeness.value == pytest.approx(1)

    def test_the_sides_of_a_complete_bipartite_graph(self):
        A = np.kron([[0, 1], [1, 0]], np.ones((6, 6)))
        homophily, informativeness = measure_neighbours(Graph(A), np.repeat([0, 1], 6))
        assert homophily.value == pytest.approx(-1)
        assert informativeness.value == pytest.approx(1)

    def test_three_classes_in_a_cycle_of_classes(self):
        """Neighbours always differ, and leave one of two classes open: 1 - log 2 / log 3."""
        A = np.kron(1 - np.eye(3), np.ones((4, 4)))
        homophily, informativeness = measure_neighbours(Graph(A), np.repeat([0, 1, 2], 4))
        assert homophily.value == pytest.approx(-1 / 2)
        assert informativeness.value == pytest.approx(1 - math.log(2) / math.log(3))

    def test_citeseer_as_published(self):
        from heatgraph import load_dataset

        data = load_dataset("citeseer")
        homophily, informativeness = measure_neighbours(data.graph, data.labels)
        assert round(homophily.value, 2) == 0.67
        assert round(informativeness.value, 2) == 0.45


def test_random_labels_give_what_chance_gives():
    """The expectation and the deviation of informativeness are those of the chi-squared law."""
    values, expected = [], []
    for seed in range(40):
        data = make_block_graph(400, 1500, 4, 1, homophily=0.25, exponent=math.inf, seed=seed)
        codes = np.random.default_rng(seed).integers(5, size=400)
        homophily, informativeness = measure_neighbours(data.graph, codes)
        assert abs(homophily.value) < 4 * homophily.error
        values.append(informativeness.value)
        expected.append((informativeness.chance, informativeness.error))
    chance, error = np.mean(expected, axis=0)
    assert np.mean(values) == pytest.approx(chance, rel=0.25)
    assert np.std(values) == pytest.approx(error, rel=0.4)


@given(graphs(), seeds, st.integers(1, 9))
def test_blocks_of_edges(graph, seed, size):
    codes = np.random.default_rng(seed).integers(-1, 3, size=graph.num_nodes)
    whole = measure_neighbours(graph, codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "BLOCK_EDGES", size)
        assert measure_neighbours(graph, codes) == whole


def test_many_classes_make_no_table_of_pairs():
    ring = Graph.from_edges(range(50), np.roll(range(50), 1), num_nodes=50, symmetrize="max")
    codes = np.arange(50)
    assert measure_neighbours(ring, codes)[1].value == pytest.approx(
        informativeness_of(ring.adjacency.toarray(), codes)
    )
    far = np.where(codes % 2, 10**6, codes)  # a table would take terabytes
    assert measure_neighbours(ring, far)[1].value == pytest.approx(
        informativeness_of(ring.adjacency.toarray(), far)
    )


class TestRelations:
    def judge(self, homophily, seed=0, edges=1500, features=True):
        data = make_block_graph(500, edges, 4, 2, homophily=homophily, seed=seed)
        measured = measure_neighbours(data.graph, data.labels)
        return judge_neighbours(*measured, features)

    @pytest.mark.parametrize(
        ("share", "relation"), [(0.8, "agree"), (0.5, "agree"), (0.25, "independent"),
                                (0.1, "differ"), (0.0, "differ")]
    )  # fmt: skip
    @pytest.mark.parametrize("seed", range(3))
    def test_by_the_share_of_edges_within_a_class(self, share, relation, seed):
        assert self.judge(share, seed).relation == relation

    def test_sentences(self):
        assert self.judge(0.8).finding == "Neighbours mostly agree."
        assert "features alone" in self.judge(0.8).consequence
        differ = self.judge(0.0)
        assert "informative way: the label of one removes 21% of the uncertainty" in differ.finding
        for share in (0.0, 0.25):
            assert "those of a node itself, of its neighbours" in self.judge(share).consequence

    def test_without_features(self):
        assert self.judge(0.0, features=False).consequence == (
            "Without features, a fit has only the edges."
        )

    def test_few_edges(self):
        informativeness = Informativeness(1.0, 0.01, 0.01)
        for edges, told in ((MIN_LABELLED_EDGES - 1, False), (MIN_LABELLED_EDGES, True)):
            homophily = Homophily(edges, 1.0, 0.5, 1.0, 0.1)
            assert (judge_neighbours(homophily, informativeness, True) is not None) == told
        assert judge_neighbours(None, None, True) is None

    @pytest.mark.parametrize(
        ("homophily", "informativeness"),
        [
            ((0.15, 0.1), (0.2, 0.01)),  # agreement is near, and may be what informs
            ((0.0, 0.2), (0.0, 0.001)),
            ((0.0, 0.01), (0.03, 0.02)),
        ],
    )
    def test_unclear(self, homophily, informativeness):
        found = judge_neighbours(
            Homophily(100, 0.5, 0.5, *homophily),
            Informativeness(informativeness[0], 0.0, informativeness[1]),
            True,
        )
        assert found.relation == "unclear"
        assert "not certain" in found.finding
        assert found.consequence.startswith("A fit compares features alone")

    def test_every_relation_has_its_sentences(self):
        assert neighbours._FINDINGS.keys() == neighbours._CONSEQUENCES.keys()
