r"""Networks whose hidden state solves a differential equation, integrated by torchdiffeq.

    CGNN    dH/dt = a/2 (S_w - I) H + E,   H(0) = E = X W + b,   a in (0, 1) learned
            scores = relu(H(t)) W' + b'                               Xhonneux, Qu and Tang 2020
    GCDE    dH/dt = S softplus(S H W_1 + b_1) W_2 + b_2,   H(0) = relu(S X W_0 + b_0)
            scores = S H(1) W_3 + b_3                                 Poli et al. 2019

S is a sparse matrix and not a list of edges, since a solver needs many products with it. S_w has
self-loops of weight w. As in the code of CGNN's authors, the E in the equation is detached, so that
gradients flow through the initial value only. Their code learns a rate a for each node; here all
nodes share one, as in their paper, so that the network can label other graphs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchdiffeq import odeint

from heatgraph.baselines.gnn.features import dropout
from heatgraph.baselines.gnn.recipes import Recipe
from heatgraph.baselines.gnn.spectral import Convolution, product


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
        source, rate = E.detach(), torch.sigmoid(self.rate) / 2

        def derivative(_: Tensor, H: Tensor) -> Tensor:
            dH_dt: Tensor = rate * (product(S, H) - H) + source
            return dH_dt

        times = torch.tensor([0.0, self.time])
        H = odeint(derivative, E, times, rtol=self.tol, atol=self.tol)[-1]
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
                H = functional.dropout(H, self.inner_dropout, self.training)
                H = layer(H, S)
            return H

        X = dropout(X, self.dropout, self.training)
        start = functional.relu(self.first(X, S))
        H = odeint(derivative, start, torch.tensor([0.0, 1.0]), method=self.method)[-1]
        scores: Tensor = self.last(H, S)
        return scores
