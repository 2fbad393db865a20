"""The layout is deterministic, compact, and its forces are those of the formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from heatgraph import Graph, make_block_graph
from heatgraph.explorer import layout
from heatgraph.explorer.layout import Repulsion, graph_layout, pack


def repulsion_oracle(positions):
    d = positions[:, np.newaxis] - positions
    return (d / (1 + np.square(d).sum(axis=-1, keepdims=True))).sum(axis=1)


@pytest.mark.parametrize("spread", [3.0, 30.0, 200.0])
def test_repulsion_on_the_grid_is_that_of_all_pairs(spread):
    positions = np.random.default_rng(0).normal(size=(500, 2)) * spread
    expected = repulsion_oracle(positions)
    found = Repulsion.around(positions).forces(positions)
    # Interpolation blurs forces of nodes in the same cell.
    assert np.abs(found - expected).max() < 0.1 * np.abs(expected).max() + 1
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.98


def test_nodes_outside_of_the_grid_are_at_its_border():
    positions = np.random.default_rng(0).normal(size=(50, 2))
    repulsion = Repulsion.around(positions)
    positions[0] = 1e6
    assert np.isfinite(repulsion.forces(positions)).all()


def test_the_same_graph_has_the_same_layout():
    graph = make_block_graph(400, 1200, 3, 4).graph
    assert np.array_equal(graph_layout(graph), graph_layout(graph))


def test_neighbours_are_near_each_other():
    graph = make_block_graph(600, 3000, 3, 4, homophily=0.95).graph
    positions = graph_layout(graph)
    edges = graph.adjacency.tocoo()
    near = np.linalg.norm(positions[edges.row] - positions[edges.col], axis=1).mean()
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 600, (5000, 2))
    far = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1).mean()
    assert near < 0.6 * far


def test_positions_fill_a_disk():
    radii = np.linalg.norm(graph_layout(make_block_graph(200, 600, 2, 4).graph), axis=1)
    assert radii.max() == pytest.approx(1)


@pytest.mark.parametrize(
    ("edges", "n"),
    [([], 1), ([], 7), ([(0, 1)], 2), ([(0, 0)], 3), ([(0, 1), (2, 3), (4, 5)], 8)],
)
def test_graphs_of_few_nodes(edges, n):
    sources, targets = np.array(edges, dtype=int).reshape(-1, 2).T
    graph = Graph.from_edges(sources, targets, num_nodes=n, symmetrize="max")
    positions = graph_layout(graph)
    assert positions.shape == (n, 2)
    assert np.isfinite(positions).all()
    assert len(np.unique(positions.round(6), axis=0)) == n


def test_components_do_not_overlap():
    rng = np.random.default_rng(1)
    sizes = [400, 60, 60, *[5] * 30, *[1] * 100]
    blocks = [sp.random_array((s, s), density=min(1, 4 / s), rng=rng) for s in sizes]
    A = sp.csr_array(sp.block_diag(blocks))
    _, component = connected_components(A, directed=False)
    positions = pack(rng.normal(size=(A.shape[0], 2)) * 10, component)
    count = component.max() + 1
    sums = np.stack([np.bincount(component, positions[:, axis]) for axis in (0, 1)], axis=1)
    centres = sums / np.bincount(component)[:, np.newaxis]
    radii = np.zeros(count)
    np.maximum.at(radii, component, np.linalg.norm(positions - centres[component], axis=1))
    i, j = np.triu_indices(count, 1)
    distance = np.linalg.norm(centres[i] - centres[j], axis=1)
    assert (distance - radii[i] - radii[j]).min() > 0.5 * layout.GAP
