"""The search, compared with single fits of every setting."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from processes import start
from strategies import planted
from threadpoolctl import threadpool_info

import heatgraph as hg
from heatgraph import DGCClassifier
from heatgraph.learning import _evaluation, _search
from heatgraph.learning._folds import Folds, SampleSize
from heatgraph.learning._search import search
from heatgraph.learning._search_space import SchemeFamily, SearchSpace
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.learning._task import NodeClassificationTask
from heatgraph.learning.calibration import log_loss

GRAPH, LABELS = planted(noise=3.0)
TRAIN, VAL = np.arange(20), np.arange(20, 50)
RECORD = ["scheme", "T", "K", "self_loops", "feature_scaling", "weight_decay", "learning_rate",
          "score", "standard_error", "accuracy", "log_loss", "head"]  # fmt: skip
GRID = [scheme.T for scheme in SchemeFamily(hg.Heat, None).grid()]
SCREENED = [GRID[place] for place in _search.SCREENED_TIMES]


def fitted(val=VAL, **parameters):
    return DGCClassifier(**parameters).fit(GRAPH, LABELS, train=TRAIN, val=val)


def one_by_one(record, train, val):
    """Accuracy and log-loss of a record's setting, by a fit of its own."""
    clf = DGCClassifier(
        T=record["T"],
        K=record["K"],
        scheme=None if record["K"] is None else record["scheme"].lower(),
        self_loops=record["self_loops"],
        feature_scaling=record["feature_scaling"],
        weight_decay=record["weight_decay"],
    ).fit(GRAPH, LABELS, train=train)
    scores = clf.decision_function(nodes=val)
    return clf.score(None, LABELS, val), log_loss(scores, LABELS[val])


def test_every_record_agrees_with_a_single_fit(monkeypatch):
    monkeypatch.setattr(_evaluation, "SEARCH_TOLERANCE", 1e-6)
    monkeypatch.setattr(_search, "DIFFUSION_TOLERANCE", 1e-6)
    clf = fitted(
        T=[0.5, 2.0], K=20, self_loops=[True, False], weight_decay=[1e-4, 1e-2],
        feature_scaling=["rows", "sqrt"], scheme="euler",
    )  # fmt: skip
    assert len(clf.search_) == 16
    for record in clf.search_:
        assert list(record) == RECORD
        assert record["head"] == "softmax"
        accuracy, loss = one_by_one(record, TRAIN, VAL)
        assert record["accuracy"] == pytest.approx(accuracy)
        assert record["log_loss"] == pytest.approx(loss, abs=1e-4)


@pytest.mark.filterwarnings("ignore::heatgraph.errors.OneClassWarning")
def test_cross_validation_learns_from_the_other_folds(monkeypatch):
    monkeypatch.setattr(_evaluation, "SEARCH_TOLERANCE", 1e-6)
    clf = fitted(val=None, T=[0.5, 2.0], weight_decay=[1e-3, 1e-1], feature_scaling="rows")
    folds = Folds.hold_out_training(TRAIN, LABELS[TRAIN], SampleSize(1000, 0.01), seed=0).folds
    assert len(folds) == 5
    for record in clf.search_:
        figures = [
            (one_by_one(record, TRAIN[train], TRAIN[held_out]), len(held_out))
            for train, held_out in folds
        ]
        accuracy = sum(figure[0] * size for figure, size in figures) / len(TRAIN)
        loss = sum(figure[1] * size for figure, size in figures) / len(TRAIN)
        assert record["accuracy"] == pytest.approx(accuracy)
        assert record["log_loss"] == pytest.approx(loss, abs=1e-3)


@pytest.mark.parametrize("val", [VAL, None])
def test_the_rounds_of_an_automatic_search(val):
    """Scalings are screened at a few T, one of them is tried on the grid, and refined there."""
    clf = fitted(val=val)
    screened = {}
    for name in ("sqrt", "idf-sqrt"):
        records = [r for r in clf.search_ if r["feature_scaling"] == name]
        screened[name] = sorted({r["T"] for r in records if r["head"] == "ridge"})
        assert set(SCREENED) <= set(screened[name])
    (other,) = {"sqrt", "idf-sqrt"} - {clf.feature_scaling_}
    assert screened[other] == SCREENED
    assert screened[clf.feature_scaling_] == GRID
    decided = [r for r in clf.search_ if r["head"] == "softmax"]
    assert {r["feature_scaling"] for r in decided} == {clf.feature_scaling_}
    tried = {T: [r["weight_decay"] for r in decided if r["T"] == T] for T in GRID}
    counts = {T: len(set(np.round(np.log(decays), 6))) for T, decays in tried.items() if decays}
    refined = [T for T, count in counts.items() if count == len(_search.RELATIVE_DECAYS)]
    assert set(counts.values()) == {len(_search.COARSE_DECAYS), len(_search.RELATIVE_DECAYS)}
    (nearest,) = refined
    distances = [abs(np.log((T + 0.5) / (clf.T_ + 0.5))) for T in GRID]
    assert nearest == GRID[int(np.argmin(distances))]
    assert clf.score(None, LABELS, np.arange(50, 90)) > 0.8


def test_the_choice_is_about_as_accurate_as_the_best_setting():
    clf = fitted()
    best = max(r["accuracy"] for r in clf.search_)
    chosen = DGCClassifier(
        T=clf.T_, weight_decay=clf.weight_decay_, feature_scaling=clf.feature_scaling_
    ).fit(GRAPH, LABELS, TRAIN)
    assert chosen.score(None, LABELS, VAL) >= best - 0.1


def test_softmax_regression_is_not_fitted_where_ridge_regression_is_clearly_behind():
    """Features that tell nothing before they diffuse, and many nodes to see it on."""
    data = hg.make_block_graph(3000, 15_000, 4, 8, homophily=0.9, signal=0.2)
    clf = DGCClassifier().fit(data.graph, data.labels, data.split.train, data.split.val)
    heads = {T: {r["head"] for r in clf.search_ if r["T"] == T} for T in GRID}
    assert heads[0.0] == {"ridge"}
    nearest = min(GRID, key=lambda T: abs(np.log((T + 0.5) / (clf.T_ + 0.5))))
    assert heads[nearest] == {"ridge", "softmax"}


def test_features_alone_are_chosen_where_neighbours_differ():
    chosen = []
    for seed in range(6):
        data = hg.make_block_graph(1200, 6000, 3, 16, homophily=0.1, signal=2.5, seed=seed)
        train, val = np.arange(150), np.arange(150, 600)
        clf = DGCClassifier().fit(data.graph, data.labels, train, val)
        alone = DGCClassifier(T=0.0).fit(data.graph, data.labels, train, val)
        assert clf.validation_accuracy_ >= alone.validation_accuracy_ - 0.02
        chosen.append(clf.T_)
    assert np.mean(np.array(chosen) == 0) > 0.6


def test_candidates_stay_chosen_while_T_is_refined():
    """The best of a list is not lost among the others when more of T is tried."""
    clf = fitted(weight_decay=[1e6, 1e-3], feature_scaling="rows", self_loops=[False, True])
    assert clf.weight_decay_ == 1e-3
    clf = fitted(
        solver="adam", learning_rate=[1e-9, 0.3], weight_decay=1e-4, feature_scaling="rows"
    )
    assert clf.learning_rate_ == 0.3


def test_other_labels_than_those_of_training_and_validation_have_no_effect():
    y = LABELS.copy()
    y[50:] = (y[50:] + 1) % 3
    one = DGCClassifier().fit(GRAPH, LABELS, TRAIN, VAL)
    two = DGCClassifier().fit(GRAPH, y, TRAIN, VAL)
    assert one.search_ == two.search_
    np.testing.assert_array_equal(one.coef_, two.coef_)
    without = DGCClassifier().fit(GRAPH, y, TRAIN)
    y[20:] = -1
    np.testing.assert_array_equal(DGCClassifier().fit(GRAPH, y).coef_, without.coef_)


def test_features_of_any_scale_can_be_learned_from():
    small, large = (
        DGCClassifier(feature_scaling="none", dtype="float64").fit(
            GRAPH.with_features(GRAPH.features * scale), LABELS, TRAIN, VAL
        )
        for scale in (1e-6, 1e6)
    )
    assert large.score(None, LABELS, np.arange(50, 90)) > 0.75
    assert small.score(None, LABELS, np.arange(50, 90)) > 0.5


def test_the_grid_is_extended_while_its_largest_T_is_best():
    """Classes that are halves of a long path, of which only the ends are labelled, take long."""
    n = 120
    path = hg.Graph.from_edges(np.arange(n - 1), np.arange(1, n), num_nodes=n, symmetrize="max")
    y = (np.arange(n) >= n // 2).astype(int)
    train, val = np.array([0, 1, n - 2, n - 1]), np.arange(2, n - 2, 2)
    clf = DGCClassifier(extensions=None).fit(path, y, train, val)
    assert max(record["T"] for record in clf.search_) > 20
    assert clf.score(None, y, np.arange(3, n - 2, 2)) > 0.9


def test_large_sets_are_sampled(monkeypatch):
    monkeypatch.setattr(_search, "DECIDING", SampleSize(12, 0.2))
    seen = []
    evaluator = _search.Evaluator

    def watch(combination, schemes, features, folds, *others):
        seen.append((folds.num_fold_train, folds.num_held_out))
        return evaluator(combination, schemes, features, folds, *others)

    monkeypatch.setattr(_search, "Evaluator", watch)
    clf = fitted(T=[1.0, 2.0], weight_decay="auto", feature_scaling="rows")
    assert set(seen) == {(12, 7)}
    # The penalty keeps its weight against the sum of losses: it is 12/20 of what was tried.
    tried = {record["weight_decay"] for record in clf.search_}
    assert 0.6 * min(tried) <= clf.weight_decay_ <= 0.6 * max(tried)


def test_features_are_chunked_to_fit_in_memory(monkeypatch):
    sizes = []
    make = _search.labelled_features

    def watch(graph, schemes, *others, **options):
        sizes.append(len(schemes))
        return make(graph, schemes, *others, **options)

    whole = fitted(feature_scaling="rows")
    monkeypatch.setattr(_search, "labelled_features", watch)
    held_out = (TRAIN, LABELS[TRAIN], VAL, LABELS[VAL])
    folds = Folds.hold_out_validation(*held_out, _search.DECIDING, seed=0)
    of_three = 3 * _search.bytes_per_scheme(GRAPH, folds, np.dtype(np.float32))
    monkeypatch.setattr(_search, "CHUNK_BYTES", of_three)
    cut = fitted(feature_scaling="rows")
    assert max(sizes) == 3
    assert sum(sizes) >= len(GRID)
    assert pytest.approx(whole.T_, rel=0.05) == cut.T_
    assert pytest.approx(whole.weight_decay_, rel=0.2) == cut.weight_decay_


def test_rows_that_the_last_fit_needs_are_diffused_once(monkeypatch):
    """With more labels than features, cross-validation and the last fit share them."""
    data = hg.make_block_graph(900, 4000, 3, 8)
    calls = []
    diffuse = NodeClassificationTask.diffuse

    def watch(task, graph, setting, rows=None, progress=None):
        calls.append((graph.num_features, None if rows is None else len(rows)))
        return diffuse(task, graph, setting, rows, progress)

    monkeypatch.setattr(NodeClassificationTask, "diffuse", watch)
    clf = DGCClassifier(extensions=None).fit(data.graph, data.labels, np.arange(800))
    assert calls == [(8, 800), (3, None)]  # the second is the profile of the graph
    assert clf.validation_accuracy_ is not None
    given_T = DGCClassifier(T=2.0).fit(data.graph, data.labels, np.arange(800), np.arange(800, 900))
    assert calls[2:] == [(8, 900), (3, None), (3, None)]  # the second predicts validation nodes
    assert given_T.score(None, data.labels) > 0.5


def test_few_labels():
    """Two labels, one of each class: a fold for each, and something comes out."""
    clf = DGCClassifier().fit(GRAPH, np.where(np.arange(90) < 2, LABELS, -1))
    assert set(clf.predict().tolist()) <= {0, 1}


def test_validation_nodes_of_unknown_class_count_as_wrong():
    y = LABELS.copy()
    y[VAL[:10]] = 7
    with pytest.warns(hg.errors.UnknownClassWarning):
        clf = DGCClassifier(T=[1.0, 2.0], weight_decay=0.01).fit(GRAPH, y, TRAIN, VAL)
    assert max(record["accuracy"] for record in clf.search_) <= 20 / 30
    assert all(np.isfinite(record["log_loss"]) for record in clf.search_)


def test_adam_can_be_searched_too():
    clf = fitted(solver="adam", T=[1.0, 3.0], learning_rate=[0.05, 0.5], weight_decay="auto",
                 epochs=20, feature_scaling="rows")  # fmt: skip
    assert len(clf.search_) == 2 * 2 * 16
    assert clf.learning_rate_ in (0.05, 0.5)
    assert {record["learning_rate"] for record in clf.search_} == {0.05, 0.5}


@pytest.mark.parametrize("classes", [2, 3])
def test_standardising_does_not_leak_labels_of_held_out_nodes(classes):
    """With a node or two per class, the mean of all would tell the one that is left out."""
    scores = []
    for seed in range(6):
        graph, labels = planted(n=120, classes=classes, kind="dense", seed=seed)
        clf = DGCClassifier().fit(graph, labels, train=np.arange(2 * classes))
        assert clf.feature_scaling_ == "standard"
        scores.append(clf.score(None, labels, np.arange(2 * classes, 120)))
    assert np.mean(scores) > 0.75


def test_concurrent_fits_restore_the_number_of_blas_threads():
    before = [library["num_threads"] for library in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        fits = list(pool.map(lambda _: fitted(feature_scaling="rows"), range(8)))
    assert [library["num_threads"] for library in threadpool_info()] == before
    assert len({clf.T_ for clf in fits}) == 1


@pytest.mark.parametrize("val", [VAL, None])
def test_threads_do_not_change_a_bit(val, monkeypatch):
    monkeypatch.setattr(_evaluation, "WORTH_THREADS", 1)
    one, three = (fitted(val=val, n_threads=n) for n in (1, 3))
    assert one.search_ == three.search_
    np.testing.assert_array_equal(one.coef_, three.coef_)


def test_adam_with_automatic_T():
    clf = fitted(solver="adam", epochs=20, weight_decay=1e-4, feature_scaling=["rows", "sqrt"])
    heads = {r["head"] for r in clf.search_}
    assert heads == {"ridge", "adam"}
    assert sorted({r["T"] for r in clf.search_ if r["head"] == "adam"}) == GRID


def test_many_classes_and_few_features():
    """Hardly any node can be told from others: nothing converges, and nothing takes long."""
    random = np.random.default_rng(0)
    y = np.r_[np.arange(100), random.integers(100, size=20)]
    src, dst = random.integers(120, size=(2, 300))
    graph = hg.Graph.from_edges(src, dst, features=random.normal(size=(120, 1)), symmetrize="max")
    clf = DGCClassifier().fit(graph, y)
    assert len(clf.search_) < 400
    assert np.isfinite(clf.predict_proba()).all()


@pytest.mark.signals
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_stops_a_search():
    """The interrupt arrives after the first schemes; the others are not evaluated."""
    code = (
        "import numpy as np, heatgraph as hg\n"
        "random = np.random.default_rng(0)\n"
        "src, dst = random.integers(2000, size=(2, 10000))\n"
        "X = random.normal(size=(2000, 100))\n"
        "graph = hg.Graph.from_edges(src, dst, features=X, symmetrize='max')\n"
        "y = random.integers(10, size=2000)\n"
        "def report(fit):\n"
        "    if fit.settings:\n"
        "        print(fit.done, fit.total, flush=True)\n"
        "hg.DGCClassifier().fit(graph, y, progress=report)\n"
    )
    process = start(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        done, total = map(int, process.stdout.readline().split())
        assert done < total
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in errors
    evaluated = [int(line.split()[0]) for line in output.splitlines()]
    assert max(evaluated, default=done) < total


def test_lbfgs_has_no_learning_rate_to_choose():
    clf = fitted(T=[1.0, 2.0], learning_rate=[0.1, 0.2], weight_decay=0.1, feature_scaling="rows")
    assert len(clf.search_) == 2


def test_schemes_without_T_are_recorded_with_their_parameters():
    schemes = [hg.PersonalizedPageRank(alpha) for alpha in (0.1, 0.2)]
    clf = fitted(scheme=schemes, weight_decay=0.1, feature_scaling="rows")
    assert [record["scheme"] for record in clf.search_] == list(map(repr, schemes))


@pytest.mark.parametrize("parameters", [{}, {"T": [1.0, 2.0]}, {"T": 2.0}, {"solver": "adam"}])
@pytest.mark.parametrize("val", [VAL, None])
def test_progress(parameters, val):
    calls = []
    clf = DGCClassifier(**({"epochs": 5} | parameters))
    clf.fit(GRAPH, LABELS, TRAIN, val, progress=calls.append)
    stages = [call.stage for call in calls]
    assert stages == sorted(stages, reverse=True)
    assert set(stages) == {"search", "fit"}
    of_search = [call for call in calls if call.stage == "search"]
    done = [call.done for call in of_search]
    assert done == sorted(done)
    last = of_search[-1]
    assert last.done == last.total
    assert last.settings == len(clf.search_)
    best = max(clf.search_, key=lambda record: record["accuracy"])
    assert last.accuracy == best["accuracy"]
    assert last.accuracy == max(r["accuracy"] for r in clf.search_ if r["T"] == last.T)
    assert [(call.done, call.total) for call in calls[len(of_search) :]] == [(0, 2), (1, 2), (2, 2)]


def test_search_returns_a_setting_and_all_results():
    engine = {"tol": 1e-6, "dtype": "float32", "n_threads": 1, "memory_budget": None}
    regression = SoftmaxRegression("lbfgs", epochs=100, seed=0)
    task = NodeClassificationTask(
        GRAPH, TRAIN, LABELS[TRAIN], VAL, LABELS[VAL], 3, regression, engine, seed=0
    )
    space = SearchSpace((hg.SGC(1), hg.SGC(2)), (), (True,), ("rows",), (0.1,), (0.2,))
    outcome = search(task, space)
    assert outcome.setting in [result.setting for result in outcome.results]
    assert len(outcome.results) == 2


@pytest.mark.parametrize("val", [np.arange(20, 50), None])
def test_a_search_without_features_agrees_with_identity_features(val):
    graph, labels = planted(kind=None)
    identity = graph.with_features(np.eye(90))
    usual = {"T": [0.5, 3.0], "weight_decay": [1e-4, 1e-2], "feature_scaling": "none"}
    without, given_ones = (
        DGCClassifier(**usual).fit(one, labels, np.arange(20), val) for one in (graph, identity)
    )
    for one, two in zip(without.search_, given_ones.search_, strict=True):
        assert one["accuracy"] == pytest.approx(two["accuracy"], abs=0.06)
        assert one["log_loss"] == pytest.approx(two["log_loss"], abs=0.01)


def test_few_labels_on_a_large_graph_without_features():
    """A large T is needed, where features are small: the grid of weight decays must follow."""
    random = np.random.default_rng(0)
    n = 20_000
    y = random.integers(4, size=n)
    src, dst = random.integers(n, size=(2, 12 * n))
    kept = (y[src] == y[dst]) | (random.random(len(src)) < 0.1)
    graph = hg.Graph.from_edges(src[kept], dst[kept], num_nodes=n, symmetrize="max")
    clf = DGCClassifier().fit(graph, y, np.arange(100), np.arange(100, 500))
    assert clf.score(None, y, np.arange(500, n)) > 0.9


def test_a_large_T_is_seen_without_features():
    """Classes then differ in eigenvalues that are small against the largest."""
    random = np.random.default_rng(0)
    n = 3000
    y = random.integers(6, size=n)
    src, dst = random.integers(n, size=(2, 8 * n))
    kept = (y[src] == y[dst]) | (random.random(len(src)) < 0.12)
    graph = hg.Graph.from_edges(src[kept], dst[kept], num_nodes=n, symmetrize="max")
    train, val, test = np.split(np.arange(n), [60, 1500])
    chosen, long, short = (
        DGCClassifier(T=T).fit(graph, y, train, val).score(None, y, test)
        for T in ("auto", 15.0, 2.0)
    )
    assert long > short + 0.1
    assert chosen > long - 0.05


@pytest.mark.parametrize("size", [1, 4])
def test_chunks_do_not_change_the_choice(size, monkeypatch):
    """On collinear clusters ridge regression is far behind softmax regression, at every T."""
    random = np.random.default_rng(0)
    n = 3000
    y = random.integers(3, size=n)
    X = np.column_stack([3.0 * (y - 1), np.zeros(n)]) + random.normal(scale=2.5, size=(n, 2))
    path = np.argsort(y, kind="stable")
    graph = hg.Graph.from_edges(path[:-1], path[1:], features=X, symmetrize="max")
    train, val, _ = np.split(random.permutation(n), [300, 1500])
    whole = DGCClassifier().fit(graph, y, train, val)

    def chunks(self, schemes):
        return (schemes[start : start + size] for start in range(0, len(schemes), size))

    monkeypatch.setattr(_search.Search, "_chunks", chunks)
    cut = DGCClassifier().fit(graph, y, train, val)
    np.testing.assert_allclose(cut.T_, whole.T_, rtol=1e-3)
    np.testing.assert_allclose(cut.weight_decay_, whole.weight_decay_, rtol=1e-2)
