"""The same work as others do it.

A *multiplier* holds a sparse matrix as a library wants it and multiplies dense ones by it; that is
all that the published algorithm needs. A *heat filter* applies e^(-TL) by whatever way its library
has. Every library is imported where it is used, so that a missing one is a row of the table.

Of scikit-network, `linalg.Polynome` fits: a polynomial of a matrix, applied to others (S itself for
a product, Taylor's polynomial for heat). Its `regression.Diffusion` takes one vector at a time, and
replaces what is negative.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from benchmarks.workloads import Workload

if TYPE_CHECKING:
    from heatgraph.experiments.paper.settings import AuthorsSetting

# Steps and share of the budget that time is extrapolated from at least, and columns that it is
# guessed from.
FEWEST_STEPS, LEAST_SHARE, FEWEST_COLUMNS = 3, 0.1, 4

# Torch announces its sparse tensors as a beta feature, once for each kind.
warnings.filterwarnings("ignore", message=".*[Ss]parse.*", category=UserWarning)


class Scipy:
    """SciPy's own product, on one thread."""

    bytes_per_entry = 8

    def __init__(self, matrix: sp.csr_array) -> None:
        self.matrix: Any = matrix

    def lay(self, X: np.ndarray) -> Any:
        return X

    def times(self, X: Any) -> Any:
        return self.matrix @ X

    def back(self, Y: Any) -> np.ndarray:
        return Y


class MKL(Scipy):
    """MKL's product of CSR with dense, through sparse_dot_mkl."""

    def __init__(self, matrix: sp.csr_array) -> None:
        libraries = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
        if libraries:  # the wheel puts it where no loader looks
            os.environ.setdefault("MKL_RT", str(libraries[0]))
        from sparse_dot_mkl import dot_product_mkl

        self.matrix, self.product = matrix, dot_product_mkl

    def times(self, X: Any) -> Any:
        return self.product(self.matrix, X)


class ScikitNetwork(Scipy):
    """scikit-network's polynomial of a matrix, here the first power; it goes column by column."""

    def __init__(self, matrix: sp.csr_array) -> None:
        from sknetwork.linalg import Polynome

        self.matrix = Polynome(sp.csr_matrix(matrix), np.array([0, 1], dtype=np.float32))

    def times(self, X: Any) -> Any:
        return self.matrix.dot(X)


class TorchCSR:
    """Torch's CSR tensor, with the 32-bit indices that it is fastest with."""

    bytes_per_entry = 8

    def __init__(self, matrix: sp.csr_array) -> None:
        import torch

        parts = (torch.from_numpy(part) for part in (matrix.indptr, matrix.indices, matrix.data))
        self.matrix = torch.sparse_csr_tensor(*parts, matrix.shape)

    def lay(self, X: np.ndarray) -> Any:
        import torch

        return torch.from_numpy(X)

    def times(self, X: Any) -> Any:
        return self.matrix @ X

    def back(self, Y: Any) -> np.ndarray:
        return Y.numpy()


class TorchCOO(TorchCSR):
    """Torch's COO tensor and spmm, as in the authors' code."""

    bytes_per_entry = 8 + 8 + 4

    def __init__(self, matrix: sp.csr_array) -> None:
        import torch

        coo = matrix.tocoo()
        indices = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
        values = torch.from_numpy(coo.data)
        self.matrix = torch.sparse_coo_tensor(indices, values, coo.shape, is_coalesced=True)

    def times(self, X: Any) -> Any:
        import torch

        return torch.spmm(self.matrix, X)


class SGConvCSR(TorchCSR):
    """The propagation of PyTorch Geometric's SGConv, on a CSR tensor."""

    def __init__(self, matrix: sp.csr_array) -> None:
        from torch_geometric.nn import SGConv

        super().__init__(matrix)
        self.layer, self.weight = SGConv(1, 1), None

    def times(self, X: Any) -> Any:
        import torch

        with torch.no_grad():
            return self.layer.propagate(self.matrix, x=X, edge_weight=self.weight)


class SGConvEdges(SGConvCSR):
    """The same on an edge index, its default: a message is made for each edge, then all summed."""

    bytes_per_entry = 8 + 8 + 4

    def __init__(self, matrix: sp.csr_array) -> None:
        import torch
        from torch_geometric.nn import SGConv

        coo = matrix.tocoo()
        self.layer = SGConv(1, 1)
        self.matrix = torch.from_numpy(np.stack([coo.col, coo.row]).astype(np.int64))
        self.weight = torch.from_numpy(coo.data)


MULTIPLIERS: dict[str, type] = {
    "published algorithm": TorchCOO,
    "torch COO": TorchCOO,
    "torch CSR": TorchCSR,
    "PyG SGConv": SGConvEdges,
    "PyG SGConv, CSR": SGConvCSR,
    "MKL": MKL,
    "SciPy": Scipy,
    "scikit-network": ScikitNetwork,
}


def euler_step(S: sp.csr_array, T: float, K: int) -> sp.csr_array:
    """(1 - T/K) I + (T/K) S, in the place of S, which has its whole diagonal stored."""
    delta = np.float32(T / K)
    S.data *= delta
    S.setdiag(S.diagonal() + (1 - delta))
    return S


@dataclass(frozen=True)
class Taken:
    """Steps that were taken, and the time that all of them would take."""

    value: Any
    steps: int
    seconds: float


def take_steps(step: Callable[[Any], Any], X: Any, K: int, budget: float) -> Taken:
    """Take K steps; but no more than a few where all would exceed the budget of seconds.

    The first step counts once: it may be slower than the others. A tenth of the budget is spent at
    least, since quick steps are slower at first.
    """
    start, first = time.perf_counter(), 0.0
    for taken in range(1, K + 1):
        X = step(X)
        spent = time.perf_counter() - start
        first = first or spent
        expected = first + (spent - first) / max(1, taken - 1) * (K - 1)
        if taken >= FEWEST_STEPS and expected > budget and spent > LEAST_SHARE * budget:
            break
    return Taken(X, taken, expected)


def affordable_columns(apply: Callable[[Any], Any], X: np.ndarray, budget: float) -> int:
    """How many columns a budget of seconds is enough for: all, or what half of it affords.

    It is tried with few columns, then with more, since few are slow: the graph is read for them.
    """
    d, columns = X.shape[1], min(FEWEST_COLUMNS, X.shape[1])
    for share in (0.1, 0.5):
        start = time.perf_counter()
        apply(X[:, :columns])
        each = (time.perf_counter() - start) / columns
        if each * d <= budget:
            return d
        columns = max(columns, min(d, int(share * budget / each)))
    return columns


@dataclass(frozen=True)
class Filter:
    """A library's e^(-TL): what it does to features, in which precision, with how many products.

    Those that go by columns can be timed on a part of them.
    """

    apply: Callable[[np.ndarray], np.ndarray]
    dtype: Any = np.float64
    products: int | None = None
    by_columns: bool = True


def expm_multiply(data: Workload, T: float, degree: int) -> Filter:
    """SciPy's action of a matrix exponential, which finds its own degree."""
    from scipy.sparse.linalg import expm_multiply

    S = data.S()
    generator = T * (S.astype(np.float64) - sp.eye_array(S.shape[0], format="csr"))
    trace = float(generator.trace())
    return Filter(lambda X: expm_multiply(generator, X, traceA=trace))


def pygsp_heat(data: Workload, T: float, degree: int) -> Filter:
    """PyGSP's Heat filter, of the degree that heatgraph needs, on the spectrum that S has.

    Its weights are A + I. It warns that its Laplacian will not see self-loops, but the normalised
    one does. It divides by the largest eigenvalue, or a bound on it, so time is multiplied by that.
    """
    logging.disable(logging.WARNING)
    from pygsp import filters, graphs

    weights = data.adjacency().astype(np.float64) + sp.eye_array(data.about["nodes"])
    graph = graphs.Graph(sp.csr_matrix(weights), lap_type="normalized")
    graph.estimate_lmax("bounds")
    heat = filters.Heat(graph, scale=T * graph.lmax)

    def apply(X: np.ndarray) -> np.ndarray:
        return heat.filter(X, order=degree).reshape(X.shape)

    return Filter(apply, products=degree)


def scikit_network_heat(data: Workload, T: float, degree: int) -> Filter:
    """scikit-network's polynomial with Taylor's coefficients, as many as 1e-6 needs."""
    from sknetwork.linalg import Polynome

    coefficients = [math.exp(-T)]
    while sum(coefficients) < 1 - 1e-6:
        coefficients.append(coefficients[-1] * T / len(coefficients))
    polynomial = Polynome(sp.csr_matrix(data.S()), np.array(coefficients, dtype=np.float32))
    return Filter(lambda X: polynomial.dot(X), np.float32, len(coefficients) - 1)


def gdc_heat(data: Workload, T: float, degree: int) -> Filter:
    """PyTorch Geometric's exact heat diffusion, a dense matrix, without making it sparse again."""
    import torch
    from torch_geometric.transforms import GDC

    n = data.about["nodes"]
    coo = data.S().tocoo()
    edges = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
    values = torch.from_numpy(coo.data)

    def apply(X: np.ndarray) -> np.ndarray:
        kernel = GDC().diffusion_matrix_exact(edges, values, n, "heat", t=T)
        return (kernel @ torch.from_numpy(X)).numpy()

    return Filter(apply, np.float32, by_columns=False)


FILTERS: dict[str, Callable[[Workload, float, int], Filter]] = {
    "expm_multiply": expm_multiply,
    "PyGSP": pygsp_heat,
    "scikit-network": scikit_network_heat,
    "PyG GDC": gdc_heat,
}


def published_head(
    X_train: Any,
    y_train: Any,
    setting: AuthorsSetting,
    start: tuple[np.ndarray, np.ndarray],
) -> Any:
    """A hundred epochs of Adam, as the authors train; from weights (C, d) and bias (C,)."""
    import torch

    model = torch.nn.Linear(X_train.shape[1], len(start[1]))
    with torch.no_grad():
        model.weight.copy_(torch.from_numpy(start[0]))
        model.bias.copy_(torch.from_numpy(start[1]))
    optimizer = torch.optim.Adam(
        model.parameters(), lr=setting.learning_rate, weight_decay=setting.weight_decay
    )
    for _ in range(100):
        model.train()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(X_train), y_train).backward()
        optimizer.step()
    return model


def published_reddit_head(X_train: Any, y_train: Any, classes: int) -> Any:
    """Two epochs of L-BFGS without weight decay, as SGC's and DGC's authors train on Reddit."""
    import torch

    model = torch.nn.Linear(X_train.shape[1], classes)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(X_train), y_train)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)
    return model
