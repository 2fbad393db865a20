r"""The structure of a graph as tensors: edges, the operator S, or wavelets.

Wavelets are dense matrices. As in the code of GWNN's authors, entries up to a threshold are
dropped, which leaves sparse ones; they are computed dense, one panel of rows at a time.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from heatgraph._io.memory import require_memory
from heatgraph.baselines.gnn.features import index_tensors
from heatgraph.diffusion import diffuse_many
from heatgraph.graph import Graph
from heatgraph.schemes import Heat, Scheme

with warnings.catch_warnings():  # torch warns once that its sparse CSR tensors are in beta
    warnings.simplefilter("ignore", UserWarning)
    torch.sparse_csr_tensor([0, 0], [], [], (1, 1), check_invariants=False)

PANEL_BYTES = 1 << 28
KERNEL_TOL = 1e-9
# Of a wavelet: a float32 and an int32, in its panels and in the matrix that they are joined to.
ENTRY_BYTES = 2 * 8
# Setting and wavelets of graphs that are in use.
_WAVELETS: WeakKeyDictionary[Graph, tuple[tuple[float, float], list[sp.csr_array]]] = (
    WeakKeyDictionary()
)


def edge_pairs(graph: Graph, *, self_loops: bool = False) -> Tensor:
    """Directed edges (2, m), source and target, sorted by target."""
    A = graph.adjacency
    if self_loops:
        A = sp.csr_array(A + sp.eye_array(graph.num_nodes))
    targets = np.repeat(np.arange(graph.num_nodes), np.diff(A.indptr))
    return torch.from_numpy(np.stack([A.indices.astype(np.int64), targets]))


def edge_weights(graph: Graph) -> Tensor:
    """Weights (m,) of `edge_pairs`; ones for an unweighted graph."""
    return torch.from_numpy(graph.adjacency.data.astype(np.float32))


def loop_weighted_operator(graph: Graph, own_weight: float) -> sp.csr_array:
    r"""D^-1/2 (A + w I) D^-1/2 with the degrees D of A + w I; w = 1 is the operator S."""
    A = sp.csr_array(graph.adjacency + own_weight * sp.eye_array(graph.num_nodes))
    root = sp.diags_array(A.sum(axis=1) ** -0.5)
    return sp.csr_array(root @ A @ root)


def operator_entries(S: sp.csr_array) -> tuple[Tensor, Tensor]:
    """A symmetric matrix as edges (2, m), sorted by target, and their values (m,)."""
    targets = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    pairs = np.stack([S.indices.astype(np.int64), targets])
    return torch.from_numpy(pairs), torch.from_numpy(S.data.astype(np.float32))


def wavelets(graph: Graph, time: float, threshold: float) -> list[sp.csr_array]:
    """exp(-t L) and exp(t L), of L without self-loops, with entries up to `threshold` dropped.

    Those of the last setting are kept as long as the graph: on Pubmed they take as long to compute
    as many epochs, and further seeds and predictions read the same.
    """
    setting, kernels = _WAVELETS.get(graph, (None, []))
    if setting != (time, threshold):
        kernels = _compute_wavelets(graph, time, threshold)
        _WAVELETS[graph] = (time, threshold), kernels
    return kernels


def _compute_wavelets(graph: Graph, time: float, threshold: float) -> list[sp.csr_array]:
    """Both wavelets, from one set of Chebyshev vectors."""
    schemes = [Heat(time), BackwardHeat(time)]
    n, plain = graph.num_nodes, graph.with_features(None)
    panel = max(1, PANEL_BYTES // (8 * n * len(schemes)))
    parts: list[list[sp.csr_array]] = [[] for _ in schemes]
    for start in range(0, n, panel):
        rows = np.arange(start, min(start + panel, n))
        kernels = diffuse_many(
            plain, schemes, self_loops=False, rows=rows, tol=KERNEL_TOL, dtype=np.float64
        )
        for part, kernel in zip(parts, kernels, strict=True):
            kernel[kernel <= threshold] = 0
            part.append(sp.csr_array(kernel.astype(np.float32)))
        if start == 0:
            entries = sum(part[0].nnz for part in parts)
            require_memory("keeping the wavelets", ENTRY_BYTES * entries * n / len(rows))
    return [sp.csr_array(sp.vstack(part)) for part in parts]


def csr_tensor(matrix: sp.csr_array) -> Tensor:
    """A torch CSR tensor of a SciPy matrix, without validation of its indices."""
    values = torch.from_numpy(matrix.data.astype(np.float32, copy=False))
    indptr, indices = index_tensors(matrix.indptr, matrix.indices)
    return torch.sparse_csr_tensor(indptr, indices, values, matrix.shape, check_invariants=False)


@dataclass(frozen=True)
class BackwardHeat(Scheme):
    """r(s) = exp(T (1 - s)): the heat equation backwards in time, the inverse of `Heat`."""

    T: float

    def decay(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The response at an eigenvalue x of L."""
        return np.exp(self.T * np.asarray(x, dtype=np.float64))

    def log_growth(self, radius: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Bound log |r| for |s| <= radius."""
        return self.T * (1 + radius)

    @property
    def degree(self) -> float:
        """Infinite: the response is not a polynomial."""
        return np.inf
