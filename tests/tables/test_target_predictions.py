"""Predicted numbers and lists of labels as tables."""

import json

import numpy as np
import pytest
from strategies import planted

import heatgraph as hg
from heatgraph.report.target_summary import interval_half_width
from heatgraph.tables.target_predictions import target_predictions

GRAPH, CLASSES = planted(n=30, kind="dense")
FIXED = {"T": 1.0, "weight_decay": 0.1}


def test_labels():
    lists = [["a", "b"] if label == 1 else ["a"] * label for label in CLASSES]
    model = hg.DGCMultilabelClassifier(**FIXED).fit(GRAPH, lists)
    table = target_predictions(model, "multilabel", GRAPH, "node")
    assert table.column_names == ["node", "prediction", "probability_a", "probability_b"]
    assert [json.loads(text) for text in table["prediction"].to_pylist()] == model.predict_labels()
    np.testing.assert_allclose(table["probability_b"], model.predict_proba()[:, 1], atol=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_numbers(scale):
    model = hg.DGCRegressor(**FIXED).fit(GRAPH, scale * (CLASSES + 0.5))
    bounds = model.predict_interval()
    half_width = interval_half_width(model)
    table = target_predictions(model, "regression", GRAPH, "prediction", half_width)
    assert table.column_names == ["id", "prediction", "lower", "upper"]
    for name, expected in zip(
        ("prediction", "lower", "upper"), (model.predict(), *bounds.T), strict=True
    ):
        np.testing.assert_allclose(table[name], expected, atol=1e-6 * scale)
    assert max(map(len, map(repr, table["prediction"].to_pylist()))) < 16


def test_numbers_without_intervals():
    model = hg.DGCRegressor(T=1.0, weight_decay=1e9).fit(GRAPH, CLASSES - 1.0)
    table = target_predictions(model, "regression", GRAPH, "id")
    assert table["lower"].null_count == table["upper"].null_count == 30


def test_zeros_are_not_rounded():
    from heatgraph.tables.target_predictions import _rounded

    assert _rounded(np.zeros(2)).tolist() == [0, 0]
