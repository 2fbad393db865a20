"""What a fit achieves on nodes that it has not learned from, and what the graph contributes."""

import json

import numpy as np
import pytest
from strategies import planted

from heatgraph import DGCClassifier, Graph
from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.report import held_out
from heatgraph.report.fit_result import evaluate_fit
from heatgraph.report.held_out import learned_nodes

GRAPH, LABELS = planted(n=120, kind="dense")
TRAIN, VAL, TEST = np.arange(40), np.arange(40, 70), np.arange(70, 120)
NONE = np.empty(0, dtype=int)


def data_set(train=TRAIN, val=VAL, test=TEST, graph=GRAPH, labels=LABELS):
    return Dataset("any", graph, labels, {"s": Split(train, val, test)})


def fitted(data, **settings):
    settings = {"T": 2.0, "weight_decay": 1e-3, "feature_scaling": "none"} | settings
    train, val, _ = data.partition()
    return DGCClassifier(**settings).fit(data.graph, data.labels, train, val)


def kinds(result):
    return [finding.kind for finding in result.findings]


class TestParts:
    @pytest.mark.parametrize("final_fit", ["train", "train+val"])
    def test_test_nodes(self, final_fit):
        data = data_set()
        model = fitted(data, final_fit=final_fit)
        result = evaluate_fit(model, data)
        assert (result.part, result.metrics.nodes) == ("test", 50)
        assert result.metrics.accuracy == model.score(None, LABELS, TEST)
        learned = TRAIN if final_fit == "train" else np.arange(70)
        np.testing.assert_array_equal(learned_nodes(model, data), learned)
        alone = DGCClassifier(T=0.0, weight_decay=1e-3, feature_scaling="none")
        alone.fit(GRAPH, LABELS, learned)
        assert result.features_alone.accuracy == alone.score(None, LABELS, TEST)
        propagated = LabelPropagation().fit(GRAPH, LABELS, learned)
        assert result.labels_alone.accuracy == propagated.score(None, LABELS, TEST)
        counts = np.bincount(LABELS[learned])
        assert result.largest_class == np.mean(LABELS[TEST] == counts.argmax())
        json.dumps(result.to_json())

    def test_validation_nodes_are_predicted_before_they_are_learned(self):
        data = data_set(test=NONE)
        before = fitted(data)
        after = fitted(data, final_fit="train+val")
        for model in (before, after):
            result = evaluate_fit(model, data)
            assert (result.part, result.metrics.nodes) == ("validation", 30)
            assert result.metrics.accuracy == before.validation_accuracy_
            assert result.metrics.accuracy == before.score(None, LABELS, VAL)

    def test_without_class_offsets_of_the_same_nodes(self):
        data = data_set(test=NONE)
        model = fitted(data, extensions=["class-offsets"])
        assert model.class_offsets_ is not None
        assert evaluate_fit(model, data).metrics.accuracy == model.validation_accuracy_

    def test_test_nodes_can_be_left_alone(self):
        data = data_set()
        assert evaluate_fit(fitted(data), data, use_test=False).part == "validation"

    def test_folds(self):
        data = Dataset("any", GRAPH, LABELS)
        result = evaluate_fit(fitted(data), data)
        assert (result.part, result.metrics.nodes) == ("out-of-fold", 120)
        # By hand: each fold by a model of the others.
        parts = held_out.stratified_parts(LABELS, 5, np.random.default_rng(0))
        correct = []
        for part in range(5):
            model = DGCClassifier(T=2.0, weight_decay=1e-3, feature_scaling="none")
            model.fit(GRAPH, LABELS, np.flatnonzero(parts != part))
            correct += (model.predict() == LABELS)[parts == part].tolist()
        assert result.metrics.accuracy == pytest.approx(np.mean(correct))

    def test_enough_folds(self, monkeypatch):
        monkeypatch.setattr(held_out, "ENOUGH_NODES", 30)
        data = Dataset("any", GRAPH, LABELS)
        assert evaluate_fit(fitted(data), data).metrics.nodes == 48

    def test_one_node_of_each_class(self):
        labels = np.full(120, -1)
        labels[:3] = LABELS[:3]
        data = Dataset("any", GRAPH, labels)
        assert evaluate_fit(fitted(data), data) is None

    def test_labels_are_not_propagated_on_huge_graphs(self, monkeypatch):
        monkeypatch.setattr(held_out, "MAX_PROPAGATION_WORK", 10)
        for data in (data_set(), data_set(test=NONE), Dataset("any", GRAPH, LABELS)):
            result = evaluate_fit(fitted(data), data)
            assert result.labels_alone is None
            assert "labels alone" not in result.gains

    def test_without_features(self):
        data = data_set(graph=GRAPH.with_features(None))
        result = evaluate_fit(fitted(data), data)
        assert result.features_alone is None
        assert result.labels_alone is not None
        assert "graph helps" not in kinds(result)


class TestFindings:
    def test_the_graph_helps(self):
        noise = np.random.default_rng(0).normal(size=GRAPH.features.shape)
        data = data_set(graph=GRAPH.with_features(GRAPH.features + 2 * noise))
        result = evaluate_fit(fitted(data), data)
        assert kinds(result)[0] == "graph helps"
        gain = result.gains["features alone"]
        difference = result.metrics.accuracy - result.features_alone.accuracy
        assert gain.accuracy == pytest.approx(difference)
        assert gain.is_clear
        text = f"The graph helps: {100 * difference:+.1f} points over features alone "
        assert result.findings[0].text.startswith(text)

    def test_the_graph_does_harm(self):
        rng = np.random.default_rng(0)
        X = np.eye(3)[LABELS] + 0.3 * rng.normal(size=(120, 3))
        src, dst = rng.integers(0, 120, (2, 800))
        graph = Graph.from_edges(src, dst, num_nodes=120, features=X, symmetrize="max",
                                 duplicates="max")  # fmt: skip
        data = data_set(graph=graph)
        result = evaluate_fit(fitted(data, T=5.0), data)
        (finding,) = [one for one in result.findings if one.kind == "graph does not help"]
        assert finding.is_warning
        assert finding.text.startswith("The graph does harm: -")
        unused = evaluate_fit(fitted(data, T=0.0), data)
        assert "graph unused" in kinds(unused)

    def test_one_class_is_predicted(self):
        """17 positives of 600, which nothing predicts."""
        rng = np.random.default_rng(0)
        y = np.where(np.isin(np.arange(600), rng.choice(600, 17, replace=False)), "pos", "neg")
        src, dst = rng.integers(0, 600, (2, 2000))
        graph = Graph.from_edges(src, dst, num_nodes=600, features=rng.normal(size=(600, 5)),
                                 symmetrize="max", duplicates="max")  # fmt: skip
        data = Dataset("any", graph, y)
        result = evaluate_fit(fitted(data, weight_decay=1.0), data)
        first = result.findings[0]
        assert (first.kind, first.is_warning) == ("one class", True)
        assert first.text.startswith("Every node is predicted as 'neg': ")
        assert "Balanced accuracy is 50.0%, where chance gives 50.0%." in first.text
        assert "graph does not help" in kinds(result)

    def test_no_better_than_the_largest_class(self):
        rng = np.random.default_rng(0)
        labels = (rng.random(120) < 0.3).astype(int)
        graph = GRAPH.with_features(rng.normal(size=(120, 60)))
        data = data_set(graph=graph, labels=labels)
        result = evaluate_fit(fitted(data, T=0.5, weight_decay=1e-6), data)
        assert kinds(result)[0] == "largest class"
        assert not result.gains["largest class"].is_clear

    def test_single_labels_and_classes_never_predicted(self):
        labels = LABELS.copy()
        labels[[0, 80]] = 7
        result = evaluate_fit(fitted(data := data_set(labels=labels), weight_decay=1.0), data)
        texts = {finding.kind: finding.text for finding in result.findings}
        assert texts["single labels"] == "With a single training node: 7."
        assert texts["never predicted"].endswith("7.")
        labels[80] = LABELS[80]
        result = evaluate_fit(fitted(data := Dataset("any", GRAPH, labels)), data)
        assert "nothing held out tells how well" in result.findings[-1].text


class TestImbalance:
    @pytest.mark.parametrize("class_weight", [None, "balanced"])
    def test_a_rare_class_that_is_found(self, class_weight):
        graph, labels = planted(n=400, kind="dense", noise=0.3)
        kept = np.flatnonzero((labels != 0) | (np.cumsum(labels == 0) <= 20))
        rare = np.where(labels == 0, "fraud", "fine")[kept]
        data = Dataset("any", graph.subgraph(kept), rare)
        result = evaluate_fit(fitted(data, class_weight=class_weight), data)
        texts = {finding.kind: finding.text for finding in result.findings}
        share = f"{np.mean(rare == 'fine'):.1%}"
        assert f"{share} of the nodes are 'fine', so that accuracy tells" in texts["imbalance"]
        alone = f"by features alone {result.features_alone.balanced_accuracy:.1%}."
        assert alone in texts["imbalance"]
        assert ("--class-weight balanced" in texts["imbalance"]) == (class_weight is None)

    def test_classes_of_the_same_size(self):
        data = data_set()
        assert "imbalance" not in kinds(evaluate_fit(fitted(data), data))
