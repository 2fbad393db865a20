"""Diffuse the features of a graph: X_T = r(S) X, within a tolerance, a memory budget and reason.

Two ways (`heatgraph._engine.recurrence`): the literal steps of the paper, or a short Chebyshev
series whose error in operator norm is certified (`heatgraph._engine.chebyshev`), so that
||X_T - r(S) X|| is at most error_bound ||X||, and rounding. The vectors of the series do not depend
on the scheme: one set of them serves any number of schemes.

And two sides. r(S) is symmetric, so the rows of X_T at some nodes are (r(S) E)^T X, where E has one
unit column per wanted node: diffuse d feature columns, or one column per row, whichever is cheaper.

Shapes: X is (n, d), S is (n, n), M schemes give (M, n, d) or, at R rows, (M, R, d).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import working_dtype
from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph._engine.checkpoint import Checkpoint, check_path
from heatgraph._engine.oversmoothing import may_oversmooth, warn_if_oversmoothed
from heatgraph._engine.plan import (
    Plan,
    make_plan,
    padded_width,
    result_shape,
    row_blocks,
    row_ranges,
)
from heatgraph._engine.recurrence import PanelOperator, Progress, chebyshev, empty_panel, stepwise
from heatgraph._engine.reordering import ReorderedGraph, reordered_graph
from heatgraph._engine.threads import WorkerThreads, thread_count
from heatgraph._io.hashing import fingerprint
from heatgraph._io.memory import memory_budget_bytes
from heatgraph.errors import InputError
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.schemes import Scheme, SteppedScheme, scheme_from

Array = npt.NDArray[Any]
Method = Literal["auto", "chebyshev", "steps"]

# A series cannot be told from its rounding below this.
TIGHTEST_TOLERANCE = 1e-13
# Work is done in float64 where float32 would change the result at equilibrium by more than this.
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
        Rounding in the products comes on top: no more than 8 eps (products + 4 + T), with eps the
        precision's 1.2e-7 or 2.2e-16.
    dtype : float32 or float64
        Precision of the result, and of the work; for a T so large that float32 would spoil the
        result, the work is done in float64.
    memory_budget : int or str, optional
        Bytes, or a text such as "4GB", for everything beside the graph and its features. By default
        the machine's memory. What cannot fit is refused before it is begun.
    n_threads : int, optional
        By default every core. The result is the same to the last bit. (A product of kernel rows
        with dense features is left to BLAS, which has its own threads.)
    reorder : bool, optional
        Whether to work on nodes in an order in which neighbours are near each other. It is found
        once, kept with the graph, undone at the end, and changes nothing but rounding. By default
        where it is likely to pay: for much work on large graphs with few neighbours each.
    out : array or path, optional
        Where to write the result. An array has its shape and `dtype`; a memory map will do. A path
        names a file, ``.npy``, which the result goes to panel by panel and comes back from as a
        read-only memory map. When such a run is killed, the same call goes on where it was, with
        the same bits in the end, and what it has so far is in a folder beside the file.
    progress : callable, optional
        Called now and then as ``progress(done, total)``, from whichever thread is at work.

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
    task = _prepare(
        graph, [scheme_from(T, K, scheme)], self_loops, rows, method, tol, dtype, memory_budget,
        n_threads, reorder, out,
    )  # fmt: skip
    if out is None:
        result: Array = task.run(task.allocate(), progress)[0]
        return result
    if isinstance(out, str | Path):
        result = task.run_to(out, progress)[0]
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
    reorder: bool | None = None,
    out: Array | str | Path | None = None,
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
    task = _prepare(
        graph, schemes, self_loops, rows, method, tol, dtype, memory_budget, n_threads,
        reorder, out,
    )  # fmt: skip
    if out is None:
        out = task.allocate()
    elif isinstance(out, str | Path):
        return task.run_to(out, progress)
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
    reorder: bool | None = None,
    out: Array | str | Path | None = None,
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
    if scheme is None or isinstance(scheme, str | Scheme) or T is not None or K is not None:
        scheme = [scheme_from(T, K, scheme)]
    return _prepare(
        graph, scheme, self_loops, rows, method, tol, dtype, memory_budget, n_threads,
        reorder, out,
    ).plan  # fmt: skip


@dataclass(frozen=True)
class _Scene:
    """What every panel of a diffusion needs: `rows` are in the order that is worked in."""

    operator: PanelOperator
    source: Any
    there: ReorderedGraph | None
    rows: Array | None


@dataclass(frozen=True)
class _Task:
    """A diffusion whose arguments are checked and whose course is settled.

    `course` is the coefficients (M, terms) of the schemes' series, or else the schemes whose
    literal steps are taken; `dtype` is that of the result, and `working` that of everything else.
    """

    graph: Graph
    schemes: Sequence[Scheme]
    rows: npt.NDArray[np.int64] | None
    self_loops: bool
    dtype: np.dtype[Any]
    working: np.dtype[Any]
    course: Array | list[SteppedScheme]
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
        plain = np.asarray(target)  # kernels do not know memory maps as arrays
        by_rows = self.plan.side == "rows"

        def part_of(panel: slice) -> Array:
            return plain[:, panel] if by_rows else plain[:, :, panel]

        def put(panel: slice, values: Array) -> None:
            part = part_of(panel)
            if not np.may_share_memory(values, part):
                part[...] = values

        self._run_panels(self.plan.panels, part_of, put, progress)
        warn_if_oversmoothed(self.graph, self.schemes, self.rows, self.self_loops, target)
        return target

    def run_to(self, path: str | Path, progress: Progress | None) -> Array:
        """Fill a file, or finish one that was begun, and give it as a memory map (M, R, d)."""
        graph, plan = self.graph, self.plan
        axis = 1 if plan.side == "rows" else 2
        course = self.course if isinstance(self.course, np.ndarray) else repr(self.course)
        settings = (self.self_loops, self.dtype, self.working, self.shape)
        cut = (plan.side, plan.panel_width, plan.tile, plan.reordered)
        mark = fingerprint(
            version("heatgraph"), settings, cut, course, "all" if self.rows is None else self.rows,
            graph.indptr, graph.indices, graph.weights, graph.features,
        )  # fmt: skip
        checkpoint = Checkpoint(path, mark, self.shape, self.dtype, axis, plan.panels)
        self._run_panels(checkpoint.left, lambda panel: None, checkpoint.keep, progress)
        result = checkpoint.finish()
        warn_if_oversmoothed(graph, self.schemes, self.rows, self.self_loops, result)
        return result

    def _run_panels(
        self,
        panels: Sequence[slice],
        part_of: Callable[[slice], Array | None],
        put: Callable[[slice, Array], None],
        progress: Progress | None,
    ) -> None:
        """Put each panel's part of the result where it belongs, if it is not filled there."""
        from heatgraph._engine.kernels import compile_for

        if not panels:
            return
        plan = self.plan
        there = reordered_graph(self.graph) if plan.reordered else None
        graph = self.graph if there is None else there.graph
        P = graph.operator(self.self_loops, self.working)
        compile_for(P)
        source = self._source(None if there is None else there.order)
        rows = self.rows
        if rows is not None and there is not None:
            rows = there.rank[rows]

        def run_panel(panel: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                values = self._panel(scene, panel, part_of(panel))
            put(panel, values)

        with WorkerThreads(plan.threads) as crew, WorkerThreads(1) as alone:
            outer, inner = (crew, alone) if plan.panels_at_once > 1 else (alone, crew)
            ranges = row_ranges(P.indptr, plan.panel_width, len(self.schemes), inner.threads)
            total = plan.products * len(panels)
            root = P.root if plan.products else None
            operator = PanelOperator(P, root, plan.tile, crew, inner, ranges, total, progress)
            scene = _Scene(operator, source, there, rows)
            outer.map(run_panel, panels)

    def _source(self, order: Array | None) -> Any:
        """Features in the form that panels are cut from, or that kernel rows are multiplied by."""
        X = self.graph.features
        if not sp.issparse(X):
            return X
        if self.plan.side == "features":
            X = (X if order is None else X[order]).tocsc()
        with np.errstate(over="ignore"):
            return X.astype(self.working, copy=False)

    def _panel(self, scene: _Scene, panel: slice, part: Array | None) -> Array:
        """Values of a panel, in the order of the nodes as given: in `part`, if they can be."""
        if self.plan.side == "rows":
            filled = self._from_rows(scene, panel)
        else:
            filled = self._from_features(scene, panel, part)
        filled = filled.astype(self.dtype, copy=False)

        def look(start: int, stop: int) -> None:
            if not all(np.isfinite(X_T[start:stop]).all() for X_T in filled):
                raise InputError(
                    f"the result exceeds {self.dtype}: features are too large, or unstable steps "
                    "amplify them too much. Scale features down, take more steps K, or pass "
                    "dtype=np.float64."
                )

        scene.operator.run_ranges(look, row_blocks(filled.shape[1]))
        return filled

    def _from_features(self, scene: _Scene, panel: slice, part: Array | None) -> Array:
        there, rows = scene.there, scene.rows
        M, R, _ = self.shape
        columns = panel.stop - panel.start
        width = min(self.plan.panel_width, padded_width(columns))
        X = _cut(scene, panel, width, self.working)
        back = there if rows is None else None
        shape = (M, R, X.shape[1])
        filled = part if back is None else None
        # Kernels write whole rows of their own precision.
        if filled is None or not (
            filled.shape == shape and filled.dtype == self.working and filled.flags.c_contiguous
        ):
            filled = np.empty(shape, dtype=self.working)
        self._propagate(scene.operator, X, rows, filled)
        if back is not None:
            # The features are used up, and their place is free for the first result.
            given = X[np.newaxis] if M == 1 else np.empty_like(filled)
            np.take(filled, back.rank, axis=1, out=given, mode="clip")
            filled = given
        return filled[:, :, :columns]

    def _from_rows(self, scene: _Scene, panel: slice) -> Array:
        operator, there, rows = scene.operator, scene.there, scene.rows
        M, _, d = self.shape
        n, width = self.graph.num_nodes, panel.stop - panel.start
        if rows is None:
            rows = np.arange(n) if there is None else there.rank
        E = empty_panel((n, width), self.working)
        E[...] = 0
        E[rows[panel], np.arange(width)] = (
            1 if operator.root is None else 1 / operator.root[rows[panel]]
        )
        kernels = np.empty((M, n, width), dtype=self.working)
        self._propagate(operator, E, None, kernels)
        del E
        filled = np.empty((M, width, d), dtype=self.working)
        for m in range(M):
            kernel = kernels[m] if there is None else kernels[m][there.rank]
            filled[m] = operator.contract(kernel, scene.source)
        return filled

    def _propagate(self, operator: PanelOperator, X: Array, keep: Array | None, out: Array) -> None:
        if isinstance(self.course, list):
            stepwise(operator, X, self.course, keep, out)
        else:
            chebyshev(operator, X, self.course, keep, out)


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
) -> _Task:
    """Check every argument and make the plan, before anything large is allocated."""
    check_graph(graph)
    listed = list(schemes) if isinstance(schemes, Iterable) else []
    if not listed or not all(isinstance(scheme, Scheme) for scheme in listed):
        raise InputError(
            "schemes must be a list of scheme objects, such as [Heat(1.0), Euler(5.3, 250)]. "
            f"Got {schemes!r}."
        )
    if method not in ("auto", "chebyshev", "steps"):
        raise InputError(f"method must be 'auto', 'chebyshev' or 'steps'. Got {method!r}.")
    if not isinstance(self_loops, bool | np.bool_):
        raise InputError(f"self_loops must be True or False. Got {self_loops!r}.")
    if isinstance(out, str | Path):
        check_path(out, graph.features)
    if reorder is not None and not isinstance(reorder, bool | np.bool_):
        raise InputError(f"reorder must be True, False or None. Got {reorder!r}.")
    dtype, budget, threads = check_engine(tol, dtype, memory_budget, n_threads)
    working = _working_precision(listed, dtype)
    if rows is not None:
        rows = node_indices(rows, graph.num_nodes, "rows")
    course: Array | list[SteppedScheme]
    if method == "steps":
        course, error_bound, degree = _with_steps(listed), 0.0, None
        stages = max(scheme.products_per_step for scheme in course)
        products = sum(int(scheme.degree) for scheme in course)
    else:
        course, error_bound = _coefficients(listed, float(tol), working)
        products = degree = course.shape[1] - 1
        stages = 1
    plan = make_plan(
        graph,
        len(listed),
        rows,
        dtype,
        working,
        degree=degree,
        stages=stages,
        products=products,
        error_bound=error_bound,
        budget=budget,
        threads=threads,
        place="memory" if out is None else "file" if isinstance(out, str | Path) else "array",
        reorder=reorder,
        looking=any(may_oversmooth(scheme, dtype) for scheme in listed),
    )
    return _Task(graph, listed, rows, bool(self_loops), dtype, working, course, plan)


def check_engine(
    tol: Any, dtype: Any, memory_budget: Any, n_threads: Any
) -> tuple[np.dtype[Any], float, int]:
    """Check how a diffusion is to be done: precision, bytes and threads come back as read."""
    if not isinstance(tol, numbers.Real) or not TIGHTEST_TOLERANCE <= float(tol) < 1:
        raise InputError(f"tol must be a number in [{TIGHTEST_TOLERANCE:g}, 1). Got {tol!r}.")
    return working_dtype(dtype), memory_budget_bytes(memory_budget), thread_count(n_threads)


def _working_precision(schemes: Sequence[Scheme], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Choose float64 where S, rounded to `dtype`, would move the result at equilibrium too far."""
    epsilon = float(np.finfo(dtype).eps)
    if any(abs(1 - scheme.decay(epsilon)) > MOST_DRIFT for scheme in schemes):
        return np.dtype(np.float64)
    return dtype


def _coefficients(
    schemes: Sequence[Scheme], tol: float, dtype: np.dtype[Any]
) -> tuple[Array, float]:
    """Stack the schemes' series to (M, terms), and give the largest of their bounds."""
    series = [chebyshev_series(scheme, tol) for scheme in schemes]
    table = np.zeros((len(series), max(len(c) for c, _ in series)), dtype=dtype)
    with np.errstate(over="ignore"):
        for row, (coefficients, _) in zip(table, series, strict=True):
            row[: len(coefficients)] = coefficients
    return table, max(bound for _, bound in series)


def _with_steps(schemes: Sequence[Scheme]) -> list[SteppedScheme]:
    stepped = [scheme for scheme in schemes if isinstance(scheme, SteppedScheme)]
    if len(stepped) < len(schemes):
        without = next(scheme for scheme in schemes if not isinstance(scheme, SteppedScheme))
        raise InputError(
            f"{without} has no literal steps. Use method='chebyshev', or a scheme with a number of "
            "steps K."
        )
    return stepped


def _cut(scene: _Scene, panel: slice, width: int, dtype: np.dtype[Any]) -> Array:
    """Copy some columns of the features, dense, by row and divided by R.

    Dense ones get zeros up to `width`; sparse ones are in order already.
    """
    operator, X = scene.operator, scene.source
    if sp.issparse(X):
        dense = np.asarray(X[:, panel].toarray(order="C"))
        if operator.root is not None:
            dense /= operator.root[:, np.newaxis]
        return dense
    columns = panel.stop - panel.start
    cut = empty_panel((len(X), width), dtype)
    cut[:, columns:] = 0
    rank = None if scene.there is None else scene.there.rank

    # Read block by block, since it may be a file.
    def copy(start: int, stop: int) -> None:
        block = X[start:stop, panel]
        places = slice(start, stop) if rank is None else rank[start:stop]
        copied = cut[places, :columns] if rank is None else np.empty(block.shape, dtype)
        if operator.root is None:
            np.copyto(copied, block, casting="same_kind")
        else:
            R = operator.root[places, np.newaxis]
            np.divide(block, R, out=copied, dtype=dtype, casting="same_kind")
        if rank is not None:
            cut[places, :columns] = copied

    operator.run_ranges(copy, row_blocks(len(X)))
    return cut
