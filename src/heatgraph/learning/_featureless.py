"""Learning without features, where nodes are known by their rows of the kernel r(S) alone.

Each node is its own feature then, so diffused features of R nodes are R rows of r(S), each as long
as the graph. But all that a linear head needs of them is their Gram matrix with the L rows that it
learns from,

    r(S)[rows] r(S)[learning]^T = r(S)^2 [rows, learning],

and r^2 is a scheme of the same kind, so that labels alone diffuse. With the eigenvectors U and
eigenvalues lambda of its part [learning, learning], the features

    F = r(S)^2 [rows, learning] U lambda^(-1/2)

have the same Gram matrix, and L columns. Weights theta for F are weights for nodes
Theta = r(S)[:, learning] U lambda^(-1/2) theta: one more diffusion, of a column per class.
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


def can_stand_in(graph: Graph, schemes: Sequence[Scheme], num_learning: int) -> bool:
    """Whether nodes have no features, the schemes have squares, and it makes things smaller."""
    return (
        graph.features is None
        and num_learning < graph.num_nodes
        and all(scheme.squared() is not None for scheme in schemes)
    )


def stand_in_features(
    graph: Graph,
    schemes: Sequence[Scheme],
    rows: Indices,
    num_learning: int,
    self_loops: bool,
    engine: dict[str, Any],
) -> tuple[Array, Array]:
    """Features (M, R, L) of `rows`, the first L of which are learned from, and U lambda^(-1/2)."""
    learning = rows[:num_learning]
    units = sp.csr_array(
        (np.ones(num_learning, dtype=np.float32), (learning, np.arange(num_learning))),
        shape=(graph.num_nodes, num_learning),
    )
    squares = [squared for scheme in schemes if (squared := scheme.squared())]
    gram = diffuse_many(
        graph.with_features(units), squares, rows=rows, self_loops=self_loops, **engine
    )
    inner = gram[:, :num_learning].astype(np.float64)
    lambdas, U = np.linalg.eigh((inner + inner.swapaxes(1, 2)) / 2)
    # What is below the error of the Gram matrix is no direction.
    error = max(num_learning * float(np.finfo(gram.dtype).eps), 10 * engine["tol"])
    least = error * lambdas[:, -1:]
    present = lambdas > least
    scale = np.where(present, 1 / np.sqrt(np.where(present, lambdas, 1)), 0)
    turned = U * scale[:, np.newaxis]
    return (gram @ turned).astype(gram.dtype), turned


def node_weights(
    graph: Graph,
    scheme: Scheme,
    learning: Indices,
    alpha: Array,
    self_loops: bool,
    engine: dict[str, Any],
) -> Array:
    """Weights of nodes (n, C) from those of the nodes learned from, alpha (L, C)."""
    spread = np.zeros((graph.num_nodes, alpha.shape[1]))
    spread[learning] = alpha
    return diffuse(graph.with_features(spread), scheme=scheme, self_loops=self_loops, **engine)
