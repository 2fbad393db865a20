r"""Networks whose hidden state solves a differential equation.

    CGNN    dH/dt = a/2 (S_w - I) H + E,   H(0) = E = X W + b,   a in (0, 1) learned
            scores = relu(H(t)) W' + b'                               Xhonneux, Qu and Tang 2020
    GCDE    dH/dt = S softplus(S H W_1 + b_1) W_2 + b_2,   H(0) = relu(S X W_0 + b_0)
            scores = S H(1) W_3 + b_3                                 Poli et al. 2019

S_w has self-loops of weight w. As in the code of CGNN's authors, the E in the equation is detached,
so that gradients flow through the initial value only. Their code learns a rate a for each node;
here all nodes share one, as in their paper, so that the network can label other graphs.

GCDE is integrated by torchdiffeq. CGNN's equation is linear, and with the rate b = a/2 its solution
is a response of S_w applied to E,

    H(t) = r(S_w) E,    r(1 - x) = exp(-b t x) + (1 - exp(-b t x)) / (b x),

which a Chebyshev series gives to the tolerance of the authors' solver, in a tenth of its products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from torchdiffeq import odeint

from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph.baselines.gnn.dropout import dropout
from heatgraph.baselines.gnn.recipes import Recipe
from heatgraph.baselines.gnn.spectral import Convolution, apply_series
from heatgraph.schemes import Heat, Scheme

FloatArray = npt.NDArray[np.float64]
# Below this argument, `_mean_decay_slope` takes the first terms of its series.
SMALL_ARGUMENT = 1e-3


@dataclass(frozen=True)
class HeatWithSource(Scheme):
    """r = exp(-b t x) + (1 - exp(-b t x)) / (b x): dH/dt = -b L H + E from H(0) = E, at time t."""

    rate: float
    time: float

    def decay(self, x: npt.ArrayLike) -> FloatArray:
        """The response at an eigenvalue x of L."""
        z = self.rate * self.time * np.asarray(x, dtype=np.float64)
        decayed: FloatArray = np.exp(-z) + self.time * _mean_decay(z)
        return decayed

    def log_growth(self, radius: FloatArray) -> FloatArray:
        """Bound log |r| for |s| <= radius: the source adds t times the largest exponential."""
        bound: FloatArray = self.rate * self.time * (radius - 1) + np.log1p(self.time)
        return bound

    @property
    def degree(self) -> float:
        """Infinite: the response is not a polynomial."""
        return np.inf


@dataclass(frozen=True)
class RateDerivative(Scheme):
    """The derivative of `HeatWithSource` by its rate."""

    rate: float
    time: float

    def decay(self, x: npt.ArrayLike) -> FloatArray:
        """The response at an eigenvalue x of L."""
        tx = self.time * np.asarray(x, dtype=np.float64)
        z = self.rate * tx
        slope: FloatArray = tx * (self.time * _mean_decay_slope(z) - np.exp(-z))
        return slope

    def log_growth(self, radius: FloatArray) -> FloatArray:
        """Bound log |r| for |s| <= radius: |x| is at most 1 + radius, the slope at most 1/2."""
        factor = np.log(self.time * (1 + self.time / 2) * (1 + radius))
        bound: FloatArray = self.rate * self.time * (radius - 1) + factor
        return bound

    @property
    def degree(self) -> float:
        """Infinite: the response is not a polynomial."""
        return np.inf


def _mean_decay(z: FloatArray) -> FloatArray:
    """(1 - exp(-z)) / z, the mean of exp(-u) over [0, z]."""
    mean: FloatArray = np.where(z == 0, 1.0, -np.expm1(-z) / np.where(z == 0, 1.0, z))
    return mean


def _mean_decay_slope(z: FloatArray) -> FloatArray:
    """The derivative of `_mean_decay`, (z exp(-z) - (1 - exp(-z))) / z^2."""
    large = np.maximum(z, SMALL_ARGUMENT)
    slope: FloatArray = (large * np.exp(-large) + np.expm1(-large)) / large**2
    return np.where(z < SMALL_ARGUMENT, -1 / 2 + z / 3 - z**2 / 8, slope)


class SourcedDiffusion(torch.autograd.Function):
    """r(S) E; its gradients are by the initial value E, exp(-b t L) G, and by the rate b."""

    @staticmethod
    def forward(
        context: Any, S: Tensor, E: Tensor, rate: Tensor, time: float, tol: float
    ) -> Tensor:
        """H at a time."""
        context.arguments = S, float(rate), time, tol
        schemes: list[Scheme] = [HeatWithSource(float(rate), time)]
        if context.needs_input_grad[2]:
            schemes.append(RateDerivative(float(rate), time))
        series = [chebyshev_series(scheme, tol)[0].tolist() for scheme in schemes]
        H, *slope = apply_series(S, series, E)
        context.save_for_backward(*slope)
        return H

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients by E and by the rate."""
        S, rate, time, tol = context.arguments
        (slope,) = context.saved_tensors
        heat = chebyshev_series(Heat(rate * time), tol)[0].tolist()
        by_start = apply_series(S, [heat], gradients[0])[0]
        return None, by_start, (gradients[0] * slope).sum(), None, None


class CGNN(nn.Module):
    """CGNN: linear diffusion with a source term."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe) -> None:
        super().__init__()
        self.encode = nn.Linear(inputs, recipe.hidden)
        self.decode = nn.Linear(recipe.hidden, outputs)
        # Before the sigmoid, which gives a.
        self.rate = nn.Parameter(torch.tensor(float(recipe.options["alpha"])))
        self.dropout, self.time = recipe.dropout, float(recipe.options["time"])
        self.tol = float(recipe.options["tol"])

    def forward(self, X: Tensor, S: Tensor) -> Tensor:
        """Scores of all nodes."""
        E = self.encode(dropout(X, self.dropout, self.training))
        rate = torch.sigmoid(self.rate) / 2
        H = SourcedDiffusion.apply(S, E, rate, self.time, self.tol)
        scores: Tensor = self.decode(functional.relu(H))
        return scores


class GCDE(nn.Module):
    """GCDE: two GCN layers are the right-hand side of the equation."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe) -> None:
        super().__init__()
        hidden = recipe.hidden
        self.first = Convolution(inputs, hidden)
        self.inner = nn.ModuleList(Convolution(hidden, hidden) for _ in range(2))
        self.last = Convolution(hidden, outputs)
        self.dropout, self.inner_dropout = recipe.dropout, recipe.options["inner_dropout"]
        self.method = recipe.options["method"]

    def forward(self, X: Tensor, S: Tensor) -> Tensor:
        """Scores of all nodes."""

        def derivative(_: Tensor, H: Tensor) -> Tensor:
            for number, layer in enumerate(self.inner):
                H = functional.softplus(H) if number else H
                H = dropout(H, self.inner_dropout, self.training)
                H = layer(H, S)
            return H

        X = dropout(X, self.dropout, self.training)
        start = functional.relu(self.first(X, S))
        H = odeint(derivative, start, torch.tensor([0.0, 1.0]), method=self.method)[-1]
        scores: Tensor = self.last(H, S)
        return scores
