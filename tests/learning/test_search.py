"""The search, compared with single fits of every setting."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import start
from strategies import planted, seeds
from threadpoolctl import threadpool_info

import heatgraph as hg
from heatgraph import DGCClassifier
from heatgraph.learning import _search
from heatgraph.learning._search import (
    CrossValidation,
    NodeClassificationTask,
    search,
    stratified_parts,
)
from heatgraph.learning._search_space import SearchSpace
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.learning.calibration import log_loss
from heatgraph.learning.scaling import Scaling

GRAPH, LABELS = planted(noise=3.0)
TRAIN, VAL = np.arange(20), np.arange(20, 50)
RECORD = ["scheme", "T", "K", "self_loops", "feature_scaling", "weight_decay", "learning_rate",
          "accuracy", "log_loss"]  # fmt: skip


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
    monkeypatch.setattr("heatgraph.learning._softmax_regression.SEARCH_TOLERANCE", 1e-6)
    clf = fitted(
        T=[0.5, 2.0], K=20, self_loops=[True, False], weight_decay=[1e-4, 1e-2],
        feature_scaling=["rows", "sqrt"], scheme="euler",
    )  # fmt: skip
    assert len(clf.search_) == 16
    for record in clf.search_:
        assert list(record) == RECORD
        accuracy, loss = one_by_one(record, TRAIN, VAL)
        assert record["accuracy"] == pytest.approx(accuracy)
        assert record["log_loss"] == pytest.approx(loss, abs=1e-3)


def test_cross_validation_learns_from_the_other_folds(monkeypatch):
    monkeypatch.setattr("heatgraph.learning._softmax_regression.SEARCH_TOLERANCE", 1e-6)
    clf = fitted(val=None, T=[0.5, 2.0], weight_decay=[1e-3, 1e-1], feature_scaling="rows")
    part = stratified_parts(LABELS[TRAIN], 5, folds_rng())
    for record in clf.search_:
        figures = [
            (one_by_one(record, TRAIN[part != k], TRAIN[part == k]), np.count_nonzero(part == k))
            for k in range(5)
        ]
        accuracy = sum(figure[0] * size for figure, size in figures) / len(TRAIN)
        loss = sum(figure[1] * size for figure, size in figures) / len(TRAIN)
        assert record["accuracy"] == pytest.approx(accuracy)
        assert record["log_loss"] == pytest.approx(loss, abs=1e-3)


def folds_rng():
    """The generator's state when folds are assigned: training nodes have been sampled before."""
    rng = np.random.default_rng(0)
    stratified_parts(LABELS[TRAIN], 1, rng)
    return rng


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 5), seeds)
def test_stratified_parts_balance_sizes_and_classes(codes, parts, seed):
    codes = np.array(codes)
    part = stratified_parts(codes, parts, np.random.default_rng(seed))
    sizes = np.bincount(part, minlength=parts)
    assert sizes.max() - sizes.min() <= 1
    for code in set(codes.tolist()):
        counts = np.bincount(part[codes == code], minlength=parts)
        assert counts.max() - counts.min() <= 1


def test_auto_searches_the_whole_grid_and_refines():
    clf = fitted()
    records = clf.search_
    assert {record["feature_scaling"] for record in records} == {"rows", "idf", "sqrt", "idf-sqrt"}
    of_best = [r for r in records if r["feature_scaling"] == clf.feature_scaling_]
    assert len({r["T"] for r in of_best}) >= 41 + 5
    for T in {r["T"] for r in of_best}:
        assert len({r["weight_decay"] for r in of_best if r["T"] == T}) >= 16
    assert min(r["T"] for r in of_best) <= clf.T_ <= max(r["T"] for r in of_best)
    assert clf.score(None, LABELS, np.arange(50, 90)) > 0.8
    best = max(r["accuracy"] for r in records)
    chosen = DGCClassifier(
        T=clf.T_, weight_decay=clf.weight_decay_, feature_scaling=clf.feature_scaling_
    ).fit(GRAPH, LABELS, TRAIN)
    assert chosen.score(None, LABELS, VAL) >= best - 0.1


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
    clf = DGCClassifier().fit(path, y, train, val)
    assert max(record["T"] for record in clf.search_) > 20
    assert clf.score(None, y, np.arange(3, n - 2, 2)) > 0.9


def test_large_sets_are_sampled(monkeypatch):
    monkeypatch.setattr(_search, "MAX_TRAIN_NODES", 12)
    monkeypatch.setattr(_search, "MAX_HELD_OUT_NODES", 9)
    seen = []
    held_out_scores = SoftmaxRegression.held_out_scores

    def watch(self, X, y, *others):
        seen.append((X.shape[1], others[3].shape[1]))
        return held_out_scores(self, X, y, *others)

    monkeypatch.setattr(SoftmaxRegression, "held_out_scores", watch)
    clf = fitted(T=[1.0, 2.0], weight_decay="auto", feature_scaling="rows")
    assert set(seen) == {(10, 8)}  # every second node of 20, and every fourth of 30
    # The penalty keeps its weight against the sum of losses: it is half of what was tried.
    tried = {record["weight_decay"] for record in clf.search_}
    assert min(tried) / 2 <= clf.weight_decay_ <= max(tried) / 2


def test_diffused_features_are_chunked_to_fit_in_memory(monkeypatch):
    largest = 10 * 50 * 12 * 4
    sizes = []

    def watch(graph, schemes, **options):
        diffused = hg.diffuse_many(graph, schemes, **options)
        sizes.append(diffused.nbytes)
        return diffused

    whole = fitted(feature_scaling="rows")
    monkeypatch.setattr(_search, "diffuse_many", watch)
    monkeypatch.setattr(_search, "CHUNK_BYTES", largest)
    cut = fitted(feature_scaling="rows")
    assert max(sizes) <= largest
    assert [r["accuracy"] for r in cut.search_] == [r["accuracy"] for r in whole.search_]
    assert pytest.approx(whole.T_) == cut.T_


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


def test_a_fold_is_centred_by_the_mean_of_its_training_part(monkeypatch):
    monkeypatch.setattr("heatgraph.learning._softmax_regression.SEARCH_TOLERANCE", 1e-6)
    graph, _ = planted(kind="dense", noise=3.0)
    engine = {"tol": 1e-9, "dtype": "float64", "n_threads": 1, "memory_budget": None}
    task = NodeClassificationTask(
        graph, TRAIN, LABELS[TRAIN], None, None, 3, SoftmaxRegression("lbfgs", 100, 0), engine, 0
    )
    cv = CrossValidation.from_task(task)
    features = cv.diffuse([hg.Heat(2.0)], True, "standard")
    train, held_out = cv.folds[0]
    scores = cv.fold_scores(features, 0, [1e-2], [0.2])[0, 0]
    scaled = Scaling.learn("standard", graph.features, TRAIN)
    own = graph.features * scaled.factor
    own = own - own[cv.rows[train]].mean(axis=0)
    diffused = hg.diffuse(graph.with_features(own), 2.0, dtype=np.float64, tol=1e-9)
    fit = SoftmaxRegression("lbfgs", 100, 0).fit(
        diffused[np.newaxis, cv.rows[train]], cv.codes[train], 3, [1e-2], [0.2]
    )
    expected = diffused[cv.rows[held_out]] @ fit.Theta[0, 0] + fit.bias[0, 0]
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_concurrent_fits_restore_the_number_of_blas_threads():
    before = [library["num_threads"] for library in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        fits = list(pool.map(lambda _: fitted(feature_scaling="rows"), range(8)))
    assert [library["num_threads"] for library in threadpool_info()] == before
    assert len({clf.T_ for clf in fits}) == 1


@pytest.mark.signals
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_stops_a_search():
    """The interrupt arrives after the first of 41 schemes; the others are not evaluated."""
    code = (
        "import numpy as np, heatgraph as hg\n"
        "random = np.random.default_rng(0)\n"
        "src, dst = random.integers(2000, size=(2, 10000))\n"
        "X = random.normal(size=(2000, 100))\n"
        "graph = hg.Graph.from_edges(src, dst, features=X, symmetrize='max')\n"
        "y = random.integers(10, size=2000)\n"
        "def report(stage, done, total):\n"
        "    if stage == 'search' and done:\n"
        "        print(done, total, flush=True)\n"
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


def test_progress():
    calls = []
    DGCClassifier().fit(GRAPH, LABELS, TRAIN, VAL, progress=lambda *call: calls.append(call))
    search = [call for call in calls if call[0] == "search"]
    total = 4 * 41 + 9  # four scalings of 41 schemes, and nine more around the best
    assert search[0] == ("search", 0, total)
    assert search[-1] == ("search", total, total)
    assert [call[1] for call in search] == sorted({call[1] for call in search})
    assert len(search) > 5
    assert calls[len(search) :] == [("fit", 0, 1), ("fit", 1, 1)]


def test_search_returns_a_setting_and_all_results():
    engine = {"tol": 1e-6, "dtype": "float32", "n_threads": 1, "memory_budget": None}
    regression = SoftmaxRegression("lbfgs", epochs=100, seed=0)
    task = NodeClassificationTask(
        GRAPH, TRAIN, LABELS[TRAIN], VAL, LABELS[VAL], 3, regression, engine, seed=0
    )
    space = SearchSpace((hg.SGC(1), hg.SGC(2)), (), (True,), ("rows",), (0.1,), (0.2,))
    setting, results = search(task, space)
    assert setting in [result.setting for result in results]
    assert len(results) == 2
