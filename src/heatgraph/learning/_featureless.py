"""Kernel features of graphs without node features.

Without features, each node is its own feature: the diffused features of R nodes are R rows of the
kernel r(S), each as long as the graph. A linear model needs only their Gram matrix with the L
training rows,

    G = r(S)[rows] r(S)[train]^T = r(S)^2 [rows, train]            (R, L),

and r^2 is a scheme of the same family, so that L columns diffuse instead of n. With eigenvectors U
and eigenvalues lambda of the block [train, train], the empirical kernel map

    F = G U lambda^(-1/2)                                          (R, L)

has the same Gram matrix. Weights theta (L, C) on F are node weights
Theta = r(S)[:, train] U lambda^(-1/2) theta (n, C): one more diffusion, with C columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.diffusion import diffuse, diffuse_many
from heatgraph.graph import Graph
from heatgraph.schemes import Scheme

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


def has_kernel_map(graph: Graph, schemes: Sequence[Scheme], num_train: int) -> bool:
    """Whether nodes have no features, all schemes have squares, and L < n makes the map smaller."""
    return (
        graph.features is None
        and num_train < graph.num_nodes
        and all(scheme.squared() is not None for scheme in schemes)
    )


def empirical_kernel_map(
    graph: Graph,
    schemes: Sequence[Scheme],
    rows: Indices,
    num_train: int,
    self_loops: bool,
    engine: dict[str, Any],
) -> tuple[Array, Array]:
    """Features F (M, R, L) of `rows`, the first L of them for training, and U lambda^(-1/2)."""
    train = rows[:num_train]
    units = sp.csr_array(
        (np.ones(num_train, dtype=np.float32), (train, np.arange(num_train))),
        shape=(graph.num_nodes, num_train),
    )
    squares = [squared for scheme in schemes if (squared := scheme.squared())]
    gram = diffuse_many(
        graph.with_features(units), squares, rows=rows, self_loops=self_loops, **engine
    )
    train_block = gram[:, :num_train].astype(np.float64)
    eigenvalues, U = np.linalg.eigh((train_block + train_block.swapaxes(1, 2)) / 2)
    # Eigenvalues below the error of the Gram matrix are noise.
    error = max(num_train * float(np.finfo(gram.dtype).eps), 10 * engine["tol"])
    significant = eigenvalues > error * eigenvalues[:, -1:]
    inverse_root = np.where(significant, 1 / np.sqrt(np.where(significant, eigenvalues, 1)), 0)
    whitening = U * inverse_root[:, np.newaxis]
    return (gram @ whitening).astype(gram.dtype), whitening


def node_weights(
    graph: Graph,
    scheme: Scheme,
    train: Indices,
    alpha: Array,
    self_loops: bool,
    engine: dict[str, Any],
) -> Array:
    """Weights of all nodes (n, C) from dual weights alpha (L, C) of the training nodes."""
    columns = np.zeros((graph.num_nodes, alpha.shape[1]))
    columns[train] = alpha
    return diffuse(graph.with_features(columns), scheme=scheme, self_loops=self_loops, **engine)
