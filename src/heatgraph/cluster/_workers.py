"""What the workers of a cluster have: versions, memory, threads, and the files that they see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from heatgraph.errors import InputError

# Versions that bits depend on.
PACKAGES = ("heatgraph", "numpy", "scipy", "numba")


@dataclass(frozen=True)
class WorkerState:
    """One worker: its versions, and memory in bytes.

    `memory_limit` is what Dask lets it use: above it the worker is killed, above the share `pause`
    of it no task is started, and above the share `target` results of tasks are moved to disk.
    `resident` is what it uses now.
    """

    versions: tuple[str, ...]
    memory_limit: float
    pause: float
    target: float
    resident: int
    threads: int
    sees_folder: bool

    @property
    def available(self) -> float:
        """Bytes that it can take without being paused."""
        return self.pause * self.memory_limit - self.resident

    @property
    def managed(self) -> float:
        """Bytes of results that it can keep in memory."""
        return min(self.pause, self.target) * self.memory_limit - self.resident


@dataclass(frozen=True)
class WorkerLimits:
    """The least of all workers: what a plan may count on."""

    count: int
    threads: int
    memory_limit: float
    available: float
    managed: float


def examine_workers(client: Any, folder: Path) -> WorkerLimits:
    """Check versions and the folder on every worker, before anything is computed or written."""
    probe = folder / f".heatgraph-probe-{client.id}"
    try:
        probe.write_text(client.id, encoding="utf-8")
        states: dict[str, WorkerState] = client.run(worker_state, str(probe), client.id)
    finally:
        probe.unlink(missing_ok=True)
    _check_versions(states)
    blind = [address for address, state in states.items() if not state.sees_folder]
    if blind:
        raise InputError(
            f"{folder} is not visible on {len(blind)} of {len(states)} workers, such as "
            f"{blind[0]}. Use a folder of a file system that all of them share."
        )
    return limits(states.values())


def limits(states: Iterable[WorkerState]) -> WorkerLimits:
    """The least of all workers."""
    states = list(states)
    return WorkerLimits(
        count=len(states),
        threads=min(state.threads for state in states),
        memory_limit=min(state.memory_limit for state in states),
        available=min(state.available for state in states),
        managed=min(state.managed for state in states),
    )


def worker_state(probe: str, token: str, dask_worker: Any) -> WorkerState:
    """Examine the worker that this runs on."""
    import psutil

    from heatgraph._engine import plain_kernels  # noqa: F401  # resident memory includes numba
    from heatgraph._io.memory import memory_limit

    manager = dask_worker.memory_manager
    pause, target = manager.memory_pause_fraction, manager.memory_target_fraction
    try:
        sees_folder = Path(probe).read_text(encoding="utf-8") == token
    except OSError:
        sees_folder = False
    return WorkerState(
        versions=own_versions(),
        memory_limit=float(manager.memory_limit or memory_limit()),
        pause=float(pause) if pause else 1.0,
        target=float(target) if target else 1.0,
        resident=int(psutil.Process().memory_info().rss),
        threads=int(dask_worker.state.nthreads),
        sees_folder=sees_folder,
    )


def own_versions() -> tuple[str, ...]:
    """Versions of `PACKAGES` in this process."""
    return tuple(version(package) for package in PACKAGES)


def _check_versions(states: dict[str, WorkerState]) -> None:
    here = own_versions()
    for address, state in states.items():
        for package, ours, theirs in zip(PACKAGES, here, state.versions, strict=True):
            if ours != theirs:
                raise InputError(
                    f"{package} is {theirs} on the worker {address}, and {ours} here, so that "
                    f"results could differ. Install {package}=={ours} on all workers."
                )
