"""Reference implementations: slow, dense, and written from the paper's formulas.

`response_matrix` computes r(S) by matrix functions and shares no formula with the package;
`by_eigenvalues` applies the package's response to the eigenvalues of S.
"""

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special

from heatgraph import Euler, Heat, PersonalizedPageRank, RungeKutta4

# One step as a polynomial in z, published with the method: the coefficients of 1, z, z^2, ...
POLYNOMIALS = {
    Euler: (1, 1),
    RungeKutta4: (1, 1, 1 / 2, 1 / 6, 1 / 24),
}


def dense_operator(A, self_loops=True):
    """S, entry by entry."""
    A = np.asarray(A, dtype=np.float64)
    n = len(A)
    if self_loops:
        A = A + np.eye(n)
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if A[i, j]:
                S[i, j] = A[i, j] / np.sqrt(A[i].sum() * A[j].sum())
        if not A[i].any():
            S[i, i] = 1.0
    return S


def response_matrix(S, scheme):
    """r(S), by the matrix exponential, an inverse, or powers of the matrix of one step.

    A stepped scheme without an entry in `POLYNOMIALS` takes its literal step from the identity.
    """
    identity = np.eye(len(S))
    L = identity - S
    match scheme:
        case Heat(T):
            return scipy.linalg.expm(-T * L)
        case PersonalizedPageRank(alpha):
            return alpha * np.linalg.inv(identity - (1 - alpha) * S)
    if type(scheme) in POLYNOMIALS:
        Z = -scheme.T / max(scheme.K, 1) * L
        powers = (np.linalg.matrix_power(Z, k) for k in range(len(POLYNOMIALS[type(scheme)])))
        step = sum(c * power for c, power in zip(POLYNOMIALS[type(scheme)], powers, strict=True))
    else:
        step = scheme.step(lambda X: S @ X, identity)
    return np.linalg.matrix_power(step, scheme.K)


def by_eigenvalues(S, scheme):
    """r(S) = U r(diag(s)) U^T, with the response of the package."""
    s, U = np.linalg.eigh(S)
    return (U * scheme.response(np.clip(s, -1, 1))) @ U.T


def rounding(dtype, products, T=0.0):
    """Bound on the rounding error of a diffusion, relative to the norm of the features.

    A few units for each product and its sums, and a few for each unit of time: S itself is rounded.
    """
    return 8 * np.finfo(dtype).eps * (products + 4 + T)


def softmax_objective(weights, X, y, num_classes, weight_decay):
    """J and its gradient, from the formula, for weights (p + 1, C) whose last row is the bias."""
    rows = np.hstack([X, np.ones((len(X), 1))]).astype(np.float64)
    weights = weights.reshape(rows.shape[1], num_classes)
    scores = rows @ weights
    log_p = scores - scipy.special.logsumexp(scores, axis=1, keepdims=True)
    value = -log_p[np.arange(len(y)), y].mean() + weight_decay / 2 * (weights**2).sum()
    residual = np.exp(log_p) - np.eye(num_classes)[y]
    return value, (rows.T @ residual / len(y) + weight_decay * weights).ravel()


def softmax_optimum(X, y, num_classes, weight_decay):
    """The minimum of J by SciPy's trust-region Newton method, with exact derivatives."""
    start = np.zeros((X.shape[1] + 1) * num_classes)

    def hessian(weights, *args):
        rows = np.hstack([X, np.ones((len(X), 1))]).astype(np.float64)
        scores = rows @ weights.reshape(rows.shape[1], num_classes)
        P = scipy.special.softmax(scores, axis=1)
        blocks = np.einsum("nc,ck->nck", P, np.eye(num_classes)) - np.einsum("nc,nk->nck", P, P)
        H = np.einsum("ni,nck,nj->icjk", rows, blocks, rows) / len(y)
        return H.reshape(len(start), len(start)) + weight_decay * np.eye(len(start))

    found = scipy.optimize.minimize(
        softmax_objective,
        start,
        args=(X, y, num_classes, weight_decay),
        jac=True,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-12},
    )
    return found.x.reshape(-1, num_classes), found.fun


def torch_adam(X, y, weights, learning_rate, weight_decay, epochs):
    """PyTorch's Adam with coupled weight decay, line by line from its documentation.

    `weights` (C, p + 1), the bias last, is the initial value.
    """
    rows = np.hstack([X, np.ones((len(X), 1))])
    theta = weights.astype(np.float64)
    m, v = np.zeros_like(theta), np.zeros_like(theta)
    targets = np.eye(len(theta))[y]
    for t in range(1, epochs + 1):
        P = scipy.special.softmax(rows @ theta.T, axis=1)
        g = (P - targets).T @ rows / len(y)
        g = g + weight_decay * theta
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        m_hat = m / (1 - 0.9**t)
        v_hat = v / (1 - 0.999**t)
        theta = theta - learning_rate * m_hat / (np.sqrt(v_hat) + 1e-8)
    return theta


def random_problem(n, p, C, seed, scale=1.0, dtype=np.float64, sets=1):
    """Features (sets, n, p) and labels that are noise: the optimum is finite with any penalty."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(sets, n, p)) * scale
    y = random.integers(C, size=n)
    y[:C] = np.arange(C)
    return X.astype(dtype), y
