import subprocess
import sys


def test_no_other_library_is_imported():
    code = """
import sys
from types import SimpleNamespace as Object
import numpy as np
from heatgraph import DiffuseFeatures, from_dgl, from_networkx, from_pyg

nodes = [("a", {"x": [1.0], "y": "p"}), ("b", {"x": [2.0]})]
G = Object(
    nodes=lambda data: nodes, edges=lambda data: [("a", "b", {"weight": 2.0})],
    is_directed=lambda: False, is_multigraph=lambda: False,
)
read = from_networkx(G, features="x", label="y")
assert read.graph.node_ids.tolist() == ["a", "b"] and read.labels.tolist() == ["p", None]
data = Object(x=np.eye(2), edge_index=np.array([[0, 1], [1, 0]]))
assert from_pyg(data).graph.num_edges == 1
assert DiffuseFeatures(T=1.0)(data).x.shape == (2, 2)
g = Object(
    ndata={}, edata={}, edges=lambda: ([0, 1], [1, 0]), num_nodes=lambda: 2, is_homogeneous=True
)
assert from_dgl(g).graph.num_edges == 1
print(*sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not {"torch", "torch_geometric", "torch_sparse", "networkx", "dgl"} & loaded
