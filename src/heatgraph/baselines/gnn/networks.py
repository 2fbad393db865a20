r"""The networks themselves: features and a graph's structure in, scores out.

    GCN          H' = relu(S H W)
    GAT          H'_v = elu(sum_u a_vu W H_u), with attention a learned from both ends, many heads
    GraphSAGE    H'_v = relu(W_1 H_v + W_2 aggregate of H_u over neighbours u)
    JKNet        GCN layers, whose outputs are joined by maximum, side by side, or by an LSTM, and
                 read by one more layer
    APPNP        an MLP first, then H <- (1 - alpha) S H + alpha H_0, several times
    SGC          S^K X W

are made of PyTorch Geometric's layers; GWNN and GraphHeat are in `spectral`, CGNN and GCDE in
`continuous`, DGI in `infomax`, FastGCN in `sampling`. All of them need torch, and are imported
where a network is fitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
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

from heatgraph.baselines.gnn import structures
from heatgraph.baselines.gnn.continuous import ContinuousNetwork, DifferentialNetwork
from heatgraph.baselines.gnn.features import dropped
from heatgraph.baselines.gnn.infomax import InfomaxNetwork
from heatgraph.baselines.gnn.recipes import Recipe
from heatgraph.baselines.gnn.sampling import SampledNetwork
from heatgraph.baselines.gnn.spectral import HeatConvolution, WaveletConvolution
from heatgraph.graph import Graph

Inputs = tuple[Tensor, ...]
Make = Callable[[int, int, Recipe, int], nn.Module]


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

    def forward(self, X: Tensor, *structure: Tensor) -> Tensor:
        """Scores of all nodes."""
        for number, layer in enumerate(self.layers):
            X = self.activation(X) if number else X
            X = dropped(X, self.dropout, self.training)
            X = layer(X, *structure)
        return X


class MeanConvolution(SAGEConv):
    """PyTorch Geometric's layer with means, but for the order: it multiplies before it averages.

    The result is the same, messages are shorter, and features may be sparse.
    """

    def forward(self, X: Tensor, edges: Tensor) -> Tensor:
        """The next state (n, outputs)."""
        near = functional.linear(X, self.lin_l.weight)
        mean: Tensor = self.propagate(edges, x=(near, near), size=None) + self.lin_l.bias
        return mean + self.lin_r(X) if self.root_weight else mean


class JumpingNetwork(nn.Module):
    """GCN layers whose outputs are all looked at in the end."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe, mode: str) -> None:
        super().__init__()
        hidden, count = recipe.hidden, recipe.layers
        widths = [inputs, *[hidden] * count]
        self.layers = nn.ModuleList(
            GCNConv(*pair, normalize=False) for pair in itertools.pairwise(widths)
        )
        self.jump = JumpingKnowledge(mode, hidden, count)
        width = hidden * count if mode == "cat" else hidden
        self.read = GCNConv(width, outputs, normalize=False)
        self.dropout = recipe.dropout

    def forward(self, X: Tensor, edges: Tensor, weights: Tensor) -> Tensor:
        """Scores of all nodes."""
        states = []
        for layer in self.layers:
            X = dropped(X, self.dropout, self.training)
            X = functional.relu(layer(X, edges, weights))
            states.append(X)
        joined = dropped(self.jump(states), self.dropout, self.training)
        scores: Tensor = self.read(joined, edges, weights)
        return scores


class PredictThenPropagate(nn.Module):
    """An MLP, and personalised PageRank of what it says."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, recipe.hidden, bias=False)
        self.second = nn.Linear(recipe.hidden, outputs, bias=False)
        for linear in (self.first, self.second):
            nn.init.xavier_uniform_(linear.weight)
        self.dropout = recipe.dropout
        # The layer's own dropout would drop edges of all steps again in each, and blow up the rest.
        self.propagate = APPNP(recipe.options["steps"], recipe.options["alpha"], normalize=False)

    def forward(self, X: Tensor, edges: Tensor, weights: Tensor) -> Tensor:
        """Scores of all nodes."""
        X = functional.relu(self.first(dropped(X, self.dropout, self.training)))
        X = self.second(dropped(X, self.dropout, self.training))
        scores: Tensor = self.propagate(X, edges, weights)
        return scores


def _widths(inputs: int, outputs: int, recipe: Recipe) -> list[tuple[int, int]]:
    return list(itertools.pairwise([inputs, *[recipe.hidden] * (recipe.layers - 1), outputs]))


def _gcn(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    pairs = _widths(inputs, outputs, recipe)
    return Convolutions([GCNConv(*pair, normalize=False) for pair in pairs], recipe.dropout)


def _gat(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    heads, last, p = recipe.options["heads"], recipe.options["out_heads"], recipe.dropout
    layers = [
        GATConv(inputs, recipe.hidden, heads, dropout=p),
        GATConv(recipe.hidden * heads, outputs, last, concat=False, dropout=p),
    ]
    return Convolutions(layers, p, functional.elu)


def _graphsage(layer: Any, **options: Any) -> Make:
    def make(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
        pairs = _widths(inputs, outputs, recipe)
        return Convolutions([layer(*pair, **options) for pair in pairs], recipe.dropout)

    return make


def _jknet(mode: str) -> Make:
    return lambda inputs, outputs, recipe, _: JumpingNetwork(inputs, outputs, recipe, mode)


def _gwnn(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    pairs = _widths(inputs, outputs, recipe)
    return Convolutions([WaveletConvolution(*pair, num_nodes) for pair in pairs], recipe.dropout)


def _graphheat(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    pairs, time = _widths(inputs, outputs, recipe), recipe.options["time"]
    return Convolutions([HeatConvolution(*pair, time) for pair in pairs], recipe.dropout)


def _sgc(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    return Convolutions([SGConv(inputs, outputs, recipe.options["steps"])], recipe.dropout)


def _plain(module: Callable[[int, int, Recipe], nn.Module]) -> Make:
    return lambda inputs, outputs, recipe, _: module(inputs, outputs, recipe)


def _see_edges(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.edge_pairs(graph)


def _see_edges_and_self(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.edge_pairs(graph, self_loops=True)


def _see_weights(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.edge_pairs(graph), structures.edge_weights(graph)


def _see_operator(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, *structures.operator_entries(graph.operator().to_scipy())


def _see_matrix(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.csr_tensor(graph.operator().to_scipy())


def _see_smoothed(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    S = graph.operator().to_scipy()
    SX = torch.from_numpy((S @ X.numpy()).astype("float32"))
    return SX, *structures.operator_entries(S)


def _see_lazy_operator(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    S = structures.weighed(graph, recipe.options["own_weight"])
    return X, structures.csr_tensor(S)


def _see_wavelets(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    kernels = structures.wavelets(graph, **recipe.options)
    return X, *map(structures.csr_tensor, kernels)


def _see_plain_matrix(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.csr_tensor(graph.operator(self_loops=False).to_scipy())


@dataclass(frozen=True)
class Network:
    """How a network is made and what it sees of a graph."""

    make: Make
    see: Callable[[Graph, Tensor, Recipe], Inputs] = _see_operator
    reads_weights: bool = True
    sparse_features: bool = True  # its first product is with features
    one_graph: bool = False  # has weights for each node, and so predicts no other graph


SAGE_MEAN = _graphsage(MeanConvolution)
# The mean over a node and its neighbours, with one matrix for all of them.
SAGE_GCN = _graphsage(MeanConvolution, root_weight=False)
SAGE_LSTM = _graphsage(SAGEConv, aggr="lstm")

NETWORKS: dict[str, Network] = {
    "gcn": Network(_gcn),
    "gat": Network(_gat, _see_edges, reads_weights=False),
    "graphsage-mean": Network(SAGE_MEAN, _see_edges, reads_weights=False),
    "graphsage-gcn": Network(SAGE_GCN, _see_edges_and_self, reads_weights=False),
    "graphsage-lstm": Network(SAGE_LSTM, _see_edges, reads_weights=False, sparse_features=False),
    "jknet-max": Network(_jknet("max")),
    "jknet-concat": Network(_jknet("cat")),
    "jknet-lstm": Network(_jknet("lstm")),
    "appnp": Network(_plain(PredictThenPropagate)),
    "gwnn": Network(_gwnn, _see_wavelets, one_graph=True),
    "graphheat": Network(_graphheat, _see_plain_matrix),
    "cgnn": Network(_plain(ContinuousNetwork), _see_lazy_operator),
    "gcde": Network(_plain(DifferentialNetwork), _see_matrix),
    "dgi": Network(_plain(InfomaxNetwork)),
    "dgi-random": Network(_plain(InfomaxNetwork)),
    "fastgcn": Network(_plain(SampledNetwork), _see_smoothed, sparse_features=False),
    "sgc": Network(_sgc, _see_weights, sparse_features=False),
}
