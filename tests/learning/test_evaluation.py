"""Accuracies on held-out nodes, compared with single fits."""

import numpy as np
import pytest
from strategies import planted

import heatgraph as hg
from heatgraph.learning import _evaluation
from heatgraph.learning._evaluation import Evaluator, HeadSettings
from heatgraph.learning._folds import Folds, SampleSize
from heatgraph.learning._labelled_features import labelled_features
from heatgraph.learning._search_space import Combination
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.learning.calibration import log_loss

ENGINE = {"tol": 1e-10, "dtype": "float64", "n_threads": 1, "memory_budget": None}
GRAPH, LABELS = planted(kind="dense", noise=3.0)
SCHEMES = [hg.Heat(T) for T in (0.0, 0.5, 2.0, 6.0)]
SIZE = SampleSize(1000, 0.01)
FOLDS = {
    "val": Folds.hold_out_validation(
        np.arange(20), LABELS[:20], np.arange(20, 50), LABELS[20:50], SIZE, seed=0
    ),
    "cv": Folds.hold_out_training(np.arange(30), LABELS[:30], SIZE, seed=0),
}
DECAYS = np.array([[1e-3, 1e-1]] * 3 + [[1e-2, 1.0]])


def make_evaluator(folds, solver="lbfgs", n_threads=1):
    features = labelled_features(GRAPH, SCHEMES, folds, True, ENGINE, as_rows=solver == "adam")
    combination = Combination(True, "none")
    regression = SoftmaxRegression(solver, epochs=20, seed=3)
    return Evaluator(combination, SCHEMES, features, folds, 3, regression, n_threads)


@pytest.mark.parametrize("kind", FOLDS)
@pytest.mark.parametrize("head", ["softmax", "adam", "ridge"])
def test_figures_are_those_of_single_fits(kind, head, monkeypatch):
    monkeypatch.setattr(_evaluation, "SEARCH_TOLERANCE", 1e-8)
    folds = FOLDS[kind]
    solver = "adam" if head == "adam" else "lbfgs"
    evaluator = make_evaluator(folds, solver)
    settings = HeadSettings(DECAYS, np.array([0.1, 0.2]))
    figures = evaluator.evaluate(head, settings, [3, 1], lambda *_: None)
    accuracies, losses = figures.accuracies, figures.losses
    np.testing.assert_array_equal(figures.scores, accuracies)
    assert np.isnan(accuracies[[0, 2]]).all()
    for place in (1, 3):
        X = hg.diffuse(GRAPH, scheme=SCHEMES[place], dtype=np.float64, tol=1e-10)[folds.nodes]
        for column in range(2):
            scores = {
                fold: single_scores(head, X, folds, fold, DECAYS[place, column], column)
                for fold in range(len(folds.folds))
            }
            correct = loss = 0.0
            for fold, (_, held_out) in enumerate(folds.folds):
                codes = folds.codes[held_out]
                correct += (scores[fold].argmax(axis=1) == codes).sum()
                loss += log_loss(scores[fold], codes) * len(held_out)
            assert accuracies[place, column] == pytest.approx(correct / folds.num_held_out)
            assert losses[place, column] == pytest.approx(loss / folds.num_held_out, abs=1e-4)


def single_scores(head, X, folds, fold, decay, column):
    """Scores of a fold's held-out nodes, by a fit of its own."""
    train, held_out = folds.folds[fold]
    if head == "ridge":
        A = np.hstack([X[train], np.ones((len(train), 1))])
        Y = np.eye(3)[folds.codes[train]] - 1 / 3
        penalty = len(train) * decay * np.eye(A.shape[1])
        Theta = np.linalg.solve(A.T @ A / 2 + penalty, A.T @ Y)
        return X[held_out] @ Theta[:-1] + Theta[-1]
    regression = SoftmaxRegression("adam" if head == "adam" else "lbfgs", epochs=20, seed=3)
    fit = regression.fit(X[train], folds.codes[train], 3, decay, [0.1, 0.2][column])
    return X[held_out] @ fit.Theta + fit.bias


@pytest.mark.parametrize("kind", FOLDS)
def test_threads_and_batches_do_not_change_a_bit(kind, monkeypatch):
    monkeypatch.setattr(_evaluation, "WORTH_THREADS", 1)
    settings = HeadSettings(np.tile(np.logspace(-4, 1, 20), (4, 1)), np.ones(20))
    figures = [
        make_evaluator(FOLDS[kind], n_threads=n).evaluate(
            "softmax", settings, range(4), lambda *_: None
        )
        for n in (1, 3)
    ]
    for ours, theirs in zip(*map(vars, figures), strict=True):
        np.testing.assert_array_equal(vars(figures[0])[ours], vars(figures[1])[theirs])


def test_scores_of_many_classes_are_batched_by_size(monkeypatch):
    """Fewer settings at a time give the same figures."""
    settings = HeadSettings(np.tile(np.logspace(-4, 1, 20), (4, 1)), np.ones(20))

    def run():
        sizes = []
        evaluator = make_evaluator(FOLDS["val"])
        figures = evaluator.evaluate(
            "softmax", settings, range(4), lambda _, __, found: sizes.append(found.shape)
        )
        return np.array([figures.accuracies, figures.losses]), sizes

    figures, sizes = run()
    assert max(sizes) == (2, 8)
    of_setting = 4 * 20 * 3  # bytes of 20 training nodes and three classes
    monkeypatch.setattr(_evaluation, "SCHEME_BYTES", 3 * of_setting)
    monkeypatch.setattr(_evaluation, "BATCH_BYTES", 3 * of_setting)
    smaller, sizes = run()
    assert max(sizes) == (1, 3)
    np.testing.assert_allclose(smaller, figures, rtol=1e-6)


def test_every_batch_is_reported():
    reported = []
    settings = HeadSettings(np.tile(np.logspace(-4, 1, 20), (4, 1)), np.ones(20))
    evaluator = make_evaluator(FOLDS["val"])
    figures = evaluator.evaluate(
        "ridge", settings, [0, 2, 3], lambda *batch: reported.append(batch)
    )
    assert sum(scores.size for _, scores, _ in reported) == 60
    assert {int(place) for places, _, _ in reported for place in places} == {0, 2, 3}
    best = max(accuracies.max() for _, _, accuracies in reported)
    assert best == np.nanmax(figures.accuracies)


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_held_out_scores(solver):
    folds = FOLDS["cv"]
    evaluator = make_evaluator(folds, solver)
    head = "softmax" if solver == "lbfgs" else "adam"
    scores, codes = evaluator.held_out_scores(head, 0.1, 0.2)
    settings = HeadSettings(np.full((4, 1), 0.1), np.array([0.2]))
    figures = evaluator.evaluate(head, settings, [0], lambda *_: None)
    assert (scores.argmax(axis=1) == codes).mean() == pytest.approx(figures.accuracies[0, 0])
    held_out = np.concatenate([held_out for _, held_out in folds.folds])
    np.testing.assert_array_equal(codes, folds.codes[held_out])


def test_a_class_that_a_fold_does_not_know():
    """One node of each class: no fold has the class that it holds out."""
    folds = Folds.hold_out_training(np.arange(3), LABELS[:3], SIZE, seed=0)
    _, codes = make_evaluator(folds).held_out_scores("softmax", 0.1, 0.2)
    assert codes.tolist() == [-1, -1, -1]
