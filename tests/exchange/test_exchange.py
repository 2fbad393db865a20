import copy
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import graphs, seeds

from heatgraph import (
    DiffuseFeatures,
    Euler,
    Graph,
    Heat,
    diffuse,
    from_dgl,
    from_networkx,
    from_pyg,
)
from heatgraph.datasets.splits import Split
from heatgraph.errors import InputError, StabilityWarning

PARTS = ("train", "val", "test")


@pytest.fixture(scope="module")
def nx():
    return pytest.importorskip("networkx", reason="networkx is not installed")


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module")
def pyg():
    return pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")


class DGLGraph:
    """Stands in for dgl.DGLGraph, which cannot be installed everywhere."""

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


def same_graph(one, other):
    assert_array_equal(one.adjacency.toarray(), other.adjacency.toarray())
    assert (one.weights is None) == (other.weights is None)
    assert (one.features is None) == (other.features is None)
    if one.features is not None:
        assert_array_equal(dense(one.features), dense(other.features))


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def same_split(one, other):
    for part in PARTS:
        assert_array_equal(getattr(one, part), getattr(other, part))


def labels_and_parts(n, seed):
    random = np.random.default_rng(seed)
    return random.integers(-1, 3, size=n), random.integers(0, 4, size=n)


def split_of(parts):
    return Split(*(np.flatnonzero(parts == number) for number in range(3)))


def both_ways(graph):
    """Edges in both directions, in a random order."""
    coo = graph.adjacency.tocoo()
    order = np.random.default_rng(0).permutation(coo.nnz)
    rows, columns = coo.row[order].astype(np.int64), coo.col[order].astype(np.int64)
    return rows, columns, coo.data[order].astype(np.float64)


def networkx_graph(nx, graph, kind="Graph", parts=None, labels=None, names=None):
    G = getattr(nx, kind)()
    names = list(range(graph.num_nodes)) if names is None else names
    for node, name in enumerate(names):
        G.add_node(name)
        if graph.features is not None:
            G.nodes[name]["x"] = dense(graph.features)[node]
        if labels is not None and labels[node] >= 0:
            G.nodes[name]["y"] = int(labels[node])
        if parts is not None and parts[node] < 3:
            G.nodes[name]["part"] = PARTS[parts[node]]
    for u, v, weight in zip(*both_ways(graph), strict=True):
        if u <= v or G.is_directed():
            extra = {} if graph.weights is None else {"weight": weight}
            G.add_edge(names[u], names[v], **extra)
    return G


class TestNetworkx:
    @pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
    @given(graph=graphs(), seed=seeds)
    def test_round_trip(self, nx, kind, graph, seed):
        labels, parts = labels_and_parts(graph.num_nodes, seed)
        labels[0], parts[0] = 1, 0
        G = networkx_graph(nx, graph, kind, parts, labels)
        read = from_networkx(G, features="x", label="y", split="part")
        same_graph(read.graph, graph)
        known = labels >= 0
        assert [label for label in read.labels.tolist() if label is not None] == list(labels[known])
        assert [label is not None for label in read.labels.tolist()] == list(known)
        assert list(read.splits) == ["part"]
        same_split(read.split, split_of(parts))
        assert_array_equal(read.graph.node_ids, range(graph.num_nodes))

    def test_the_example_of_the_documentation(self, nx):
        club = nx.karate_club_graph()
        read = from_networkx(club, label="club")
        assert repr(read.graph) == "Graph(34 nodes, 78 weighted edges, no features, 0 isolated)"
        assert read.labels.tolist()[:2] == ["Mr. Hi", "Mr. Hi"]
        assert read.name == club.name
        assert from_networkx(nx.path_graph(2)).name == "networkx graph"
        assert from_networkx(club).labels is None
        assert from_networkx(club).splits == {}

    @pytest.mark.parametrize(
        "names",
        [
            [2**53 + 1, 2**53, 3],
            [2**80, 1, -(2**70)],
            [2**63 + 1, -1, 2**63],
            ["1", "01", "1.0"],
            ["1", 1, 2**53 + 1],
            [(0, 0), (0, 1), (1, 0)],
            [(0, 0), (0,), "a"],
            [frozenset({1}), "a\0", "a"],
        ],
    )
    def test_names_and_their_order_survive(self, nx, names):
        G = networkx_graph(nx, Graph(np.eye(3) + 1), names=names)
        ids = from_networkx(G).graph.node_ids.tolist()
        assert ids == names
        assert [type(name) for name in ids] == [type(name) for name in names]

    def test_edges_follow_the_order_of_nodes(self, nx):
        G = nx.Graph()
        G.add_nodes_from(["c", "a", "b"])
        G.add_edge("a", "b")
        assert_array_equal(
            from_networkx(G).graph.adjacency.toarray(), [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
        )

    def test_directions_become_one(self, nx):
        G = nx.DiGraph([(0, 1, {"weight": 2.0}), (1, 0, {"weight": 3.0}), (1, 2, {"weight": 5.0})])
        assert from_networkx(G).graph.adjacency[0, 1] == 3
        assert from_networkx(G).graph.adjacency[2, 1] == 5
        assert from_networkx(G, symmetrize="sum").graph.adjacency[1, 0] == 5
        with pytest.raises(InputError, match="symmetrize="):
            from_networkx(G, symmetrize=None)
        assert from_networkx(G.to_undirected(), symmetrize=None).graph.num_edges == 2
        with pytest.raises(InputError, match="symmetrize must be one of"):
            from_networkx(nx.path_graph(2), symmetrize="mean")

    def test_weights(self, nx):
        G = nx.Graph([(0, 1), (1, 2, {"weight": 2.0, "cost": 7}), (0, 2, {"weight": 0})])
        assert_array_equal(
            from_networkx(G).graph.adjacency.toarray(), [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
        )
        assert from_networkx(G, weight="cost").graph.adjacency[1, 2] == 7
        for weight in (None, "absent"):
            assert from_networkx(G, weight=weight).graph.weights is None
            assert from_networkx(G, weight=weight).graph.num_edges == 3

    @pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "2", None, 10**400, [1]])
    def test_bad_weights_name_the_edge(self, nx, bad):
        G = nx.Graph([("a", "b", {"weight": 1.0}), ("b", "c", {"weight": bad})])
        with pytest.raises(InputError, match=r"Edge 'b' - 'c' has 'weight' = .*1 such .*None"):
            from_networkx(G)

    def test_parallel_edges(self, nx):
        G = nx.MultiGraph([("a", "b"), ("b", "a"), ("a", "c")])
        assert from_networkx(G).graph.weights is None
        assert from_networkx(G).graph.num_duplicates == 1
        G.add_edge("b", "a", weight=3.0)
        with pytest.raises(InputError, match="duplicates='sum' or duplicates='max'"):
            from_networkx(G)
        assert from_networkx(G, duplicates="sum").graph.adjacency[0, 1] == 5
        assert from_networkx(G, duplicates="max").graph.adjacency[0, 1] == 3

    def test_numbers_by_name(self, nx):
        G = nx.path_graph(3)
        for node in G:
            G.nodes[node].update(age=node + 20, member=node > 0, size=np.float32(0.5))
        read = from_networkx(G, features=["age", "size", "member"])
        assert read.graph.feature_names == ["age", "size", "member"]
        assert_array_equal(read.graph.features, [[20, 0.5, 0], [21, 0.5, 1], [22, 0.5, 1]])

    @pytest.mark.parametrize("bad", [np.nan, np.inf, "7", 1j, [1.0], 10**400])
    def test_bad_numbers_name_the_node(self, nx, bad):
        G = nx.Graph()
        G.add_node("a", age=1)
        G.add_node("b", age=bad)
        with pytest.raises(InputError, match="'age' of node 'b' is no finite number .1 such"):
            from_networkx(G, features=["age"])

    @pytest.mark.parametrize(
        ("bad", "words"),
        [
            (3.0, r"has shape \(\) and is no vector"),
            ([[1.0, 2.0]], r"has shape \(1, 2\)"),
            ([1.0], "has 1 entries, but the first node's has 2"),
            (["p", "q"], "no real numbers"),
            ([1.0, np.nan], "not finite"),
        ],
    )
    def test_bad_vectors_name_the_node(self, nx, bad, words):
        G = nx.Graph()
        G.add_node("a", x=[1, 2])
        G.add_node("b", x=bad)
        G.add_node("c", x=bad)
        with pytest.raises(InputError, match=f"'x' of node 'b' .*{words}.*2 such nodes"):
            from_networkx(G, features="x")
        G.nodes["a"]["x"] = 1.0
        with pytest.raises(InputError, match=r"node 'a' is a single value; .*features=\['x'\]"):
            from_networkx(G, features="x")

    def test_ragged_vectors(self, nx):
        G = nx.Graph()
        G.add_node("a", x=[1, 2])
        G.add_node("b", x=[1, [2, 3]])
        with pytest.raises(InputError, match="'x' of node 'b' cannot be read"):
            from_networkx(G, features="x")

    @pytest.mark.parametrize("features", ["x", ["x"]])
    def test_missing_features_name_the_node(self, nx, features):
        G = nx.Graph()
        G.add_node("a", x=[1] if features == "x" else 1)
        G.add_nodes_from(["b", "c"])
        with pytest.raises(InputError, match="Node 'b' has no 'x' .2 such nodes"):
            from_networkx(G, features=features)

    @pytest.mark.parametrize("parameter", ["features", "label", "split"])
    def test_attributes_that_no_node_has(self, nx, parameter):
        G = nx.path_graph(2)
        with pytest.raises(InputError, match=f"{parameter} must name .*'y'; there is none at all"):
            from_networkx(G, **{parameter: "y"})
        G.nodes[0]["kind"] = 3
        with pytest.raises(InputError, match="No node has 'y'; there is 'kind'"):
            from_networkx(G, **{parameter: "y"})

    def test_labels_that_are_no_classes(self, nx):
        G = nx.path_graph(2)
        G.nodes[0]["y"] = 0.5
        with pytest.raises(InputError, match="continuous"):
            from_networkx(G, label="y")

    def test_tensors_as_vectors(self, nx, torch):
        G = nx.path_graph(2)
        for node in G:
            G.nodes[node]["x"] = torch.tensor([node, 1.5], requires_grad=True)
        assert_array_equal(from_networkx(G, features="x").graph.features, [[0, 1.5], [1, 1.5]])

    def test_what_is_no_graph(self, nx):
        with pytest.raises(InputError, match="must be a NetworkX graph. Got list"):
            from_networkx([])
        for features in (None, "x", ["x"]):
            with pytest.raises(InputError, match="at least one node"):
                from_networkx(nx.Graph(), features=features)

    def test_the_graph_is_left_alone(self, nx):
        G = networkx_graph(nx, Graph(2 * np.ones((3, 3)), np.eye(3)), "MultiDiGraph")
        before = copy.deepcopy((list(G.nodes), list(G.edges(data=True))))
        from_networkx(G, features="x")
        assert before == (list(G.nodes), list(G.edges(data=True)))


def pyg_data(torch, pyg, graph, labels=None, parts=None):
    rows, columns, weights = both_ways(graph)
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


class TestPyG:
    @given(graph=graphs(), seed=seeds)
    def test_round_trip(self, torch, pyg, graph, seed):
        labels, parts = labels_and_parts(graph.num_nodes, seed)
        read = from_pyg(pyg_data(torch, pyg, graph, labels, parts))
        same_graph(read.graph, graph)
        assert_array_equal(read.labels, labels)
        assert list(read.splits) == ["public"]
        same_split(read.split, split_of(parts))

    @pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
    @pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
    @given(graph=graphs())
    def test_sparse_tensors(self, torch, pyg, layout, graph):
        data = pyg_data(torch, pyg, graph)
        convert = {"coo": "to_sparse_coo", "csr": "to_sparse_csr", "csc": "to_sparse_csc"}[layout]
        data.adj_t = getattr(torch.tensor(graph.adjacency.toarray().astype(float)), convert)()
        data.x = getattr(data.x, convert)()
        del data.edge_index
        read = from_pyg(data)
        same_graph(read.graph, graph)
        assert sp.issparse(read.graph.features)

    @pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
    def test_the_transform_to_sparse_tensors(self, torch, pyg):
        graph = Graph(np.ones((4, 4)), np.eye(4))
        data = pyg_data(torch, pyg, graph)
        same_graph(from_pyg(pyg.transforms.ToSparseTensor()(data)).graph, graph)

    @pytest.mark.parametrize("valued", [True, False])
    def test_tensors_of_torch_sparse(self, torch, valued):
        class SparseTensor:
            def coo(self):
                values = torch.tensor([2.0, 2.0]) if valued else None
                return torch.tensor([0, 1]), torch.tensor([1, 0]), values

            def sparse_sizes(self):
                return (3, 3)

        data = SimpleNamespace(adj_t=SparseTensor(), x=SparseTensor())
        expected = np.zeros((3, 3))
        expected[0, 1] = expected[1, 0] = 2 if valued else 1
        graph = from_pyg(data).graph
        assert_array_equal(graph.adjacency.toarray(), expected)
        assert_array_equal(graph.features.toarray(), expected)
        result = DiffuseFeatures(T=1.0)(data).x
        assert result.dtype == torch.float32
        assert_array_equal(result.numpy(), diffuse(graph, 1.0))

    def test_directed_adjacency_must_be_meant(self, torch):
        adj_t = torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 2), check_invariants=True)
        with pytest.raises(InputError, match="symmetrize="):
            from_pyg(SimpleNamespace(adj_t=adj_t))
        assert from_pyg(SimpleNamespace(adj_t=adj_t), symmetrize="max").graph.num_edges == 1

    def test_directed_edges_must_be_meant(self, torch, pyg):
        data = pyg.data.Data(
            edge_index=torch.tensor([[0, 1], [1, 2]]),
            edge_weight=torch.tensor([1.0, 2.0]),
            num_nodes=4,
        )
        with pytest.raises(InputError, match="symmetrize="):
            from_pyg(data)
        for how in ("max", "sum"):
            graph = from_pyg(data, symmetrize=how).graph
            assert_array_equal(graph.degrees, [1, 3, 2, 0])

    def test_duplicates(self, torch, pyg):
        data = pyg.data.Data(
            edge_index=torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]]),
            edge_weight=torch.tensor([1.0, 1.0, 2.0, 2.0]),
            num_nodes=2,
        )
        with pytest.raises(InputError, match="duplicates="):
            from_pyg(data)
        assert from_pyg(data, duplicates="sum").graph.adjacency[0, 1] == 3

    def test_weights_are_what_is_named_so(self, torch, pyg):
        data = pyg.data.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        for shape in ((2,), (2, 1)):
            data.edge_attr = torch.full(shape, 3.0)
            assert from_pyg(data).graph.weights is None
            assert from_pyg(data, weight="edge_attr").graph.adjacency[0, 1] == 3
        data.edge_weight = torch.full((2, 1), 5.0)
        assert from_pyg(data).graph.adjacency[0, 1] == 5
        assert from_pyg(data, weight=None).graph.weights is None
        data.edge_weight, data.edge_attr = None, torch.randn(2, 3)
        assert from_pyg(data).graph.weights is None
        with pytest.raises(InputError, match=r"edge_attr must be one weight.*\(2, 3\).*edge_w"):
            from_pyg(data, weight="edge_attr")
        data.x = torch.eye(2)
        assert DiffuseFeatures(T=1.0)(data).edge_attr is data.edge_attr

    def test_labels(self, torch):
        data = SimpleNamespace(edge_index=[[0, 1], [1, 0]], num_nodes=3)
        data.y = torch.tensor([[0], [2], [-1]])
        assert_array_equal(from_pyg(data).labels, [0, 2, -1])
        data.y = torch.tensor([0, 2, np.nan])
        assert_array_equal(from_pyg(data).labels, [0, 2, np.nan])
        assert from_pyg(data).statistics["labelled"] == 2
        data.y = ["a", None, "b"]
        assert from_pyg(data).labels.tolist() == data.y
        data.y = torch.ones(3, 2)
        with pytest.raises(InputError, match=r"one label per node, 3 .*\(3, 2\)"):
            from_pyg(data)

    def test_labels_are_not_shared(self, torch):
        data = SimpleNamespace(edge_index=[[0, 1], [1, 0]], y=torch.tensor([0, 1]))
        labels = from_pyg(data).labels
        data.y[0] = 7
        assert_array_equal(labels, [0, 1])

    def test_several_splits(self, torch, pyg):
        random = np.random.default_rng(0)
        parts = random.integers(0, 3, size=(9, 4))
        data = pyg.data.Data(edge_index=torch.zeros((2, 0), dtype=torch.long), num_nodes=9)
        for number, part in enumerate(PARTS):
            data[f"{part}_mask"] = torch.tensor(parts == number)
        splits = from_pyg(data).splits
        assert list(splits) == ["0", "1", "2", "3"]
        for place, split in enumerate(splits.values()):
            same_split(split, split_of(parts[:, place]))
        data.val_mask = data.val_mask[:, :2]
        with pytest.raises(InputError, match="equally many. Got 2 and 4"):
            from_pyg(data)

    def test_one_test_part_for_several_splits(self, torch):
        train = np.array([[1, 0, 0], [0, 1, 0]], dtype=bool).T
        data = SimpleNamespace(
            edge_index=np.zeros((2, 0)),
            train_mask=torch.tensor(train),
            test_mask=torch.tensor([False, False, True]),
        )
        splits = from_pyg(data).splits
        assert [split.train.tolist() for split in splits.values()] == [[0], [1]]
        assert [split.test.tolist() for split in splits.values()] == [[2], [2]]
        assert [split.val.tolist() for split in splits.values()] == [[], []]

    @pytest.mark.parametrize(
        "mask", [np.ones(3, dtype=int), np.ones(2, dtype=bool), np.ones((3, 1, 1), dtype=bool)]
    )
    def test_bad_masks(self, mask):
        data = SimpleNamespace(edge_index=np.zeros((2, 0)), num_nodes=3, val_mask=mask)
        with pytest.raises(InputError, match=r"val_mask must be booleans.*\(3\).*bool\(\)"):
            from_pyg(data)

    def test_overlapping_masks(self):
        data = SimpleNamespace(
            edge_index=np.zeros((2, 0)), train_mask=np.ones(2, bool), test_mask=np.ones(2, bool)
        )
        with pytest.raises(InputError, match="train and test overlap in 2 nodes"):
            from_pyg(data)

    def test_number_of_nodes(self, torch, pyg):
        edges = torch.tensor([[0, 1], [1, 0]])
        known = {
            "x": torch.ones(4, 1), "num_nodes": 4, "pos": torch.ones(4, 2), "y": torch.ones(4),
            "train_mask": torch.ones(4, dtype=torch.bool),
        }  # fmt: skip
        for name, value in known.items():
            assert from_pyg(pyg.data.Data(edge_index=edges, **{name: value})).graph.num_nodes == 4
        data = pyg.data.Data(edge_index=edges, num_nodes=torch.tensor(4))
        assert from_pyg(data).graph.num_nodes == 4
        with pytest.raises(InputError, match="whole number"):
            from_pyg(SimpleNamespace(edge_index=edges, num_nodes=4.5))
        with pytest.raises(InputError, match="set data.num_nodes"):
            from_pyg(pyg.data.Data(edge_index=edges))
        with pytest.raises(InputError, match="one row per node, 5"):
            from_pyg(pyg.data.Data(edge_index=edges, x=torch.ones(4, 1), num_nodes=5))

    def test_types_of_features(self, torch):
        edges = [[0, 1], [1, 0]]
        for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int64):
            x = torch.tensor([[1], [2]], dtype=dtype)
            read = from_pyg(SimpleNamespace(edge_index=edges, x=x))
            assert_array_equal(read.graph.features, [[1], [2]])
        x = torch.ones(2, 1, requires_grad=True)
        assert_array_equal(from_pyg(SimpleNamespace(edge_index=edges, x=x)).graph.features, x.data)
        for bad, words in ((np.nan, "Row 1, column 0 is nan"), (1j, "real numbers")):
            x = torch.tensor([[1], [bad]])
            with pytest.raises(InputError, match=words):
                from_pyg(SimpleNamespace(edge_index=edges, x=x))

    def test_tensors_that_have_no_array(self):
        class Tensor:
            dtype = "torch.strange"

            def detach(self):
                return self

            def cpu(self):
                return self

            def numpy(self):
                raise TypeError("unsupported ScalarType")

        with pytest.raises(InputError, match="x cannot be read as an array: unsupported"):
            from_pyg(SimpleNamespace(edge_index=[[0], [0]], x=Tensor()))

    def test_edges_of_the_wrong_shape(self, torch):
        for shape in ((3, 2), (2,), (0,)):
            with pytest.raises(InputError, match=r"edge_index must have shape \(2, edges\)"):
                from_pyg(SimpleNamespace(edge_index=torch.zeros(shape, dtype=int), num_nodes=3))
        with pytest.raises(InputError, match="integer"):
            from_pyg(SimpleNamespace(edge_index=torch.zeros(2, 2), num_nodes=3))
        with pytest.raises(InputError, match="edge 1: node 3 is outside 0..2"):
            from_pyg(SimpleNamespace(edge_index=torch.tensor([[0, 3], [0, 3]]), num_nodes=3))

    @pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
    def test_bad_sparse_tensors(self, torch):
        with pytest.raises(InputError, match="adj_t must be a sparse tensor.*Got strided"):
            from_pyg(SimpleNamespace(adj_t=torch.eye(2)))
        blocks = torch.eye(2).to_sparse_bsr((1, 1))
        with pytest.raises(InputError, match="Got sparse_bsr"):
            from_pyg(SimpleNamespace(adj_t=blocks))
        broken = SimpleNamespace(
            coo=lambda: (np.array([5]), np.array([0]), None), sparse_sizes=lambda: (2, 2)
        )
        with pytest.raises(InputError, match="adj_t is not a valid sparse tensor"):
            from_pyg(SimpleNamespace(adj_t=broken))

    def test_several_graphs_or_kinds_are_refused(self, torch, pyg):
        data = pyg_data(torch, pyg, Graph(np.ones((3, 3)), np.eye(3)))
        with pytest.raises(InputError, match="batch of 2; data.to_data_list"):
            from_pyg(pyg.data.Batch.from_data_list([data, data]))
        same_graph(from_pyg(pyg.data.Batch.from_data_list([data])).graph, from_pyg(data).graph)
        for use in (from_pyg, DiffuseFeatures(T=1.0)):
            with pytest.raises(InputError, match="to_homogeneous"):
                use(pyg.data.HeteroData())
            with pytest.raises(InputError, match=r"Got list without.*dataset\[0\]"):
                use([data])
            with pytest.raises(InputError, match="Got Data without"):
                use(pyg.data.Data(x=data.x))

    @given(graph=graphs(), seed=seeds)
    def test_the_data_are_left_alone(self, torch, pyg, graph, seed):
        data = pyg_data(torch, pyg, graph, *labels_and_parts(graph.num_nodes, seed))
        before = copy.deepcopy(data).to_dict()
        from_pyg(data)
        DiffuseFeatures(T=1.0, cat=True)(data)
        assert before.keys() == data.to_dict().keys()
        for name, value in data.to_dict().items():
            assert_array_equal(before[name], value)


class TestDGL:
    @pytest.mark.parametrize("tensors", [True, False])
    @given(graph=graphs(), seed=seeds, name=st.sampled_from(["w", "weight"]))
    def test_round_trip(self, request, tensors, graph, seed, name):
        make = request.getfixturevalue("torch").tensor if tensors else np.array
        labels, parts = labels_and_parts(graph.num_nodes, seed)
        rows, columns, weights = both_ways(graph)
        ndata = {f"{part}_mask": make(parts == number) for number, part in enumerate(PARTS)}
        ndata |= {"feat": make(dense(graph.features)), "label": make(labels)}
        edata = {} if graph.weights is None else {name: make(weights[:, np.newaxis])}
        read = from_dgl(DGLGraph(make(rows), make(columns), graph.num_nodes, ndata, edata))
        same_graph(read.graph, graph)
        assert_array_equal(read.labels, labels)
        same_split(read.splits["public"], split_of(parts))

    def test_a_bare_graph(self):
        read = from_dgl(DGLGraph(np.array([0, 1]), np.array([1, 0]), 4))
        assert repr(read.graph) == "Graph(4 nodes, 1 edges, no features, 2 isolated)"
        assert read.labels is None
        assert read.splits == {}

    def test_directed_and_repeated_edges_must_be_meant(self):
        g = DGLGraph([0, 0], [1, 1], 2, edata={"w": [1.0, 2.0]})
        with pytest.raises(InputError, match="duplicates="):
            from_dgl(g)
        with pytest.raises(InputError, match="symmetrize="):
            from_dgl(g, duplicates="sum")
        assert from_dgl(g, duplicates="sum", symmetrize="max").graph.adjacency[1, 0] == 3

    def test_what_is_refused(self):
        for name, value, words in (
            ("is_homogeneous", False, "to_homogeneous"),
            ("is_block", True, "to_homogeneous"),
            ("batch_size", 3, "batch of 3; dgl.unbatch"),
        ):
            g = DGLGraph([0], [0], 1)
            setattr(g, name, value)
            with pytest.raises(InputError, match=words):
                from_dgl(g)
        with pytest.raises(InputError, match="both 'w' and 'weight'"):
            from_dgl(DGLGraph([0], [0], 1, edata={"w": [1.0], "weight": [2.0]}))
        with pytest.raises(InputError, match=r"w must be one weight per edge. Got shape \(1, 2\)"):
            from_dgl(DGLGraph([0], [0], 1, edata={"w": [[1.0, 2.0]]}))
        with pytest.raises(InputError, match="must be a DGL graph. Got list"):
            from_dgl([])


class TestDiffuseFeatures:
    @given(graph=graphs(), wide=st.booleans(), self_loops=st.booleans(), cat=st.booleans())
    def test_it_is_diffuse(self, torch, pyg, graph, wide, self_loops, cat):
        data = pyg_data(torch, pyg, graph)
        if not wide:
            data.x = data.x.float()
        result = DiffuseFeatures(T=2.0, K=5, self_loops=self_loops, cat=cat)(data)
        assert isinstance(result, pyg.data.Data)
        assert result.x.dtype == (torch.float64 if wide else torch.float32)
        x = data.x.numpy()
        expected = diffuse(graph.with_features(x), 2.0, 5, self_loops=self_loops, dtype=x.dtype)
        assert_array_equal(result.x, np.hstack([x, expected]) if cat else expected)
        assert result.edge_index is data.edge_index

    @pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
    @pytest.mark.parametrize("convert", ["to_sparse_coo", "to_sparse_csr", "to_dense"])
    @pytest.mark.parametrize("cat", [True, False])
    def test_sparse_features(self, torch, pyg, convert, cat):
        data = pyg_data(torch, pyg, Graph(np.ones((3, 3)), np.eye(3)))
        expected = DiffuseFeatures(T=1.0, cat=cat)(data).x
        data.x = getattr(data.x, convert)()
        result = DiffuseFeatures(T=1.0, cat=cat)(data).x
        assert result.layout == torch.strided
        assert_allclose(result, expected, rtol=1e-12)

    def test_types(self, torch):
        data = SimpleNamespace(edge_index=[[0, 1], [1, 0]])
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            data.x = torch.eye(2, dtype=dtype)
            assert DiffuseFeatures(T=1.0)(data).x.dtype == dtype
        for dtype in (torch.int64, torch.bool):
            data.x = torch.eye(2).to(dtype)
            assert DiffuseFeatures(T=1.0)(data).x.dtype == torch.float32
            assert_allclose(DiffuseFeatures(T=1.0)(data).x.sum(dim=1), [1, 1], rtol=1e-6)

    def test_another_attribute(self, torch):
        data = SimpleNamespace(edge_index=[[0, 1], [1, 0]], x=torch.ones(2, 1), z=torch.eye(2))
        result = DiffuseFeatures(T=1.0, attr="z")(data)
        assert result.x is data.x
        assert result.z[0, 1] > 0
        with pytest.raises(InputError, match="no pos to diffuse.*attr="):
            DiffuseFeatures(T=1.0, attr="pos")(data)

    def test_in_a_pipeline(self, torch, pyg):
        graph = Graph(np.ones((3, 3)), np.eye(3))
        data = pyg_data(torch, pyg, graph)
        steps = [DiffuseFeatures(T=1.0), DiffuseFeatures(T=2.0)]
        result = pyg.transforms.Compose(steps)(data)
        assert_allclose(result.x, diffuse(graph, 3.0, dtype=np.float64), rtol=1e-4)
        assert_array_equal(data.x, np.eye(3))

    def test_as_the_transforms_of_a_dataset(self, torch, pyg, tmp_path):
        data = pyg_data(torch, pyg, Graph(np.ones((3, 3)), np.eye(3)))

        class Small(pyg.data.InMemoryDataset):
            processed_file_names = ("data.pt",)

            def __init__(self, root, **transforms):
                super().__init__(root, **transforms)
                self.load(self.processed_paths[0])

            def process(self):
                self.save([self.pre_transform(data)], self.processed_paths[0])

        for _ in range(2):  # the second time, PyG reads its files and compares the transforms
            small = Small(
                str(tmp_path),
                transform=DiffuseFeatures(T=2.0),
                pre_transform=DiffuseFeatures(T=1),
            )
            assert_allclose(small[0].x, DiffuseFeatures(T=3.0)(data).x, rtol=1e-4)
        with pytest.raises(InputError, match=r"dataset\[0\]"):
            from_pyg(small)

    def test_batches_are_diffused_graph_by_graph(self, torch, pyg):
        path = pyg_data(torch, pyg, Graph(np.ones((2, 2)), np.eye(2)))
        other = pyg_data(torch, pyg, Graph(2 * np.eye(3)[::-1], np.ones((3, 2))))
        path.edge_weight = torch.ones(4)
        transform = DiffuseFeatures(T=1.5)
        result = transform(pyg.data.Batch.from_data_list([path, other]))
        for one, alone in zip(result.to_data_list(), [path, other], strict=True):
            assert_allclose(one.x, transform(alone).x, rtol=1e-5)

    def test_directed_edges(self):
        data = SimpleNamespace(edge_index=[[0], [1]], x=np.eye(2))
        with pytest.raises(InputError, match="symmetrize="):
            DiffuseFeatures(T=1.0)(data)
        assert DiffuseFeatures(T=1.0, symmetrize="max")(data).x[1, 0] > 0

    def test_gradients_are_not_lost_unnoticed(self, torch):
        data = SimpleNamespace(edge_index=[[0], [0]], x=torch.ones(1, 1, requires_grad=True))
        with pytest.raises(InputError, match="requires gradients.*detach"):
            DiffuseFeatures(T=1.0)(data)

    def test_repr_tells_settings(self):
        transform = DiffuseFeatures(T=2, K=4, cat=True)
        assert repr(transform) == (
            "DiffuseFeatures(scheme=Euler(T=2.0, K=4), self_loops=True, cat=True, attr='x', "
            "tol=1e-06, weight='edge_weight', symmetrize=None, duplicates='error')"
        )
        names = {"DiffuseFeatures": DiffuseFeatures, "Euler": Euler}
        assert repr(eval(repr(transform), names)) == repr(transform)
        assert repr(DiffuseFeatures(T=2.0)) == repr(DiffuseFeatures(scheme=Heat(2)))
        assert repr(pickle.loads(pickle.dumps(transform))) == repr(transform)

    def test_settings_are_checked_at_once(self):
        for settings in ({}, {"T": -1}, {"T": 1.0, "scheme": "euler"}):
            with pytest.raises(InputError):
                DiffuseFeatures(**settings)
        with pytest.warns(StabilityWarning):
            DiffuseFeatures(T=9.0, K=2)


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
