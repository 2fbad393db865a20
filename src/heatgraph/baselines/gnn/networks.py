r"""Definitions of the networks: features and a graph's structure in, scores (n, C) out.

    GCN          H' = relu(S H W)
    GAT          H'_v = elu(sum_u a_vu W H_u), with attention a learned from both ends, many heads
    GraphSAGE    H'_v = relu(W_1 H_v + W_2 aggregate of H_u over neighbours u)
    JKNet        GCN layers, whose outputs are joined by maximum, concatenation or an LSTM with
                 attention, and read by one more layer
    APPNP        H_0 = MLP(X), then several steps H <- (1 - alpha) S H + alpha H_0
    SGC          S^K X W
    SIGN         relu([X W_0, S X W_1, ..., S^r X W_r]) W, with a hidden layer of r + 1 parts

are built from PyTorch Geometric's layers; GWNN and GraphHeat are in `spectral`, CGNN and GCDE in
`continuous`, DGI in `infomax`, FastGCN in `sampling`. `NETWORKS` has the definition of each name in
`recipes.RECIPES`. These modules need torch; `estimator` imports them when a network is fitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GATConv, JumpingKnowledge, SAGEConv, SGConv
from torch_geometric.utils import softmax

from heatgraph.baselines.gnn import structures
from heatgraph.baselines.gnn.continuous import CGNN, GCDE
from heatgraph.baselines.gnn.dropout import dropout
from heatgraph.baselines.gnn.infomax import DGI
from heatgraph.baselines.gnn.recipes import Recipe
from heatgraph.baselines.gnn.sampling import FastGCN
from heatgraph.baselines.gnn.spectral import (
    GraphConvolution,
    HeatConvolution,
    WaveletConvolution,
    product,
)
from heatgraph.graph import Graph

Inputs = tuple[Tensor, ...]
Builder = Callable[[int, int, Recipe, int], nn.Module]


class ConvolutionStack(nn.Module):
    """Layers in sequence, with dropout before each and an activation in between."""

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
        """The input layer, whose weights decay under `decays_first_only`."""
        return self.layers[0]

    def forward(self, X: Tensor, *structure: Tensor) -> Tensor:
        """Scores of all nodes."""
        for number, layer in enumerate(self.layers):
            X = self.activation(X) if number else X
            X = dropout(X, self.dropout, self.training)
            X = layer(X, *structure)
        return X


class MeanConvolution(SAGEConv):
    """`SAGEConv` with means, but with the linear map before the mean instead of after it.

    The result is the same, messages are shorter, and features may be sparse.
    """

    def forward(self, X: Tensor, edges: Tensor) -> Tensor:
        """The hidden state (n, outputs)."""
        near = functional.linear(X, self.lin_l.weight)
        mean: Tensor = self.propagate(edges, x=(near, near), size=None) + self.lin_l.bias
        return mean + self.lin_r(X) if self.root_weight else mean


class AttentionConvolution(GATConv):
    """`GATConv` with the dropout of `heatgraph.baselines.gnn.dropout`."""

    def edge_update(
        self, alpha_j: Tensor, alpha_i: Tensor, index: Tensor, ptr: Tensor | None, dim_size: int
    ) -> Tensor:
        """Attention (m, heads) of the edges."""
        scores = functional.leaky_relu(alpha_j + alpha_i, self.negative_slope)
        return dropout(softmax(scores, index, ptr, dim_size), self.dropout, self.training)


class JKNet(nn.Module):
    """Jumping knowledge: the last layer reads the outputs of all GCN layers."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe, mode: str) -> None:
        super().__init__()
        hidden, count = recipe.hidden, recipe.layers
        widths = [inputs, *[hidden] * count]
        self.layers = nn.ModuleList(GraphConvolution(*pair) for pair in itertools.pairwise(widths))
        self.jump = JumpingKnowledge(mode, hidden, count)
        width = hidden * count if mode == "cat" else hidden
        self.read = GraphConvolution(width, outputs)
        self.dropout = recipe.dropout

    def forward(self, X: Tensor, S: Tensor) -> Tensor:
        """Scores of all nodes."""
        states = []
        for layer in self.layers:
            X = dropout(X, self.dropout, self.training)
            X = functional.relu(layer(X, S))
            states.append(X)
        joined = dropout(self.jump(states), self.dropout, self.training)
        scores: Tensor = self.read(joined, S)
        return scores


class PredictThenPropagate(nn.Module):
    """APPNP: an MLP, and personalised PageRank of its output."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, recipe.hidden, bias=False)
        self.second = nn.Linear(recipe.hidden, outputs, bias=False)
        for linear in (self.first, self.second):
            nn.init.xavier_uniform_(linear.weight)
        self.dropout = recipe.dropout
        self.steps, self.alpha = recipe.options["steps"], recipe.options["alpha"]

    def forward(self, X: Tensor, S: Tensor) -> Tensor:
        """Scores of all nodes."""
        X = functional.relu(self.first(dropout(X, self.dropout, self.training)))
        predicted: Tensor = self.second(dropout(X, self.dropout, self.training))
        # Edges have no dropout: in PyTorch Geometric's layer it accumulates over the steps, and
        # rescales each time.
        scores = predicted
        for _ in range(self.steps):
            scores = (1 - self.alpha) * product(S, scores) + self.alpha * predicted
        return scores


class SIGN(nn.Module):
    """SIGN with a hidden layer over X, S X, ..., S^r X side by side.

    S^k (X W_k) is (S^k X) W_k, so the linear map comes first: products have the width of the hidden
    layer, and features may be sparse. Dropout acts on X and on the hidden layer.
    """

    def __init__(self, inputs: int, outputs: int, recipe: Recipe) -> None:
        super().__init__()
        self.parts, self.dropout = recipe.options["steps"] + 1, recipe.dropout
        self.first = nn.Linear(inputs, self.parts * recipe.hidden, bias=False)
        self.bias = nn.Parameter(torch.zeros(self.parts * recipe.hidden))
        self.second = nn.Linear(self.parts * recipe.hidden, outputs)
        for linear in (self.first, self.second):
            nn.init.xavier_uniform_(linear.weight)

    def forward(self, X: Tensor, S: Tensor) -> Tensor:
        """Scores of all nodes."""
        H = self.first(dropout(X, self.dropout, self.training))
        width = H.shape[1] // self.parts
        diffused = [H[:, :width]]
        for _ in range(1, self.parts):
            H = product(S, H[:, width:])  # each step leaves one part behind
            diffused.append(H[:, :width])
        state = functional.relu(torch.cat(diffused, dim=1) + self.bias)
        scores: Tensor = self.second(dropout(state, self.dropout, self.training))
        return scores


def _widths(inputs: int, outputs: int, recipe: Recipe) -> list[tuple[int, int]]:
    return list(itertools.pairwise([inputs, *[recipe.hidden] * (recipe.layers - 1), outputs]))


def _gcn(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    pairs = _widths(inputs, outputs, recipe)
    return ConvolutionStack([GraphConvolution(*pair) for pair in pairs], recipe.dropout)


def _gat(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    heads, last, p = recipe.options["heads"], recipe.options["out_heads"], recipe.dropout
    layers = [
        AttentionConvolution(inputs, recipe.hidden, heads, dropout=p),
        AttentionConvolution(recipe.hidden * heads, outputs, last, concat=False, dropout=p),
    ]
    return ConvolutionStack(layers, p, functional.elu)


def _graphsage(layer: Any, **options: Any) -> Builder:
    def make(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
        pairs = _widths(inputs, outputs, recipe)
        return ConvolutionStack([layer(*pair, **options) for pair in pairs], recipe.dropout)

    return make


def _jknet(mode: str) -> Builder:
    return lambda inputs, outputs, recipe, _: JKNet(inputs, outputs, recipe, mode)


def _gwnn(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    pairs = _widths(inputs, outputs, recipe)
    return ConvolutionStack(
        [WaveletConvolution(*pair, num_nodes) for pair in pairs], recipe.dropout
    )


def _graphheat(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    pairs, time = _widths(inputs, outputs, recipe), recipe.options["time"]
    return ConvolutionStack([HeatConvolution(*pair, time) for pair in pairs], recipe.dropout)


def _sgc(inputs: int, outputs: int, recipe: Recipe, num_nodes: int) -> nn.Module:
    return ConvolutionStack([SGConv(inputs, outputs, recipe.options["steps"])], recipe.dropout)


def _ignoring_num_nodes(module: Callable[[int, int, Recipe], nn.Module]) -> Builder:
    return lambda inputs, outputs, recipe, _: module(inputs, outputs, recipe)


def _prepare_edges(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.edge_pairs(graph)


def _prepare_edges_with_loops(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.edge_pairs(graph, self_loops=True)


def _prepare_weighted_edges(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.edge_pairs(graph), structures.edge_weights(graph)


def _prepare_matrix(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.csr_tensor(graph.operator().to_scipy())


def _prepare_smoothed_features(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    S = graph.operator().to_scipy()
    SX = torch.from_numpy((S @ X.numpy()).astype("float32"))
    return SX, *structures.operator_entries(S)


def _prepare_loop_weighted_operator(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    S = structures.loop_weighted_operator(graph, recipe.options["own_weight"])
    return X, structures.csr_tensor(S)


def _prepare_wavelets(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    kernels = structures.wavelets(graph, **recipe.options)
    return X, *map(structures.csr_tensor, kernels)


def _prepare_matrix_without_loops(graph: Graph, X: Tensor, recipe: Recipe) -> Inputs:
    return X, structures.csr_tensor(graph.operator(self_loops=False).to_scipy())


@dataclass(frozen=True)
class Network:
    """Definition of a network.

    Attributes
    ----------
    build : function of (num_features, num_classes, recipe, num_nodes)
        Makes the module.
    prepare : function of (graph, X, recipe)
        Makes the arguments of the module's `forward`.
    uses_edge_weights : bool
    accepts_sparse : bool
        Whether features enter through a linear layer, and so may be `SparseFeatures`.
    is_transductive : bool
        Whether it has weights for each node, and so cannot label other graphs.
    """

    build: Builder
    prepare: Callable[[Graph, Tensor, Recipe], Inputs] = _prepare_matrix
    uses_edge_weights: bool = True
    accepts_sparse: bool = True
    is_transductive: bool = False


SAGE_MEAN = _graphsage(MeanConvolution)
# The mean over a node and its neighbours, with one weight matrix for both.
SAGE_GCN = _graphsage(MeanConvolution, root_weight=False)
SAGE_LSTM = _graphsage(SAGEConv, aggr="lstm")

NETWORKS: dict[str, Network] = {
    "gcn": Network(_gcn),
    "gat": Network(_gat, _prepare_edges, uses_edge_weights=False),
    "graphsage-mean": Network(SAGE_MEAN, _prepare_edges, uses_edge_weights=False),
    "graphsage-gcn": Network(SAGE_GCN, _prepare_edges_with_loops, uses_edge_weights=False),
    "graphsage-lstm": Network(
        SAGE_LSTM, _prepare_edges, uses_edge_weights=False, accepts_sparse=False
    ),
    "jknet-max": Network(_jknet("max")),
    "jknet-concat": Network(_jknet("cat")),
    "jknet-lstm": Network(_jknet("lstm")),
    "appnp": Network(_ignoring_num_nodes(PredictThenPropagate)),
    "gwnn": Network(_gwnn, _prepare_wavelets, is_transductive=True),
    "graphheat": Network(_graphheat, _prepare_matrix_without_loops),
    "cgnn": Network(_ignoring_num_nodes(CGNN), _prepare_loop_weighted_operator),
    "gcde": Network(_ignoring_num_nodes(GCDE)),
    "dgi": Network(_ignoring_num_nodes(DGI)),
    "dgi-random": Network(_ignoring_num_nodes(DGI)),
    "fastgcn": Network(
        _ignoring_num_nodes(FastGCN), _prepare_smoothed_features, accepts_sparse=False
    ),
    "sgc": Network(_sgc, _prepare_weighted_edges, accepts_sparse=False),
    "sign-mlp": Network(_ignoring_num_nodes(SIGN)),
}
