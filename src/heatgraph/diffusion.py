"""Diffuse the features of a graph: X_T = r(S) X, within a tolerance and a memory budget.

There are two methods (`heatgraph._engine.recurrence`): the literal steps of the paper, or a short
Chebyshev series with a certified error in operator norm (`heatgraph._engine.chebyshev`), so that
||X_T - r(S) X|| <= error_bound ||X|| up to rounding. The vectors of the series do not depend on the
scheme: one set of them serves any number of schemes.

And there are two sides (`heatgraph._engine.panels`). r(S) is symmetric, so the rows of X_T at some
nodes are (r(S) E)^T X, where E has one unit column per requested node. The plan
(`heatgraph._engine.plan`) diffuses d feature columns or R unit columns, whichever is cheaper.

Shapes: X is (n, d), S is (n, n), M schemes give (M, n, d) or, at R requested rows, (M, R, d).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import short_repr, working_dtype
from heatgraph._engine.checkpoint import check_path
from heatgraph._engine.memory_estimate import GraphSizes, Request, permutation_bytes
from heatgraph._engine.oversmoothing import may_oversmooth
from heatgraph._engine.panels import (
    ChebyshevSeries,
    LiteralSteps,
)
from heatgraph._engine.plan import Plan, make_plan
from heatgraph._engine.recurrence import Progress
from heatgraph._engine.task import DiffusionTask
from heatgraph._engine.threads import thread_count
from heatgraph._io.memory import memory_budget_bytes, memory_limit
from heatgraph.cluster._connection import as_cluster
from heatgraph.errors import InputError
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.schemes import Scheme, scheme_from

Array = npt.NDArray[Any]
Method = Literal["auto", "chebyshev", "steps"]

# Below this, rounding dominates the error of a series.
TIGHTEST_TOLERANCE = 1e-13
# The work is done in float64 where float32 would change the equilibrium by more than this.
MOST_DRIFT = 1e-4


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
    reorder: bool | None = None,
    out: Array | str | Path | None = None,
    progress: Progress | None = None,
    cluster: Any = None,
) -> Array:
    """Diffuse the features of a graph for a time T.

    Parameters
    ----------
    graph : Graph
        Its features are not scaled. Without features, each node is its own feature, and the
        result is the kernel r(S) itself.
    T : float
        Terminal time, >= 0.
    K : int, optional
        Number of steps. Without it, the heat kernel: the limit of infinitely many steps.
    scheme : str or Scheme, optional
        A name in `heatgraph.schemes.SCHEMES`, such as "heat", "euler" or "rk4"; by default "euler"
        if K is given, else "heat". Or a scheme object, which replaces T and K.
    self_loops : bool
        Whether S normalises A + I, or A.
    rows : indices or mask, optional
        Nodes to return; by default all.
    method : {"auto", "chebyshev", "steps"}
        "auto" is "chebyshev", which never takes more products than the literal steps.
    tol : float
        Bound on the error of "chebyshev" in operator norm, relative to the norm of the response.
        Rounding in the products comes on top: no more than 8 eps (products + 4 + T), with eps the
        precision's 1.2e-7 or 2.2e-16.
    dtype : float32 or float64
        Precision of the result, and of the work, except that the work is done in float64 if T is so
        large that float32 would not be accurate enough.
    memory_budget : int or str, optional
        Bytes, or a string such as "4GB", for everything beside the graph and its features. By
        default all memory of the machine, or of the container if that is less. A diffusion that
        cannot fit raises an error before it starts.
    n_threads : int, optional
        By default one per CPU that this process may use: affinity, a container's quota and
        LOKY_MAX_CPU_COUNT count. The number does not change a bit of the result. (Products of
        kernel rows with dense features are computed by BLAS, which has its own threads.)
    reorder : bool, optional
        Whether to permute nodes so that neighbours are near each other in memory. The permutation
        is found once, cached with the graph, undone in the result, and changes only rounding. By
        default it is used where it is likely to pay: for much work on large sparse graphs.
    out : array or path, optional
        Where to write the result. An array, which may be a memory map, must have the shape and
        `dtype` of the result. A path names a ``.npy`` file, which is returned as a read-only memory
        map. Its panels are written to a folder beside it as they finish, so that after a kill the
        same call resumes, with the same bits in the end. A second call with the same path at the
        same time raises FileInUseError.
    progress : callable, optional
        Called as ``progress(done, total)`` after each product, from any thread, one at a time; on a
        cluster, after each panel.
    cluster : distributed.Client, str or Cluster, optional
        A Dask cluster to diffuse on (extra: cluster), with the same bits: a client, the address of
        a scheduler, "local:4" for four processes of this machine, or a
        `heatgraph.cluster.Cluster`. `memory_budget` is then that of a worker, by default Dask's
        memory limit, and `n_threads` the number of threads of a worker.

    Returns
    -------
    array of shape (n, d) or (len(rows), d)

    See Also
    --------
    plan : products, error bound and memory of the same call, without computing anything.
    diffuse_many : many schemes for about the cost of one.

    Examples
    --------
    >>> import numpy as np
    >>> from heatgraph import Graph, diffuse
    >>> graph = Graph.from_edges([0, 1], [1, 2], features=np.eye(3), symmetrize="max")
    >>> diffuse(graph, T=1.0, rows=[0]).round(3)
    array([[0.656, 0.241, 0.049]], dtype=float32)
    """
    task = _prepare(
        graph, [scheme_from(T, K, scheme)], self_loops, rows, method, tol, dtype, memory_budget,
        n_threads, reorder, out, cluster,
    )  # fmt: skip
    run = _Runner(task, cluster, memory_budget, progress)
    if out is None:
        result: Array = run.in_memory(task.allocate())[0]
        return result
    if isinstance(out, str | Path):
        result = run.to_file(Path(out))[0]
        return result
    task.check_out(out, task.shape[1:])
    run.in_memory(out[np.newaxis])
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
    reorder: bool | None = None,
    out: Array | str | Path | None = None,
    progress: Progress | None = None,
    cluster: Any = None,
) -> Array:
    """Diffuse the features of a graph by many schemes, out of one set of Chebyshev vectors.

    A grid of T takes as many products as its largest T alone. Parameters are those of `diffuse`.

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
    task = _prepare(
        graph, schemes, self_loops, rows, method, tol, dtype, memory_budget, n_threads,
        reorder, out, cluster,
    )  # fmt: skip
    run = _Runner(task, cluster, memory_budget, progress)
    if out is None:
        out = task.allocate()
    elif isinstance(out, str | Path):
        return run.to_file(Path(out))
    task.check_out(out, task.shape)
    return run.in_memory(out)


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
    reorder: bool | None = None,
    out: Array | str | Path | None = None,
    cluster: Any = None,
) -> Plan:
    """Plan `diffuse` (or, with a list of schemes, `diffuse_many`) without computing anything.

    Parameters are those of `diffuse`; `scheme` may be a list. With a cluster, which is asked for
    its workers, the plan tells the mode, the memory of a worker and the bytes on the wire.

    Examples
    --------
    >>> import numpy as np
    >>> from heatgraph import Graph, plan
    >>> graph = Graph(np.ones((3, 3)), features=np.eye(3))
    >>> plan(graph, T=5.27, K=250).products
    12
    """
    if scheme is None or isinstance(scheme, str | Scheme) or T is not None or K is not None:
        scheme = [scheme_from(T, K, scheme)]
    task = _prepare(
        graph, scheme, self_loops, rows, method, tol, dtype, memory_budget, n_threads,
        reorder, out, cluster,
    )  # fmt: skip
    path = Path(out) if isinstance(out, str | Path) else None
    return _Runner(task, cluster, memory_budget, None).plan(path)


@dataclass(frozen=True)
class _Runner:
    """Runs a diffusion in this process, or on a cluster."""

    task: DiffusionTask
    cluster: Any
    memory_budget: int | float | str | None
    progress: Progress | None

    def plan(self, path: Path | None) -> Plan:
        """The plan; on a cluster, that of an unfinished run to the same path if there is one."""
        if self.cluster is None:
            return self.task.plan
        from heatgraph.cluster._run import plan_with_cluster

        return plan_with_cluster(self.task, as_cluster(self.cluster), self._worker_budget, path)

    def in_memory(self, out: Array) -> Array:
        """Fill an array (M, R, d)."""
        if self.cluster is None or self.task.plan.seconds < as_cluster(self.cluster).local_seconds:
            return self.task.run(out, self.progress)
        from heatgraph.cluster._run import run_in_memory

        cluster = as_cluster(self.cluster)
        return run_in_memory(self.task, cluster, self._worker_budget, out, self.progress)

    def to_file(self, path: Path) -> Array:
        """Write a file, and return its memory map (M, R, d)."""
        if self.cluster is None:
            return self.task.run_to_file(path, self.progress)
        from heatgraph.cluster._run import run_to_file

        cluster = as_cluster(self.cluster)
        return run_to_file(self.task, cluster, self._worker_budget, path, self.progress)

    @property
    def _worker_budget(self) -> float:
        return math.inf if self.memory_budget is None else memory_budget_bytes(self.memory_budget)


def _prepare(
    graph: Graph,
    schemes: Sequence[Scheme],
    self_loops: bool,
    rows: Any,
    method: Method,
    tol: float,
    dtype: npt.DTypeLike,
    memory_budget: int | float | str | None,
    n_threads: int | None,
    reorder: bool | None,
    out: Array | str | Path | None,
    cluster: Any,
) -> DiffusionTask:
    """Check every argument and make the plan, before anything large is allocated."""
    check_graph(graph)
    scheme_list = list(schemes) if isinstance(schemes, Iterable) else []
    if not scheme_list or not all(isinstance(scheme, Scheme) for scheme in scheme_list):
        raise InputError(
            "schemes must be a list of scheme objects, such as [Heat(1.0), Euler(5.3, 250)]. "
            f"Got {short_repr(schemes)}."
        )
    if method not in ("auto", "chebyshev", "steps"):
        raise InputError(
            f"method must be 'auto', 'chebyshev' or 'steps'. Got {short_repr(method)}."
        )
    if not isinstance(self_loops, bool | np.bool_):
        raise InputError(f"self_loops must be True or False. Got {short_repr(self_loops)}.")
    if isinstance(out, str | Path):
        check_path(out, graph.features)
    if reorder is not None and not isinstance(reorder, bool | np.bool_):
        raise InputError(f"reorder must be True, False or None. Got {short_repr(reorder)}.")
    dtype, budget, threads = check_engine(tol, dtype, memory_budget, n_threads, cluster)
    if cluster is not None:
        if reorder is None and permutation_bytes(GraphSizes.from_graph(graph)) > memory_limit():
            reorder = False
        budget = math.inf  # `memory_budget` is that of a worker
    working_dtype = working_precision(scheme_list, dtype)
    if rows is not None:
        rows = node_indices(rows, graph.num_nodes, "rows")
    propagator: ChebyshevSeries | LiteralSteps
    if method == "steps":
        propagator = LiteralSteps.from_schemes(scheme_list)
    else:
        propagator = ChebyshevSeries.from_schemes(scheme_list, float(tol), working_dtype)
    request = Request(
        graph=GraphSizes.from_graph(graph),
        num_schemes=len(scheme_list),
        num_rows=None if rows is None else len(rows),
        products=propagator.products,
        degree=propagator.degree,
        step_panels=propagator.step_panels,
        dtype=dtype,
        working_dtype=working_dtype,
        destination="memory" if out is None else "file" if isinstance(out, str | Path) else "array",
        checks_oversmoothing=any(may_oversmooth(scheme, dtype) for scheme in scheme_list),
    )
    plan = make_plan(
        request,
        error_bound=propagator.error_bound,
        budget=budget,
        threads=threads,
        reorder=reorder,
    )
    return DiffusionTask(graph, scheme_list, rows, bool(self_loops), propagator, request, plan)


def check_engine(
    tol: Any, dtype: Any, memory_budget: Any, n_threads: Any, cluster: Any = None
) -> tuple[np.dtype[Any], float, int]:
    """Check the engine's arguments; return the precision, the budget in bytes and the threads."""
    if not isinstance(tol, numbers.Real) or not TIGHTEST_TOLERANCE <= float(tol) < 1:
        raise InputError(
            f"tol must be a number in [{TIGHTEST_TOLERANCE:g}, 1). Got {short_repr(tol)}."
        )
    if cluster is not None:
        as_cluster(cluster)
    return working_dtype(dtype), memory_budget_bytes(memory_budget), thread_count(n_threads)


def working_precision(schemes: Sequence[Scheme], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Choose float64 where rounding S to `dtype` would change the equilibrium by too much."""
    epsilon = float(np.finfo(dtype).eps)
    if any(abs(1 - scheme.decay(epsilon)) > MOST_DRIFT for scheme in schemes):
        return np.dtype(np.float64)
    return dtype
