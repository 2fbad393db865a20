r"""Networks whose layers multiply by kernels of heat.

    GWNN         H' = relu(exp(sL) diag(f) exp(-sL) H W)      Xu, Shen, Cao, Qiu and Cheng 2019
    GraphHeat    H' = relu(exp(-sL) H W_1 + H W_0)            Xu, Shen, Cao, Cen and Cheng 2019

L is I - D^-1/2 A D^-1/2, and f has a number for every node, which starts as 1. Of the kernels,
which are symmetric, only entries above a threshold are kept; in GraphHeat the kernel has no
diagonal, since W_0 has its part.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


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


class HeatConvolution(nn.Module):
    """exp(-sL) H W_1 + H W_0 + b."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.near = nn.Linear(inputs, outputs, bias=False)
        self.own = nn.Linear(inputs, outputs)
        for linear in (self.near, self.own):
            nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(self.own.bias)

    def forward(self, H: Tensor, heat: Tensor) -> Tensor:
        """The next state (n, outputs)."""
        near: Tensor = product(heat, self.near(H)) + self.own(H)
        return near
