"""Shares of features are those of `explain`, for every node."""

import numpy as np
import pytest
from explorer.explored import blocks, fitted

from heatgraph.explorer import feature_shares
from heatgraph.explorer.feature_shares import largest_feature_shares
from heatgraph.learning.reasons import strongest_reasons

MODELS = {
    "plain": {},
    "similar": {"extensions": ["similar-edges"]},
    "channels": {"T": "auto", "weight_decay": "auto", "extensions": ["channels"]},
}


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("kind", MODELS)
def test_shares_are_those_of_explain(num_classes, kind, monkeypatch):
    data = blocks(num_classes, homophily=0.05 if kind == "channels" else 0.8)
    model = fitted(data, **MODELS[kind])
    assert bool(model.channel_coefs_) == (kind == "channels")
    codes = model.predict_proba().argmax(axis=1)
    # Blocks of five features, whose largest shares are merged.
    monkeypatch.setattr(feature_shares, "BLOCK_ENTRIES", 5 * data.graph.num_nodes)
    found, shares = largest_feature_shares(model, data.graph, codes, 4)
    expected = strongest_reasons(model, codes, 4)
    for node in range(data.graph.num_nodes):
        nonzero = shares[node][shares[node] != 0]
        assert nonzero == pytest.approx([s for _, s in expected[node].features], abs=1e-6)
    explanation = model.explain(7)
    assert shares[7] == pytest.approx(explanation.feature_shares[found[7]], abs=1e-6)


def test_without_features():
    data = blocks()
    graph = data.graph.with_features(None)
    model = fitted(type(data)("bare", graph, data.labels, data.splits))
    found, shares = largest_feature_shares(model, graph, np.zeros(300, dtype=int), 4)
    assert found.shape == shares.shape == (300, 0)
