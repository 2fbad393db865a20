"""Shares of a score, compared with its definition by dense matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import dense_operator, response_matrix
from strategies import graphs, planted, seeds

from heatgraph import DGCClassifier, Graph
from heatgraph.errors import InputError

GRAPH, LABELS = planted()
NAMES = [f"word {j}" for j in range(12)]


def fitted(graph=GRAPH, y=LABELS):
    return DGCClassifier(T=3.0, weight_decay=1e-3).fit(graph, y, train=np.arange(15))


@given(graphs(max_nodes=10), st.integers(2, 3), st.booleans(), seeds)
def test_shares_add_up_to_the_decision_function(graph, C, self_loops, seed):
    assume(graph.num_nodes >= C)
    check_shares(graph, C, self_loops)


@given(graphs(max_nodes=10, featureless=True), st.integers(2, 3), st.booleans())
def test_shares_add_up_without_features(graph, C, self_loops):
    assume(graph.num_nodes >= C)
    check_shares(graph, C, self_loops)


def check_shares(graph, C, self_loops):
    y = np.arange(graph.num_nodes) % C
    clf = DGCClassifier(
        T=1.5, weight_decay=0.1, self_loops=self_loops, feature_scaling="none", dtype="float64"
    ).fit(graph, y)
    everything = max(1, graph.num_nodes * max(1, graph.num_features))
    decision = clf.decision_function()
    for node in range(min(3, graph.num_nodes)):
        for label in range(C):
            explained = clf.explain(node, label=label, top=everything)
            score = decision[node] * (1 if label else -1) if C == 2 else decision[node, label]
            assert explained.score == pytest.approx(score, abs=1e-5)
            assert explained.bias + explained.node_shares.sum() == pytest.approx(score, abs=1e-5)
            parts = [explained.nodes]
            if graph.features is not None:
                total = explained.bias + explained.feature_shares.sum()
                assert total == pytest.approx(score, abs=1e-5)
                parts += [explained.features, explained.pairs]
            for records in parts:
                listed = explained.bias + sum(record["share"] for record in records)
                assert listed == pytest.approx(score, abs=1e-5)
            assert explained.probability == pytest.approx(
                clf.predict_proba(nodes=[node])[0, label], abs=1e-6
            )


def test_shares_match_the_formula(monkeypatch):
    monkeypatch.setattr("heatgraph.learning.explanation.BLOCK_ROWS", 7)
    monkeypatch.setattr("heatgraph.learning.explanation.BLOCK_ENTRIES", 40)
    for kind in ("words", "dense"):
        graph, labels = planted(kind=kind)
        clf = fitted(graph, labels)
        explained = clf.explain(20, top=4)
        R = response_matrix(dense_operator(graph.adjacency.toarray()), clf.scheme_)
        X = clf.scaling_.apply(graph.features, np.dtype(np.float64))
        X = X.toarray() if sp.issparse(X) else X
        shares = R[20][:, np.newaxis] * X * clf.coef_[clf.predict()[20]]
        np.testing.assert_allclose(explained.node_shares, shares.sum(axis=1), atol=1e-5)
        np.testing.assert_allclose(explained.feature_shares, shares.sum(axis=0), atol=1e-5)
        largest = np.sort(np.abs(shares).ravel())[::-1][:4]
        found = [abs(record["share"]) for record in explained.pairs]
        np.testing.assert_allclose(found, largest, atol=1e-5)
        for record in explained.pairs:
            assert record["share"] == pytest.approx(
                shares[record["node"], record["feature"]], abs=1e-5
            )


def test_the_text_of_an_explanation():
    graph = Graph(GRAPH.adjacency, GRAPH.features, node_ids=[f"paper {i}" for i in range(90)])
    clf = fitted(graph, np.array(["art", "law", "sea"])[LABELS])
    explained = clf.explain(20, top=2)
    assert explained.node == "paper 20"
    assert explained.label == clf.predict()[20]
    text = repr(explained)
    assert text.startswith(f"node paper 20 as {explained.label!r}: score ")
    for part in ("source nodes", "features", "pairs", "all others", "node paper "):
        assert part in text
    assert [list(record) for record in explained.pairs] == [["node", "feature", "share"]] * 2
    with pytest.raises(InputError, match=r"one of the classes \['art', 'law', 'sea'\]. Got 'war'"):
        clf.explain(20, label="war")
    with pytest.raises(InputError, match="node 90 is outside 0..89"):
        clf.explain(90)
    with pytest.raises(InputError, match="top must be an integer >= 1"):
        clf.explain(1, top=0)


def test_explanations_name_features():
    explanation = fitted(GRAPH.with_features(GRAPH.features, NAMES)).explain(50, top=3)
    assert {record["feature"] for record in explanation.features} <= set(NAMES)
    assert {record["feature"] for record in explanation.pairs} <= set(NAMES)
    by_number = fitted().explain(50, top=3)
    assert [f"word {r['feature']}" for r in by_number.features] == [
        r["feature"] for r in explanation.features
    ]
