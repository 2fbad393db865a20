r"""FastGCN: a GCN of two layers, trained by importance sampling of nodes.

    scores_v = sum_u S_vu h_u,   h_u = relu((S X)_u W_0 + b_0) W_1,   Chen, Ma and Xiao 2018

for a batch B of nodes v is estimated from t nodes drawn with replacement, node u with probability
q_u proportional to the squared norm of S's column u in the rows of B:

    scores_v  ~  1/t sum over the drawn u of S_vu h_u / q_u + b_1,

which is unbiased. The authors' code draws among neighbours of the batch too, but takes q from the
columns of all of S. S X is computed once.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from heatgraph.baselines.gnn.dropout import dropout
from heatgraph.baselines.gnn.recipes import Recipe


class FastGCN(nn.Module):
    """FastGCN; the first argument of its methods is S X."""

    def __init__(self, inputs: int, outputs: int, recipe: Recipe) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, recipe.hidden)
        self.second = nn.Linear(recipe.hidden, outputs)
        for linear in (self.first, self.second):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        self.dropout = recipe.dropout
        self.batch, self.samples = recipe.options["batch"], recipe.options["samples"]

    def forward(self, SX: Tensor, edges: Tensor, weights: Tensor) -> Tensor:
        """Scores of all nodes, without sampling."""
        h = self._hidden(SX)
        source, target = edges
        sums = torch.zeros(len(SX), h.shape[1])
        return sums.index_add(0, target, weights[:, None] * h[source]) + self.second.bias

    def sampled_scores(self, nodes: Tensor, SX: Tensor, edges: Tensor, weights: Tensor) -> Tensor:
        """Scores of a batch of nodes, estimated from a sample of their neighbours."""
        position = torch.full((len(SX),), -1)
        position[nodes] = torch.arange(len(nodes))
        rows = position[edges[1]]
        in_batch = rows >= 0
        rows, values = rows[in_batch], weights[in_batch]
        neighbours, columns = torch.unique(edges[0, in_batch], return_inverse=True)
        q = torch.zeros(len(neighbours)).index_add(0, columns, values**2)
        q = q / q.sum()
        drawn = torch.multinomial(q, self.samples, replacement=True)
        factors = torch.bincount(drawn, minlength=len(neighbours)) / (self.samples * q)
        h = self._hidden(SX[neighbours])
        sums = torch.zeros(len(nodes), h.shape[1])
        messages = (values * factors[columns])[:, None] * h[columns]
        return sums.index_add(0, rows, messages) + self.second.bias

    def _hidden(self, SX: Tensor) -> Tensor:
        X = dropout(SX, self.dropout, self.training)
        state = dropout(functional.relu(self.first(X)), self.dropout, self.training)
        return state @ self.second.weight.T
