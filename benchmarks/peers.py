"""Peers: other libraries doing the same work as heatgraph.

A *multiplier* holds a sparse matrix (n, n) in the format of its library and multiplies dense ones
(n, d) by it, which is all that the published algorithm needs. A *heat filter* applies e^(-TL) by
the method of its library. To add a peer, write one of the two and enter it in `MULTIPLIERS` or
`HEAT_FILTERS`, and its distribution in `PACKAGES`. Libraries are imported where they are used, so
that a missing one becomes a row of the table instead of an error.

Of scikit-network, `linalg.Polynome` is used: a polynomial of a matrix, applied to dense ones (S
itself for a product, Taylor's polynomial for heat). Its `regression.Diffusion` takes one vector at
a time and clips negative values.
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
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from benchmarks.workloads import Workload

if TYPE_CHECKING:
    from heatgraph.experiments.paper.settings import AuthorsSetting

# Distributions whose versions are recorded.
PACKAGES = (
    "torch", "torch_geometric", "PyGSP", "scikit-network", "sparse_dot_mkl", "mkl", "pyarrow",
)  # fmt: skip
# Time is extrapolated from at least this many steps and this share of the budget; the time of a
# column is estimated from this many.
MIN_STEPS, MIN_SHARE, FIRST_COLUMNS = 3, 0.1, 4

# Torch warns, once for each layout, that sparse tensors are a beta feature.
warnings.filterwarnings("ignore", message=".*[Ss]parse.*", category=UserWarning)


class Scipy:
    """SciPy's product of CSR with dense, on one thread."""

    bytes_per_entry = 8

    def __init__(self, matrix: sp.csr_array) -> None:
        self.matrix: Any = matrix

    def from_numpy(self, X: np.ndarray) -> Any:
        return X

    def multiply(self, X: Any) -> Any:
        return self.matrix @ X

    def to_numpy(self, Y: Any) -> np.ndarray:
        return Y


class MKL(Scipy):
    """MKL's product of CSR with dense, through sparse_dot_mkl."""

    def __init__(self, matrix: sp.csr_array) -> None:
        libraries = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
        if libraries:  # the wheel installs it outside the loader's search path
            os.environ.setdefault("MKL_RT", str(libraries[0]))
        from sparse_dot_mkl import dot_product_mkl

        self.matrix, self.product = matrix, dot_product_mkl

    def multiply(self, X: Any) -> Any:
        return self.product(self.matrix, X)


class ScikitNetwork(Scipy):
    """scikit-network's polynomial of a matrix, here r(s) = s; it multiplies column by column."""

    def __init__(self, matrix: sp.csr_array) -> None:
        from sknetwork.linalg import Polynome

        self.matrix = Polynome(sp.csr_matrix(matrix), np.array([0, 1], dtype=np.float32))

    def multiply(self, X: Any) -> Any:
        return self.matrix.dot(X)


class TorchCSR:
    """Torch's CSR tensor with 32-bit indices, which are faster than 64-bit ones."""

    bytes_per_entry = 8

    def __init__(self, matrix: sp.csr_array) -> None:
        import torch

        parts = (torch.from_numpy(part) for part in (matrix.indptr, matrix.indices, matrix.data))
        self.matrix = torch.sparse_csr_tensor(*parts, matrix.shape)

    def from_numpy(self, X: np.ndarray) -> Any:
        import torch

        return torch.from_numpy(X)

    def multiply(self, X: Any) -> Any:
        return self.matrix @ X

    def to_numpy(self, Y: Any) -> np.ndarray:
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

    def multiply(self, X: Any) -> Any:
        import torch

        return torch.spmm(self.matrix, X)


class SGConvCSR(TorchCSR):
    """The propagation of PyTorch Geometric's SGConv, on a CSR tensor."""

    def __init__(self, matrix: sp.csr_array) -> None:
        from torch_geometric.nn import SGConv

        super().__init__(matrix)
        self.layer, self.weight = SGConv(1, 1), None

    def multiply(self, X: Any) -> Any:
        import torch

        with torch.no_grad():
            return self.layer.propagate(self.matrix, x=X, edge_weight=self.weight)


class SGConvEdges(SGConvCSR):
    """The same on an edge index, its default: one message per edge is materialised, then summed."""

    bytes_per_entry = 8 + 8 + 4

    def __init__(self, matrix: sp.csr_array) -> None:
        import torch
        from torch_geometric.nn import SGConv

        coo = matrix.tocoo()
        self.layer = SGConv(1, 1)
        self.matrix = torch.from_numpy(np.stack([coo.col, coo.row]).astype(np.int64))
        self.weight = torch.from_numpy(coo.data)


MULTIPLIERS: dict[str, type] = {
    "torch CSR": TorchCSR,
    "torch COO": TorchCOO,
    "PyG SGConv": SGConvEdges,
    "PyG SGConv, CSR": SGConvCSR,
    "MKL": MKL,
    "SciPy": Scipy,
    "scikit-network": ScikitNetwork,
}


# The authors' code: literal Euler steps with torch's COO tensor, then Adam or L-BFGS.
PUBLISHED, PublishedMultiplier = "published algorithm", TorchCOO


def installed_versions() -> dict[str, str]:
    """Versions of `PACKAGES`, or "absent"."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "absent"
    return versions


def euler_step(S: sp.csr_array, T: float, K: int) -> sp.csr_array:
    """(1 - T/K) I + (T/K) S, computed in place; S must store its whole diagonal."""
    delta = np.float32(T / K)
    S.data *= delta
    S.setdiag(S.diagonal() + (1 - delta))
    return S


@dataclass(frozen=True)
class Steps:
    """The value after `taken` steps, and the measured or extrapolated seconds of all."""

    value: Any
    taken: int
    seconds: float


def take_steps(step: Callable[[Any], Any], X: Any, K: int, budget: float) -> Steps:
    """Take K steps, or stop early and extrapolate if they would exceed a budget of seconds.

    The first step is left out of the extrapolation's rate, since it may be slower than the others.
    At least a tenth of the budget is spent, since quick steps are slower at first.
    """
    start, first = time.perf_counter(), 0.0
    for taken in range(1, K + 1):
        X = step(X)
        spent = time.perf_counter() - start
        first = first or spent
        expected = first + (spent - first) / max(1, taken - 1) * (K - 1)
        if taken >= MIN_STEPS and expected > budget and spent > MIN_SHARE * budget:
            break
    return Steps(X, taken, expected)


def affordable_columns(apply: Callable[[Any], Any], X: np.ndarray, budget: float) -> int:
    """All columns if a budget of seconds suffices for them, else as many as half of it affords.

    The time of a column is estimated twice, from few columns and from more: with few, reading the
    graph dominates.
    """
    d, columns = X.shape[1], min(FIRST_COLUMNS, X.shape[1])
    for share in (0.1, 0.5):
        start = time.perf_counter()
        apply(X[:, :columns])
        seconds_per_column = (time.perf_counter() - start) / columns
        if seconds_per_column * d <= budget:
            return d
        columns = max(columns, min(d, int(share * budget / seconds_per_column)))
    return columns


@dataclass(frozen=True)
class HeatFilter:
    """A library's e^(-TL) X, its precision and the number of its products if that is known.

    One that filters each column separately (`by_columns`) can be timed on a part of them.
    """

    apply: Callable[[np.ndarray], np.ndarray]
    dtype: Any = np.float64
    products: int | None = None
    by_columns: bool = True


def expm_multiply(data: Workload, T: float, degree: int) -> HeatFilter:
    """SciPy's action of a matrix exponential, which chooses its own degree."""
    from scipy.sparse.linalg import expm_multiply

    S = data.S()
    generator = T * (S.astype(np.float64) - sp.eye_array(S.shape[0], format="csr"))
    trace = float(generator.trace())
    return HeatFilter(lambda X: expm_multiply(generator, X, traceA=trace))


def pygsp_heat(data: Workload, T: float, degree: int) -> HeatFilter:
    """PyGSP's Heat filter, of heatgraph's degree and on the spectrum of L.

    Its weights are A + I. It warns that its Laplacian ignores self-loops, but the normalised one
    does not. It divides by a bound on the largest eigenvalue, so its time is T times that bound.
    """
    logging.disable(logging.WARNING)
    from pygsp import filters, graphs

    weights = data.adjacency().astype(np.float64) + sp.eye_array(data.about["nodes"])
    graph = graphs.Graph(sp.csr_matrix(weights), lap_type="normalized")
    graph.estimate_lmax("bounds")
    heat = filters.Heat(graph, scale=T * graph.lmax)

    def apply(X: np.ndarray) -> np.ndarray:
        return heat.filter(X, order=degree).reshape(X.shape)

    return HeatFilter(apply, products=degree)


def scikit_network_heat(data: Workload, T: float, degree: int) -> HeatFilter:
    """scikit-network's polynomial with Taylor's coefficients, truncated at an error of 1e-6."""
    from sknetwork.linalg import Polynome

    coefficients = [math.exp(-T)]
    while sum(coefficients) < 1 - 1e-6:
        coefficients.append(coefficients[-1] * T / len(coefficients))
    polynomial = Polynome(sp.csr_matrix(data.S()), np.array(coefficients, dtype=np.float32))
    return HeatFilter(lambda X: polynomial.dot(X), np.float32, len(coefficients) - 1)


def gdc_heat(data: Workload, T: float, degree: int) -> HeatFilter:
    """PyTorch Geometric's exact heat diffusion, a dense matrix, without its sparsification."""
    import torch
    from torch_geometric.transforms import GDC

    n = data.about["nodes"]
    coo = data.S().tocoo()
    edges = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
    values = torch.from_numpy(coo.data)

    def apply(X: np.ndarray) -> np.ndarray:
        kernel = GDC().diffusion_matrix_exact(edges, values, n, "heat", t=T)
        return (kernel @ torch.from_numpy(X)).numpy()

    return HeatFilter(apply, np.float32, by_columns=False)


HEAT_FILTERS: dict[str, Callable[[Workload, float, int], HeatFilter]] = {
    "expm_multiply": expm_multiply,
    "PyGSP": pygsp_heat,
    "scikit-network": scikit_network_heat,
    "PyG GDC": gdc_heat,
}


def train_published_head(
    X_train: Any,
    y_train: Any,
    setting: AuthorsSetting,
    initial: tuple[np.ndarray, np.ndarray],
) -> Any:
    """Train as the authors do: a hundred epochs of Adam, from weights (C, d) and bias (C,)."""
    import torch

    model = torch.nn.Linear(X_train.shape[1], len(initial[1]))
    with torch.no_grad():
        model.weight.copy_(torch.from_numpy(initial[0]))
        model.bias.copy_(torch.from_numpy(initial[1]))
    optimizer = torch.optim.Adam(
        model.parameters(), lr=setting.learning_rate, weight_decay=setting.weight_decay
    )
    for _ in range(100):
        model.train()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(X_train), y_train).backward()
        optimizer.step()
    return model


def train_published_reddit_head(X_train: Any, y_train: Any, classes: int) -> Any:
    """Train as the authors of SGC and DGC do on Reddit: two epochs of L-BFGS, no weight decay."""
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
