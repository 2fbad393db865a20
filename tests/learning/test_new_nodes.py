"""New nodes: the same as a prediction on the larger graph, and refused where they are not valid."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import planted, seeds

from heatgraph import (
    SGC,
    DGCClassifier,
    Euler,
    Graph,
    Heat,
    PersonalizedPageRank,
    RungeKutta4,
    load_dataset,
)
from heatgraph._engine import grown_graphs
from heatgraph.errors import InputError
from heatgraph.learning import _new_nodes
from heatgraph.learning._nearest_nodes import NearestNodes
from heatgraph.learning._new_nodes import new_node_scorer
from heatgraph.learning._similar_nodes import similar_pairs, with_similar_edges

SCHEMES = [Heat(1.5), Euler(2.0, 20), RungeKutta4(2.0, 3), SGC(2), PersonalizedPageRank(0.3)]


def fitted(graph, labels, **parameters):
    usual = {"T": 2.0, "weight_decay": 1e-2, "extensions": None}
    if "scheme" in parameters:
        del usual["T"]
        parameters["T"] = "auto"
    return DGCClassifier(**(usual | parameters)).fit(graph, labels, train=np.arange(30))


def newcomers(graph, seed, R=2, weighted=False):
    """Features and edges of R nodes that link to known nodes, to each other and to themselves."""
    random = np.random.default_rng(seed)
    n = graph.num_nodes
    X = random.poisson(0.4, size=(R, graph.num_features)).astype(float)
    pairs = {
        (min(v, w), max(v, w))
        for v in range(n, n + R)
        for w in random.integers(0, n + R, random.integers(0, 5))
    }
    edges = np.array(sorted(pairs), dtype=int).reshape(-1, 2)
    return X, edges, random.random(len(edges)) + 0.1 if weighted else None


def scores(clf, *arguments, **options):
    return clf._scores_of_new(*arguments, None, "error", None, **options)


def check(clf, X, edges, weight=None):
    """Compare with the scores of the larger graph."""
    graph = clf.graph_
    grown = graph.with_nodes(X, edges, weight)
    with np.errstate(all="raise"):
        found = scores(clf, X, edges, weight)
    expected = clf._scores(grown, np.arange(graph.num_nodes, grown.num_nodes))
    norm = sum(
        np.linalg.norm(clf._undiffused(grown, coef), axis=0).max()
        for coef in (clf.coef_, clf.similar_coef_)
        if coef is not None
    )
    eps = np.finfo(clf.dtype).eps
    assert np.abs(found - expected).max() <= (2 * clf.tol + 400 * eps) * max(norm, 1)
    return found


@pytest.mark.parametrize("limit", [0.0, 0.5, np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_new_nodes_get_the_scores_of_the_larger_graph(
    scheme, self_loops, dtype, limit, monkeypatch
):
    monkeypatch.setattr(grown_graphs, "MAX_SHARE", limit)
    graph, labels = planted(kind="words")
    clf = fitted(graph, labels, scheme=scheme, self_loops=self_loops, dtype=dtype)
    for seed in range(3):
        check(clf, *newcomers(graph, seed, weighted=seed == 2))
    assert clf.new_nodes_.method == ("full" if limit == 0 else "local") or limit == 0.5


@pytest.mark.parametrize("kind", ["words", "dense"])
@given(seeds, st.integers(1, 4), st.booleans())
def test_random_newcomers(kind, seed, R, weighted):
    graph, labels = planted(kind=kind)
    check(fitted(graph, labels), *newcomers(graph, seed, R, weighted))


def test_labels_and_probabilities_are_those_of_the_larger_graph():
    graph, labels = planted(n=300)
    clf = DGCClassifier(T=2.0, calibrate=True).fit(graph, labels, np.arange(60), np.arange(60, 90))
    X, edges, _ = newcomers(graph, 3, R=4)
    grown, new = graph.with_nodes(X, edges), np.arange(300, 304)
    np.testing.assert_array_equal(clf.predict_new(X, edges), clf.predict(grown, new))
    np.testing.assert_allclose(
        clf.predict_proba_new(X, edges), clf.predict_proba(grown, new), atol=1e-4
    )


def test_an_isolated_node_is_its_own_features():
    graph, labels = planted()
    for self_loops in (True, False):
        clf = fitted(graph, labels, self_loops=self_loops)
        X = graph.features[[4]]
        found = check(clf, X, [])
        np.testing.assert_allclose(found, clf.scaling_.times(X, clf.coef_.T) + clf.intercept_,
                                   rtol=1e-4)  # fmt: skip
        assert clf.new_nodes_.neighbourhood == 1


def test_nodes_linked_among_themselves_alone():
    graph, labels = planted()
    check(fitted(graph, labels), graph.features[:3], [(90, 91), (91, 92)])


def test_an_isolated_known_node_gets_an_edge():
    graph, labels = planted()
    alone = graph.with_nodes(graph.features[:2], [])
    for self_loops in (True, False):
        clf = fitted(alone, np.append(labels, [0, 1]), self_loops=self_loops)
        check(clf, graph.features[[5]], [(92, 91), (92, 3)])


def test_a_node_that_is_linked_to_all_and_one_beside_a_hub():
    graph, labels = planted(n=400)
    clf = fitted(graph, labels)
    check(clf, graph.features[:1], [(400, w) for w in range(400)])
    hub = graph.with_nodes(graph.features[:1], [(400, w) for w in range(400)])
    clf = fitted(hub, np.append(labels, 0))
    check(clf, graph.features[:1], [(401, 400)])


def test_ids_name_the_ends_of_edges():
    graph, labels = planted()
    named = Graph(graph.adjacency, graph.features, [f"n{v}" for v in range(90)])
    clf = fitted(named, labels)
    found = clf.predict_proba_new(
        graph.features[:2], [("new", "n3"), ("n5", "other")], node_ids=["new", "other"]
    )
    plain = fitted(graph, labels).predict_proba_new(graph.features[:2], [(90, 3), (91, 5)])
    np.testing.assert_array_equal(found, plain)


def test_a_refit_and_other_options_start_anew():
    graph, labels = planted()
    clf = fitted(graph, labels)
    X, edges, _ = newcomers(graph, 1)
    first = check(clf, X, edges)
    clf.fit(graph, np.roll(labels, 1), train=np.arange(40))
    assert np.abs(check(clf, X, edges) - first).max() > 0.01
    check(clf.set_params(tol=1e-3), X, edges)
    other = planted(seed=5)[0]
    found = clf.predict_proba_new(X, edges, graph=other)
    expected = clf.predict_proba(other.with_nodes(X, edges), [90, 91])
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_vectors_that_exceed_the_memory_budget_are_not_kept(monkeypatch):
    graph, labels = planted()
    clf = fitted(graph, labels)
    monkeypatch.setattr(_new_nodes, "MEMORY_SHARE", 0.0)
    check(clf, *newcomers(graph, 0))
    assert clf.new_nodes_.method == "full"
    assert clf.new_nodes_.neighbourhood == 92


def test_a_large_graph_takes_a_small_share_of_the_work():
    graph, labels = planted(n=3000)
    clf = fitted(graph, labels, T=1.0)
    X, edges, _ = newcomers(graph, 4, R=1)
    check(clf, X, edges)
    report = clf.new_nodes_
    assert report.method == "local"
    assert report.work < 0.5 * report.full_work


def test_nodes_of_pubmed_take_a_small_share_of_the_work():
    data = load_dataset("pubmed")
    train, _, _ = data.partition()
    clf = DGCClassifier(T=4.0, weight_decay=1e-2, feature_scaling="sqrt")
    clf.fit(data.graph, data.labels, train)
    n, shares = data.graph.num_nodes, []
    for node in range(100, 2100, 100):
        neighbours = data.graph.adjacency[[node]].indices.tolist()
        check(clf, data.graph.features[[node]], [(n, known) for known in neighbours])
        shares.append(clf.new_nodes_.work / clf.new_nodes_.full_work)
    assert np.mean(shares) < 0.1
    assert np.median(shares) < 0.05


# Similar edges


@pytest.mark.parametrize("kind", ["dense", "sparse", "few values"])
@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 12), st.integers(1, 4), seeds)
def test_nearest_nodes_grow_as_if_all_were_compared(kind, n, d, k, R, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n + R, d))
    if kind != "dense":
        X = np.where(X > 0.6, X if kind == "sparse" else 1.0, 0)
    make = np.asarray if kind == "dense" else sp.csr_array
    before = similar_pairs(make(X[:n]), k).toarray()
    added, removed = NearestNodes.find(make(X[:n]), k).grow(make(X[n:]))
    found = np.zeros((n + R, n + R))
    found[:n, :n] = before
    for v, w in removed:
        assert found[v, w] == 1
        found[v, w] = found[w, v] = 0
    for v, w in added:
        assert found[v, w] == 0
        found[v, w] = found[w, v] = 1
    expected = similar_pairs(make(X), k).toarray()
    if kind == "dense":  # BLAS may round the cosines of another block differently
        assert np.count_nonzero(found != expected) <= 2
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["words", "dense"])
@pytest.mark.parametrize("limit", [0.0, np.inf])
def test_similar_edges_are_those_of_the_larger_graph(kind, limit, monkeypatch):
    monkeypatch.setattr(grown_graphs, "MAX_SHARE", limit)
    graph, labels = planted(n=150, kind=kind)
    clf = DGCClassifier(T=2.0, weight_decay=1e-2, extensions=["similar-edges"])
    clf.fit(graph, labels, np.arange(30), np.arange(30, 60))
    assert clf.similar_coef_ is not None
    for seed in range(4):
        X, edges, weight = newcomers(graph, seed, weighted=seed > 1)
        X = np.abs(X) + 0.1 * (kind == "dense")
        check(clf, X, edges, weight)
        grown = graph.with_nodes(X, edges, weight)
        scorer = new_node_scorer(clf, graph)
        new = graph._read_new_nodes(X, edges, weight, None, None, "error")
        similar = with_similar_edges(graph, clf.scaling_)
        found = _new_nodes._grown(similar, scorer._similar_change(new))
        expected = with_similar_edges(grown, clf.scaling_)
        np.testing.assert_allclose(
            found.adjacency.toarray(), expected.adjacency.toarray(), atol=1e-12
        )


# Channels


def test_channels_of_features_and_neighbours():
    graph, labels = planted(n=200)
    clf = fitted(graph, labels)
    random = np.random.default_rng(0)
    clf.channel_coefs_ = {
        "features": random.normal(size=clf.coef_.shape).astype(np.float32),
        "neighbours": random.normal(size=clf.coef_.shape).astype(np.float32),
    }
    for seed in range(4):
        check(clf, *newcomers(graph, seed, R=3, weighted=seed > 1))
    clf.coef_ = np.zeros_like(clf.coef_)
    clf.intercept_ = clf.intercept_.copy()
    check(clf, *newcomers(graph, 5))
    assert clf.new_nodes_.work == 0


def test_models_that_know_nodes_by_position_refuse():
    graph, labels = planted()
    clf = fitted(graph, labels)
    clf.channel_coefs_ = {"links": np.zeros((3, 90), dtype=np.float32)}
    with pytest.raises(InputError, match="with channels of links.*cannot label new ones.*fit with"):
        clf.predict_new(graph.features[:1])
    clf = fitted(graph.with_features(None), labels)
    with pytest.raises(InputError, match="without features.*cannot label new ones"):
        clf.predict_new(None, [(90, 1)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.ones((1, 5))}, "the graph's 12 features. Got 5"),
        ({"features": None, "node_ids": [1]}, "the graph's 12 features. Got none"),
        ({"features": np.full((1, 12), np.nan)}, "features must be finite. Row 0, column 0 is nan"),
        ({"features": np.ones((0, 12))}, "at least one new node. Got none"),
        ({"edges": [(90, 91)]}, "edge 0: target node 91 is neither in the graph nor new"),
        ({"edges": [(90, 1), (-1, 90)]}, "edge 1: source node -1 is neither"),
        ({"edges": [(3, 4)]}, "Edge 0, 3 - 4, is between known nodes"),
        ({"edges": [(90, 1)], "weight": [-1.0]}, "Edge 0, 1 - 90, has -1"),
        ({"edges": [(90, 1)], "weight": [np.nan]}, "has nan"),
        ({"edges": [(90, 1)], "weight": [1.0, 2.0]}, "one entry per edge, 1. Got shape"),
        ({"edges": [(90, 1), (1, 90)], "weight": [1.0, 2.0]}, "edge 1 - 90 is given several times"),
        ({"node_ids": ["a"]}, "node_ids of new nodes need a graph with node_ids"),
    ],
)
def test_bad_newcomers_are_refused(change, message):
    graph, labels = planted()
    clf = fitted(graph, labels)
    arguments = {"features": np.ones((1, 12)), "edges": [(90, 1)]} | change
    with pytest.raises(InputError, match=message):
        clf.predict_new(**arguments)


def test_a_model_without_its_graph_says_how_to_get_it(tmp_path):
    from heatgraph import load

    graph, labels = planted()
    fitted(graph, labels).save(tmp_path / "model")
    with pytest.raises(InputError, match=r"save\(path, graph=True\).*--with-graph"):
        load(tmp_path / "model").predict_new(graph.features[:1])
    found = load(tmp_path / "model").predict_new(graph.features[:1], [(90, 0)], graph=graph)
    assert found.shape == (1,)


def test_models_that_read_directions_refuse():
    graph, labels = planted()
    clf = fitted(graph, labels)
    clf.channel_coefs_ = {"out-neighbours": np.zeros((3, 12), dtype=np.float32)}
    upper = sp.coo_array(sp.triu(graph.adjacency))
    directed = Graph.from_edges(
        upper.row, upper.col, features=graph.features, symmetrize="max", directed=True
    )
    with pytest.raises(InputError, match="the model reads directions of edges"):
        clf.predict_new(graph.features[:1], graph=directed)
