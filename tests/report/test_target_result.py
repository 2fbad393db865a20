"""What a fit of numbers or of sets of labels achieves, and what the graph contributes."""

import numpy as np
import pytest
from strategies import planted

from heatgraph import DGCMultilabelClassifier, DGCRegressor
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.report.fit_report import fit_document
from heatgraph.report.target_metrics import MultilabelMetrics
from heatgraph.report.target_result import evaluate_targets, f1_terms, fit_targets_alone

GRAPH, CLASSES = planted(n=150, kind="dense", noise=2.0)
TRAIN, VAL, TEST = np.arange(60), np.arange(60, 100), np.arange(100, 150)
RNG = np.random.default_rng(0)
NUMBERS = 5.0 * CLASSES + RNG.normal(size=150)
SETS = np.empty(150, dtype=object)
SETS[:] = [(f"c{code}",) + ("odd",) * bool(RNG.random() < 0.3) for code in CLASSES]


def data_set(task, parts=("train", "val", "test"), graph=GRAPH):
    nodes = {"train": TRAIN, "val": VAL, "test": TEST}
    split = Split(*(nodes[name] if name in parts else [] for name in nodes))
    labels = NUMBERS if task == "regression" else SETS
    return Dataset("any", graph, labels, {"s": split} if parts else {}, task=task)


def evaluated(data, **settings):
    kind = DGCRegressor if data.task == "regression" else DGCMultilabelClassifier
    train, val, _ = data.partition()
    model = kind(**settings).fit(data.graph, data.labels, train, val)
    alone = fit_targets_alone(model, data)
    return model, alone, evaluate_targets(model, alone, data)


def test_numbers_of_test_nodes():
    model, alone, result = evaluated(data_set("regression"))
    errors = np.abs(model.predict(nodes=TEST) - NUMBERS[TEST])
    simpler = np.abs(alone.predict(nodes=TEST) - NUMBERS[TEST])
    assert (result.part, result.metrics.nodes) == ("test", 50)
    assert result.metrics.mae == pytest.approx(errors.mean())
    assert result.features_alone.mae == pytest.approx(simpler.mean())
    assert result.gain.accuracy == pytest.approx((simpler - errors).mean())
    assert result.gain.error == pytest.approx((simpler - errors).std(ddof=1) / np.sqrt(50))
    assert result.metrics.coverage is not None
    (finding,) = result.findings
    assert finding.kind == "graph helps"
    assert finding.text.startswith("The graph helps: mean absolute error ")


def test_validation_nodes_are_predicted_without_intervals_learned_from_them():
    model, _, result = evaluated(data_set("regression", ("train", "val")))
    assert result.part == "validation"
    expected = np.abs(model.predict(nodes=VAL) - NUMBERS[VAL]).mean()
    assert result.metrics.mae == pytest.approx(expected)
    assert result.metrics.coverage is None


def test_without_a_split_every_node_is_predicted_by_a_model_that_has_not_learned_it():
    model, _, result = evaluated(data_set("regression", ()), T=2.0, weight_decay=1e-3)
    assert result.part == "out-of-fold"
    assert sorted(result.nodes) == list(range(150))
    learned = np.abs(model.predict() - NUMBERS).mean()
    assert result.metrics.mae > learned
    # By hand: the first fold.
    held_out = result.nodes[:30]
    others = np.setdiff1d(np.arange(150), held_out)
    by_hand = DGCRegressor(T=2.0, weight_decay=1e-3).fit(GRAPH, NUMBERS, others)
    assert result.predictions[:30] == pytest.approx(by_hand.predict(nodes=held_out), rel=1e-4)


def test_sets_of_labels():
    model, alone, result = evaluated(data_set("multilabel"))
    P = model.predict_proba(nodes=TEST)
    expected = MultilabelMetrics.measure(P, model.classes_, SETS[TEST])
    assert result.metrics == expected
    simpler = MultilabelMetrics.measure(alone.predict_proba(nodes=TEST), alone.classes_, SETS[TEST])
    assert result.gain.accuracy == pytest.approx(expected.micro_f1 - simpler.micro_f1)
    assert result.findings[0].text.startswith(f"The graph helps: micro-F1 {expected.micro_f1:.1%}")


def test_labels_out_of_fold():
    sets = SETS.copy()
    sets[0] = ("alone",)  # a label that one fold does not know
    data = Dataset("any", GRAPH, sets, {}, task="multilabel")
    model, _, result = evaluated(data, T=2.0, weight_decay=1e-3)
    assert result.predictions.shape == (150, len(model.classes_))
    at = np.flatnonzero(result.nodes == 0)[0]
    assert result.predictions[at, model.classes_.tolist().index("alone")] == 0


def test_too_few_nodes_to_hold_some_out():
    numbers = np.full(150, np.nan)
    numbers[:2] = 1, 2
    data = Dataset("any", GRAPH, numbers, {}, task="regression")
    assert evaluated(data, T=2.0, weight_decay=1e-3)[2] is None
    document = fit_document(evaluated(data, T=2.0, weight_decay=1e-3)[0], data)
    assert document.headline.startswith("How well it predicts is unknown")


def test_terms_of_micro_f1_have_its_error():
    rng = np.random.default_rng(3)
    P, classes = rng.random((200, 2)), np.array(["a", "b"])
    sets = [tuple(np.array(["a", "b", "z"])[rng.random(3) < 0.4]) for _ in range(200)]
    terms = f1_terms(sets, classes, P)
    assert terms.mean() == pytest.approx(MultilabelMetrics.measure(P, classes, sets).micro_f1)
    drawn = [
        MultilabelMetrics.measure(P[at], classes, [sets[v] for v in at]).micro_f1
        for at in rng.integers(0, 200, (400, 200))
    ]
    assert terms.std() / np.sqrt(200) == pytest.approx(np.std(drawn), rel=0.15)


def test_findings_when_the_graph_is_of_no_use():
    _, alone, result = evaluated(data_set("regression"), T=0.0)
    assert alone is None
    assert result.gain is None
    assert "The graph is not used" in result.findings[-1].text
    shuffled = Dataset(
        "any", GRAPH, np.random.default_rng(2).permutation(NUMBERS), {}, task="regression"
    )
    _, _, result = evaluated(shuffled, T=2.0, weight_decay=1e-6)
    assert result.findings[0].kind == "mean"
    assert all(finding.is_warning for finding in result.findings)


def test_without_features_there_is_nothing_to_compare_with():
    data = data_set("regression", graph=GRAPH.with_features(None))
    _, alone, result = evaluated(data, T=2.0, weight_decay=1e-3)
    assert alone is None
    assert result.findings == ()
