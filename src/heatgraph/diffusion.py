r"""Apply a scheme to features: X_T = r(S) X.

Two ways. `stepwise` takes the literal steps of the paper; it is the readable reference. `chebyshev`
sums a short Chebyshev series of the response, T_{k+1} = 2 S T_k - T_{k-1}, whose error in operator
norm is certified by :mod:`heatgraph.series`: ||X_T - r(S) X|| <= error_bound ||X||, and rounding.
The vectors T_k(S) X do not depend on the scheme, so one set of them serves any number of schemes.

And two sides. r(S) is symmetric, so the rows of X_T at some nodes are (r(S) E)^T X, where E has one
unit column per wanted node: diffuse d feature columns, or one column per row, whichever is cheaper.

Shapes: X is (n, d), S is (n, n), M schemes give (M, n, d) or, at R rows, (M, R, d).
"""

from __future__ import annotations

import itertools
import numbers
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.crew import Crew, thread_count
from heatgraph.errors import CollapseWarning, InputError
from heatgraph.graph import Graph, Operator, node_indices
from heatgraph.schedule import (
    BLOCK_ROWS,
    Plan,
    make_plan,
    memory_bytes,
    result_shape,
    row_ranges,
)
from heatgraph.schemes import Scheme, SteppedScheme, scheme_from
from heatgraph.series import chebyshev_series

Array = npt.NDArray[Any]
Method = Literal["auto", "chebyshev", "steps"]
Progress = Callable[[int, int], object]

# A series cannot be told from its rounding below this.
TIGHTEST_TOLERANCE = 1e-14


def diffuse(
    graph: Graph,
    T: float | None = None,
    K: int | None = None,
    scheme: str | Scheme | None = None,
    *,
    self_loops: bool = True,
    rows: Any = None,
    method: Method = "auto",
    tol: float = 1e-6,
    dtype: npt.DTypeLike = np.float32,
    memory_budget: int | float | str | None = None,
    n_threads: int | None = None,
    out: Array | None = None,
    progress: Progress | None = None,
) -> Array:
    """Diffuse the features of a graph for a time T.

    Parameters
    ----------
    graph : Graph
        Features are taken as they are. Without features, each node is its own feature, and the
        result is the kernel r(S) itself.
    T : float
        Terminal time, >= 0.
    K : int, optional
        Number of steps. Without it, the heat kernel: the limit of infinitely many steps.
    scheme : {"heat", "euler", "rk4"} or Scheme, optional
        By default Euler if K is given, else heat. A scheme object comes without T and K.
    self_loops : bool
        Whether S is that of A + I, or of A.
    rows : indices or mask, optional
        Nodes at which the result is wanted; by default all.
    method : {"auto", "chebyshev", "steps"}
        Chebyshev never takes more products than the literal steps, so "auto" takes it.
    tol : float
        Bound on the error of "chebyshev" in operator norm, relative to the norm of the response.
        Rounding comes on top: some 1e-6 of the largest features in float32, 1e-15 in float64.
    dtype : float32 or float64
        Precision of the work and of the result.
    memory_budget : int or str, optional
        Bytes, or a text such as "4GB", for everything beside the graph and its features. By default
        the machine's memory. What cannot fit is refused before it is begun.
    n_threads : int, optional
        By default every core. The result is the same to the last bit.
    out : array, optional
        Where to write the result, of its shape and `dtype`; a memory map will do.
    progress : callable, optional
        Called now and then as ``progress(done, total)``.

    Returns
    -------
    array of shape (n, d) or (len(rows), d)

    See Also
    --------
    plan : products, error bound, memory of the same call, before it is made.
    diffuse_many : many schemes for about the cost of one.

    Examples
    --------
    >>> import numpy as np
    >>> from heatgraph import Graph, diffuse
    >>> graph = Graph.from_edges([0, 1], [1, 2], features=np.eye(3), symmetrize="max")
    >>> diffuse(graph, T=1.0, rows=[0]).round(3)
    array([[0.656, 0.241, 0.049]], dtype=float32)
    """
    task = _settle(
        graph, [scheme_from(T, K, scheme)], self_loops, rows, method, tol, dtype, memory_budget,
        n_threads, allocates=out is None,
    )  # fmt: skip
    if out is None:
        result: Array = task.run(task.allocate(), progress)[0]
        return result
    task.check_out(out, task.shape[1:])
    task.run(out[np.newaxis], progress)
    return out


def diffuse_many(
    graph: Graph,
    schemes: Sequence[Scheme],
    *,
    self_loops: bool = True,
    rows: Any = None,
    method: Method = "auto",
    tol: float = 1e-6,
    dtype: npt.DTypeLike = np.float32,
    memory_budget: int | float | str | None = None,
    n_threads: int | None = None,
    out: Array | None = None,
    progress: Progress | None = None,
) -> Array:
    """Diffuse the features of a graph by many schemes, out of one set of Chebyshev vectors.

    A grid of T takes the products of its largest T alone. Parameters are those of `diffuse`.

    Returns
    -------
    array of shape (len(schemes), n, d) or (len(schemes), len(rows), d)

    Examples
    --------
    >>> import numpy as np
    >>> from heatgraph import Graph, Heat, diffuse_many
    >>> graph = Graph(np.ones((3, 3)), features=np.eye(3))
    >>> diffuse_many(graph, [Heat(T) for T in (0.5, 1.0, 2.0)], rows=[0, 2]).shape
    (3, 2, 3)
    """
    task = _settle(
        graph, schemes, self_loops, rows, method, tol, dtype, memory_budget, n_threads,
        allocates=out is None,
    )  # fmt: skip
    if out is None:
        out = task.allocate()
    task.check_out(out, task.shape)
    return task.run(out, progress)


def plan(
    graph: Graph,
    T: float | None = None,
    K: int | None = None,
    scheme: str | Scheme | Sequence[Scheme] | None = None,
    *,
    self_loops: bool = True,
    rows: Any = None,
    method: Method = "auto",
    tol: float = 1e-6,
    dtype: npt.DTypeLike = np.float32,
    memory_budget: int | float | str | None = None,
    n_threads: int | None = None,
) -> Plan:
    """Tell what `diffuse` (or, with a list of schemes, `diffuse_many`) does for these arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from heatgraph import Graph, plan
    >>> graph = Graph(np.ones((3, 3)), features=np.eye(3))
    >>> plan(graph, T=5.27, K=250).products
    12
    """
    if scheme is None or isinstance(scheme, str | Scheme):
        scheme = [scheme_from(T, K, scheme)]
    return _settle(
        graph, scheme, self_loops, rows, method, tol, dtype, memory_budget, n_threads,
        allocates=True,
    ).plan  # fmt: skip


def chebyshev(sweep: _Sweep, X: Array, coefficients: Array, keep: Array | None) -> Array:
    """Sum c_mk T_k(S) X over k for each m, at the rows `keep` or all; `X` (n, w) is used up.

    All rows are accumulated as the vectors come. At a few rows it is cheaper to keep the vectors
    there and to sum them at the end.
    """
    from heatgraph.kernels import combine

    by_term = np.ascontiguousarray(coefficients.T)
    current, other = X, np.zeros_like(X)
    if keep is None:
        sums = np.asarray(np.multiply.outer(by_term[0], X))
    else:
        vectors = np.empty((len(by_term), len(keep), X.shape[1]), dtype=X.dtype)
        vectors[0] = X[keep]
    for k in range(1, len(by_term)):
        alpha, beta = (1, 0) if k == 1 else (2, -1)
        if keep is None:
            sweep.recur(alpha, beta, current, other, by_term[k], sums)
        else:
            sweep.recur(alpha, beta, current, other)
            vectors[k] = other[keep]
        current, other = other, current
    if keep is not None:
        sums = np.empty((len(coefficients), *vectors.shape[1:]), dtype=X.dtype)
        combine(coefficients, vectors, sums)
    return sums


def stepwise(
    sweep: _Sweep, X: Array, schemes: Sequence[SteppedScheme], keep: Array | None
) -> Array:
    """Take the literal steps of each scheme from `X` (n, w), and give the rows `keep` or all."""

    def product(Y: Array) -> Array:
        SY = np.zeros_like(Y)
        sweep.recur(1, 0, Y, SY)
        return SY

    results = []
    for scheme in schemes:
        Y = X
        for _ in range(scheme.K):
            Y = scheme.step(product, Y)
        results.append(Y if keep is None else Y[keep])
    return np.stack(results)


@dataclass
class _Sweep:
    """Products of S with panels, a crew's threads sharing the ranges of rows."""

    S: Operator
    ranges: list[tuple[int, int]]
    crew: Crew
    whole: Crew
    total: int
    progress: Progress | None
    done: int = 0
    lock: Any = field(default_factory=threading.Lock)

    def recur(
        self,
        alpha: float,
        beta: float,
        current: Array,
        out: Array,
        coefficients: Array | None = None,
        accumulators: Array | None = None,
    ) -> None:
        """Do ``out <- alpha S current + beta out`` and accumulate: see :mod:`heatgraph.kernels`."""
        from heatgraph.kernels import recur

        if coefficients is None or accumulators is None:
            coefficients, accumulators = np.empty(0, dtype=out.dtype), out[np.newaxis]

        def one_range(rows: tuple[int, int]) -> None:
            if self.whole.stopping:
                raise CancelledError
            recur(self.S, *rows, alpha, beta, current, out, coefficients, accumulators)

        self.crew.map(one_range, self.ranges)
        if self.progress is not None:
            with self.lock:
                self.done += 1
                self.progress(self.done, self.total)


@dataclass(frozen=True)
class _Task:
    """A diffusion whose arguments are checked and whose course is settled.

    `coefficients` (M, terms) is None for literal steps.
    """

    graph: Graph
    schemes: Sequence[Scheme]
    self_loops: bool
    rows: npt.NDArray[np.int64] | None
    dtype: np.dtype[Any]
    coefficients: Array | None
    plan: Plan

    @property
    def shape(self) -> tuple[int, int, int]:
        return result_shape(self.graph, len(self.schemes), self.rows)

    def allocate(self) -> Array:
        return np.empty(self.shape, dtype=self.dtype)

    def check_out(self, out: Any, shape: tuple[int, ...]) -> None:
        if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != self.dtype:
            came = type(out).__name__
            if isinstance(out, np.ndarray):
                came = f"{out.dtype} of shape {out.shape}"
            raise InputError(f"out must be an array of {self.dtype} and shape {shape}. Got {came}.")
        if not out.flags.writeable:
            raise InputError("out is read-only. Open a memory map with mode 'r+' or 'w+'.")
        X = self.graph.features
        if isinstance(X, np.ndarray) and np.may_share_memory(out, X):
            raise InputError("out must not share memory with the graph's features.")

    def run(self, target: Array, progress: Progress | None) -> Array:
        """Fill `target` (M, R, d)."""
        from heatgraph.kernels import compile_for

        plan = self.plan
        S = self.graph.operator(self.self_loops, self.dtype)
        compile_for(S)
        source = self._source()
        with Crew(plan.threads) as crew, Crew(1) as alone:
            by_panel = len(plan.panels) >= plan.threads
            outer, inner = (crew, alone) if by_panel else (alone, crew)
            sweep = _Sweep(
                S,
                row_ranges(S.indptr, plan.panel_width, inner.threads),
                crew=inner,
                whole=crew,
                total=plan.products * len(plan.panels),
                progress=progress,
            )
            outer.map(lambda panel: self._run_panel(sweep, source, panel, target), plan.panels)
        self._warn_if_collapsed(target)
        return target

    def _source(self) -> Any:
        """Features in the form that panels are cut from, or that kernel rows are multiplied by."""
        X = self.graph.features
        if not sp.issparse(X):
            return X
        return (X.tocsc() if self.plan.side == "features" else X).astype(self.dtype, copy=False)

    def _run_panel(self, sweep: _Sweep, source: Any, panel: slice, target: Array) -> None:
        if self.plan.side == "features":
            X = _cut(source, panel, self.dtype)
            target[:, :, panel] = self._propagate(sweep, X, self.rows)
            return
        nodes = np.arange(self.graph.num_nodes) if self.rows is None else self.rows
        E = np.zeros((self.graph.num_nodes, panel.stop - panel.start), dtype=self.dtype)
        E[nodes[panel], np.arange(E.shape[1])] = 1
        for m, kernel_columns in enumerate(self._propagate(sweep, E, None)):
            target[m, panel] = _contract(kernel_columns, source)

    def _propagate(self, sweep: _Sweep, X: Array, keep: Array | None) -> Array:
        if self.coefficients is None:
            return stepwise(sweep, X, self.schemes, keep)  # type: ignore[arg-type]
        return chebyshev(sweep, X, self.coefficients, keep)

    def _warn_if_collapsed(self, target: Array) -> None:
        """Warn when nothing is left but, in every component, a multiple of the equilibrium.

        Only looked for when the response has vanished at s = 0.9, which takes a T above 100.
        """
        epsilon = np.finfo(self.dtype).eps
        vanished = [abs(scheme.response(0.9)) <= epsilon for scheme in self.schemes]
        if not any(vanished):
            return
        component = self.graph.components()
        equilibrium = np.sqrt(self.graph.degrees + self.self_loops)
        equilibrium[equilibrium == 0] = 1
        if self.rows is not None:
            component, equilibrium = component[self.rows], equilibrium[self.rows]
        _, first, place = np.unique(component, return_index=True, return_inverse=True)
        if len(first) == len(place):
            return
        for scheme, X_T in itertools.compress(zip(self.schemes, target, strict=True), vanished):
            multiples = X_T / equilibrium[:, np.newaxis]
            spread = np.abs(multiples - multiples[first][place]).max()
            if spread <= 100 * epsilon * np.abs(multiples).max():
                warnings.warn(
                    f"{scheme} has smoothed everything away: within each connected "
                    "component all features are proportional to the square root of the degree. "
                    "Choose a smaller T.",
                    CollapseWarning,
                    stacklevel=4,
                )


def _settle(
    graph: Graph,
    schemes: Sequence[Scheme],
    self_loops: bool,
    rows: Any,
    method: Method,
    tol: float,
    dtype: npt.DTypeLike,
    memory_budget: int | float | str | None,
    n_threads: int | None,
    *,
    allocates: bool,
) -> _Task:
    """Check every argument and make the plan, before anything large is allocated."""
    if not isinstance(graph, Graph):
        raise InputError(f"graph must be a heatgraph.Graph. Got {type(graph).__name__}.")
    schemes = list(schemes)
    if not schemes or not all(isinstance(scheme, Scheme) for scheme in schemes):
        raise InputError(
            "schemes must be a list of scheme objects, such as [Heat(1.0), Euler(5.3, 250)]. "
            f"Got {schemes!r}."
        )
    if method not in ("auto", "chebyshev", "steps"):
        raise InputError(f"method must be 'auto', 'chebyshev' or 'steps'. Got {method!r}.")
    if not isinstance(tol, numbers.Real) or not TIGHTEST_TOLERANCE <= tol < 1:
        raise InputError(f"tol must be a number in [{TIGHTEST_TOLERANCE:g}, 1). Got {tol!r}.")
    dtype = np.dtype(dtype)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputError(f"dtype must be float32 or float64. Got {dtype}.")
    if rows is not None:
        rows = node_indices(rows, graph.num_nodes, "rows")
    _check_fits(graph.features, dtype)
    coefficients: Array | None
    coefficients, error_bound = _coefficients(schemes, float(tol), dtype)
    products = coefficients.shape[1] - 1
    if method == "steps":
        coefficients, error_bound, products = None, 0.0, _literal_products(schemes)
    plan = make_plan(
        graph,
        len(schemes),
        rows,
        dtype,
        degree=None if coefficients is None else products,
        products=products,
        error_bound=error_bound,
        budget=memory_bytes(memory_budget),
        threads=thread_count(n_threads),
        allocates=allocates,
    )
    return _Task(graph, schemes, self_loops, rows, dtype, coefficients, plan)


def _coefficients(
    schemes: Sequence[Scheme], tol: float, dtype: np.dtype[Any]
) -> tuple[Array, float]:
    """Stack the schemes' series to (M, terms), and give the largest of their bounds."""
    series = [chebyshev_series(scheme, tol) for scheme in schemes]
    table = np.zeros((len(series), max(len(c) for c, _ in series)))
    for row, (coefficients, _) in zip(table, series, strict=True):
        row[: len(coefficients)] = coefficients
    growth = np.abs(table).sum(axis=1).max()
    if growth > np.finfo(dtype).max:
        raise InputError(
            f"the steps are so unstable that features may grow by {growth:.1e}, beyond {dtype}. "
            "Take more steps K, or dtype=np.float64."
        )
    return table.astype(dtype), max(bound for _, bound in series)


def _literal_products(schemes: Sequence[Scheme]) -> int:
    for scheme in schemes:
        if not isinstance(scheme, SteppedScheme):
            raise InputError(
                f"{scheme} has no literal steps. Use method='chebyshev', or a scheme with a number "
                "of steps K."
            )
    return sum(int(scheme.degree) for scheme in schemes)


def _cut(X: Any, panel: slice, dtype: np.dtype[Any]) -> Array:
    """Copy some columns of the features, dense and by row."""
    if sp.issparse(X):
        return np.asarray(X[:, panel].toarray(order="C"))
    return np.array(X[:, panel], dtype=dtype, order="C")


def _contract(kernel_columns: Array, X: Any) -> Array:
    """Multiply (n, w)^T by the features (n, d), in the precision of the former."""
    if X is None:
        return kernel_columns.T
    if sp.issparse(X):
        return np.asarray(X.T @ kernel_columns).T
    product = np.zeros((kernel_columns.shape[1], X.shape[1]), dtype=kernel_columns.dtype)
    for start in range(0, len(X), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        product += kernel_columns[block].T @ X[block].astype(product.dtype, copy=False)
    return product


def _check_fits(X: Any, dtype: np.dtype[Any]) -> None:
    """Refuse features that would overflow in a narrower type."""
    if X is None or X.dtype.itemsize <= dtype.itemsize:
        return
    values = X.data if sp.issparse(X) else X
    for start in range(0, len(values), BLOCK_ROWS):
        largest = np.abs(values[start : start + BLOCK_ROWS]).max()
        if largest > np.finfo(dtype).max:
            raise InputError(
                f"features reach {largest:.3g}, beyond {dtype}. Pass dtype=np.float64, or scale "
                "them down."
            )
