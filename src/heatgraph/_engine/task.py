"""A diffusion with checked arguments and a plan: `DiffusionTask`, and the panels that it runs.

What a panel is computed from (`PanelInputs`) is apart from how (`PanelSettings`), since the workers
of a cluster open the inputs from files and compute single panels (`heatgraph.cluster`).

Shapes: X is (n, d); M schemes give (M, n, d) or, at R requested rows, (M, R, d).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._engine.checkpoint import Checkpoint
from heatgraph._engine.memory_estimate import Request, Side
from heatgraph._engine.oversmoothing import warn_if_oversmoothed
from heatgraph._engine.panels import (
    ChebyshevSeries,
    LiteralSteps,
    PanelDiffusion,
    prepare_features,
)
from heatgraph._engine.plan import Plan
from heatgraph._engine.ranges import row_ranges, tile_ends
from heatgraph._engine.recurrence import PanelOperator, Progress
from heatgraph._engine.reordering import ReorderedGraph, reordered_graph
from heatgraph._engine.threads import WorkerThreads
from heatgraph._io.hashing import fingerprint
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.graph._normalized_operator import NormalizedOperator
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PanelSettings:
    """How panels are computed: what their bits depend on, beside their inputs.

    Attributes
    ----------
    propagator : ChebyshevSeries or LiteralSteps
    shape : (M, R, d)
        Shape of the result.
    side : {"features", "rows"}
    panel_width, tile : int
        As in `Plan`.
    dtype, working_dtype : dtype
        Precision of the result, and of the work.
    """

    propagator: ChebyshevSeries | LiteralSteps
    shape: tuple[int, int, int]
    side: Side
    panel_width: int
    tile: int
    dtype: np.dtype[Any]
    working_dtype: np.dtype[Any]


@dataclass(frozen=True)
class PanelInputs:
    """What panels are computed from.

    Attributes
    ----------
    P : NormalizedOperator
        Of the reordered graph, if there is one.
    features : matrix or None
        X from `prepare_features`.
    reordered : ReorderedGraph or None
    rows : array or None
        Requested rows; they index the reordered graph.
    """

    P: NormalizedOperator
    features: Any
    reordered: ReorderedGraph | None
    rows: Array | None


def run_panels(
    settings: PanelSettings,
    inputs: PanelInputs,
    panels: Sequence[slice],
    store: Callable[[slice, Array], None],
    *,
    part_of: Callable[[slice], Array | None] = lambda panel: None,
    threads: int = 1,
    panels_at_once: int = 1,
    progress: Progress | None = None,
) -> None:
    """Compute panels, in their part of the result where possible, and store each."""
    P, products = inputs.P, settings.propagator.products
    with WorkerThreads(threads) as workers, WorkerThreads(1) as caller:
        by_panel, by_rows = (workers, caller) if panels_at_once > 1 else (caller, workers)
        operator = PanelOperator(
            P=P,
            root=P.root if products else None,
            tile_ends=tile_ends(P.num_nodes, settings.tile),
            workers=workers,
            row_workers=by_rows,
            row_ranges=row_ranges(
                P.indptr, settings.panel_width, settings.shape[0], by_rows.threads
            ),
            total_products=products * len(panels),
            progress=progress,
        )
        diffusion = PanelDiffusion(
            operator, settings.propagator, settings.shape, settings.side, settings.panel_width,
            inputs.features, inputs.reordered, inputs.rows, settings.dtype,
            settings.working_dtype,
        )  # fmt: skip
        by_panel.map(lambda panel: store(panel, diffusion.compute(panel, part_of(panel))), panels)


@dataclass(frozen=True)
class DiffusionTask:
    """A diffusion with checked arguments and a plan."""

    graph: Graph
    schemes: Sequence[Scheme]
    rows: npt.NDArray[np.int64] | None
    self_loops: bool
    propagator: ChebyshevSeries | LiteralSteps
    request: Request
    plan: Plan

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape (M, R, d) of the result."""
        return self.request.shape

    def allocate(self) -> Array:
        return np.empty(self.shape, dtype=self.request.dtype)

    def check_out(self, out: Any, shape: tuple[int, ...]) -> None:
        """Refuse an array that the result cannot be written to."""
        dtype = self.request.dtype
        if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
            received = type(out).__name__
            if isinstance(out, np.ndarray):
                received = f"{out.dtype} of shape {out.shape}"
            raise InputError(f"out must be an array of {dtype} and shape {shape}. Got {received}.")
        if not out.flags.writeable:
            raise InputError("out is read-only. Open a memory map with mode 'r+' or 'w+'.")
        X = self.graph.features
        if isinstance(X, np.ndarray) and np.may_share_memory(out, X):
            raise InputError("out must not share memory with the graph's features.")

    def run(self, out: Array, progress: Progress | None) -> Array:
        """Fill `out` (M, R, d)."""
        array = np.asarray(out)  # numba does not accept np.memmap

        def part_of(panel: slice) -> Array:
            return array[:, panel] if self.plan.side == "rows" else array[:, :, panel]

        def store(panel: slice, values: Array) -> None:
            part = part_of(panel)
            if not np.may_share_memory(values, part):
                part[...] = values

        self._run_panels(self.plan.panels, store, progress, part_of)
        self.warn_if_oversmoothed(out)
        return out

    def run_to_file(self, path: str | Path, progress: Progress | None) -> Array:
        """Write a file, resuming an unfinished run, and return its memory map (M, R, d)."""
        plan, request = self.plan, self.request
        axis = 1 if plan.side == "rows" else 2
        with Checkpoint(
            path, self.fingerprint(), self.shape, request.dtype, axis, plan.panels
        ) as checkpoint:
            self._run_panels(checkpoint.missing, checkpoint.save, progress)
            result = checkpoint.finish()
        self.warn_if_oversmoothed(result)
        return result

    @property
    def settings(self) -> PanelSettings:
        """How its panels are computed."""
        plan, request = self.plan, self.request
        return PanelSettings(
            self.propagator, self.shape, plan.side, plan.panel_width, plan.tile, request.dtype,
            request.working_dtype,
        )  # fmt: skip

    def inputs(self) -> PanelInputs:
        """What its panels are computed from."""
        plan, dtype = self.plan, self.request.working_dtype
        reordered = reordered_graph(self.graph) if plan.reordered else None
        graph, order, rows = self.graph, None, self.rows
        if reordered is not None:
            graph, order = reordered.graph, reordered.order
            rows = None if rows is None else reordered.rank[rows]
        return PanelInputs(
            P=graph.operator(self.self_loops, dtype),
            features=prepare_features(self.graph.features, plan.side, order, dtype),
            reordered=reordered,
            rows=rows,
        )

    def fingerprint(self) -> str:
        """Hash of everything that the bits of a panel depend on."""
        plan = self.plan
        return fingerprint(self.identity, (plan.side, plan.panel_width, plan.tile, plan.reordered))

    @cached_property
    def identity(self) -> str:
        """Hash of the inputs and settings, without the cut into panels."""
        graph, request = self.graph, self.request
        settings = (self.self_loops, request.dtype, request.working_dtype, self.shape)
        rows = "all" if self.rows is None else self.rows
        return fingerprint(
            version("heatgraph"), settings, self.propagator.identity, rows,
            graph.indptr, graph.indices, graph.weights, graph.features,
        )  # fmt: skip

    def warn_if_oversmoothed(self, result: Array) -> None:
        """Warn if the nodes of a component have nearly equal features in the result."""
        warn_if_oversmoothed(self.graph, self.schemes, self.rows, self.self_loops, result)

    def _run_panels(
        self,
        panels: Sequence[slice],
        store: Callable[[slice, Array], None],
        progress: Progress | None,
        part_of: Callable[[slice], Array | None] = lambda panel: None,
    ) -> None:
        if panels:
            run_panels(
                self.settings, self.inputs(), panels, store, part_of=part_of,
                threads=self.plan.threads, panels_at_once=self.plan.panels_at_once,
                progress=progress,
            )  # fmt: skip
