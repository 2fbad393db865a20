"""Shift between graphs: samples of one model do not warn, and changes do."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from heatgraph import DGCClassifier, diffuse, load, load_dataset, make_block_graph
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.errors import InputError, ShiftWarning
from heatgraph.learning import _shift
from heatgraph.learning._shift import NUM_LEVELS, GraphProfile, shift_sentence

CENTRES = np.linalg.qr(np.random.default_rng(0).normal(size=(16, 4)))[0].T
T = 3.0


def sample(seed, *, nodes=1000, edges=4000, homophily=0.8):
    """A graph of four classes, whose features have the same means for every seed, and labels."""
    data = make_block_graph(nodes, edges, 4, 1, homophily=homophily, seed=seed)
    noise = np.random.default_rng(seed).normal(size=(nodes, 16))
    return data.graph.with_features(1.5 * CENTRES[data.labels] + noise), data.labels


def fit(graph, labels):
    return DGCClassifier(T=T, weight_decay=1e-2, feature_scaling="none").fit(graph, labels)


def profile(model, graph):
    undiffused = graph.features @ model.coef_.T
    return GraphProfile.measure(
        graph.degrees, undiffused, diffuse(graph.with_features(undiffused), T=T)
    )


@pytest.fixture(scope="module")
def model():
    return fit(*sample(0))


@pytest.fixture(scope="module")
def fitted(model):
    return profile(model, sample(0)[0])


class TestSamplesOfOneModel:
    def test_other_seeds(self, model, fitted):
        for seed in range(1, 26):
            assert shift_sentence(fitted, profile(model, sample(seed)[0])) is None

    @pytest.mark.parametrize("nodes", [1, 2, 5, 20, 100, 300])
    def test_small_graphs(self, model, fitted, nodes):
        graph, _ = sample(1)
        for seed in range(5):
            chosen = np.random.default_rng(seed).permutation(1000)[:nodes]
            undiffused = graph.features @ model.coef_.T
            diffused = diffuse(graph.with_features(undiffused), T=T)
            part = GraphProfile.measure(graph.degrees[chosen], undiffused[chosen], diffused[chosen])
            assert shift_sentence(fitted, part) is None

    @pytest.mark.parametrize("nodes", [200, 1000])
    def test_random_halves(self, nodes):
        for seed in range(10):
            graph, labels = sample(seed, nodes=nodes, edges=4 * nodes)
            order = np.random.default_rng(seed).permutation(nodes)
            half, other = order[: nodes // 2], order[nodes // 2 :]
            model = fit(graph.subgraph(half), labels[half])
            profiles = (profile(model, graph.subgraph(part)) for part in (half, other))
            assert shift_sentence(*profiles) is None

    def test_a_subgraph_and_the_whole(self):
        for seed in range(5):
            graph, labels = sample(seed)
            train = np.random.default_rng(seed).permutation(1000)[:600]
            model = fit(graph.subgraph(train), labels[train])
            profiles = profile(model, graph.subgraph(train)), profile(model, graph)
            assert shift_sentence(*profiles) is None

    def test_citations(self):
        data = load_dataset("citeseer")
        order = np.random.default_rng(0).permutation(data.graph.num_nodes)
        half, other = (data.graph.subgraph(part) for part in np.split(order, [1600]))
        model = fit(half, data.labels[order[:1600]])
        assert shift_sentence(profile(model, half), profile(model, other)) is None


def flip_class(X, labels):
    return np.where((labels == 0)[:, np.newaxis], -X, X)


CHANGES = {
    "shifted": lambda X, labels, random: X + 0.5 * CENTRES[0],
    "scaled": lambda X, labels, random: 2 * X,
    "one class flipped": lambda X, labels, random: flip_class(X, labels),
    "columns permuted": lambda X, labels, random: X[:, random.permutation(16)],
    "rows permuted": lambda X, labels, random: X[random.permutation(len(X))],
}


@pytest.mark.parametrize("seed", range(1, 6))
class TestChanges:
    @pytest.mark.parametrize("edges", [12_000, 1300])
    def test_other_degrees(self, model, fitted, seed, edges):
        found = shift_sentence(fitted, profile(model, sample(seed, edges=edges)[0]))
        assert "mostly in its degrees (median " in found

    @pytest.mark.parametrize("change", ["shifted", "scaled", "one class flipped"])
    def test_other_features(self, model, fitted, seed, change):
        found = self.changed(model, fitted, seed, change)
        assert "mostly in its features (scores before diffusion are off by " in found

    def test_permuted_columns(self, model, fitted, seed):
        assert "features (scores " in self.changed(model, fitted, seed, "columns permuted")

    def test_permuted_rows(self, model, fitted, seed):
        """Features are the same as a whole, and no longer go with the edges."""
        found = self.changed(model, fitted, seed, "rows permuted")
        assert "mostly in its diffused features (scores after diffusion are off by " in found

    def changed(self, model, fitted, seed, change):
        graph, labels = sample(seed)
        X = CHANGES[change](graph.features, labels, np.random.default_rng(seed))
        return shift_sentence(fitted, profile(model, graph.with_features(X)))

    @pytest.mark.parametrize("homophily", [0.25, 0.5])
    def test_other_mixing(self, model, fitted, seed, homophily):
        found = shift_sentence(fitted, profile(model, sample(seed, homophily=homophily)[0]))
        assert "mostly in its diffused features" in found

    def test_other_class_means(self, model, fitted, seed):
        """The features of `make_block_graph` have other means for every seed."""
        data = make_block_graph(1000, 4000, 4, 16, signal=1.5, seed=seed)
        assert "features (scores " in shift_sentence(fitted, profile(model, data.graph))


@st.composite
def profiles(draw):
    random = np.random.default_rng(draw(seeds))
    n, C, scale = draw(st.integers(1, 60)), draw(st.integers(1, 4)), draw(st.floats(0, 1e6))
    scores = scale * random.normal(size=(2, n, C)) * (random.random(C) < 0.7)
    return GraphProfile.measure(random.poisson(3, size=n), *scores)


@given(profiles())
def test_a_graph_does_not_differ_from_itself(found):
    assert shift_sentence(found, found) is None


@given(profiles(), st.floats(1e-3, 1e3))
def test_the_unit_of_scores_does_not_matter(found, unit):
    other = replace(found, undiffused=found.undiffused + 1)
    assert (shift_sentence(found, other) is None) == (
        shift_sentence(
            replace(found, undiffused=unit * found.undiffused, diffused=unit * found.diffused),
            replace(other, undiffused=unit * other.undiffused, diffused=unit * other.diffused),
        )
        is None
    )


@given(seeds, st.integers(50, 400))
def test_distance_is_that_of_wasserstein(seed, n):
    random = np.random.default_rng(seed)
    one, two = random.normal(size=(n, 1)), random.normal(1, 2, size=(n, 1))
    found = _shift._distances(_shift._quantiles(one), _shift._quantiles(two))
    expected = scipy.stats.wasserstein_distance(one[:, 0], two[:, 0])
    assert found[0] == pytest.approx(expected, rel=0.15)


def test_equal_nodes_have_no_spread():
    zeros = np.zeros((100, 2))
    same = GraphProfile.measure(np.full(100, 2), zeros, zeros)
    assert shift_sentence(same, same) is None
    other = GraphProfile.measure(np.full(100, 2), zeros + 1e6, zeros)
    assert "scores before diffusion are off by over 100 times" in shift_sentence(same, other)
    once_more = GraphProfile.measure(np.full(100, 3), zeros, zeros)
    assert shift_sentence(same, once_more) is None


def test_a_class_that_is_hardly_used_does_not_warn():
    random = np.random.default_rng(0)
    scores = random.normal(size=(500, 2)) * [1, 1e-9]
    one = GraphProfile.measure(np.full(500, 2), scores, scores)
    scores = random.normal(size=(500, 2)) * [1, 1e-8]
    assert shift_sentence(one, GraphProfile.measure(np.full(500, 2), scores, scores)) is None


def test_large_graphs_are_sampled(monkeypatch):
    random = np.random.default_rng(0)
    scores = random.normal(size=(5000, 3)).astype(np.float32)
    whole = GraphProfile.measure(np.ones(5000), scores, scores)
    monkeypatch.setattr(_shift, "SAMPLED_NODES", 1000)
    part = GraphProfile.measure(np.ones(5000), scores, scores)
    assert (whole.num_nodes, part.num_nodes) == (5000, 1000)
    np.testing.assert_allclose(part.diffused, whole.diffused, atol=0.3)
    assert part.diffused.dtype == np.float64


class TestTensors:
    @given(profiles())
    def test_back_and_forth(self, found):
        tensors = found.to_tensors() | {"Theta": np.zeros(3)}
        read = GraphProfile.from_tensors(tensors, found.diffused.shape[1])
        assert list(tensors) == ["Theta"]
        assert read.num_nodes == found.num_nodes
        for name in ("degrees", "undiffused", "diffused"):
            np.testing.assert_array_equal(getattr(read, name), getattr(found, name))

    def test_in_a_file(self, fitted, tmp_path):
        write_tensors(tmp_path / "any", "any", {}, fitted.to_tensors())
        read = GraphProfile.from_tensors(read_tensors(tmp_path / "any", "any")[1], 4)
        assert shift_sentence(fitted, read) is None

    def test_none(self):
        assert GraphProfile.from_tensors({"Theta": np.zeros(3)}, 3) is None

    @pytest.mark.parametrize("name", ["degrees", "undiffused", "diffused", "nodes"])
    def test_a_missing_part(self, fitted, name):
        tensors = fitted.to_tensors()
        del tensors[f"profile_{name}"]
        with pytest.raises(ValueError, match="a part of the profile"):
            GraphProfile.from_tensors(tensors, 4)

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("degrees", np.zeros((NUM_LEVELS, 1)), r"float64 of shape \(21,\)"),
            ("undiffused", np.zeros((NUM_LEVELS, 3)), r"float64 of shape \(21, 4\)"),
            ("diffused", np.zeros((NUM_LEVELS, 4), dtype=np.float32), "float64"),
            ("diffused", np.full((NUM_LEVELS, 4), np.nan), "finite and non-decreasing"),
            ("degrees", -np.arange(21.0), "finite and non-decreasing"),
            ("nodes", np.array([0]), "positive number of nodes"),
            ("nodes", np.array([1.5]), "positive number of nodes"),
            ("nodes", np.array([[1]]), "positive number of nodes"),
        ],
    )
    def test_invalid_content(self, fitted, name, value, message):
        with pytest.raises(ValueError, match=message):
            GraphProfile.from_tensors(fitted.to_tensors() | {f"profile_{name}": value}, 4)


# In a classifier


def other_blocks(**parameters):
    return make_block_graph(600, 2400, 3, 10, signal=1.5, seed=4, **parameters)


@pytest.fixture(scope="module")
def fitted_model():
    data = other_blocks()
    return DGCClassifier().fit(data.graph, data.labels, data.split.train, data.split.val)


def test_a_classifier_warns_of_another_graph(fitted_model):
    graph = fitted_model.graph_
    moved = graph.with_features(graph.features + 3 * np.sign(fitted_model.coef_[0]))
    with pytest.warns(ShiftWarning, match="mostly in its features"):
        fitted_model.predict(moved)


def test_the_fitted_graph_gives_no_warning(fitted_model, tmp_path, recwarn):
    fitted_model.predict()
    fitted_model.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    loaded.predict(fitted_model.graph_)
    half = np.arange(0, 600, 2)
    loaded.predict_proba(fitted_model.graph_, nodes=half)
    assert not recwarn.list


def test_a_fit_without_held_out_nodes_has_no_profile(recwarn):
    data = other_blocks()
    model = DGCClassifier(T=1.0, weight_decay=0.1).fit(data.graph, data.labels)
    model.predict(data.graph.with_features(data.graph.features + 5))
    assert not recwarn.list


# Features standardised by another graph's own statistics


@pytest.mark.parametrize("is_sparse", [False, True])
def test_rescaling_undoes_moved_and_stretched_features(fitted_model, is_sparse, recwarn):
    graph = fitted_model.graph_
    X = graph.features * np.linspace(0.1, 10, 10, dtype=np.float32) - 7
    moved = graph.with_features(sp.csr_array(X) if is_sparse else X)
    own = fitted_model.with_scaling_of(graph)
    adapted = fitted_model.with_scaling_of(moved)
    np.testing.assert_allclose(
        adapted.decision_function(moved), own.decision_function(graph), atol=1e-3
    )
    assert not recwarn.list
    assert not hasattr(adapted, "graph_")
    with pytest.raises(InputError, match="pass graph="):
        adapted.predict()


def test_the_model_itself_stays_as_it_was(fitted_model):
    before, graph = fitted_model.predict_proba(), fitted_model.graph_
    fitted_model.with_scaling_of(graph.with_features(graph.features + 3))
    np.testing.assert_array_equal(fitted_model.predict_proba(), before)


def test_a_file_keeps_the_other_graphs_statistics(fitted_model, tmp_path):
    graph = fitted_model.graph_.with_features(2 * fitted_model.graph_.features + 3)
    adapted = fitted_model.with_scaling_of(graph)
    adapted.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(graph), adapted.predict_proba(graph))


def test_rescaling_needs_standardised_features_and_a_graph():
    data = other_blocks()
    words = data.graph.with_features(np.abs(data.graph.features))
    model = DGCClassifier(T=1.0, weight_decay=0.1, feature_scaling="rows").fit(words, data.labels)
    with pytest.raises(InputError, match="fitted with feature_scaling='rows'"):
        model.with_scaling_of(words)
    with pytest.raises(InputError, match="must be a heatgraph.Graph. Got NoneType"):
        model.with_scaling_of(None)


def test_the_warning_names_a_remedy_that_has_not_been_taken(fitted_model):
    graph = make_block_graph(600, 20_000, 3, 10, signal=1.5, seed=4).graph
    with pytest.warns(ShiftWarning, match=r"with_scaling_of\(graph\)"):
        fitted_model.predict(graph)
    with pytest.warns(ShiftWarning) as caught:
        fitted_model.with_scaling_of(graph).predict(graph)
    assert "with_scaling_of" not in str(caught[0].message)


def test_a_small_time_is_a_remedy_where_edges_differ(model, fitted):
    found = shift_sentence(fitted, profile(model, sample(1, homophily=0.4)[0]))
    assert "fitted with a small T" in found
    found = shift_sentence(fitted, profile(model, sample(1, edges=12_000)[0]), can_rescale=True)
    assert "small T" not in found
    assert "with_scaling_of" in found
