"""Each form of a design matrix, compared with a dense [X, 1]."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import dense_operator, random_problem, response_matrix
from strategies import graphs, seeds

import heatgraph as hg
from heatgraph.errors import InputError
from heatgraph.learning import _design_matrices
from heatgraph.learning._design_matrices import (
    DiffusedMatrix,
    OrthogonalMatrix,
    RowMatrix,
    append_ones,
    nystrom_approximation,
)

FLOAT64 = np.dtype(np.float64)


def dense_rows(X):
    return np.hstack([X, np.ones((len(X), 1))])


def assert_is_the_matrix(design, A, seed=0):
    """Scores and gradients are products with A (n, r)."""
    n, r = A.shape
    assert design.shape == (1, n, r)
    random = np.random.default_rng(seed)
    weights, residuals = random.normal(size=(1, 3, 2, r)), random.normal(size=(1, 3, 2, n))
    weights, residuals = weights.astype(design.dtype), residuals.astype(design.dtype)
    atol = 200 * np.finfo(design.dtype).eps * max(1, np.abs(A).max())
    np.testing.assert_allclose(design.scores(weights), weights @ A.T, atol=atol)
    np.testing.assert_allclose(design.gradient(residuals), residuals @ A, atol=atol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@given(st.integers(1, 20), st.integers(1, 9), seeds)
def test_rows(kind, dtype, n, p, seed):
    X = random_problem(max(n, 2), p, 2, seed, dtype=dtype)[0][0]
    X[np.abs(X) < 0.5] = 0
    given_X = sp.csr_array(X) if kind == "sparse" else X.copy()
    design = RowMatrix.from_features(given_X)
    assert design.dtype == dtype
    assert_is_the_matrix(design, dense_rows(X))
    if kind == "dense":
        np.testing.assert_array_equal(given_X, X)


def test_dense_rows_may_be_centred_in_place():
    X = random_problem(9, 4, 2, 0)[0][0]
    design = RowMatrix.from_features(X.copy(), overwrite=True)
    assert_is_the_matrix(design, dense_rows(X))
    given_X = X.copy()
    overwritten = RowMatrix.from_features(given_X, overwrite=True)
    assert np.shares_memory(overwritten.X, given_X)


def test_a_large_mean_costs_no_digits():
    """Scores of float32 rows around 1e4 whose differences matter."""
    random = np.random.default_rng(0)
    X = (1e4 + random.normal(size=(50, 3))).astype(np.float32)
    theta = random.normal(size=(3, 2)).astype(np.float32)
    bias = -(X.mean(axis=0, dtype=np.float64) @ theta)
    weights = np.vstack([theta, bias]).T[np.newaxis, np.newaxis].astype(np.float32)
    expected = X.astype(np.float64) @ theta + weights[0, 0, :, -1].astype(np.float64)
    scores = RowMatrix.from_features(X).scores(weights)[0, 0].T
    spread = scores - scores.mean(axis=0)
    np.testing.assert_allclose(spread, expected - expected.mean(axis=0), atol=1e-4)


@given(graphs(max_nodes=12), st.booleans(), st.floats(0, 5), st.integers(1, 6))
@pytest.mark.filterwarnings("ignore::heatgraph.errors.CollapseWarning")
def test_diffused(graph, self_loops, T, num_rows):
    rows = np.arange(graph.num_nodes)[::-1][:num_rows]
    X = sp.csr_array(graph.features)

    def diffuse(columns):
        given_graph = graph.with_features(columns)
        return hg.diffuse(given_graph, T, self_loops=self_loops, dtype=FLOAT64, tol=1e-12)

    S = dense_operator(graph.adjacency.toarray(), self_loops)
    diffused = response_matrix(S, hg.Heat(T)) @ X.toarray()
    assert_is_the_matrix(DiffusedMatrix(X, diffuse, rows), dense_rows(diffused[rows]))


@pytest.mark.parametrize("num_sets", [1, 2])
def test_orthogonal_rows_span_the_whole_space(num_sets):
    X, _ = random_problem(50, 6, 3, seed=2, sets=num_sets)
    design = OrthogonalMatrix.from_rows(X)
    assert design.shape == (num_sets, 50, 7)
    for Z, V, squares, rows in zip(design.Z, design.basis, design.squared_norms, X, strict=True):
        np.testing.assert_allclose(V @ V.T, np.eye(7), atol=1e-12)
        np.testing.assert_allclose(Z, dense_rows(rows) @ V, atol=1e-12)
        np.testing.assert_allclose(Z.T @ Z, np.diag(squares), atol=1e-10 * squares.max())


@pytest.mark.parametrize("n", [4, 30])
def test_orthogonal_gram_is_an_empirical_kernel_map(n):
    X, _ = random_problem(n, 8, 3, seed=2, sets=2)
    rows = append_ones(X)
    gram = rows @ rows.swapaxes(1, 2)
    design = OrthogonalMatrix.from_gram(gram, FLOAT64)
    for Z, V, squares, K in zip(design.Z, design.basis, design.squared_norms, gram, strict=True):
        np.testing.assert_allclose(Z @ Z.T, K, atol=1e-10)
        np.testing.assert_allclose(Z, K @ V, atol=1e-6)
        np.testing.assert_allclose(Z.T @ Z, np.diag(squares), atol=1e-10 * squares.max())
    others = random_problem(5, 8, 3, seed=3, sets=2)[0]
    weights = np.random.default_rng(0).normal(size=(2, 3, 2, n))
    # Weights in the basis score other nodes by their inner products with these.
    scores = np.einsum("gmn,gwcn->gwmc", append_ones(others) @ rows.swapaxes(1, 2),
                       design.to_basis(weights))  # fmt: skip
    primal = np.einsum("gwcn,gnp->gwcp", design.to_basis(weights), rows)
    np.testing.assert_allclose(
        scores, np.einsum("gmp,gwcp->gwmc", append_ones(others), primal), atol=1e-8
    )


def test_eigenvalues_up_to_the_noise_are_zeros():
    gram = np.diag([4.0, 1.0, 1e-5])[np.newaxis]
    design = OrthogonalMatrix.from_gram(gram, FLOAT64, noise=1e-4)
    assert design.squared_norms.tolist() == [[0.0, 1.0, 4.0]]
    assert (design.Z[:, :, 0] == 0).all()


def test_stacked_matrices():
    X, _ = random_problem(9, 4, 3, seed=0, sets=3)
    whole = OrthogonalMatrix.from_rows(X)
    stacked = OrthogonalMatrix.stack([OrthogonalMatrix.from_rows(X[g : g + 1]) for g in range(3)])
    for name in ("Z", "basis", "squared_norms"):
        np.testing.assert_allclose(getattr(stacked, name), getattr(whole, name))


def explicit(preconditioner, r):
    """The matrix P^-1 of the first setting."""
    units = np.eye(r)[np.newaxis, np.newaxis]
    return preconditioner.apply(units)[0, 0]


@pytest.mark.parametrize(("n", "p"), [(30, 5), (200, 150), (30, 120)])
def test_a_preconditioner_of_full_rank_is_exact(n, p, monkeypatch):
    monkeypatch.setattr(_design_matrices, "SKETCH_RANK", 300)
    X = random_problem(n, p, 2, 0)[0][0]
    A, decay = dense_rows(X), 0.3
    exact = np.linalg.inv(A.T @ A / (2 * n) + decay * np.eye(p + 1))
    for features in (X, sp.csr_array(X)):
        found = RowMatrix.from_features(features).preconditioner(np.array([[decay, 1.0]]))
        np.testing.assert_allclose(explicit(found.select(np.array([True, False])), p + 1), exact,
                                   atol=1e-6)  # fmt: skip
        assert found.trace[0, 0] == pytest.approx(np.trace(A.T @ A @ exact), rel=1e-5)


def test_a_low_rank_preconditioner_finds_the_large_eigenvalues():
    random = np.random.default_rng(0)
    scale = np.r_[np.full(12, 30.0), np.full(188, 0.1)]
    X = random.normal(size=(500, 200)) * scale
    P_inverse = explicit(RowMatrix.from_features(X).preconditioner(np.array([[1e-3]])), 201)
    A = dense_rows(X)
    H = A.T @ A / 1000 + 1e-3 * np.eye(201)
    before, after = (np.linalg.cond(M) for M in (H, np.linalg.cholesky(P_inverse).T @ H @
                                                 np.linalg.cholesky(P_inverse)))  # fmt: skip
    assert before > 1e4
    assert after < 30


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 1024, 1025, 5000, 40_000])
def test_products_have_the_same_bits_on_any_number_of_threads(n, dtype):
    random = np.random.default_rng(n)
    X, weights = random.normal(size=(n, 7)).astype(dtype), random.normal(size=(1, 2, 3, 8))
    one, three = (RowMatrix.from_features(X, n_threads=k) for k in (1, 3))
    scores = one.scores(weights.astype(dtype))
    np.testing.assert_array_equal(scores, three.scores(weights.astype(dtype)))
    expected = (weights.reshape(6, 8) @ dense_rows(X).T).reshape(1, 2, 3, n)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(scores, expected, atol=tolerance)
    gradient = one.gradient(scores)
    np.testing.assert_array_equal(gradient, three.gradient(scores))
    expected = (scores.reshape(6, n).astype(np.float64) @ dense_rows(X)).reshape(1, 2, 3, 8)
    np.testing.assert_allclose(gradient, expected, atol=tolerance * n)


@given(st.integers(1, 12), st.integers(1, 12), seeds)
def test_nystrom_of_full_rank_is_the_eigendecomposition(size, rank, seed):
    rank = min(size, rank)
    root = np.random.default_rng(seed).normal(size=(size, rank))
    M = root @ root.T
    eigenvalues, U = nystrom_approximation(lambda columns: M @ columns, size, rank, FLOAT64)
    np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-5)
    np.testing.assert_allclose((U * eigenvalues) @ U.T, M, atol=1e-6 * np.abs(M).max())
    assert (np.diff(eigenvalues) <= 1e-9 * eigenvalues[0]).all()


@pytest.mark.parametrize(
    "make", [OrthogonalMatrix.from_rows, lambda X: RowMatrix.from_features(X[0])]
)
def test_features_whose_squares_overflow_are_refused(make):
    X, _ = random_problem(30, 4, 3, seed=3)
    with pytest.raises(InputError, match="their squares overflow"), np.errstate(all="ignore"):
        make(X * 1e200).preconditioner(np.ones((1, 1)))


def test_zero_features():
    for design in (
        OrthogonalMatrix.from_rows(np.zeros((1, 9, 3))),
        RowMatrix.from_features(np.zeros((9, 3))),
        RowMatrix.from_features(sp.csr_array((9, 3))),
    ):
        inverse = design.preconditioner(np.ones((1, 1))).apply(np.ones((1, 1, 2, 4)))
        assert np.isfinite(inverse).all()
