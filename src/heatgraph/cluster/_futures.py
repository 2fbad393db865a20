"""Waiting for the tasks of a cluster, with errors that tell what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from heatgraph.errors import ClusterError, MemoryBudgetError


def await_all(
    client: Any,
    futures: Sequence[Any],
    explain: Callable[[], str],
    on_done: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Results of all tasks, in their order; futures are released as soon as they are done.

    An error of heatgraph is raised as it is, and the other tasks are cancelled. Lost workers are
    Dask's to replace; a task that several workers died with raises MemoryBudgetError, which
    `explain` gives the figures for.
    """
    from distributed import KilledWorker, as_completed

    places = {future: place for place, future in enumerate(futures)}
    results: list[Any] = [None] * len(futures)
    try:
        for future in as_completed(futures):
            results[places[future]] = future.result()
            future.release()
            on_done()
    except KilledWorker as error:
        raise MemoryBudgetError(
            f"the task {error.task} was killed with its worker {error.allowed_failures + 1} "
            f"times, most likely for exceeding the worker's memory limit. {explain()}"
        ) from error
    except BaseException as error:
        if client.status != "running" or type(error).__name__ == "FutureCancelledError":
            raise ClusterError(
                f"the cluster at {client.scheduler.address if client.scheduler else 'its address'} "
                "was lost. Finished panels are on disk: start the cluster and repeat the call, "
                "which resumes."
            ) from error
        raise
    finally:
        if client.status == "running":
            client.cancel([future for future in futures if not future.done()])
    return results
