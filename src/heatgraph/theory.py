r"""The paper's three theorems as functions: bounds, and the quantities that they bound.

L = I - S has eigenvalues 0 = lambda_1 <= ... <= lambda_n <= 2. Norms of features are Frobenius
norms, and norms of operators are spectral norms.

Theorem 1, smoothing: e^(-tL) tends to a projection on the equilibria, one for each connected
component, as fast as e^(-t lambda) for the smallest lambda > 0.

Theorem 2, numerical error: K Euler steps to time T err by at most
T ||L|| ||X|| (e^(T ||L||) - 1) / (2K); Runge-Kutta's error falls as K^-4.

Theorem 3, risk: if features were corrupted by running the heat equation backwards for a time T*,
then diffusing them for T = T* with many steps undoes the damage, and the excess risk is bounded by
the numerical error and by the distance from T to T*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.diffusion import TIGHTEST_TOLERANCE, diffuse, diffuse_many
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.schemes import Heat, Scheme, SteppedScheme

Array = npt.NDArray[np.float64]

# The tightest tolerance, so that measured errors are those of the scheme.
_EXACT: dict[str, Any] = {"tol": TIGHTEST_TOLERANCE, "dtype": np.float64}
_DENSE_NODES = 256


@dataclass(frozen=True)
class Spectrum:
    """The ends of the spectrum of L that matter for diffusion.

    Attributes
    ----------
    gap : float
        The smallest eigenvalue > 0: the rate of the slowest decay. Infinite without edges.
    largest : float
        The largest eigenvalue, ||L||.
    """

    gap: float
    largest: float


def spectrum(graph: Graph, self_loops: bool = True, tol: float = 0.0) -> Spectrum:
    """Compute the smallest positive and the largest eigenvalue of L, by a sparse eigensolver.

    The null space of L, one vector for each connected component, is deflated, so that the gap is
    found however many components there are. `tol` is the solver's relative tolerance for an
    eigenvalue of S; 0 is machine precision.

    Examples
    --------
    >>> import numpy as np
    >>> ends = spectrum(Graph(np.array([[0, 1], [1, 0]])), self_loops=False)
    >>> round(ends.gap, 6), round(ends.largest, 6)
    (2.0, 2.0)
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    S = graph.operator(self_loops, np.float64).to_scipy()
    null = _null_space(graph, self_loops)
    n, components = graph.num_nodes, null.shape[1]
    if components == n:
        return Spectrum(gap=math.inf, largest=0.0)
    if n <= _DENSE_NODES:
        eigenvalues = np.linalg.eigvalsh(np.eye(n) - S.toarray())
        return Spectrum(gap=float(eigenvalues[components]), largest=float(eigenvalues[-1]))
    # S - 2 U U^T has the null space of L at -1, below everything else.
    deflated = LinearOperator(
        S.shape, matvec=lambda v: S @ v - 2 * (null @ (null.T @ v)), dtype=np.float64
    )
    settings = {"k": 1, "return_eigenvectors": False, "ncv": 64, "tol": tol}
    start = np.random.default_rng(0).standard_normal(n)
    second = eigsh(deflated, which="LA", v0=start, **settings)[0]
    smallest = eigsh(S, which="SA", v0=start, **settings)[0]
    return Spectrum(gap=1 - float(second), largest=1 - float(smallest))


def equilibrium(graph: Graph, self_loops: bool = True) -> Array:
    """Compute the limit of e^(-tL) X as t grows: X projected on the null space of L."""
    null = _null_space(graph, self_loops)
    return np.asarray(null @ (null.T @ _features(graph)))


def dirichlet_energy(graph: Graph, self_loops: bool = True) -> float:
    """Compute tr(X^T L X): how much features differ across edges. It is 0 at equilibrium."""
    X = _features(graph)
    return float(np.sum(X * (X - graph.operator(self_loops, np.float64) @ X)))


def smoothing(graph: Graph, schemes: Sequence[Scheme], self_loops: bool = True) -> Array:
    """Compute the Dirichlet energy after each scheme, for graphs small enough to keep all results.

    Under `Heat` it falls at least as fast as e^(-2 T gap); under `SGC` without self-loops it need
    not fall at all on a bipartite graph.
    """
    states = diffuse_many(
        graph._with_features(_features(graph)), schemes, self_loops=self_loops, **_EXACT
    )
    return np.array([dirichlet_energy(graph._with_features(X), self_loops) for X in states])


def euler_error_bound(T: float, K: int, norm_L: float, norm_X: float) -> float:
    """Bound the error of K Euler steps to time T (Theorem 2); infinite where it overflows."""
    if T == 0:
        return 0.0
    with np.errstate(over="ignore"):
        return float(T * norm_L * norm_X / (2 * K) * np.expm1(np.float64(T * norm_L)))


def numerical_error(graph: Graph, scheme: SteppedScheme, self_loops: bool = True) -> float:
    """Measure ||e^(-TL) X - r(S) X||, the true error of a scheme."""
    if not isinstance(scheme, SteppedScheme):
        raise InputError(f"scheme must have a time T and steps K, as Euler has. Got {scheme}.")
    states = diffuse_many(graph, [Heat(scheme.T), scheme], self_loops=self_loops, **_EXACT)
    return float(np.linalg.norm(states[0] - states[1]))


def convergence_order(steps: npt.ArrayLike, errors: npt.ArrayLike) -> float:
    """Fit p in error ~ K^-p.

    Examples
    --------
    >>> round(convergence_order([10, 20, 40], [1.0, 0.25, 0.0625]), 6)
    2.0
    """
    slope, _ = np.polyfit(np.log(np.asarray(steps)), np.log(np.asarray(errors)), 1)
    return -float(slope)


@dataclass(frozen=True)
class CorruptedRegression:
    """The regression problem of Theorem 3.

    True features X_c obey Y = X_c W + noise; the observed features are X = e^(T* L) X_c, the
    result of the heat equation run backwards.

    Attributes
    ----------
    graph : Graph
        With the observed features X (n, d).
    clean : array of shape (n, d)
        The true features X_c = e^(-T* L) X.
    W : array of shape (d,)
    noise : float
        Standard deviation of the noise in Y.
    T_star : float
        Time for which features were corrupted.
    self_loops : bool
    """

    graph: Graph
    clean: Array
    W: Array
    noise: float
    T_star: float
    self_loops: bool

    @classmethod
    def draw(
        cls,
        graph: Graph,
        T_star: float,
        *,
        num_features: int = 8,
        noise: float = 0.1,
        self_loops: bool = True,
        seed: int = 0,
    ) -> CorruptedRegression:
        """Draw observed features and W from the normal distribution, on the edges of `graph`."""
        random = np.random.default_rng(seed)
        observed = graph._with_features(random.standard_normal((graph.num_nodes, num_features)))
        clean = diffuse(observed, T_star, self_loops=self_loops, **_EXACT)
        W = random.standard_normal(num_features) / math.sqrt(num_features)
        return cls(observed, clean, W, noise, T_star, self_loops)

    @property
    def least_risk(self) -> float:
        """R(W) = E||Y - X_c W||^2: the risk with the true features, which is the noise."""
        return self.noise**2 * self.graph.num_nodes

    def risk(self, schemes: Sequence[Scheme]) -> Array:
        """Compute E||Y - r(S) X W||^2 for each scheme, the expectation being over the noise."""
        observed = self.graph._with_features((self.graph.features @ self.W)[:, np.newaxis])
        states = diffuse_many(observed, schemes, self_loops=self.self_loops, **_EXACT)
        excess = np.sum((states[:, :, 0] - self.clean @ self.W) ** 2, axis=1)
        return np.asarray(self.least_risk + excess)

    def risk_bound(self, scheme: SteppedScheme) -> float:
        """Bound the risk of a scheme (Theorem 3)."""
        largest = spectrum(self.graph, self.self_loops).largest
        error = numerical_error(self.graph, scheme, self.self_loops)
        with np.errstate(over="ignore"):
            mistimed = (
                np.sum(self.clean**2)
                * np.exp(2 * self.T_star * largest)
                * _heat_distance(self.T_star, scheme.T, largest) ** 2
            )
        return float(self.least_risk + 2 * np.sum(self.W**2) * (error**2 + mistimed))


def _heat_distance(T1: float, T2: float, largest: float) -> float:
    """Bound ||e^(-T1 L) - e^(-T2 L)|| by the largest difference on [0, largest]."""
    if T1 == T2:
        return 0.0
    x = largest
    if min(T1, T2) > 0:
        x = min(x, (math.log(T2) - math.log(T1)) / (T2 - T1))
    return abs(math.exp(-T1 * x) - math.exp(-T2 * x))


def _null_space(graph: Graph, self_loops: bool) -> Any:
    """Orthonormal basis of the null space of L, (n, components): v of each component."""
    stationary, component = graph.stationary(self_loops), graph.components
    norms = np.sqrt(np.bincount(component, stationary**2))
    values = stationary / norms[component]
    return sp.csr_array((values, (np.arange(graph.num_nodes), component)))


def _features(graph: Graph) -> Any:
    if graph.features is None:
        raise InputError("the graph has no features. Pass one made by graph.with_features(X).")
    X = graph.features
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
