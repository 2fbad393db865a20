import numpy as np
import pytest
from comparisons import assert_same_graph, assert_same_split, dense
from foreign_graphs import PARTS, directed_edges, random_labels_and_parts, split_from_parts
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import graphs, seeds

from heatgraph import from_dgl
from heatgraph.errors import InputError


class DGLGraph:
    """A stand-in for dgl.DGLGraph, which has no wheels for some platforms."""

    is_homogeneous = True
    is_block = False
    batch_size = 1

    def __init__(self, src, dst, num_nodes, ndata=(), edata=()):
        self._edges, self._num_nodes = (src, dst), num_nodes
        self.ndata, self.edata = dict(ndata), dict(edata)

    def edges(self):
        return self._edges

    def num_nodes(self):
        return self._num_nodes


class TestDGL:
    @pytest.mark.parametrize("tensors", [pytest.param(True, marks=pytest.mark.torch), False])
    @given(graph=graphs(), seed=seeds, name=st.sampled_from(["w", "weight"]))
    def test_round_trip(self, request, tensors, graph, seed, name):
        make = request.getfixturevalue("torch").tensor if tensors else np.array
        labels, parts = random_labels_and_parts(graph.num_nodes, seed)
        rows, columns, weights = directed_edges(graph)
        ndata = {f"{part}_mask": make(parts == number) for number, part in enumerate(PARTS)}
        ndata |= {"feat": make(dense(graph.features)), "label": make(labels)}
        edata = {} if graph.weights is None else {name: make(weights[:, np.newaxis])}
        read = from_dgl(DGLGraph(make(rows), make(columns), graph.num_nodes, ndata, edata))
        assert_same_graph(read.graph, graph)
        assert_array_equal(read.labels, labels)
        assert_same_split(read.splits["public"], split_from_parts(parts))

    def test_a_graph_without_data(self):
        read = from_dgl(DGLGraph(np.array([0, 1]), np.array([1, 0]), 4))
        assert repr(read.graph) == "Graph(4 nodes, 1 edges, no features, 2 isolated)"
        assert read.labels is None
        assert read.splits == {}

    def test_directed_and_duplicate_edges_need_a_parameter(self):
        g = DGLGraph([0, 0], [1, 1], 2, edata={"w": [1.0, 2.0]})
        with pytest.raises(InputError, match="duplicates="):
            from_dgl(g)
        with pytest.raises(InputError, match="symmetrize="):
            from_dgl(g, duplicates="sum")
        assert from_dgl(g, duplicates="sum", symmetrize="max").graph.adjacency[1, 0] == 3
        kept = from_dgl(g, duplicates="sum", directed=True).graph
        assert kept.directed_adjacency.toarray().tolist() == [[0, 3], [0, 0]]

    def test_unsupported_graphs(self):
        for name, value, words in (
            ("is_homogeneous", False, "to_homogeneous"),
            ("is_block", True, "to_homogeneous"),
            ("batch_size", 3, "batch of 3; dgl.unbatch"),
        ):
            g = DGLGraph([0], [0], 1)
            setattr(g, name, value)
            with pytest.raises(InputError, match=words):
                from_dgl(g)
        with pytest.raises(InputError, match="Got 'w' and 'weight'"):
            from_dgl(DGLGraph([0], [0], 1, edata={"w": [1.0], "weight": [2.0]}))
        with pytest.raises(InputError, match=r"w must be one weight per edge. Got shape \(1, 2\)"):
            from_dgl(DGLGraph([0], [0], 1, edata={"w": [[1.0, 2.0]]}))
        with pytest.raises(InputError, match="must be a DGL graph. Got list"):
            from_dgl([])
