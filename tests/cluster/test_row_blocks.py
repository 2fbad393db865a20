"""A product in blocks against the kernels of one machine, to the last bit, without a cluster."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import graphs

from heatgraph import Graph, Heat
from heatgraph._engine.task import run_panels
from heatgraph.cluster._row_blocks import (
    BlockState,
    RowBlock,
    advance,
    cut_rows,
    result_of,
    write_block,
)
from heatgraph.diffusion import _prepare


def one_machine(graph, schemes, rows, dtype, tile):
    """The result of panels of features, and the task."""
    task = _prepare(
        graph, schemes, True, rows, "auto", 1e-6, dtype, None, 1, False, "result.npy", None
    )
    settings = replace(task.settings, side="features", tile=tile, panel_width=graph.num_features)
    inputs = replace(task.inputs(), features=graph.features)
    results = []
    run_panels(
        settings,
        inputs,
        [slice(0, graph.num_features)],
        lambda panel, values: results.append(values.copy()),
    )
    return results[0], task


def in_blocks(folder, graph, task, cuts, dtype, tile):
    """The same in blocks: rows that each block needs are copied from the others."""
    root, numbers = graph.stationary(True), range(len(cuts) - 1)
    edges = (graph.indptr, graph.indices, graph.weights)
    sends = [
        write_block(
            folder / f"{number}.safetensors", number, cuts, edges, root, True, np.dtype(dtype), tile
        )
        for number in numbers
    ]
    blocks = [RowBlock.open(folder / f"{number}.safetensors") for number in numbers]
    keeps = task.rows is not None and not task.request.accumulates("features")
    rows = [None] * len(blocks)
    states = []
    for number, block in enumerate(blocks):
        first, last = cuts[number : number + 2]
        X = np.asarray(graph.features[first:last], dtype=dtype)
        if block.P.root is not None and task.propagator.products:
            X = X / block.P.root[:, np.newaxis]
        states.append(BlockState(X, None, None))
        if keeps:
            rows[number] = task.rows[(task.rows >= first) & (task.rows < last)] - first
        for other in numbers:
            assert blocks[other].needs(number) == sends[number][other] == len(block.rows_for(other))
    coefficients = task.propagator.coefficients
    for k in range(1, coefficients.shape[1]):
        states = [
            advance(
                block,
                k,
                coefficients,
                states[number],
                {
                    other: states[other].current[blocks[other].rows_for(number)]
                    for other in numbers
                    if sends[other][number]
                },
                rows[number],
                threads=2,
            )
            for number, block in enumerate(blocks)
        ]
    parts = [
        result_of(block, coefficients, states[number], rows[number])
        for number, block in enumerate(blocks)
    ]
    whole = np.concatenate(parts, axis=1)
    if task.rows is None:
        return whole
    if not keeps:
        return whole[:, task.rows]
    owner = np.searchsorted(cuts, task.rows, side="right") - 1
    result = np.empty_like(whole)
    result[:, np.argsort(owner, kind="stable")] = whole
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    graph=graphs(max_nodes=25),
    T=st.sampled_from([0.0, 0.5, 4.0]),
    blocks=st.integers(1, 6),
    tile=st.integers(1, 30),
    data=st.data(),
)
def test_blocks_have_the_bits_of_one_machine(tmp_path_factory, dtype, graph, T, blocks, tile, data):
    if not isinstance(graph.features, np.ndarray):
        graph = graph.with_features(np.eye(graph.num_nodes, 3) + 0.1)
    rows = data.draw(
        st.none() | st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=30)
    )
    expected, task = one_machine(graph, [Heat(T), Heat(T / 2)], rows, dtype, tile)
    cuts = cut_rows(graph.indptr, min(blocks, graph.num_nodes))
    folder = tmp_path_factory.mktemp("blocks")
    assert_array_equal(in_blocks(folder, graph, task, cuts, dtype, tile), expected)


def test_every_block_has_rows_even_beside_a_hub():
    n = 50
    hub = Graph.from_edges(np.zeros(n - 1, int), np.arange(1, n), num_nodes=n, symmetrize="max")
    for blocks in (1, 2, 7, n):
        cuts = cut_rows(hub.indptr, blocks)
        assert cuts[0] == 0
        assert cuts[-1] == n
        assert len(cuts) == blocks + 1
        assert min(np.diff(cuts)) >= 1


def test_blocks_have_about_equal_work():
    random = np.random.default_rng(0)
    graph = Graph.from_edges(
        *random.integers(0, 10_000, (2, 50_000)), num_nodes=10_000, symmetrize="max"
    )
    cuts = cut_rows(graph.indptr, 4)
    work = np.diff(graph.indptr[cuts]) + 3 * np.diff(cuts)
    assert work.max() < 1.01 * work.min()
