"""Positions of nodes in the plane, by a force-directed layout of each connected component.

With d = p_i - p_j, all pairs of nodes repel each other by

    d / (1 + |d|^2),

and the ends of an edge attract each other by SPRING d + BOND d / (1 + |d|^2). The forces are
bounded at short distances, which keeps neighbourhoods together (Zhong et al. 2023, "Force-directed
graph layouts revisited: a new force based on the t-distribution"). The start is that of pivot MDS
(Brandes and Pich 2006): distances to a few pivots by breadth-first search, in two dimensions.

Repulsion is summed on a grid: nodes are spread bilinearly over its cells, a fast
Fourier transform convolves them with the force, and nodes read the result bilinearly. A step takes
O(n + m + g log g) for g cells. There is no randomness but that of a fixed seed, so that the same
graph always has the same layout.

At last, components are packed: the largest in the middle, others in rings around it.

Shapes: positions are (n, 2), edges (m, 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, dijkstra

from heatgraph.graph import Graph

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

SPRING, BOND = 0.1, 1.0
NUM_PIVOTS = 50
STEPS = 300
# Step sizes, of the first and the last step, and the largest force that counts.
FIRST_STEP, LAST_STEP, MAX_FORCE = 0.1, 0.01, 50.0
# Bounds on the cells of the grid per side; their least width; and the room around nodes for the
# steps that a grid serves, as a share of the width.
MIN_CELLS, MAX_CELLS, MIN_CELL, SLACK, STEPS_PER_GRID = 32, 256, 0.25, 0.1, 10
# Distance between packed components, and how many of them the radius of a ring looks ahead.
GAP, RING_LOOKAHEAD = 5.0, 20
SEED = 0


def graph_layout(graph: Graph, steps: int = STEPS) -> Floats:
    """Positions (n, 2) of the nodes, within a disk around 0 of radius 1.

    Examples
    --------
    >>> ring = Graph.from_edges(range(6), [1, 2, 3, 4, 5, 0], num_nodes=6, symmetrize="max")
    >>> radii = np.linalg.norm(graph_layout(ring), axis=1)
    >>> bool(radii.min() > 0.9 and radii.max() < 1.001)
    True
    """
    A = graph.adjacency.astype(np.float64)
    A = sp.csr_array(A - sp.diags_array(A.diagonal()))
    A.eliminate_zeros()
    A.data[:] = 1.0
    _, component = connected_components(A, directed=False)
    positions = pack(start_positions(A, component), component)
    positions = relax(A, positions, steps)
    positions = pack(positions, component)
    positions -= (positions.min(axis=0) + positions.max(axis=0)) / 2
    radius = float(np.linalg.norm(positions, axis=1).max(initial=0.0))
    return positions / radius if radius > 0 else positions


def start_positions(A: sp.csr_array, component: npt.NDArray[Any]) -> Floats:
    """Positions (n, 2) by pivot MDS in each component, and by chance in those of few nodes."""
    rng = np.random.default_rng(SEED)
    positions = rng.standard_normal((A.shape[0], 2))
    sizes = np.bincount(component)
    order = np.argsort(component, kind="stable")
    first = np.concatenate([[0], np.cumsum(sizes)])
    for number in np.flatnonzero(sizes > 4).tolist():
        nodes = order[first[number] : first[number + 1]]
        spread = np.sqrt(len(nodes))
        embedded = _pivot_mds(A[nodes][:, nodes])
        scale = float(np.abs(embedded).max()) or 1.0
        # Leaves of one node have the same distances to all pivots: chance tells them apart.
        positions[nodes] = spread * embedded / scale + 0.1 * positions[nodes]
    return positions


def _pivot_mds(A: sp.csr_array) -> Floats:
    """Coordinates (n, 2) of a connected graph whose distances resemble those of shortest paths."""
    n = A.shape[0]
    distances = np.empty((min(NUM_PIVOTS, n), n))
    nearest, pivot = np.full(n, np.inf), int(np.diff(A.indptr).argmax())
    for number in range(len(distances)):
        distances[number] = dijkstra(A, indices=pivot, unweighted=True)
        np.minimum(nearest, distances[number], out=nearest)
        pivot = int(nearest.argmax())
    squares = distances.T**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ vectors[:, :-3:-1])


def relax(A: sp.csr_array, positions: Floats, steps: int) -> Floats:
    """Move nodes along the forces, by smaller and smaller steps."""
    positions = positions.copy()
    ends = sp.triu(A, format="coo")
    i, j = ends.row, ends.col
    n = len(positions)
    for step, size in enumerate(np.geomspace(FIRST_STEP, LAST_STEP, steps)):
        if step % STEPS_PER_GRID == 0:
            repulsion = Repulsion.around(positions)
        d = positions[i] - positions[j]
        pull = d * (SPRING + BOND / (1 + np.einsum("ij,ij->i", d, d)))[:, np.newaxis]
        forces = repulsion.forces(positions)
        for axis in range(2):
            forces[:, axis] -= np.bincount(i, pull[:, axis], n) - np.bincount(j, pull[:, axis], n)
        length = np.linalg.norm(forces, axis=1, keepdims=True)
        positions += size * forces / np.maximum(1, length / MAX_FORCE)
    return positions


@dataclass(frozen=True)
class Repulsion:
    """Sums of the repulsive forces of all nodes, on a grid of cells from the corner `low` (2,) on.

    `spectra` are the transforms of the two components of the force between cells. The grid is twice
    as long as the positions extend, so that the convolution, which is periodic, does not wrap.
    """

    low: Floats
    cell: float
    cells: int
    spectra: tuple[Any, Any]

    @classmethod
    def around(cls, positions: Floats) -> Repulsion:
        """A grid around positions, with room to move."""
        # Some four cells per node, in powers of two.
        cells = 1 << math.ceil(math.log2(2 * math.sqrt(len(positions))))
        cells = min(max(cells, MIN_CELLS), MAX_CELLS)
        low, high = positions.min(axis=0), positions.max(axis=0)
        extent = (1 + 2 * SLACK) * max(float((high - low).max()), cells * MIN_CELL)
        cell = extent / (cells - 1)
        offsets = (cell * scipy.fft.fftfreq(2 * cells, 1 / (2 * cells))).astype(np.float32)
        x, y = offsets[:, np.newaxis], offsets
        decay = 1 / (1 + x**2 + y**2)
        spectra = scipy.fft.rfft2(x * decay), scipy.fft.rfft2(y * decay)
        return cls((low + high - extent) / 2, cell, cells, spectra)

    def forces(self, positions: Floats) -> Floats:
        """The sums (n, 2) at the nodes; a node outside of the grid counts as at its border."""
        n = self.cells
        place = np.clip((positions - self.low) / self.cell, 0, n - 1.001)
        corner = place.astype(np.int64)
        share = place - corner
        corners, weights = [], []
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            corners.append((corner[:, 0] + a) * n + corner[:, 1] + b)
            weights.append(np.abs(1 - a - share[:, 0]) * np.abs(1 - b - share[:, 1]))
        mass = np.bincount(np.concatenate(corners), np.concatenate(weights), n * n)
        padded = (2 * n, 2 * n)
        spectrum = scipy.fft.rfft2(mass.reshape(n, n).astype(np.float32), padded)
        forces = np.zeros_like(positions)
        for axis, kernel in enumerate(self.spectra):
            field = scipy.fft.irfft2(spectrum * kernel, padded)[:n, :n].ravel()
            for at, weight in zip(corners, weights, strict=True):
                forces[:, axis] += weight * field[at]
        return forces


def pack(positions: Floats, component: npt.NDArray[Any]) -> Floats:
    """Move components, the largest to 0 and others to rings around it, without overlap."""
    sizes = np.bincount(component)
    sums = np.stack([np.bincount(component, positions[:, axis]) for axis in range(2)], axis=1)
    local = positions - (sums / sizes[:, np.newaxis])[component]
    radii = np.zeros(len(sizes))
    np.maximum.at(radii, component, np.linalg.norm(local, axis=1))
    order = np.lexsort((np.arange(len(sizes)), -radii, -sizes))
    centres = np.zeros((len(sizes), 2))
    inner, others = radii[order[0]] + GAP, order[1:]
    while len(others):
        # Components in a ring are sorted by size, so that the first is about the widest.
        middle = inner + radii[others[:RING_LOOKAHEAD]].max()
        widths = 2 * np.arcsin(np.minimum(1, (radii[others] + GAP / 2) / middle))
        fitting = max(1, int(np.searchsorted(np.cumsum(widths), 2 * np.pi)))
        ring, widths = others[:fitting], widths[:fitting]
        angles = np.cumsum(widths) - widths / 2
        if len(ring) > 2:
            angles *= 2 * np.pi / widths.sum()
        middle = max(middle, inner + radii[ring].max())
        centres[ring] = middle * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        inner = middle + radii[ring].max() + GAP
        others = others[fitting:]
    return np.asarray(local + centres[component])
