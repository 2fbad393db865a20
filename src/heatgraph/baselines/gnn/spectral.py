r"""Networks whose layers multiply by kernels of heat.

    GWNN         H' = relu(exp(sL) diag(f) exp(-sL) H W)      Xu, Shen, Cao, Qiu and Cheng 2019
    GraphHeat    H' = relu(exp(-sL) H W_1 + H W_0)            Xu, Shen, Cao, Cen and Cheng 2019

L is I - S, S = D^-1/2 A D^-1/2, and f has a number for every node, which starts as 1.

Of GWNN's kernels only entries above a threshold are kept. That is more than a saving: all negative
ones go too, so that what is left of exp(sL) does not undo the smoothing. GraphHeat's authors keep
such a part of exp(-sL) as well, and without its diagonal. Here it is applied as a Chebyshev series
in S instead, which is what their equation says, and on Pubmed takes a tenth of the work.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph.schemes import Heat

# Below the precision that networks compute in.
SERIES_TOL = 1e-7


class SymmetricProduct(torch.autograd.Function):
    """K H with a fixed symmetric K; the gradient is a product with K too."""

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
    """K H with a fixed symmetric K."""
    result: Tensor = SymmetricProduct.apply(K, H)
    return result


class Convolution(nn.Module):
    """S H W + b, the layer of GCN, which starts as GCDE's authors have it."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.empty(outputs))
        for weights in (self.lin.weight, self.bias):
            nn.init.uniform_(weights, -(outputs**-0.5), outputs**-0.5)

    def forward(self, H: Tensor, S: Tensor) -> Tensor:
        """The next state (n, outputs)."""
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
        """The next state (n, outputs)."""
        seen = product(heat, functional.linear(H, self.lin.weight))
        return product(inverse, self.filter[:, None] * seen) + self.lin.bias


class SymmetricSeries(torch.autograd.Function):
    """sum_k c_k T_k(S) H with a fixed symmetric S; the gradient is the same of the gradient."""

    @staticmethod
    def forward(context: Any, S: Tensor, coefficients: tuple[float, ...], H: Tensor) -> Tensor:
        """The sum."""
        context.series = S, coefficients
        return _series(S, coefficients, H)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[None, None, Tensor]:
        """The gradient by H."""
        S, coefficients = context.series
        return None, None, _series(S, coefficients, gradients[0])


def _series(S: Tensor, coefficients: tuple[float, ...], H: Tensor) -> Tensor:
    last, current = H, S @ H
    total = coefficients[0] * last
    for coefficient in coefficients[1:]:
        total += coefficient * current
        last, current = current, torch.addmm(last, S, current, beta=-1, alpha=2)
    return total


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
        """The next state (n, outputs)."""
        near = SymmetricSeries.apply(S, self.coefficients, self.near(H))
        state: Tensor = near + self.own(H)
        return state
