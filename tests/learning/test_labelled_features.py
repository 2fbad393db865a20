"""Both forms of diffused features, compared with dense diffused features."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import dense_operator, response_matrix
from strategies import graphs, planted, stable_schemes, times

import heatgraph as hg
from heatgraph.learning import _labelled_features
from heatgraph.learning._folds import Folds, SampleSize
from heatgraph.learning._labelled_features import (
    GramFeatures,
    RowFeatures,
    bytes_per_scheme,
    is_gram_cheaper,
    kernel_gram,
    labelled_features,
)
from heatgraph.learning.scaling import Scaling

ENGINE = {"tol": 1e-12, "dtype": "float64", "n_threads": 1, "memory_budget": None}
SCHEMES = [hg.Heat(0.0), hg.Heat(1.5), hg.Euler(3.0, 10)]
FLOAT64 = np.dtype(np.float64)


def validation_folds(num_train, num_held_out, labels):
    nodes = np.arange(len(labels))[::-1]
    train, val = nodes[:num_train], nodes[num_train : num_train + num_held_out]
    size = SampleSize(1000, 0.01)
    return Folds.hold_out_validation(train, labels[train], val, labels[val], size, seed=0)


def training_folds(num_train, labels):
    train = np.arange(num_train)
    return Folds.hold_out_training(train, labels[train], SampleSize(1000, 0.01), seed=0)


def dense_features(graph, folds, self_loops, X):
    """Diffused features (M, R, p) by dense matrices."""
    S = dense_operator(graph.adjacency.toarray(), self_loops)
    return np.stack([response_matrix(S, scheme)[folds.nodes] @ X for scheme in SCHEMES])


def assert_scores_agree(features, folds, dense_of_fold):
    """Weights fitted by anyone score held-out nodes as they score dense features."""
    for fold, (train, held_out) in enumerate(folds.folds):
        design = features.design(folds, fold)
        G, _, r = design.shape
        weights = np.random.default_rng(0).normal(size=(G, 2, 3, r))
        scores = features.scores(folds, fold, design, weights)
        Z = dense_of_fold(fold)
        ones = np.ones((*Z.shape[:2], 1))
        rows = np.concatenate([Z, ones], axis=2)
        # The scores of training nodes determine weights of least norm, and those score others.
        training_scores = design.scores(weights)
        for g in range(G):
            A, B = rows[g, train], rows[g, held_out]
            for w in range(2):
                Theta = np.linalg.pinv(A, rcond=1e-9) @ training_scores[g, w].T
                scale = np.abs(scores[g, w]).max()
                np.testing.assert_allclose(scores[g, w], B @ Theta, atol=1e-4 * scale)


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("num_train", [8, 30])
@pytest.mark.parametrize("kind", ["words", "dense"])
def test_features_of_validation_folds(kind, num_train, self_loops):
    graph, labels = planted(kind=kind)
    folds = validation_folds(num_train, 25, labels)
    features = labelled_features(graph, SCHEMES, folds, self_loops, ENGINE)
    X = graph.features.toarray() if kind == "words" else graph.features
    assert isinstance(features, RowFeatures if num_train == 30 else GramFeatures)
    dense = dense_features(graph, folds, self_loops, X)
    squares = np.square(dense[:, :num_train]).sum(axis=(1, 2)) / num_train
    np.testing.assert_allclose(features.mean_squares, squares)
    assert_scores_agree(features, folds, lambda fold: dense)
    part = features.select(np.array([2, 0]))
    assert_scores_agree(part, folds, lambda fold: dense[[2, 0]])


@pytest.mark.parametrize("num_train", [10, 40])
def test_each_fold_is_centred_by_its_own_training_part(num_train):
    graph, labels = planted(kind="dense", noise=3.0)
    folds = training_folds(num_train, labels)
    scaling = Scaling.learn("standard", graph.features, folds.nodes)
    X = scaling.apply(graph.features, FLOAT64)
    scaled = graph.with_features(X)
    features = labelled_features(scaled, SCHEMES, folds, True, ENGINE, is_centred=True)
    assert isinstance(features, RowFeatures if num_train == 40 else GramFeatures)

    def dense_of_fold(fold):
        train, _ = folds.folds[fold]
        return dense_features(graph, folds, True, X - X[folds.nodes[train]].mean(axis=0))

    assert_scores_agree(features, folds, dense_of_fold)
    part = features.select(np.array([1]))
    assert_scores_agree(part, folds, lambda fold: dense_of_fold(fold)[[1]])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_gram_matrix_of_sparse_features_without_rows(monkeypatch, n_threads):
    monkeypatch.setattr(_labelled_features, "is_gram_cheaper", lambda *_, **__: True)
    graph, labels = planted(kind="words")
    folds = validation_folds(9, 25, labels)
    shares = []
    engine = ENGINE | {"n_threads": n_threads}
    features = labelled_features(graph, SCHEMES, folds, True, engine, report=shares.append)
    dense = dense_features(graph, folds, True, graph.features.toarray())
    expected = np.einsum("mrp,mlp->mrl", dense, dense[:, :9])
    np.testing.assert_allclose(features.K, expected, atol=1e-9)
    assert_scores_agree(features, folds, lambda fold: dense)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_rows_on_request():
    graph, labels = planted(kind="words")
    folds = validation_folds(8, 25, labels)
    features = labelled_features(graph, SCHEMES, folds, True, ENGINE, as_rows=True)
    dense = dense_features(graph, folds, True, graph.features.toarray())
    np.testing.assert_allclose(features.rows(0, np.array([3, 1])), dense[:, [3, 1]], atol=1e-9)


def test_the_gram_matrix_is_cheaper_for_few_labels_and_many_sparse_features():
    random = np.random.default_rng(0)
    src, dst = random.integers(3000, size=(2, 9000))
    words = sp.random_array((3000, 2000), density=0.01, format="csr", rng=random)
    graph = hg.Graph.from_edges(src, dst, features=words, symmetrize="max")
    labels = np.arange(3000) % 3
    few, many = validation_folds(60, 500, labels), validation_folds(1000, 500, labels)
    schemes = [hg.Heat(T) for T in (0.0, 1.0, 3.0)]
    assert is_gram_cheaper(graph, schemes, few, 1e-4)
    fewer_words = graph.with_features(words[:, :1100])
    assert not is_gram_cheaper(fewer_words, schemes, many, 1e-4, rows_have_use=True)
    dense = graph.with_features(random.normal(size=(3000, 2000)))
    assert not is_gram_cheaper(dense, schemes, few, 1e-4)
    narrow = graph.with_features(words[:, :50])
    assert not is_gram_cheaper(narrow, schemes, few, 1e-4)


@given(
    graphs(featureless=True),
    st.one_of(times.map(hg.Heat), stable_schemes(hg.Euler)),
    st.booleans(),
    st.integers(1, 6),
)
@pytest.mark.filterwarnings("ignore::heatgraph.errors.CollapseWarning")
def test_the_gram_matrix_without_features_is_the_squared_kernel(graph, scheme, self_loops, L):
    assume(graph.num_nodes > L)
    rows = np.arange(graph.num_nodes)[::-1]
    options = ENGINE | {"self_loops": self_loops}
    R = response_matrix(dense_operator(graph.adjacency.toarray(), self_loops), scheme)[rows]
    gram, error = kernel_gram(graph, [scheme], rows, L, options)
    np.testing.assert_allclose(gram[0], R @ R[:L].T, atol=1e-11)
    assert error < 1e-10


def test_features_of_a_graph_without_features():
    graph, labels = planted(kind=None)
    folds = validation_folds(9, 25, labels)
    features = labelled_features(graph, SCHEMES, folds, True, ENGINE)
    assert isinstance(features, GramFeatures)
    dense = dense_features(graph, folds, True, np.eye(90))
    np.testing.assert_allclose(
        features.K, np.einsum("mrp,mlp->mrl", dense, dense[:, :9]), atol=1e-9
    )
    rows = labelled_features(graph, SCHEMES, folds, True, ENGINE, as_rows=True)
    np.testing.assert_allclose(rows.Z, dense, atol=1e-9)


@pytest.mark.parametrize("kind", ["words", "dense", None])
@pytest.mark.parametrize("num_train", [8, 30])
def test_memory_per_scheme(kind, num_train):
    """At least what the features themselves take."""
    graph, labels = planted(kind=kind)
    folds = validation_folds(num_train, 25, labels)
    features = labelled_features(graph, SCHEMES, folds, True, ENGINE)
    array = features.Z if isinstance(features, RowFeatures) else features.K
    design = features.design(folds, 0)
    taken = array.nbytes + design.Z.nbytes + design.basis.nbytes
    assert bytes_per_scheme(graph, folds, FLOAT64) >= 0.8 * taken / len(SCHEMES)
