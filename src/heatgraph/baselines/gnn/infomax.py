r"""Deep Graph Infomax: an encoder trained without labels, and softmax regression on its output.

    H = prelu(S X W + b),   summary = sigmoid(mean of H)              Veličković et al. 2019

The encoder is trained to tell nodes from nodes with shuffled features, by a bilinear form of H and
the summary; PyTorch Geometric provides both. Without any epochs, H is a random projection.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import DeepGraphInfomax

from heatgraph.baselines.gnn.features import permute_rows
from heatgraph.baselines.gnn.recipes import Recipe
from heatgraph.baselines.gnn.spectral import GraphConvolution
from heatgraph.learning.progress import Progress, StageProgress


class Encoder(nn.Module):
    """One GCN layer and a PReLU with a slope per output."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.layer = GraphConvolution(inputs, hidden)
        self.activation = nn.PReLU(hidden)

    def forward(self, X: Tensor, S: Tensor) -> Tensor:
        """H (n, hidden) of all nodes."""
        state: Tensor = self.activation(self.layer(X, S))
        return state


class DGI(nn.Module):
    """DGI: an encoder that `pretrain` trains and freezes, and a linear layer."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe) -> None:
        super().__init__()
        self.encoder = Encoder(inputs, recipe.hidden)
        self.read = nn.Linear(recipe.hidden, outputs)
        nn.init.xavier_uniform_(self.read.weight)
        nn.init.zeros_(self.read.bias)
        self.recipe = recipe

    def forward(self, X: Tensor, S: Tensor) -> Tensor:
        """Scores of all nodes."""
        scores: Tensor = self.read(self.encoder(X, S))
        return scores

    def pretrain(self, inputs: tuple[Tensor, ...], progress: Progress | None) -> Tensor:
        """Train the encoder without labels, freeze it, and return H of all nodes."""
        options = self.recipe.options
        epochs, patience = options["encoder_epochs"], options["encoder_patience"]
        infomax = DeepGraphInfomax(self.recipe.hidden, self.encoder, _summary, _shuffle)
        adam = torch.optim.Adam(infomax.parameters(), options["encoder_rate"])
        best, epochs_without_gain, weights = float("inf"), 0, None
        stage = StageProgress(progress, "encoder", epochs)
        for epoch in range(epochs):
            stage.report(epoch)
            adam.zero_grad()
            loss = infomax.loss(*infomax(*inputs))
            value, epochs_without_gain = float(loss.detach()), epochs_without_gain + 1
            if value < best:
                best, epochs_without_gain = value, 0
                weights = copy.deepcopy(self.encoder.state_dict())
            if epochs_without_gain >= patience:
                break
            loss.backward()
            adam.step()
        if weights is not None:
            self.encoder.load_state_dict(weights)
        stage.report(epochs)
        self.encoder.requires_grad_(False)
        with torch.no_grad():
            states: Tensor = self.encoder(*inputs)
        return states


def _summary(states: Tensor, *_: Any) -> Tensor:
    return torch.sigmoid(states.mean(dim=0))


def _shuffle(X: Tensor, *structure: Tensor) -> tuple[Tensor, ...]:
    return permute_rows(X, torch.randperm(len(X))), *structure
