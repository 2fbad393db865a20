"""The slow, obvious versions: dense matrices and formulas taken from the paper, nothing shared
with the package. `response_matrix` goes by matrix functions, `by_eigenvalues` by the spectrum."""

import numpy as np
import scipy.linalg

from heatgraph import Euler, Heat, PersonalizedPageRank, RungeKutta4


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
    identity = np.eye(len(S))
    L = identity - S
    match scheme:
        case Heat(T):
            return scipy.linalg.expm(-T * L)
        case Euler(T, K):
            return np.linalg.matrix_power(identity - T / max(K, 1) * L, K)
        case RungeKutta4(T, K):
            Z = -T / max(K, 1) * L
            step = identity + Z + Z @ Z / 2 + Z @ Z @ Z / 6 + Z @ Z @ Z @ Z / 24
            return np.linalg.matrix_power(step, K)
        case PersonalizedPageRank(alpha):
            return alpha * np.linalg.inv(identity - (1 - alpha) * S)


def by_eigenvalues(S, scheme):
    s, U = np.linalg.eigh(S)
    return (U * scheme.response(np.clip(s, -1, 1))) @ U.T


def rounding(dtype, products, T=0.0):
    """What rounding may add, relative to the features: a few units for each product and its sums,
    and a few for each unit of time, since S itself is rounded."""
    return 8 * np.finfo(dtype).eps * (products + 4 + T)
