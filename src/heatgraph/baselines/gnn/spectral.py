r"""Networks whose layers apply heat kernels.

    GWNN         H' = relu(exp(sL) diag(f) exp(-sL) H W)      Xu, Shen, Cao, Qiu and Cheng 2019
    GraphHeat    H' = relu(exp(-sL) H W_1 + H W_0)            Xu, Shen, Cao, Cen and Cheng 2019

L is I - S, S = D^-1/2 A D^-1/2, and f (n,) is learned, with 1 as the initial value.

GWNN keeps only entries of its kernels above a threshold. That saves work and changes the model:
negative entries are dropped, so that the truncated exp(sL) does not undo the smoothing. The code of
GraphHeat's authors truncates exp(-sL) too, without its diagonal. Here a Chebyshev series in S
applies all of it, as in their equation, with a tenth of the work on Pubmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GCNConv

from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph.schemes import Heat

# Below the precision of float32.
SERIES_TOL = 1e-7


class SymmetricProduct(torch.autograd.Function):
    """K H with a constant symmetric K; the gradient by H is K G."""

    @staticmethod
    def forward(context: Any, K: Tensor, H: Tensor) -> Tensor:
        """The product."""
        context.kernel = K
        return K @ H

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        """The gradient by H."""
        return None, context.kernel @ gradients[0]


def product(K: Tensor, H: Tensor) -> Tensor:
    """K H with a constant symmetric K."""
    result: Tensor = SymmetricProduct.apply(K, H)
    return result


class GraphConvolution(GCNConv):
    """S H W + b, initialised by PyTorch Geometric, with S as a matrix instead of edges.

    A product with the matrix neither keeps nor sums messages along edges.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, normalize=False)

    def forward(self, H: Tensor, S: Tensor) -> Tensor:
        """The hidden state (n, outputs)."""
        state: Tensor = product(S, self.lin(H)) + self.bias
        return state


class Convolution(nn.Module):
    """The same layer, initialised as by GCDE's authors."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.empty(outputs))
        for weights in (self.lin.weight, self.bias):
            nn.init.uniform_(weights, -(outputs**-0.5), outputs**-0.5)

    def forward(self, H: Tensor, S: Tensor) -> Tensor:
        """The hidden state (n, outputs)."""
        return product(S, self.lin(H)) + self.bias


class WaveletConvolution(nn.Module):
    """exp(sL) diag(f) exp(-sL) H W + b."""

    def __init__(self, inputs: int, outputs: int, num_nodes: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs)
        nn.init.xavier_uniform_(self.lin.weight)
        nn.init.zeros_(self.lin.bias)
        self.filter = nn.Parameter(torch.ones(num_nodes))

    def forward(self, H: Tensor, heat: Tensor, inverse: Tensor) -> Tensor:
        """The hidden state (n, outputs)."""
        transformed = product(heat, functional.linear(H, self.lin.weight))
        return product(inverse, self.filter[:, None] * transformed) + self.lin.bias


class SymmetricSeries(torch.autograd.Function):
    """sum_k c_k T_k(S) H with a constant symmetric S; the gradient by H is the same series of G."""

    @staticmethod
    def forward(context: Any, S: Tensor, coefficients: tuple[float, ...], H: Tensor) -> Tensor:
        """The series applied to H."""
        context.series = S, coefficients
        return apply_series(S, [coefficients], H)[0]

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[None, None, Tensor]:
        """The gradient by H."""
        S, coefficients = context.series
        return None, None, apply_series(S, [coefficients], gradients[0])[0]


def apply_series(S: Tensor, series: Sequence[Sequence[float]], H: Tensor) -> list[Tensor]:
    """sum_k c_k T_k(S) H for each list of coefficients c, from one set of Chebyshev vectors."""
    sums = [coefficients[0] * H for coefficients in series]
    last = current = H
    for k in range(1, max(map(len, series))):
        product = torch.addmm(last, S, current, beta=-1, alpha=2) if k > 1 else S @ current
        last, current = current, product
        for total, coefficients in zip(sums, series, strict=True):
            if k < len(coefficients):
                total.add_(current, alpha=coefficients[k])
    return sums


class HeatConvolution(nn.Module):
    """exp(-sL) H W_1 + H W_0 + b."""

    def __init__(self, inputs: int, outputs: int, time: float) -> None:
        super().__init__()
        self.coefficients = tuple(chebyshev_series(Heat(time), SERIES_TOL)[0].tolist())
        self.near = nn.Linear(inputs, outputs, bias=False)
        self.own = nn.Linear(inputs, outputs)
        for linear in (self.near, self.own):
            nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(self.own.bias)

    def forward(self, H: Tensor, S: Tensor) -> Tensor:
        """The hidden state (n, outputs)."""
        near = SymmetricSeries.apply(S, self.coefficients, self.near(H))
        state: Tensor = near + self.own(H)
        return state
