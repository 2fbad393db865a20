"""What runs on the workers: a plugin that opens the inputs once per process, and tasks.

Tasks carry a token instead of data: the plugin that Dask gives to every worker, also to those that
join or are restarted, knows the diffusion by its token. It computes one panel at a time in each
process, by a lock, with all threads of the worker. (Resources of Dask would do the same, but a task
that asks for one waits forever if all workers are lost at the same time: those that take their
place announce it too late.)

Tasks are idempotent, since Dask runs finished ones again after a loss: a valid panel on disk is
left as it is.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from distributed import WorkerPlugin, get_worker

from heatgraph._engine.checkpoint import has_panel, write_panel
from heatgraph._engine.task import PanelInputs, PanelSettings, run_panels
from heatgraph.cluster._inputs import DiffusionInputs, panel_inputs


@dataclass(frozen=True)
class Job:
    """A diffusion as workers need it: settings, the places of inputs and results, no arrays.

    `folder` is that of the checkpoint, and `fingerprint` what its panels are marked with.
    """

    fingerprint: str
    folder: str
    settings: PanelSettings
    inputs: DiffusionInputs
    self_loops: bool

    @property
    def name(self) -> str:
        """Name of its plugin, and prefix of the keys of its tasks."""
        return f"heatgraph-{self.fingerprint[:16]}"


class DiffusionPlugin(WorkerPlugin):
    """Opens the inputs of a diffusion on a worker, when the first task asks for them."""

    def __init__(self, job: Job) -> None:
        self.job, self.name = job, job.name
        self.threads = 1

    async def setup(self, worker: Any) -> None:
        """Take the number of threads of the worker."""
        self.threads = int(worker.state.nthreads)
        self._opening, self.computing = threading.Lock(), threading.Lock()

    @cached_property
    def _inputs(self) -> PanelInputs:
        return self.job.inputs.open(self.job.self_loops, self.job.settings.working_dtype)

    @property
    def opened(self) -> PanelInputs:
        """The inputs, mapped once per process."""
        with self._opening:
            return self._inputs

    def __getstate__(self) -> dict[str, Any]:
        return {"job": self.job, "name": self.name, "threads": 1}


def worker_plugin(name: str) -> Any:
    """The plugin of that name on the worker that this runs on."""
    return get_worker().plugins[name]


def diffuse_panel(name: str, start: int, stop: int) -> None:
    """Compute the columns [start, stop), unless their panel is on disk."""
    plugin: DiffusionPlugin = worker_plugin(name)
    job, panel = plugin.job, slice(start, stop)
    folder = Path(job.folder)

    def store(_: slice, values: np.ndarray[Any, Any]) -> None:
        write_panel(folder, panel, job.fingerprint, values)

    with plugin.computing:
        if has_panel(folder, panel, job.fingerprint):
            return
        inputs, columns = panel_inputs(job.inputs, plugin.opened, panel)
        run_panels(job.settings, inputs, [columns], store, threads=plugin.threads)
