"""Rows of a comparison, against estimators and tests of significance called directly."""

import numpy as np
import pytest

from heatgraph.experiments.compare.comparison import Comparison, run_comparison
from heatgraph.experiments.compare.methods import METHODS
from heatgraph.experiments.compare.significance import (
    compare_over_nodes,
    compare_over_splits,
    holm_adjusted,
)
from heatgraph.experiments.compare.splits import comparison_splits
from heatgraph.experiments.compare.summary import summarize_methods

pytestmark = pytest.mark.usefixtures("jobs")


def test_one_split_is_compared_over_nodes(data, store):
    comparison, results = Comparison(["dgc", "features"], data, data.splits), store()
    run_comparison(comparison, results)
    dgc, alone = summarize_methods(comparison, results)
    split = data.split
    correct = {}
    for row, name in ((dgc, "dgc"), (alone, "features")):
        fitted = METHODS[name].estimator("")
        fitted.fit(data.graph, data.labels, split.train, split.val)
        correct[name] = fitted.predict(nodes=split.test) == data.labels[split.test]
        assert row["accuracy"] == pytest.approx(100 * correct[name].mean())
    expected = compare_over_nodes(correct["features"].astype(float) - correct["dgc"])
    assert alone["difference"] == pytest.approx(100 * expected.mean)
    assert alone["p"] == alone["p_corrected"] == pytest.approx(expected.p)
    assert (dgc["difference"], dgc["p"]) == (None, None)


def test_several_splits_are_compared_over_splits(data, store):
    splits = comparison_splits(data, 3)
    comparison, results = Comparison(["dgc", "features", "sgc"], data, splits), store()
    run_comparison(comparison, results)
    rows = summarize_methods(comparison, results)
    records = comparison.records(results)
    dgc, alone = (np.array(records[name].values("accuracy")) for name in ("dgc", "features"))
    expected = compare_over_splits(alone - dgc, 0.5)
    assert rows[1]["difference_margin"] == pytest.approx(100 * expected.margin)
    assert rows[1]["runs"] == 3
    assert rows[1]["accuracy_spread"] == pytest.approx(100 * np.std(alone, ddof=1))
    assert [row["p_corrected"] for row in rows] == holm_adjusted([row["p"] for row in rows])


def test_a_method_with_more_labels_is_not_tested_against_others(data, store):
    comparison = Comparison(["dgc", "dgc-refit", "features"], data, data.splits)
    results = store()
    run_comparison(comparison, results)
    _, refitted, alone = summarize_methods(comparison, results)
    assert refitted["runs"] == 1
    assert refitted["protocol"] == "validated, then refitted"
    assert [refitted[key] for key in ("difference", "p", "p_corrected")] == [None] * 3
    # Nor is it one of the tests that p values are adjusted for.
    assert alone["p"] == alone["p_corrected"]


def test_a_method_with_one_of_its_runs_has_no_p(data, store):
    comparison = Comparison(["dgc", "features"], data, comparison_splits(data, 3))
    results = store()
    for method, count in (("dgc", 3), ("features", 1)):
        for trial in comparison.trials(method)[:count]:
            results.add(trial, trial.run(lambda *_: None), 0.0)
    row = summarize_methods(comparison, results)[1]
    assert (row["runs"], row["planned"], row["p"]) == (1, 3, None)
