"""Channels of directed graphs: what they learn, and where they are refused."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

import heatgraph as hg
from heatgraph import DGCClassifier, Graph
from heatgraph.errors import InputError
from heatgraph.learning import _channel_models
from heatgraph.learning._channel_models import SETS, candidate_sets
from heatgraph.learning._channels import DIRECTED, HOPS, LINKS, Channels
from heatgraph.learning._search_space import Setting

# Without directions, all pairs of nodes are equally likely to be joined.
CYCLE = hg.make_block_graph(600, 6000, 3, 16, homophily=1 / 3, signal=0.5, directed=True, seed=0)
AGREEING = hg.make_block_graph(300, 1200, 3, 16, homophily=0.9, directed=True, seed=3)
ALL = ("heat", "features", *DIRECTED)
SETTING = Setting(hg.Heat(1.5), True, "standard", 1e-2, 0.2)


def undirected(graph):
    return Graph(graph.adjacency, graph.features)


def fitted(data=CYCLE, graph=None, **parameters):
    graph = data.graph if graph is None else graph
    return DGCClassifier(**parameters).fit(graph, data.labels, data.split.train, data.split.val)


def with_channels(names, data=CYCLE, **parameters):
    """A model of a given set of channels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_channel_models, "SETS", (("heat",),))
        patch.setattr(_channel_models, "DIRECTED_SETS", (names,))
        patch.setattr(_channel_models, "is_clearly_better", lambda *scores: True)
        model = fitted(data, extensions=["channels", "class-offsets"], T=1.5, **parameters)
    assert set(model.channel_coefs_) == set(names) - {"heat"}
    return model


@pytest.mark.filterwarnings("ignore::heatgraph.errors.OneClassWarning")
@pytest.mark.parametrize("has_features", [True, False])
def test_a_cycle_of_classes_is_learned(has_features):
    data, split = CYCLE, CYCLE.split
    if not has_features:
        data = replace(CYCLE, graph=CYCLE.graph.with_features(None))
    A = data.graph.directed_adjacency.astype(np.float64)
    rows = sp.csr_array(sp.hstack([A, A.T]))
    by_rows = LogisticRegression(C=0.1).fit(rows[split.train], data.labels[split.train])
    model = fitted(data)
    accuracy = model.score(None, data.labels, split.test)
    assert accuracy > by_rows.score(rows[split.test], data.labels[split.test]) - 0.01
    assert accuracy > 0.9
    assert model.reads_directions
    without = fitted(data, undirected(data.graph))
    assert without.score(None, data.labels, split.test) < 0.6
    assert not without.reads_directions


def test_directions_that_tell_nothing_cost_nothing():
    """Randomly oriented edges keep the undirected set that the same graph without them has."""
    data = hg.make_block_graph(800, 3200, 3, 16, homophily=0.05, signal=0.7, seed=0)
    upper = sp.triu(data.graph.adjacency, k=1, format="coo")
    flipped = np.random.default_rng(0).random(upper.nnz) < 0.5
    ends = np.where(flipped, [upper.row, upper.col], [upper.col, upper.row])
    oriented = Graph.from_edges(*ends, features=data.graph.features, directed=True)
    assert_array_equal(oriented.indices, data.graph.indices)
    model, without = fitted(data, oriented), fitted(data)
    assert without.channel_coefs_.keys() == model.channel_coefs_.keys()
    assert not model.reads_directions
    assert_array_equal(model.decision_function(), without.decision_function())


def test_agreeing_neighbours_keep_the_very_same_model():
    model, without = fitted(AGREEING), fitted(AGREEING, undirected(AGREEING.graph))
    assert model.channel_coefs_ == {}
    for name in ("coef_", "similar_coef_", "intercept_", "temperature_"):
        assert_array_equal(getattr(model, name), getattr(without, name))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_and_shares_add_up(dtype):
    model, graph = with_channels(ALL, dtype=dtype), CYCLE.graph
    X = model.scaling_.apply(graph.features, np.dtype(np.float64))
    heat = hg.diffuse(graph.with_features(X), scheme=model.scheme_, dtype="float64", tol=1e-9)
    scores = heat @ model.coef_.T + model.intercept_
    channels = Channels(graph, np.dtype(np.float64))
    kernels = {
        name: channels.kernel_rows(name, np.arange(graph.num_nodes)).toarray() for name in HOPS
    }
    for name, coef in model.channel_coefs_.items():
        scores = scores + kernels[name] @ (np.eye(len(X)) if name in LINKS else X) @ coef.T
    assert_allclose(model.decision_function(), scores, atol=1e-4)
    explanation = model.explain(7, label=1, top=5)
    assert explanation.score == pytest.approx(scores[7, 1], abs=1e-4)
    whole, by_links = explanation.score - explanation.bias, explanation.link_shares.sum()
    assert explanation.node_shares.sum() == pytest.approx(whole, abs=1e-9)
    assert explanation.feature_shares.sum() + by_links == pytest.approx(whole, abs=1e-9)
    shares = explanation.directed_link_shares
    assert_allclose(np.sum(list(shares.values()), axis=0), explanation.link_shares, atol=1e-12)
    for direction, name in (("links to", "out-links"), ("links from", "in-links")):
        expected = kernels[name][7] * model.channel_coefs_[name][1]
        assert_allclose(shares[direction], expected, atol=1e-9)
    first = explanation.links[0]
    assert list(first) == ["direction", "node", "share"]
    assert shares[first["direction"]][first["node"]] == first["share"]
    line = f"{first['share']:+.4f}  {first['direction']} node {first['node']}"
    assert line in repr(explanation).split("  links\n")[1]


def test_a_model_file_keeps_directed_channels(tmp_path):
    model = with_channels(ALL)
    model.save(tmp_path / "model.safetensors")
    loaded = hg.load(tmp_path / "model.safetensors")
    assert loaded.reads_directions
    assert list(loaded.channel_coefs_) == list(model.channel_coefs_)
    assert_array_equal(loaded.decision_function(CYCLE.graph), model.decision_function())


@pytest.mark.filterwarnings("ignore::heatgraph.errors.ShiftWarning")
def test_other_graphs():
    neighbours = with_channels(("features", "out-neighbours", "in-neighbours"))
    part = CYCLE.graph.subgraph(np.arange(0, 600, 2))
    assert neighbours.predict(part).shape == (300,)
    for call in (neighbours.predict, lambda graph: neighbours.explain(0, graph=graph)):
        with pytest.raises(
            InputError,
            match=r"directions of edges \(out-neighbours, in-neighbours\).*directed=True.*'keep'",
        ):
            call(undirected(CYCLE.graph))
    with pytest.raises(InputError, match="fitted with channels of links.*Got one of 300"):
        with_channels(("out-links", "in-links")).predict(part)


def test_undirected_channels_label_directed_graphs():
    model = fitted(graph=undirected(CYCLE.graph), extensions=["channels"])
    assert_array_equal(model.predict(CYCLE.graph), model.predict())


def test_candidates(monkeypatch):
    def candidates(graph, setting=SETTING):
        split = CYCLE.split
        task, _ = DGCClassifier()._task(graph, CYCLE.labels, split.train, split.val)
        return candidate_sets(task, setting)

    directed = _channel_models.DIRECTED_SETS
    assert candidates(CYCLE.graph) == [*SETS, *directed]
    assert candidates(undirected(CYCLE.graph)) == [*SETS]
    bare = candidates(CYCLE.graph.with_features(None))
    assert bare[3:] == [
        ("out-links", "in-links"),
        ("out-links", "in-links", "two-hop-out-links", "two-hop-in-links"),
    ]
    # In the order in which a loaded model adds channels up.
    order = ["heat", *HOPS]
    for names in directed:
        assert list(names) == sorted(names, key=order.index)
    A = CYCLE.graph.directed_adjacency.astype(np.int64)
    paths = int((A @ A).sum())
    monkeypatch.setattr(_channel_models, "MAX_TWO_HOP_ENTRIES", paths)
    names = {name for names in candidates(CYCLE.graph) for name in names}
    assert "two-hop-out-links" in names
    assert "two-hop-links" not in names
    monkeypatch.setattr(_channel_models, "MAX_TWO_HOP_ENTRIES", paths - 1)
    names = {name for names in candidates(CYCLE.graph) for name in names}
    assert "two-hop-out-links" not in names
    monkeypatch.setattr(_channel_models, "MAX_LINK_WEIGHTS", 10)
    assert not {name for names in candidates(CYCLE.graph) for name in names} & set(LINKS)


def test_bits_do_not_depend_on_threads():
    one, two = (with_channels(ALL, n_threads=k) for k in (1, 2))
    for name in ALL[1:]:
        assert_array_equal(one.channel_coefs_[name], two.channel_coefs_[name])
