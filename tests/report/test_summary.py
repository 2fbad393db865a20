"""Summaries of tables and of fitted models."""

import json

import numpy as np
import pytest
from strategies import planted

from heatgraph import DGCClassifier
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.learning import _nearest_nodes, _similar_nodes
from heatgraph.report.summary import fit_summary, neighbours_summary, read_summary
from heatgraph.tables.from_tables import read_tables
from heatgraph.tables.options import TableOptions

NODES = {
    "id": ["a", "b", "c", "d", "e"],
    "label": [7, 9, 7, None, -1],
    "split": ["train", "train", "val", "test", None],
    "x": [1.0, 2.0, 3.0, 4.0, 5.0],
    "kind": ["u", "v", "u", "v", "v"],
    "note": [{"u": 1}] * 5,
}
EDGES = {"source": ["a", "a", "b", "c"], "target": ["b", "b", "a", "c"]}


def use(column, use, description, num_features=0):
    names = ("column", "use", "description", "num_features")
    return dict(zip(names, (column, use, description, num_features), strict=True))


class TestReadSummary:
    def test_counts(self):
        summary = read_summary(read_tables(NODES, EDGES, TableOptions()))
        assert summary == {
            "nodes": 5, "edge_rows": 4, "edges": 2, "duplicates": 1, "self_loops": 1, "isolated": 2,
            "both_directions": 1, "unequal_directions": 0, "weighted": False, "directed": False,
            "features": 3,
            "columns": {
                key: {"column": key, "guessed": True}
                for key in ("id", "label", "split", "source", "target")
            },
            "features_from": "x, kind (detected)",
            "column_uses": [
                *(use(name, name, name) for name in ("id", "label", "split")),
                use("x", "number", "number", 1),
                use("kind", "category", "category of 2 values", 2),
                use("note", "left out", "of type struct<u: int64>"),
            ],
            "remarks": ["nodes: not used (of type struct<u: int64>): note"],
            "classes": {"7": 2, "9": 1}, "unlabelled": 2,
            "split": {"train": 2, "val": 1, "test": 1}, "split_name": "split",
        }  # fmt: skip
        json.dumps(summary)

    def test_without_labels_and_split(self):
        edges = EDGES | {"weight": [0.5, 0.5, 0.5, 2.0]}
        summary = read_summary(read_tables({"id": NODES["id"]}, edges, TableOptions()))
        assert not {"classes", "unlabelled", "split"} & set(summary)
        assert summary["weighted"]
        assert summary["features"] == 0


class TestNeighboursSummary:
    def test_of_all_labels_without_a_split(self):
        graph, labels = planted(n=120)
        summary = neighbours_summary(Dataset("any", graph, labels))
        assert summary["relation"] == "agree"
        assert summary["homophily"]["edges"] == graph.num_edges
        assert 0 < summary["informativeness"]["value"] < summary["homophily"]["value"]
        json.dumps(summary)

    def test_labels_of_test_nodes_are_not_read(self):
        graph, labels = planted(n=120)
        split = Split(np.arange(60), np.arange(60, 80), np.arange(80, 120))
        others = labels.copy()
        others[80:] = 7
        one, two = (
            neighbours_summary(Dataset("any", graph, y, {"s": split})) for y in (labels, others)
        )
        assert one == two
        assert one["homophily"]["edges"] == graph.subgraph(np.arange(80)).num_edges

    def test_few_labelled_edges(self):
        graph, labels = planted(n=120)
        split = Split(np.arange(10), [], np.arange(10, 120))
        assert neighbours_summary(Dataset("any", graph, labels, {"s": split})) is None


class TestFitSummary:
    def fitted(self, data, **settings):
        train, val, _ = data.partition()
        return DGCClassifier(**settings).fit(data.graph, data.labels, train, val)

    def test_against_hand_counts(self):
        graph, labels = planted(n=120)
        labels = np.array(["x", "y", "z"])[labels].astype(object)
        labels[100:] = None
        split = Split(np.arange(1, 32), np.arange(40, 70), np.arange(70, 120))
        data = Dataset("any", graph, labels, {"s": split})
        model = self.fitted(data, T=[0.0, 2.0], weight_decay=1e-3, feature_scaling="rows")
        summary = fit_summary(model, data)
        assert summary["training_nodes"] == 31
        assert summary["validated_by"] == "30 validation nodes"
        assert summary["validation_accuracy"] == model.validation_accuracy_
        assert summary["T"] == model.T_
        assert summary["settings_tried"] == len(model.search_)
        assert summary["feature_scaling"] == "rows"
        assert (summary["extensions"], summary["member_weights"]) == ([], {"plain": 1.0})
        assert (summary["final_fit_nodes"], summary["validated_before"]) == (31, [])
        json.dumps(summary)

    def test_of_an_extended_model(self):
        graph, labels = planted(n=120)
        split = Split(np.arange(30), np.arange(30, 70), np.arange(70, 120))
        data = Dataset("any", graph, labels, {"s": split})
        model = self.fitted(data, T=2.0, extensions=["class-offsets", "self-training"])
        summary = fit_summary(model, data)
        assert summary["extensions"] == ["self-training", "class-offsets"]
        assert summary["member_weights"] == model.member_weights_
        assert list(summary["class_offsets"].values()) == model.class_offsets_.tolist()
        assert list(summary["class_offsets"]) == ["0", "1", "2"]
        assert summary["class_offsets_from"] == "40 validation nodes"
        assert summary["validated_before"] == ["class offsets"]
        json.dumps(summary)

    def test_extensions_that_were_not_used_get_a_hint(self):
        graph, labels = planted(kind=None)
        data = Dataset("any", graph, labels)
        model = self.fitted(data, T=[1.0, 2.0, 30.0], extensions=["similar-edges", "class-offsets"])
        (hint,) = fit_summary(model, data)["hints"]
        assert hint.startswith("similar-edges was not used: it needs features, ")

    def test_similar_edges_that_a_large_graph_does_without_get_a_hint(self, monkeypatch):
        graph, labels = planted(n=120)
        split = Split(np.arange(30), np.arange(30, 70), np.arange(70, 120))
        data = Dataset("any", graph, labels, {"s": split})
        assert fit_summary(self.fitted(data), data)["hints"] == []
        for module in (_nearest_nodes, _similar_nodes):
            monkeypatch.setattr(module, "MAX_EXACT_WORK", 0)
            monkeypatch.setattr(module, "is_extra_installed", lambda: False)
        model = self.fitted(data)
        assert "similar" not in model.member_weights_
        (hint,) = fit_summary(model, data)["hints"]
        assert hint == (
            "Edges between similar nodes were left out: comparing 120 nodes with each other takes "
            "too long. pip install 'heatgraph[neighbours]' finds similar ones approximately."
        )
        assert fit_summary(self.fitted(data, T=2.0), data)["hints"] == []

    def test_by_cross_validation(self):
        graph, labels = planted()
        data = Dataset("any", graph, labels)
        model = self.fitted(data, T=[0.0, 2.0], weight_decay=1e-3, feature_scaling="rows")
        summary = fit_summary(model, data)
        assert summary["validated_by"] == "cross-validation"
        assert summary["training_nodes"] == 90

    @pytest.mark.parametrize(("T", "is_last"), [([2.0], False), ([0.0, 2.0], True), (2.0, False)])
    def test_the_largest_candidate_gets_a_hint(self, T, is_last):
        graph, labels = planted()
        data = Dataset("any", graph, labels)
        model = self.fitted(data, T=T, weight_decay=[1e-3, 1e-2], feature_scaling="rows")
        assert model.T_ == 2
        hints = fit_summary(model, data)["hints"]
        assert [hint.startswith("T = 2 is the largest of the candidates") for hint in hints] == (
            [True] if is_last else []
        )

    def test_without_a_search_and_features(self):
        graph, labels = planted(kind=None)
        data = Dataset("any", graph, labels)
        model = self.fitted(data, T=2.0, weight_decay=1e-3)
        summary = fit_summary(model, data)
        assert summary["feature_scaling"] is None
        assert (summary["validated_by"] is None) == (model.validation_accuracy_ is None)
        json.dumps(summary)
