r"""The networks themselves, of PyTorch Geometric's layers: features and edges in, scores out.

    GCN          H' = relu(S H W)
    GAT          H'_v = elu(sum_u a_vu W H_u), with attention a learned from both ends, many heads
    GraphSAGE    H'_v = relu(W_1 H_v + W_2 aggregate of H_u over neighbours u)
    JKNet        GCN layers, whose outputs are joined by maximum, side by side, or by an LSTM
    APPNP        an MLP first, then H <- (1 - alpha) S H + alpha H_0, several times
    SGC          S^K X W

This module needs torch and PyTorch Geometric, and is imported where a network is fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import (
    APPNP,
    GATConv,
    GCNConv,
    JumpingKnowledge,
    SAGEConv,
    SGConv,
)

from heatgraph.baselines.gnn.recipes import Recipe


class Convolutions(nn.Module):
    """Layers one after the other, with dropout before each and an activation between."""

    def __init__(
        self,
        layers: list[Any],
        dropout: float,
        activation: Callable[[Tensor], Tensor] = functional.relu,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout, self.activation = dropout, activation

    @property
    def first(self) -> nn.Module:
        """The layer that features go into."""
        return self.layers[0]

    def forward(self, X: Tensor, edges: Tensor) -> Tensor:
        """Scores of all nodes."""
        for number, layer in enumerate(self.layers):
            X = self.activation(X) if number else X
            X = functional.dropout(X, self.dropout, self.training)
            X = layer(X, edges)
        return X


class JumpingNetwork(nn.Module):
    """GCN layers whose outputs are all looked at in the end."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe, mode: str) -> None:
        super().__init__()
        hidden, count = recipe.hidden, recipe.layers
        widths = [inputs, *[hidden] * count]
        self.layers = nn.ModuleList(map(GCNConv, widths[:-1], widths[1:]))
        self.jump = JumpingKnowledge(mode, hidden, count)
        self.read = nn.Linear(hidden * count if mode == "cat" else hidden, outputs)
        self.dropout = recipe.dropout

    def forward(self, X: Tensor, edges: Tensor) -> Tensor:
        """Scores of all nodes."""
        states = []
        for layer in self.layers:
            X = functional.relu(layer(functional.dropout(X, self.dropout, self.training), edges))
            states.append(X)
        joined: Tensor = self.read(self.jump(states))
        return joined


class PredictThenPropagate(nn.Module):
    """An MLP, and personalised PageRank of what it says."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, recipe.hidden)
        self.second = nn.Linear(recipe.hidden, outputs)
        self.dropout = recipe.dropout
        self.propagate = APPNP(recipe.options["steps"], recipe.options["alpha"], recipe.dropout)

    def forward(self, X: Tensor, edges: Tensor) -> Tensor:
        """Scores of all nodes."""
        X = functional.relu(self.first(functional.dropout(X, self.dropout, self.training)))
        X = self.second(functional.dropout(X, self.dropout, self.training))
        scores: Tensor = self.propagate(X, edges)
        return scores


def _gcn(inputs: int, outputs: int, recipe: Recipe) -> nn.Module:
    widths = [inputs, *[recipe.hidden] * (recipe.layers - 1), outputs]
    return Convolutions(list(map(GCNConv, widths[:-1], widths[1:])), recipe.dropout)


def _gat(inputs: int, outputs: int, recipe: Recipe) -> nn.Module:
    heads, last, p = recipe.options["heads"], recipe.options["out_heads"], recipe.dropout
    layers = [
        GATConv(inputs, recipe.hidden, heads, dropout=p),
        GATConv(recipe.hidden * heads, outputs, last, concat=False, dropout=p),
    ]
    return Convolutions(layers, p, functional.elu)


def _graphsage(aggregator: str) -> Callable[[int, int, Recipe], nn.Module]:
    def build(inputs: int, outputs: int, recipe: Recipe) -> nn.Module:
        if aggregator == "gcn":
            # The mean of a node and its neighbours, with one matrix for all of them.
            options: dict[str, Any] = {"aggr": "mean", "root_weight": False}
        else:
            options = {"aggr": aggregator}
        layers = [
            SAGEConv(inputs, recipe.hidden, **options),
            SAGEConv(recipe.hidden, outputs, **options),
        ]
        return Convolutions(layers, recipe.dropout)

    return build


def _jknet(mode: str) -> Callable[[int, int, Recipe], nn.Module]:
    return lambda inputs, outputs, recipe: JumpingNetwork(inputs, outputs, recipe, mode)


def _sgc(inputs: int, outputs: int, recipe: Recipe) -> nn.Module:
    return Convolutions([SGConv(inputs, outputs, recipe.options["steps"])], recipe.dropout)


NETWORKS: dict[str, Callable[[int, int, Recipe], nn.Module]] = {
    "gcn": _gcn,
    "gat": _gat,
    "graphsage-mean": _graphsage("mean"),
    "graphsage-gcn": _graphsage("gcn"),
    "graphsage-lstm": _graphsage("lstm"),
    "jknet-max": _jknet("max"),
    "jknet-concat": _jknet("cat"),
    "jknet-lstm": _jknet("lstm"),
    "appnp": PredictThenPropagate,
    "sgc": _sgc,
}
# Whose neighbourhoods count themselves in, where the layer does not see to it.
WITH_SELF_LOOPS = ("graphsage-gcn",)


def build(network: str, inputs: int, outputs: int, recipe: Recipe, seed: int) -> nn.Module:
    """A network with random weights, the same for the same seed."""
    torch.manual_seed(seed)
    return NETWORKS[network](inputs, outputs, recipe)
