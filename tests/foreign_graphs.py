"""Graphs as other libraries hold them: their edges, labels and masks made from a `Graph`."""

import numpy as np
from comparisons import dense

from heatgraph.datasets.splits import Split

PARTS = ("train", "val", "test")


def random_labels_and_parts(n, seed):
    """A label of -1 (none) to 2 per node, and a part per node: an index into PARTS, or 3 (none)."""
    random = np.random.default_rng(seed)
    return random.integers(-1, 3, size=n), random.integers(0, 4, size=n)


def split_from_parts(parts):
    return Split(*(np.flatnonzero(parts == number) for number in range(3)))


def directed_edges(graph):
    """Sources, targets and weights: every edge in both directions, in random order."""
    coo = graph.adjacency.tocoo()
    order = np.random.default_rng(0).permutation(coo.nnz)
    rows, columns = coo.row[order].astype(np.int64), coo.col[order].astype(np.int64)
    return rows, columns, coo.data[order].astype(np.float64)


def pyg_data(torch, pyg, graph, labels=None, parts=None):
    """The graph as torch_geometric.data.Data."""
    rows, columns, weights = directed_edges(graph)
    data = pyg.data.Data(
        edge_index=torch.tensor(np.stack([rows, columns])), num_nodes=graph.num_nodes
    )
    if graph.weights is not None:
        data.edge_weight = torch.tensor(weights)
    if graph.features is not None:
        data.x = torch.tensor(dense(graph.features))
    if labels is not None:
        data.y = torch.tensor(labels)
    if parts is not None:
        for number, part in enumerate(PARTS):
            data[f"{part}_mask"] = torch.tensor(parts == number)
    return data
