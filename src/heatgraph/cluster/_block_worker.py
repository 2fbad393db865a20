"""Tasks of blocks mode: cut a block, load its rows, pack rows for others, advance, store.

A panel is diffused in P blocks. For each product k, ``pack(k, j -> i)`` takes the rows of T_{k-1}
that block i needs of block j, and ``step(k, i)`` computes block i of T_k. Every few products states
are saved, so that the loss of a worker does not replay all of them: the tasks after it start from
the files.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._engine.checkpoint import has_panel, write_panel
from heatgraph._engine.memory_estimate import padded_width
from heatgraph._engine.panels import ChebyshevSeries, overflow_error
from heatgraph._engine.recurrence import empty_panel
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.cluster._row_blocks import BlockState, RowBlock, advance, result_of, write_block
from heatgraph.cluster._worker import DiffusionPlugin, Job, worker_plugin
from heatgraph.errors import FileFormatError

Array = npt.NDArray[Any]

KIND = "state of a diffusion"


@dataclass(frozen=True)
class BlockJob(Job):
    """A diffusion in blocks.

    `cuts` are the first rows of the blocks, and the end of the last one; `accumulates` tells
    whether sums are kept at all rows, or vectors at the requested ones.
    """

    cuts: list[int]
    accumulates: bool

    @property
    def coefficients(self) -> Array:
        """Coefficients of the series, (M, degree + 1)."""
        assert isinstance(self.settings.propagator, ChebyshevSeries)
        return self.settings.propagator.coefficients

    def block_file(self, number: int) -> Path:
        """The file of a block of the graph."""
        name = f"{self.inputs.token}-{len(self.cuts) - 1}-block-{number}.safetensors"
        return Path(self.inputs.folder) / name

    def state_file(self, panel: slice, k: int, number: int) -> Path:
        """The file of the state of a block after k products."""
        name = f"{self.inputs.token}-{panel.start}-{panel.stop}-state-{k}-{number}.safetensors"
        return Path(self.inputs.folder) / name


class BlockPlugin(DiffusionPlugin):
    """Opens blocks of the graph on a worker, once per process."""

    job: BlockJob

    async def setup(self, worker: Any) -> None:
        """Begin without blocks."""
        await super().setup(worker)
        self._blocks: dict[int, RowBlock] = {}
        self._lock = threading.Lock()

    def block(self, number: int) -> RowBlock:
        """A block, mapped when it is first needed."""
        with self._lock:
            if number not in self._blocks:
                self._blocks[number] = RowBlock.open(self.job.block_file(number))
            return self._blocks[number]

    def requested_rows(self, number: int) -> Array | None:
        """Requested rows of a block, counted from its first; None if all are."""
        rows = self.job.inputs.arrays.map().get("rows")
        if rows is None:
            return None
        start, stop = self.job.cuts[number : number + 2]
        return rows[(rows >= start) & (rows < stop)] - start


def build_block(name: str, number: int) -> list[int]:
    """Cut a block out of the graph, unless it is on disk; return how many rows others need."""
    plugin: BlockPlugin = worker_plugin(name)
    job = plugin.job
    path = job.block_file(number)
    if path.exists():
        return [int(count) for count in np.diff(plugin.block(number).send_starts)]
    tensors, arrays = job.inputs.graph.map(), job.inputs.arrays.map()
    edges = (tensors["indptr"], tensors["indices"], tensors.get("weights"))
    with plugin.computing:
        return write_block(
            path, number, job.cuts, edges, arrays["root"], job.self_loops,
            job.settings.working_dtype, job.settings.tile,
        )  # fmt: skip


def load_state(name: str, number: int, start: int, stop: int) -> BlockState:
    """The rows of a block in the columns [start, stop) of X, divided by R: T_0."""
    plugin: BlockPlugin = worker_plugin(name)
    job, panel = plugin.job, slice(start, stop)
    dtype, columns = job.settings.working_dtype, stop - start
    first, last = job.cuts[number : number + 2]
    width = min(job.settings.panel_width, padded_width(columns))
    X = empty_panel((last - first, width), dtype)
    X[:, columns:] = 0
    if job.inputs.features == "sparse":
        X[:, :columns] = _sparse_rows(plugin, panel, first, last)
    else:
        X[:, :columns] = _dense_rows(plugin, panel, first, last)
    root = plugin.block(number).P.root
    if root is not None and len(job.coefficients.T) > 1:
        np.divide(X, root[:, np.newaxis], out=X)
    return BlockState(X, None, None)


def _dense_rows(plugin: BlockPlugin, panel: slice, first: int, last: int) -> Array:
    inputs = plugin.job.inputs
    order = inputs.arrays.map().get("order")
    if inputs.features == "panels":
        X = np.load(inputs.feature_panel(panel), mmap_mode="r", allow_pickle=False)
    elif inputs.features == "whole":
        X = np.load(inputs.whole_features, mmap_mode="r", allow_pickle=False)[:, panel]
    else:
        X = inputs.graph.map()["features"][:, panel]
    rows: Array = X[first:last] if order is None else X[order[first:last]]
    return rows


def _sparse_rows(plugin: BlockPlugin, panel: slice, first: int, last: int) -> Array:
    arrays = plugin.job.inputs.arrays.map()
    starts, nodes, values = (arrays[f"features.{part}"] for part in ("indptr", "indices", "data"))
    X = np.zeros((last - first, panel.stop - panel.start), dtype=plugin.job.settings.working_dtype)
    for column in range(panel.start, panel.stop):
        entries = slice(starts[column], starts[column + 1])
        here = slice(*(entries.start + np.searchsorted(nodes[entries], [first, last])))
        X[nodes[here] - first, column - panel.start] = values[here]
    return X


def pack(name: str, source: int, target: int, state: BlockState) -> Array:
    """The rows of a block that another one needs."""
    plugin: BlockPlugin = worker_plugin(name)
    return state.current[plugin.block(source).rows_for(target)]


def step(name: str, number: int, k: int, state: BlockState, halo: dict[int, Array]) -> BlockState:
    """Product k at a block."""
    plugin: BlockPlugin = worker_plugin(name)
    job = plugin.job
    rows = None if job.accumulates else plugin.requested_rows(number)
    with plugin.computing:
        return advance(plugin.block(number), k, job.coefficients, state, halo, rows, plugin.threads)


def save_state(name: str, number: int, start: int, stop: int, k: int, state: BlockState) -> None:
    """Write the state of a block after k products."""
    job = worker_plugin(name).job
    tensors = {key: array for key, array in state._asdict().items() if array is not None}
    write_tensors(
        job.state_file(slice(start, stop), k, number), KIND, {"fingerprint": job.fingerprint},
        tensors,
    )  # fmt: skip


def restore_state(name: str, number: int, start: int, stop: int, k: int) -> BlockState:
    """Read the state of a block after k products."""
    job = worker_plugin(name).job
    _, tensors = read_tensors(job.state_file(slice(start, stop), k, number), KIND)
    return BlockState(tensors["current"], tensors.get("previous"), tensors.get("sums"))


def has_state(job: BlockJob, panel: slice, k: int, number: int) -> bool:
    """Whether the state of a block after k products is on disk, undamaged."""
    try:
        content, _ = read_tensors(job.state_file(panel, k, number), KIND)
    except (FileNotFoundError, FileFormatError):
        return False
    return bool(content.get("fingerprint") == job.fingerprint)


def store_result(name: str, number: int, start: int, stop: int, state: BlockState) -> None:
    """Write a block of the result of a panel, unless it is on disk."""
    plugin: BlockPlugin = worker_plugin(name)
    job, panel = plugin.job, slice(start, stop)
    folder = Path(job.folder)
    if has_panel(folder, panel, job.fingerprint, number):
        return
    requested = plugin.requested_rows(number)
    rows = None if job.accumulates else requested
    values = result_of(plugin.block(number), job.coefficients, state, rows, plugin.threads)
    if job.accumulates and requested is not None:
        values = values[:, requested]
    values = values[:, :, : stop - start].astype(job.settings.dtype, copy=False)
    if not np.isfinite(values).all():
        raise overflow_error(job.settings.dtype)
    write_panel(folder, panel, job.fingerprint, values, number)
