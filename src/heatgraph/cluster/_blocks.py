"""Blocks mode, as the client drives it: one panel at a time, a few products at a time.

Between two groups of products, states are on disk and the scheduler holds no results. It sees some
thousand tasks at a time, and a lost worker costs the products of the present group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heatgraph.cluster._block_worker import (
    BlockJob,
    build_block,
    has_state,
    load_state,
    pack,
    restore_state,
    save_state,
    step,
    store_result,
)
from heatgraph.cluster._futures import await_all

# Products after which states are written to disk.
SAVE_EVERY = 8


def build_blocks(client: Any, job: BlockJob, explain: Callable[[], str]) -> list[list[int]]:
    """Cut the graph into blocks, on the workers; return the rows that block i sends to block j."""
    numbers = range(len(job.cuts) - 1)
    futures = [
        client.submit(build_block, job.name, number, key=f"{job.name}-build-{number}", pure=False)
        for number in numbers
    ]
    return await_all(client, futures, explain)


def diffuse_in_blocks(
    client: Any,
    job: BlockJob,
    sends: list[list[int]],
    panel: slice,
    explain: Callable[[], str],
    on_product: Callable[[int], None],
) -> None:
    """Diffuse one panel; `on_product` is called with the number of products that were computed."""
    degree = job.coefficients.shape[1] - 1
    numbers = range(len(job.cuts) - 1)
    begin = max(
        (k for k in range(SAVE_EVERY, degree, SAVE_EVERY)
         if all(has_state(job, panel, k, number) for number in numbers)),
        default=0,
    )  # fmt: skip
    on_product(begin)
    while True:
        end = min(begin + SAVE_EVERY, degree)
        tasks = _group_of_products(job, sends, panel, begin, end)
        futures = client.compute(tasks, optimize_graph=False)
        await_all(client, futures, explain)
        _delete_states(job, panel, begin)
        on_product(end - begin)
        if end == degree:
            return
        begin = end


def _group_of_products(
    job: BlockJob, sends: list[list[int]], panel: slice, begin: int, end: int
) -> list[Any]:
    """Tasks that take all blocks from their state after `begin` products to that after `end`."""
    from dask.delayed import delayed

    name, part = job.name, (panel.start, panel.stop)
    blocks = range(len(sends))
    degree = job.coefficients.shape[1] - 1

    def call(function: Any, key: str, *arguments: Any) -> Any:
        # Without a preferred worker: Dask takes the one that has the state, and waits forever for
        # a preferred one that died when all others did.
        task = delayed(function, pure=False)
        return task(name, *arguments, dask_key_name=f"{name}-{part}-{key}-{begin}")

    if begin == 0:
        states = [call(load_state, f"load-{i}", i, *part) for i in blocks]
    else:
        states = [call(restore_state, f"restore-{i}", i, *part, begin) for i in blocks]
    for k in range(begin + 1, end + 1):
        packs = {
            (j, i): call(pack, f"pack-{k}-{j}-{i}", j, i, states[j])
            for j in blocks
            for i in blocks
            if sends[j][i]
        }
        halos = [{j: packs[j, i] for j in blocks if (j, i) in packs} for i in blocks]
        states = [call(step, f"step-{k}-{i}", i, k, states[i], halos[i]) for i in blocks]
    if end == degree:
        return [call(store_result, f"store-{i}", i, *part, states[i]) for i in blocks]
    return [call(save_state, f"save-{i}", i, *part, end, states[i]) for i in blocks]


def _delete_states(job: BlockJob, panel: slice, k: int) -> None:
    for number in range(len(job.cuts) - 1):
        job.state_file(panel, k, number).unlink(missing_ok=True)
