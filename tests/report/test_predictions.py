"""Notes and reasons of predictions."""

import numpy as np
import pytest
from strategies import planted

from heatgraph import DGCClassifier, Graph
from heatgraph.report.predictions import node_notes, reason_columns

FAR = "nearest label more than 3 edges away"


def path_and_more(features=None):
    """A path of 7 nodes, two nodes joined to each other, one with a self-loop, one alone."""
    src, dst = [0, 1, 2, 3, 4, 5, 7, 9], [1, 2, 3, 4, 5, 6, 8, 9]
    return Graph.from_edges(src, dst, num_nodes=11, features=features, symmetrize="max")


def test_notes_by_distance():
    notes = node_notes(path_and_more(), np.array([1]))
    unreached = "no labelled node within reach"
    assert notes == ["", "", "", "", "", FAR, FAR, unreached, unreached, "no edges", "no edges"]


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_notes_of_features(weight):
    X = np.ones((11, 2))
    X[3], X[10] = 0, 0
    X[4] = [weight, -weight]
    notes = node_notes(path_and_more(X), np.array([0]))
    assert notes[3] == "all features zero"
    assert notes[4] == FAR
    assert notes[10] == "no edges; all features zero"


def test_without_labels_distances_are_unknown():
    assert set(node_notes(path_and_more())) == {"", "no edges"}


def test_distances_against_breadth_first_search():
    from scipy.sparse.csgraph import dijkstra

    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 200, (2, 220))
    graph = Graph.from_edges(src, dst, num_nodes=200, symmetrize="max", duplicates="max")
    learned = rng.choice(200, 5, replace=False)
    hops = dijkstra(graph.adjacency, indices=learned, unweighted=True, min_only=True)
    notes = np.array(node_notes(graph, learned))
    assert ((notes == FAR) == ((hops > 3) & np.isfinite(hops))).all()
    alone = notes == "no edges"
    assert ((notes == "no labelled node within reach") == (np.isinf(hops) & ~alone)).all()


def test_reasons_are_texts():
    graph, labels = planted()
    model = DGCClassifier(T=2.0, weight_decay=1e-3).fit(graph, labels)
    columns = reason_columns(model, model.predict_proba(), 2)
    assert list(columns) == ["top_features", "top_nodes"]
    first = model.explain(0, top=1)
    (record,) = first.features
    assert columns["top_features"][0].startswith(f"{record['feature']} {record['share']:+.3g}; ")
    assert columns["top_nodes"][0].count(";") == 1


def test_reasons_without_features():
    graph, labels = planted(kind=None)
    model = DGCClassifier(T=2.0, weight_decay=1e-3).fit(graph, labels, np.arange(30))
    assert list(reason_columns(model, model.predict_proba(), 2)) == ["top_nodes"]
