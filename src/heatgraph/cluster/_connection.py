"""The connection to a Dask cluster: a client, the address of a scheduler, or local processes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from heatgraph._arguments import positive_integer, short_repr
from heatgraph.errors import InputError, MissingExtraError

Mode = Literal["auto", "columns", "blocks"]

_LOCAL = re.compile(r"local:([1-9]\d*)")


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster, and how to diffuse on it.

    Parameters
    ----------
    client : distributed.Client or str
        A client; the address of a scheduler, such as "tcp://scheduler:8786"; or "local:4" for four
        processes of this machine, which end with the call that starts them.
    mode : {"auto", "columns", "blocks"}
        Whether workers diffuse panels of columns of the whole graph, or blocks of its rows. By
        default columns, if three panels of 16 columns fit in the memory of a worker beside the
        graph; else what is faster by the plan.
    blocks : int, optional
        Number of row blocks; by default one per worker.
    folder : path, optional
        A folder that all workers see, for files on the way if the result is to be in memory. By
        default that of the graph's file, or else the working directory.
    local_seconds : float
        Diffusions in memory whose plan is shorter than this run in this process.

    Examples
    --------
    >>> Cluster("tcp://scheduler:8786", mode="blocks").blocks is None
    True
    """

    client: Any
    mode: Mode = "auto"
    blocks: int | None = None
    folder: str | Path | None = None
    local_seconds: float = 1.0

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise InputError(
                f"mode must be 'auto', 'columns' or 'blocks'. Got {short_repr(self.mode)}."
            )
        if self.blocks is not None:
            positive_integer(self.blocks, "blocks")
        if self.folder is not None and not Path(self.folder).is_dir():
            raise InputError(f"folder: there is no folder {self.folder}. Make it first.")

    def __deepcopy__(self, memo: dict[int, Any]) -> Cluster:
        # A connection is shared by the copies of an estimator.
        return self


def as_cluster(cluster: Any) -> Cluster:
    """Read the argument `cluster`: a `Cluster`, a client, or a string that a `Cluster` takes."""
    if isinstance(cluster, Cluster):
        return cluster
    if isinstance(cluster, str) or hasattr(cluster, "nthreads"):
        return Cluster(cluster)
    raise InputError(
        "cluster must be a dask.distributed Client, the address of a scheduler, 'local:4' or a "
        f"heatgraph.cluster.Cluster. Got {short_repr(cluster)}."
    )


@contextlib.contextmanager
def connect(cluster: Cluster) -> Iterator[Any]:
    """A client with at least one worker; one that this opens is closed at the end."""
    distributed = import_distributed()
    with contextlib.ExitStack() as stack:
        client = cluster.client
        if isinstance(client, str):
            client = stack.enter_context(_open_client(distributed, client, stack))
        if not client.nthreads():
            raise InputError(
                f"the cluster at {client.scheduler.address} has no workers. Start some with "
                f"'dask worker {client.scheduler.address}'."
            )
        yield client


@contextlib.contextmanager
def open_cluster(address: str | None, mode: Mode = "auto") -> Iterator[Cluster | None]:
    """Connect once for any number of diffusions; None gives None, which is this process."""
    if address is None:
        yield None
        return
    cluster = Cluster(address, mode)
    with connect(cluster) as client:
        yield replace(cluster, client=client)


def _open_client(distributed: Any, address: str, stack: contextlib.ExitStack) -> Any:
    local = _LOCAL.fullmatch(address)
    if local is None:
        try:
            return distributed.Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            raise InputError(
                f"there is no Dask scheduler at {address!r}: {error}. Start one with 'dask "
                "scheduler', or use 'local:4' for four processes of this machine."
            ) from error
    processes = distributed.LocalCluster(
        n_workers=int(local[1]), threads_per_worker=1, dashboard_address=":0", processes=True
    )
    return distributed.Client(stack.enter_context(processes))


def import_distributed() -> Any:
    """Import `distributed`, which the extra cluster installs."""
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError(
            "a cluster needs dask.distributed. Install it: pip install 'heatgraph[cluster]'."
        ) from error
    return distributed
