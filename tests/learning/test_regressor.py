"""`DGCRegressor`: ridge regression on diffused features, its search, intervals and explanations."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import by_eigenvalues, dense_operator
from sklearn.base import clone, is_regressor
from sklearn.linear_model import Ridge
from strategies import graphs, planted, precisions, random_graph, seeds

import heatgraph as hg
from heatgraph import DGCRegressor, Graph
from heatgraph.errors import InputError

T, DECAY = 1.5, 0.02


def exact_rows(graph, scheme, self_loops=True):
    """Diffused features of all nodes, by eigenvectors of the dense operator."""
    kernel = by_eigenvalues(dense_operator(graph.adjacency.toarray(), self_loops), scheme)
    X = graph.features
    if X is None:
        return kernel
    return kernel @ (X.toarray() if sp.issparse(X) else X)


def ridge_predictions(Z, Y, train, decay):
    """scikit-learn's ridge regression, with the bias penalised for its distance to the mean."""
    rows = np.hstack([Z, np.ones((len(Z), 1))])
    mean = Y[train].mean(axis=0)
    model = Ridge(alpha=decay * len(train), fit_intercept=False, solver="svd")
    return model.fit(rows[train], Y[train] - mean).predict(rows).reshape(len(Y), -1) + mean


def numbers_on(graph, seed=0, noise=0.3):
    """Numbers that follow the diffused features."""
    random = np.random.default_rng(seed)
    Z = hg.diffuse(graph, T=2.0, dtype="float64")
    z = Z @ random.normal(size=Z.shape[1])
    return 5 + 2 * ((z - z.mean()) / z.std() + noise * random.normal(size=len(z)))


@settings(max_examples=30)
@given(graphs(max_nodes=12), precisions, seeds, st.booleans(), st.integers(1, 3))
def test_predictions_are_those_of_ridge_regression(graph, dtype, seed, self_loops, q):
    n = graph.num_nodes
    random = np.random.default_rng(seed)
    Y = random.normal(size=(n, q)) * 10 + 100
    train = random.permutation(n)[: max(2, n // 2)]
    if len(train) < 2:
        return
    reg = DGCRegressor(
        T=T, weight_decay=DECAY, self_loops=self_loops, feature_scaling="none", dtype=dtype
    )
    reg.fit(graph, Y, train=train)
    expected = ridge_predictions(exact_rows(graph, hg.Heat(T), self_loops), Y, train, DECAY)
    assert_allclose(reg.predict(), expected, atol=1e-3 if dtype == np.float32 else 1e-5)


@pytest.mark.parametrize("kind", ["words", "dense", None])
@pytest.mark.parametrize("n_train", [30, 80, 700])
def test_all_forms_of_features_give_ridge_regression(kind, n_train):
    """Few and many nodes, with and without features: by Gram matrices, rows and operators."""
    graph, _ = planted(n=900, kind=kind)
    y = numbers_on(graph)
    train = np.random.default_rng(1).permutation(900)[:n_train]
    reg = DGCRegressor(T=T, weight_decay=DECAY, feature_scaling="none", dtype="float64")
    reg.fit(graph, y, train=train)
    Z = hg.diffuse(graph, T=T, tol=1e-12, dtype="float64")
    expected = ridge_predictions(Z, y[:, np.newaxis], train, DECAY)[:, 0]
    assert_allclose(reg.predict(), expected, atol=1e-4 * y.std())
    assert reg.converged_


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_more_columns_than_the_eigendecomposition_takes(monkeypatch, dtype):
    monkeypatch.setattr("heatgraph.learning._target_task.MAX_EXACT_COLUMNS", 5)
    graph = random_graph(n=1500, edges=6000, d=30)
    y = numbers_on(graph)
    train = np.arange(800)
    reg = DGCRegressor(T=T, weight_decay=DECAY, feature_scaling="none", dtype=dtype)
    expected = ridge_predictions(
        hg.diffuse(graph, T=T, dtype="float64"), y[:, np.newaxis], train, DECAY
    )
    assert_allclose(reg.fit(graph, y, train=train).predict(), expected[:, 0], atol=1e-3)


@pytest.mark.parametrize("has_validation_nodes", [True, False])
def test_the_search_has_the_r2_of_every_setting(has_validation_nodes):
    graph, _ = planted(n=200, kind="dense")
    y = numbers_on(graph)
    train, val = np.arange(100), np.arange(100, 200)
    times, decays = [0.0, 1.0, 4.0], [1e-3, 0.1]
    reg = DGCRegressor(T=times, weight_decay=decays, feature_scaling="none", dtype="float64")
    reg.fit(graph, y, train, val if has_validation_nodes else None)
    assert {(one["T"], one["weight_decay"]) for one in reg.search_} == {
        (time, decay) for time in times for decay in decays
    }
    best = max(reg.search_, key=lambda one: one["r2"])
    assert (reg.T_, reg.weight_decay_) == (best["T"], best["weight_decay"])
    for one in reg.search_ if has_validation_nodes else []:
        Z = exact_rows(graph, hg.Heat(one["T"]))
        found = ridge_predictions(Z, y[:, np.newaxis], train, one["weight_decay"])[val, 0]
        errors = (found - y[val]) ** 2 / y[val].var()
        assert one["r2"] == pytest.approx(1 - errors.mean(), abs=0.01)
        assert one["standard_error"] == pytest.approx(errors.std() / 10, rel=0.05)
    if has_validation_nodes:
        assert reg.validation_r2_ == pytest.approx(best["r2"], abs=0.01)
        assert reg.validation_r2_ == pytest.approx(reg.score(graph, y, val))


def test_the_search_finds_a_time_that_helps():
    graph, _ = planted(n=400, kind="dense")
    y = numbers_on(graph)
    train, test = np.arange(0, 400, 2), np.arange(1, 400, 2)
    reg = DGCRegressor().fit(graph, y, train=train)
    alone = DGCRegressor(T=0.0).fit(graph, y, train=train)
    assert 0.5 < reg.T_ < 8
    assert reg.score(graph, y, test) > 0.8 > alone.score(graph, y, test)


def test_edges_that_tell_nothing_are_not_used():
    random = np.random.default_rng(0)
    graph = random_graph(n=600, edges=6000, d=4)
    y = graph.features @ random.normal(size=4)
    assert DGCRegressor().fit(graph, y, train=np.arange(300)).T_ == 0


def test_predictions_follow_the_unit_of_the_numbers():
    graph, _ = planted(n=120, kind="dense")
    y = numbers_on(graph)
    train = np.arange(60)
    plain, other = (
        DGCRegressor(dtype="float64").fit(graph, Y, train=train) for Y in (y, 1e6 + 1000 * y)
    )
    assert pytest.approx(other.T_) == plain.T_
    assert_allclose(1e6 + 1000 * plain.predict(), other.predict(), rtol=1e-9)
    assert_allclose(1000 * plain.held_out_errors_, other.held_out_errors_, rtol=1e-5)


def test_an_infinite_penalty_predicts_the_mean():
    graph, _ = planted(n=60)
    y = numbers_on(graph)
    reg = DGCRegressor(T=1.0, weight_decay=1e12).fit(graph, y, train=np.arange(20))
    assert_allclose(reg.predict(), np.full(60, y[:20].mean()), rtol=1e-5)


def test_several_numbers_are_several_models():
    graph, _ = planted(n=150, kind="dense")
    Y = np.stack([numbers_on(graph, seed) for seed in range(2)], axis=1)
    Y[120:] = np.nan
    val = np.arange(80, 120)
    both = DGCRegressor(T=1.0, weight_decay=0.01).fit(graph, Y, val=val)
    assert both.predict().shape == (150, 2)
    for at in range(2):
        one = DGCRegressor(T=1.0, weight_decay=0.01).fit(graph, Y[:, at], val=val)
        assert_allclose(both.predict()[:, at], one.predict(), atol=1e-4)
        assert_allclose(both.predict_interval()[:, at], one.predict_interval(), atol=1e-3)
        explanation = both.explain(100, output=at)
        assert explanation.label == at
        assert explanation.score == pytest.approx(both.predict()[100, at], abs=1e-4)
    with pytest.raises(InputError, match=r"output must be in 0\.\.1\. Got 2"):
        both.explain(0, output=2)
    with pytest.raises(InputError, match="predicts 2 numbers per node. Got 1 in y"):
        both.score(graph, Y[:, 0])


@pytest.mark.parametrize("case", ["val", "folds", "one fold"])
def test_intervals_cover_what_they_promise(case):
    """On average over draws of the labelled nodes, and not much more."""
    n = 6000 if case == "one fold" else 1500
    graph = random_graph(n=n, edges=4 * n, d=6)
    random = np.random.default_rng(3)
    y = hg.diffuse(graph, T=1.0) @ random.normal(size=6) + random.standard_t(3, size=n)
    num_train = 3000 if case == "one fold" else 200
    covered = []
    for _ in range(8 if case == "one fold" else 25):
        order = random.permutation(n)
        train, val, test = order[:num_train], order[num_train : num_train + 150], order[-1000:]
        reg = DGCRegressor(T=1.0, weight_decay=1e-3).fit(
            graph, y, train, val if case == "val" else None
        )
        bounds = reg.predict_interval(coverage=0.8, nodes=test)
        covered.append(np.mean((bounds[:, 0] <= y[test]) & (y[test] <= bounds[:, 1])))
    assert 0.785 < np.mean(covered) < 0.83
    assert (bounds[:, 0] < bounds[:, 1]).all()
    wider = reg.predict_interval(coverage=0.95, nodes=test)
    assert (wider[:, 1] > bounds[:, 1]).all()


def test_intervals_of_too_few_held_out_nodes_are_refused():
    graph, _ = planted(n=30)
    reg = DGCRegressor(T=1.0, weight_decay=0.1).fit(graph, numbers_on(graph), train=[0, 1, 2, 3])
    with pytest.raises(InputError, match="coverage of 0.9 needs the errors of at least 9 held-out"):
        reg.predict_interval()
    assert reg.predict_interval(coverage=0.7).shape == (30, 2)


@pytest.mark.parametrize("kind", ["words", "dense", None])
def test_explanations_add_up_to_the_prediction(kind):
    graph, _ = planted(n=90, kind=kind)
    reg = DGCRegressor(T=2.0, weight_decay=0.01, dtype="float64")
    reg.fit(graph, numbers_on(graph), train=np.arange(40))
    explanation = reg.explain(70, top=3)
    assert explanation.score == pytest.approx(reg.predict()[70], abs=1e-6)
    assert explanation.bias + explanation.node_shares.sum() == pytest.approx(explanation.score)
    if kind is not None:
        total = explanation.bias + explanation.feature_shares.sum()
        assert total == pytest.approx(explanation.score)
    assert explanation.probability is None
    assert repr(explanation).startswith(f"node 70: prediction {explanation.score:.4f}, bias ")


@pytest.mark.parametrize("kind", ["words", "dense", None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_saved_model_predicts_the_same_bits(tmp_path, kind, dtype):
    graph, _ = planted(n=90, kind=kind)
    reg = DGCRegressor(dtype=dtype, scheme="euler", K=20)
    reg.fit(graph, numbers_on(graph), train=np.arange(40))
    reg.save(tmp_path / "model")
    again = hg.load(tmp_path / "model")
    assert isinstance(again, DGCRegressor)
    assert_array_equal(again.predict(graph), reg.predict())
    assert_array_equal(again.predict_interval(graph), reg.predict_interval())
    assert again.get_params() == reg.get_params()
    for name in ("T_", "K_", "weight_decay_", "feature_scaling_", "search_", "validation_r2_"):
        assert getattr(again, name) == getattr(reg, name), name
    with pytest.raises(InputError, match="has no graph of its own"):
        again.predict()


def test_refitting_gives_the_same_bits_on_any_number_of_threads():
    graph, _ = planted(n=200)
    y = numbers_on(graph)
    one, two = (
        DGCRegressor(n_threads=n).fit(graph, y, train=np.arange(100)).predict() for n in (1, 3)
    )
    assert_array_equal(one, two)


def test_labels_of_other_nodes_are_not_read():
    graph, _ = planted(n=90)
    y = numbers_on(graph)
    other = y.copy()
    other[60:] = 1e9
    one, two = (DGCRegressor().fit(graph, Y, range(40), range(40, 60)) for Y in (y, other))
    assert_array_equal(one.predict(), two.predict())


def test_another_graph_with_the_same_features():
    graph, _ = planted(n=90, kind="dense")
    other, _ = planted(n=50, kind="dense", seed=1)
    reg = DGCRegressor(T=1.0, weight_decay=0.1).fit(graph, numbers_on(graph))
    assert reg.predict(other, nodes=[3, 4]).shape == (2,)
    assert np.isfinite(reg.score(other, numbers_on(other)))
    fitted_without = DGCRegressor(T=1.0, weight_decay=0.1).fit(
        graph.with_features(None), numbers_on(graph)
    )
    with pytest.raises(InputError, match="knows nodes by position only"):
        fitted_without.predict(other.with_features(None))


def test_progress_is_reported():
    graph, _ = planted(n=90)
    seen = []
    DGCRegressor().fit(graph, numbers_on(graph), progress=seen.append)
    assert {one.stage for one in seen} == {"search", "fit"}
    assert seen[-1].done == seen[-1].total
    assert all(one.accuracy is None for one in seen)


GRAPH, _ = planted(n=6, kind="dense")


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([1.0] * 6, {}, "all 6 training nodes have the number 1: there is nothing to learn"),
        ([[1.0, 2.0]] * 6, {}, "all 6 training nodes have the same numbers"),
        ([None] * 6, {}, "y has no label left to learn from. At least two nodes need a number"),
        ([1.0] + [np.nan] * 5, {}, "one sample only"),
        (range(6), {"train": [0, 1], "val": [1, 2]}, "train and val overlap in 1 nodes"),
        (range(6), {"train": [0, 1], "val": []}, "val names no node"),
        ([None, 1, 2, 3, 4, 5], {"train": [0, 1]}, "train names nodes without a number in y"),
        (range(5), {}, "one number per node, 6 in all"),
    ],
)
def test_numbers_that_cannot_be_learned(y, options, message):
    with pytest.raises(InputError, match=message):
        DGCRegressor(T=1.0, weight_decay=0.1).fit(GRAPH, list(y), **options)


@pytest.mark.parametrize(
    "parameters",
    [{"T": -1}, {"weight_decay": "strong"}, {"dtype": "int"}, {"tol": 0}, {"self_loops": 3}],
)
def test_invalid_parameters_are_refused(parameters):
    with pytest.raises(InputError):
        DGCRegressor(**parameters).fit(GRAPH, range(6))


def test_there_must_be_a_number_to_score():
    reg = DGCRegressor(T=1.0, weight_decay=0.1).fit(GRAPH, range(6))
    with pytest.raises(InputError, match="no labelled node to score"):
        reg.score(None, [None] * 6)


def test_scikit_learn_sees_a_regressor():
    assert is_regressor(DGCRegressor())
    assert clone(DGCRegressor(T=2.0)).T == 2.0


def test_a_graph_without_edges_is_ridge_regression():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    graph = Graph(sp.csr_array((40, 40)), X)
    y = X @ [1.0, 2.0, 3.0]
    reg = DGCRegressor(T=3.0, weight_decay=1e-8, feature_scaling="none", dtype="float64")
    assert_allclose(reg.fit(graph, y).predict(), y, atol=1e-5)
