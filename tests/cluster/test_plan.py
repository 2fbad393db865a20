from dataclasses import replace

import numpy as np
import pytest

from heatgraph import Graph, Heat, plan
from heatgraph._engine.memory_estimate import GraphSizes
from heatgraph.cluster import Cluster
from heatgraph.cluster._plan import blocks_memory, columns_memory, exchanged_rows, plan_on_cluster
from heatgraph.cluster._row_blocks import cut_rows, write_block
from heatgraph.cluster._workers import WorkerLimits
from heatgraph.diffusion import _prepare
from heatgraph.errors import MemoryBudgetError


def random_graph(n=20_000, m=100_000, d=256):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)).astype(np.float32)
    return Graph.from_edges(*random.integers(0, n, (2, m)), features=X, symmetrize="max")


@pytest.fixture(scope="module")
def task():
    return _prepare(
        random_graph(), [Heat(5.0)], True, None, "auto", 1e-6, np.float32,
        None, 1, False, "result.npy", None,
    )  # fmt: skip


def workers(available, count=4):
    return WorkerLimits(count, 1, 2 * available, available, available)


def planned(task, available, mode="auto", count=4):
    return plan_on_cluster(
        task.request, task.plan, Cluster("local:1", mode=mode), workers(available, count), np.inf
    )


def test_with_enough_memory_columns_are_shared_by_the_workers(task):
    found = planned(task, 1e9)
    assert (found.mode, found.panel_width, len(found.panels)) == ("columns", 64, 4)
    assert found.wire_bytes < 1_000_000
    assert planned(task, 1e9, count=8).panel_width == 32


def test_panels_get_narrower_then_blocks_take_over(task):
    widths = {}
    for available in np.geomspace(1e9, 1e6, 60):
        try:
            found = planned(task, available)
        except MemoryBudgetError:
            break
        assert found.memory <= available
        widths.setdefault(found.mode, []).append(found.panel_width)
    assert widths["columns"] == sorted(widths["columns"], reverse=True)
    assert widths["columns"][0] == 64
    assert widths["blocks"]


def test_a_mode_can_be_chosen(task):
    assert planned(task, 1e9, mode="blocks").mode == "blocks"
    assert planned(task, 1e9, mode="blocks").blocks == 4
    least = columns_memory(replace(task.request, destination="worker"), task.plan, 1)
    narrow = planned(task, least, mode="columns")
    assert (narrow.mode, narrow.panel_width) == ("columns", 1)


def test_the_refusal_has_both_figures(task):
    with pytest.raises(MemoryBudgetError, match=r"needs .*B per worker.*limit of 20\.0 kB"):
        planned(task, 1e4)


def test_rows_exchanged_on_a_random_graph(tmp_path):
    graph = random_graph(n=30_000, m=150_000, d=1)
    for P in (2, 4, 8):
        cuts = cut_rows(graph.indptr, P)
        edges = (graph.indptr, graph.indices, graph.weights)
        rows = sum(
            sum(
                write_block(
                    tmp_path / "block", number, cuts, edges, graph.stationary(), True,
                    np.dtype(np.float32), graph.num_nodes,
                )
            )
            for number in range(P)
        )  # fmt: skip
        assert rows == pytest.approx(exchanged_rows(GraphSizes.from_graph(graph), P), rel=0.02)


def test_more_blocks_and_workers_need_less_memory(task):
    needed = [blocks_memory(task.request, task.plan, P, P, 64) for P in (1, 2, 4, 8)]
    assert needed == sorted(needed, reverse=True)


def test_the_public_plan(client):
    graph = random_graph(d=32)
    found = plan(graph, T=5.0, cluster=client)
    assert (found.mode, found.workers) == ("columns", 2)
    assert found.products == plan(graph, T=5.0).products
    assert "2 workers of 1 threads" in str(found)
    assert "blocks of rows" in str(plan(graph, T=5.0, cluster=Cluster(client, mode="blocks")))
