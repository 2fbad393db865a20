"""The strongest reasons of all predictions at once are those of single explanations."""

import numpy as np
import pytest
from strategies import planted

from heatgraph import DGCClassifier
from heatgraph.learning import reasons
from heatgraph.learning.reasons import strongest_reasons


def assert_same_reasons(model, graph=None, top=4):
    """Compare all nodes with `explain`, node by node; equal shares may be in any order."""
    codes = model.predict_proba(graph).argmax(axis=1)
    found = strongest_reasons(model, codes, top, graph)
    for node, reason in enumerate(found):
        label = model.classes_.tolist()[codes[node]]
        expected = model.explain(node, label, top, graph)
        for shares, records, name in (
            (reason.nodes, expected.nodes, "node"),
            (reason.features, expected.features, "feature"),
        ):
            assert len(shares) == len(records)
            np.testing.assert_allclose(
                [share for _, share in shares],
                [record["share"] for record in records],
                atol=1e-9,
            )
            assert {share[0] for share in shares[:1]} == {one[name] for one in records[:1]}


@pytest.mark.parametrize("kind", ["dense", "words", None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_against_single_explanations(kind, dtype):
    graph, labels = planted(kind=kind)
    model = DGCClassifier(T=2.0, weight_decay=1e-3, dtype=dtype)
    assert_same_reasons(model.fit(graph, labels, np.arange(0, 90, 2)))


def test_two_classes():
    graph, labels = planted()
    model = DGCClassifier(T=2.0, weight_decay=1e-3)
    assert_same_reasons(model.fit(graph, labels == 1, np.arange(0, 90, 2)))


def test_similar_edges():
    graph, labels = planted()
    model = DGCClassifier(T=2.0, weight_decay=1e-3, extensions=["similar-edges"])
    model.fit(graph, labels, np.arange(0, 90, 2), np.arange(1, 90, 2))
    assert model.similar_coef_ is not None
    assert_same_reasons(model)


def test_links_alone_have_no_shares_of_features():
    graph, labels = planted()
    model = DGCClassifier(T=2.0, weight_decay=1e-3).fit(graph, labels, np.arange(0, 90, 2))
    weights = np.random.default_rng(0).normal(size=(len(model.classes_), graph.num_nodes))
    model.channel_coefs_, model.coef_ = {"links": weights}, np.zeros_like(model.coef_)
    assert_same_reasons(model)


@pytest.mark.parametrize("names", [["features", "neighbours"], ["links", "two-hop-links"]])
def test_channels(names):
    graph, labels = planted()
    model = DGCClassifier(T=2.0, weight_decay=1e-3).fit(graph, labels, np.arange(0, 90, 2))
    rng = np.random.default_rng(0)
    widths = {"features": graph.num_features, "neighbours": graph.num_features}
    model.channel_coefs_ = {
        name: rng.normal(size=(3, widths.get(name, graph.num_nodes))) for name in names
    }
    assert_same_reasons(model)


def test_blocks_and_progress(monkeypatch):
    graph, labels = planted()
    model = DGCClassifier(T=2.0, weight_decay=1e-3).fit(graph, labels, np.arange(0, 90, 2))
    codes = model.predict_proba().argmax(axis=1)
    whole = strongest_reasons(model, codes, 3)
    monkeypatch.setattr(reasons, "BLOCK_ENTRIES", 7 * graph.num_nodes)
    calls = []
    blocks = strongest_reasons(model, codes, 3, progress=lambda *call: calls.append(call))
    assert calls[0] == (7, graph.num_nodes)
    assert calls[-1] == (graph.num_nodes, graph.num_nodes)
    for one, other in zip(whole, blocks, strict=True):
        np.testing.assert_allclose(
            [share for _, share in one.nodes], [share for _, share in other.nodes], atol=1e-12
        )
