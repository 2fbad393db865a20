r"""What a network sees of a graph, as tensors: features, edges, the operator S, kernels of heat.

Sparse features stay sparse: the first layer's product then takes a tenth of the time on bags of
words.

Kernels are dense matrices by nature. As GWNN and GraphHeat do, entries that are not above a
threshold are dropped, and what is kept is sparse; a panel of rows is dense at a time.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional

from heatgraph.diffusion import diffuse_many
from heatgraph.graph import Graph
from heatgraph.schemes import Heat, Scheme

Array = npt.NDArray[Any]
PANEL_BYTES = 1 << 28
KERNEL_TOL = 1e-9

with warnings.catch_warnings():  # torch says once that its sparse matrices are new
    warnings.simplefilter("ignore", UserWarning)
    torch.sparse_csr_tensor([0, 0], [], [], (1, 1), check_invariants=False)


def feature_tensor(X: Any, *, sparse: bool) -> Tensor:
    """Features (n, d) in float32, sparse if they are and if a network can take them so."""
    if sp.issparse(X):
        if sparse:
            return csr_tensor(sp.csr_array(X))
        X = X.toarray()
    return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))


def dropped(X: Tensor, p: float, training: bool) -> Tensor:
    """Dropout, of stored entries if X is sparse."""
    if X.layout != torch.sparse_csr:
        return functional.dropout(X, p, training)
    values = functional.dropout(X.values(), p, training)
    return _csr(X.crow_indices(), X.col_indices(), values, X.shape)


def permuted(X: Tensor, order: Tensor) -> Tensor:
    """The rows of X in another order."""
    if X.layout != torch.sparse_csr:
        return X[order]
    starts, counts = X.crow_indices()[:-1][order], X.crow_indices().diff()[order]
    pointers = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    places = torch.arange(int(pointers[-1])) + (starts - pointers[:-1]).repeat_interleave(counts)
    return _csr(pointers, X.col_indices()[places], X.values()[places], X.shape)


def edge_pairs(graph: Graph, *, self_loops: bool = False) -> Tensor:
    """Directed edges (2, m), source and target, sorted by target; with each node's own if asked."""
    A = graph.adjacency
    if self_loops:
        A = sp.csr_array(A + sp.eye_array(graph.num_nodes))
    targets = np.repeat(np.arange(graph.num_nodes), np.diff(A.indptr))
    return torch.from_numpy(np.stack([A.indices.astype(np.int64), targets]))


def edge_weights(graph: Graph) -> Tensor:
    """The weights (m,) of `edge_pairs`; ones, if the graph has none."""
    return torch.from_numpy(graph.adjacency.data.astype(np.float32))


def normalised(graph: Graph, own_weight: float = 1.0) -> sp.csr_array:
    r"""D^-1/2 (A + w I) D^-1/2 with the degrees D of A + w I; w = 1 gives S."""
    A = sp.csr_array(graph.adjacency + own_weight * sp.eye_array(graph.num_nodes))
    root = sp.diags_array(A.sum(axis=1) ** -0.5)
    return sp.csr_array(root @ A @ root)


def operator_entries(S: sp.csr_array) -> tuple[Tensor, Tensor]:
    """A symmetric matrix as edges (2, m), sorted by target, and their values (m,)."""
    targets = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    pairs = np.stack([S.indices.astype(np.int64), targets])
    return torch.from_numpy(pairs), torch.from_numpy(S.data.astype(np.float32))


def heat_kernels(
    graph: Graph, time: float, threshold: float, *, inverse: bool, n_threads: int | None = None
) -> list[sp.csr_array]:
    """exp(-t L) and, if asked for, its inverse, of L without self-loops; entries above `threshold`.

    Both come out of one set of Chebyshev vectors.
    """
    schemes: list[Scheme] = [Heat(time), *([Sharpening(time)] if inverse else [])]
    n, plain = graph.num_nodes, graph.with_features(None)
    panel = max(1, PANEL_BYTES // (8 * n * len(schemes)))
    parts: list[list[sp.csr_array]] = [[] for _ in schemes]
    for start in range(0, n, panel):
        rows = np.arange(start, min(start + panel, n))
        kernels = diffuse_many(
            plain, schemes, self_loops=False, rows=rows, tol=KERNEL_TOL, dtype=np.float64,
            n_threads=n_threads,
        )  # fmt: skip
        for part, kernel in zip(parts, kernels, strict=True):
            kernel[kernel <= threshold] = 0
            part.append(sp.csr_array(kernel.astype(np.float32)))
    return [sp.csr_array(sp.vstack(part)) for part in parts]


def csr_tensor(matrix: sp.csr_array) -> Tensor:
    """A sparse matrix as torch has it."""
    pointers, indices = (
        torch.from_numpy(array.astype(np.int64)) for array in (matrix.indptr, matrix.indices)
    )
    values = torch.from_numpy(matrix.data.astype(np.float32))
    return _csr(pointers, indices, values, matrix.shape)


def _csr(pointers: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return torch.sparse_csr_tensor(pointers, indices, values, shape, check_invariants=False)


@dataclass(frozen=True)
class Sharpening(Scheme):
    """r(s) = exp(t (1 - s)): heat backwards in time, the inverse of `Heat`."""

    T: float

    def decay(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The response at an eigenvalue x of L."""
        return np.exp(self.T * np.asarray(x, dtype=np.float64))

    def log_growth(self, radius: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Bound log |r| for |s| <= radius."""
        return self.T * (1 + radius)

    @property
    def degree(self) -> float:
        """No polynomial."""
        return np.inf
