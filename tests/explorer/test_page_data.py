"""What the page holds equals what the model says."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from explorer.explored import blocks, fitted

import heatgraph as hg
from heatgraph.errors import InputError
from heatgraph.explorer.page_data import page_data


@pytest.fixture(scope="module")
def page():
    data = blocks()
    model = fitted(data, extensions=["similar-edges"])
    return data, model, page_data(model, data)


def matrix(arrays, name, n):
    """The symmetric matrix that the page builds from its edges."""
    counts, steps = arrays[f"{name}Counts"], arrays[f"{name}Steps"].astype(int)
    sources = np.repeat(np.arange(n), counts)
    targets, at = [], 0
    for i in range(n):
        targets += (i + np.cumsum(steps[at : at + counts[i]])).tolist()
        at += counts[i]
    weights = arrays.get(f"{name}Weights", np.ones(len(sources)))
    upper = sp.coo_array((weights, (sources, targets)), shape=(n, n)).tocsr()
    return (upper + sp.triu(upper, 1).T).toarray()


def test_predictions_are_those_of_the_model(page):
    _, model, found = page
    chosen = found.values["chosen"]
    own = np.searchsorted(model.classes_, model.predict())
    assert np.array_equal(found.arrays["predictions"][chosen], own)
    confidence = model.predict_proba().max(axis=1)
    assert np.abs(found.arrays["confidences"][chosen] / 255 - confidence).max() <= 0.5 / 255
    assert found.arrays["scores"] == pytest.approx(model.decision_function(), abs=1e-6)


def test_edges_are_those_of_the_graph(page):
    data, model, found = page
    n = data.graph.num_nodes
    A = data.graph.adjacency.toarray()
    assert np.array_equal(matrix(found.arrays, "edge", n), A)
    similar = model._terms(data.graph)[1][0].adjacency.toarray()
    assert matrix(found.arrays, "added", n) == pytest.approx(similar - A, abs=1e-7)


def test_weights_and_self_loops_are_kept():
    ends, weight = ([0, 1, 2, 2], [1, 2, 2, 3]), [0.5, 2.0, 3.0, 1.0]
    graph = hg.Graph.from_edges(*ends, weight=weight, num_nodes=5, symmetrize="max")
    data = hg.Dataset("weighted", graph, np.array([0, 0, 1, 1, -1]))
    arrays = page_data(fitted(data), data).arrays
    assert np.array_equal(matrix(arrays, "edge", 5), graph.adjacency.toarray())


def test_shares_of_nodes_follow_from_the_terms(page):
    """The page computes them in this way."""
    data, model, found = page
    n = data.graph.num_nodes
    A = matrix(found.arrays, "edge", n)
    v, c = 11, 2
    shares = np.zeros(n)
    for term in found.values["terms"]:
        B = A + (matrix(found.arrays, term["added"], n) if term["added"] else 0) + np.eye(n)
        root = np.sqrt(B.sum(axis=1))
        S = B / root / root[:, np.newaxis]
        unit = np.eye(n)[v]
        before, current = unit, S @ unit
        row = term["coefficients"][0] * unit
        for coefficient in term["coefficients"][1:]:
            row = row + coefficient * current
            before, current = current, 2 * S @ current - before
        shares += row * found.arrays[term["columns"]].reshape(n, -1)[:, c]
    expected = model.explain(v, label=model.classes_[c])
    assert shares == pytest.approx(expected.node_shares, abs=1e-6)
    assert shares.sum() + found.values["model"]["bias"][c] == pytest.approx(
        expected.score, abs=1e-5
    )


def test_accuracies_are_those_of_the_split(page):
    data, model, found = page
    curves, chosen = found.values["curves"], found.values["chosen"]
    test = curves["test"]
    assert test["accuracy"][chosen] == model.score(None, data.labels, data.split.test)
    assert test["nodes"] == len(data.split.test)
    assert curves["val"]["accuracy"][chosen] == model.validation_accuracy_
    first, last = found.values["plateau"]
    assert 0 <= first <= last < len(found.values["times"])


def test_reliability_counts_all_test_nodes(page):
    data, model, found = page
    reliability = found.values["reliability"]
    for bins in (reliability["before"], reliability["after"]):
        assert sum(one["nodes"] for one in bins) == len(data.split.test)
        right = sum(one["nodes"] * one["accuracy"] for one in bins)
        assert right / len(data.split.test) == pytest.approx(
            model.score(None, data.labels, data.split.test)
        )


def test_large_graphs_are_sampled():
    data = blocks()
    found = page_data(fitted(data), data, max_nodes=120)
    assert found.values["shown"] == 120
    assert found.values["nodes"] == 300
    assert len(found.values["ids"]) == 120
    assert found.values["terms"] is None
    assert found.arrays["predictions"].shape == (len(found.values["times"]), 120)
    assert found.arrays["edgeCounts"].shape == (120,)


def test_a_model_that_learned_from_validation_nodes_says_so():
    data = blocks()
    found = page_data(fitted(data, T=[1.0, 2.0], final_fit="train+val"), data)
    assert found.values["parts"][2] == "validation, learned from"


def test_without_a_split_all_labelled_nodes_are_training_nodes():
    data = blocks()
    labels = np.where(np.arange(300) < 200, data.labels, -1)
    data = hg.Dataset("no split", data.graph, labels)
    found = page_data(fitted(data), data)
    assert found.arrays["parts"].tolist() == [1] * 200 + [0] * 100
    assert found.values["reliability"] is None


def test_unlabelled_graphs_are_shown():
    data = blocks()
    bare = hg.Dataset("bare", data.graph)
    found = page_data(fitted(data), bare)
    assert found.values["times"] == [3.0]
    assert set(found.arrays["codes"].tolist()) == {255}


def test_models_of_directions_have_no_terms():
    data = blocks()
    upper = sp.csr_array(sp.triu(data.graph.adjacency, format="csr"))
    graph = hg.Graph(upper, data.graph.features, directed=True)
    data = replace(data, graph=graph)
    model = fitted(data)
    model.channel_coefs_ = {"out-links": np.zeros((3, 300))}
    found = page_data(model, data)
    assert found.values["terms"] is None
    assert found.values["note"].endswith("without channels.")
    assert found.values["otherFeatures"] == "all other features, and links"


def test_many_classes_are_refused():
    data = blocks()
    y = np.arange(300)
    y[256:] = 0
    data = replace(data, labels=y, splits={})
    with pytest.raises(InputError, match="up to 255 classes"):
        page_data(fitted(data), data)


@pytest.mark.slow
def test_a_page_of_twenty_thousand_nodes_is_below_five_megabytes():
    """As many nodes, edges and classes as Pubmed."""
    from heatgraph.explorer.page import to_html

    data = hg.make_block_graph(19_717, 44_000, 3, 100)
    page = page_data(fitted(data), data)
    assert len(to_html(page)) < 5_000_000
