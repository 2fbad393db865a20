"""Run a diffusion on a cluster: examine the workers, plan, publish inputs, compute, assemble.

Only the client makes the checkpoint and holds its lock. The cut into panels and blocks is kept with
it, so that the same call resumes on a cluster of another size.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._engine.checkpoint import Checkpoint, RowCut, checkpoint_folder
from heatgraph._engine.recurrence import Progress
from heatgraph._engine.reordering import reordered_graph
from heatgraph._engine.task import DiffusionTask
from heatgraph._io.atomic_files import atomic_write
from heatgraph._io.formatting import format_bytes
from heatgraph.cluster._connection import Cluster, connect
from heatgraph.cluster._futures import await_all
from heatgraph.cluster._inputs import publish_inputs
from heatgraph.cluster._plan import ClusterPlan, on_cluster, plan_on_cluster
from heatgraph.cluster._row_blocks import cut_rows
from heatgraph.cluster._workers import WorkerLimits, examine_workers
from heatgraph.errors import MemoryBudgetError

Array = npt.NDArray[Any]

INPUTS, CUT = "inputs", "cut.json"


def plan_with_cluster(
    task: DiffusionTask, cluster: Cluster, budget: float, path: Path | None
) -> ClusterPlan:
    """The plan of a diffusion on a cluster, to memory or to a file, without computing anything."""
    with connect(cluster) as client:
        if path is None:
            workers = examine_workers(client, scratch_folder(task, cluster))
            return plan_on_cluster(task.request, task.plan, cluster, workers, budget)
        return _plan_to_file(task, cluster, client, budget, path.absolute())


def run_to_file(
    task: DiffusionTask, cluster: Cluster, budget: float, path: Path, progress: Progress | None
) -> Array:
    """Write a file, resuming an unfinished run, and return its memory map (M, R, d)."""
    path = path.absolute()  # workers have other working directories
    with connect(cluster) as client:
        cluster_plan = _plan_to_file(task, cluster, client, budget, path)
        task = replace(task, plan=cluster_plan)
        row_cut, cuts = None, [0, task.graph.num_nodes]
        if cluster_plan.mode == "blocks":
            row_cut, cuts = _cut_result(task, cluster_plan.blocks)
        axis = 1 if task.plan.side == "rows" else 2
        with Checkpoint(
            path, task.fingerprint(), task.shape, task.request.dtype, axis, task.plan.panels,
            row_cut,
        ) as checkpoint:  # fmt: skip
            _write_cut(checkpoint.folder, task, cluster_plan)
            folder = checkpoint.folder / INPUTS
            if checkpoint.missing:
                folder.mkdir(exist_ok=True)
                _compute(client, task, cluster_plan, cuts, checkpoint, folder, progress)
            shutil.rmtree(folder, ignore_errors=True)
            result = checkpoint.finish()
    task.warn_if_oversmoothed(result)
    return result


def run_in_memory(
    task: DiffusionTask, cluster: Cluster, budget: float, out: Array, progress: Progress | None
) -> Array:
    """Fill `out` (M, R, d), by files in a folder that the workers share."""
    with tempfile.TemporaryDirectory(
        dir=scratch_folder(task, cluster), prefix=".heatgraph-"
    ) as folder:
        out[...] = run_to_file(task, cluster, budget, Path(folder) / "result.npy", progress)
    return out


def scratch_folder(task: DiffusionTask, cluster: Cluster) -> Path:
    """The folder for files on the way: the user's, that of the graph, or the working directory."""
    if cluster.folder is not None:
        return Path(cluster.folder).resolve()
    stored = task.graph.cache.get("file")
    return Path.cwd() if stored is None else Path(stored.path).parent


def _compute(
    client: Any,
    task: DiffusionTask,
    plan: ClusterPlan,
    cuts: list[int],
    checkpoint: Checkpoint,
    inputs_folder: Path,
    progress: Progress | None,
) -> None:
    """Compute the missing panels of a checkpoint."""
    inputs = publish_inputs(task, inputs_folder, checkpoint.fingerprint[:16], plan.mode == "blocks")
    missing = checkpoint.missing
    done, total = 0, plan.products * len(missing)

    def report(products: int) -> None:
        nonlocal done
        done += products
        if progress is not None and total:
            progress(done, total)

    def explain() -> str:
        return (
            f"The plan is {format_bytes(plan.memory)} per worker, the limit "
            f"{format_bytes(plan.worker_limit)}. Start workers with a higher --memory-limit, or "
            "pass a smaller memory_budget."
        )

    # They import Dask, which is optional.
    from heatgraph.cluster._block_worker import BlockJob, BlockPlugin
    from heatgraph.cluster._blocks import build_blocks, diffuse_in_blocks
    from heatgraph.cluster._worker import DiffusionPlugin, Job, diffuse_panel

    report(0)
    folder = str(checkpoint.folder.resolve())
    parts = (checkpoint.fingerprint, folder, task.settings, inputs, task.self_loops)
    if plan.mode == "blocks":
        blocks = BlockJob(*parts, cuts, task.request.accumulates("features"))
        with registered(client, BlockPlugin(blocks)):
            sends = build_blocks(client, blocks, explain)
            for panel in missing:
                diffuse_in_blocks(client, blocks, sends, panel, explain, report)
        return
    job = Job(*parts)
    with registered(client, DiffusionPlugin(job)):
        futures = [
            client.submit(
                diffuse_panel, job.name, panel.start, panel.stop,
                key=f"{job.name}-panel-{panel.start}", pure=False,
            )
            for panel in missing
        ]  # fmt: skip
        await_all(client, futures, explain, lambda: report(plan.products))


@contextlib.contextmanager
def registered(client: Any, plugin: Any) -> Iterator[None]:
    """Give a plugin to all workers, and take it back at the end."""
    client.register_plugin(plugin)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # the cluster may be gone
            client.unregister_worker_plugin(plugin.name)


def _cut_result(task: DiffusionTask, blocks: int) -> tuple[RowCut, list[int]]:
    """How the rows of the result lie in blocks, and the first rows of the blocks."""
    reordered = reordered_graph(task.graph) if task.plan.reordered else None
    graph = task.graph if reordered is None else reordered.graph
    cuts = cut_rows(graph.indptr, blocks)
    rows = task.rows
    if rows is None:
        places = None if reordered is None else reordered.rank
        return RowCut(np.diff(cuts).tolist(), places), cuts
    rows = rows if reordered is None else reordered.rank[rows]
    owner = np.searchsorted(cuts, rows, side="right") - 1
    # Each block has its requested rows in the order of the request.
    grouped = np.argsort(owner, kind="stable")
    places = np.empty(len(rows), dtype=np.int64)
    places[grouped] = np.arange(len(rows))
    return RowCut(np.bincount(owner, minlength=blocks).tolist(), places), cuts


def _write_cut(folder: Path, task: DiffusionTask, plan: ClusterPlan) -> None:
    cut = {
        "identity": task.identity,
        "mode": plan.mode,
        "blocks": plan.blocks,
        "panel_width": plan.panel_width,
    }
    with atomic_write(folder / CUT) as file:
        file.write(json.dumps(cut).encode())


def _plan_to_file(
    task: DiffusionTask, cluster: Cluster, client: Any, budget: float, path: Path
) -> ClusterPlan:
    """The plan of an unfinished run to the same file, or else a new one."""
    workers = examine_workers(client, path.parent)
    resumed = _resumed_plan(task, path, workers, budget)
    if resumed is not None:
        return resumed
    return plan_on_cluster(task.request, task.plan, cluster, workers, budget)


def _resumed_plan(
    task: DiffusionTask, path: Path, workers: WorkerLimits, budget: float
) -> ClusterPlan | None:
    """The plan of an unfinished run of the same diffusion, if its folder has one."""
    try:
        cut = json.loads((checkpoint_folder(path) / CUT).read_bytes())
        if cut["identity"] != task.identity:
            return None
        mode, blocks, width = (cut[key] for key in ("mode", "blocks", "panel_width"))
    except (OSError, ValueError, LookupError, TypeError):
        return None
    request = replace(task.request, destination="worker")
    plan = on_cluster(task.plan, request, workers, mode, blocks, width)
    allowed = workers.available if mode == "columns" else workers.managed
    if plan.memory > min(allowed, budget):
        raise MemoryBudgetError(
            f"{checkpoint_folder(path)} has panels of a run that needs "
            f"{format_bytes(plan.memory)} per worker; these workers have "
            f"{format_bytes(min(allowed, budget))} left of a limit of "
            f"{format_bytes(workers.memory_limit)}. Use workers with more memory, or delete the "
            "folder to start over."
        )
    return plan
