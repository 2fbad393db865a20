import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from comparisons import assert_same_graph, assert_same_split
from foreign_graphs import pyg_data, random_labels_and_parts, split_from_parts
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import graphs, seeds

from heatgraph import DiffuseFeatures, Euler, Graph, Heat, diffuse, from_pyg
from heatgraph.errors import InputError, StabilityWarning


class TestPyG:
    @given(graph=graphs(), seed=seeds)
    def test_round_trip(self, torch, pyg, graph, seed):
        labels, parts = random_labels_and_parts(graph.num_nodes, seed)
        read = from_pyg(pyg_data(torch, pyg, graph, labels, parts))
        assert_same_graph(read.graph, graph)
        assert_array_equal(read.labels, labels)
        assert list(read.splits) == ["public"]
        assert_same_split(read.split, split_from_parts(parts))

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
        assert_same_graph(read.graph, graph)
        assert sp.issparse(read.graph.features)

    @pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
    def test_the_transform_to_sparse_tensors(self, torch, pyg):
        graph = Graph(np.ones((4, 4)), np.eye(4))
        data = pyg_data(torch, pyg, graph)
        assert_same_graph(from_pyg(pyg.transforms.ToSparseTensor()(data)).graph, graph)

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

    def test_a_directed_adjacency_needs_symmetrize(self, torch):
        adj_t = torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 2), check_invariants=True)
        with pytest.raises(InputError, match="symmetrize="):
            from_pyg(SimpleNamespace(adj_t=adj_t))
        assert from_pyg(SimpleNamespace(adj_t=adj_t), symmetrize="max").graph.num_edges == 1

    def test_directed_edges_need_symmetrize(self, torch, pyg):
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

    def test_directions_are_kept_if_asked(self):
        edges, expected = np.array([[0, 1, 1], [1, 0, 2]]), [[0, 1, 0], [1, 0, 1], [0, 0, 0]]
        data = SimpleNamespace(edge_index=edges, num_nodes=3)
        kept = from_pyg(data, directed=True).graph.directed_adjacency
        assert kept.toarray().tolist() == expected

        class SparseTensor:
            def coo(self):
                return edges[1], edges[0], None

            def sparse_sizes(self):
                return (3, 3)

        kept = from_pyg(SimpleNamespace(adj_t=SparseTensor()), directed=True).graph
        assert kept.directed_adjacency.toarray().tolist() == expected

    def test_duplicates(self, torch, pyg):
        data = pyg.data.Data(
            edge_index=torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]]),
            edge_weight=torch.tensor([1.0, 1.0, 2.0, 2.0]),
            num_nodes=2,
        )
        with pytest.raises(InputError, match="duplicates="):
            from_pyg(data)
        assert from_pyg(data, duplicates="sum").graph.adjacency[0, 1] == 3

    def test_the_attribute_with_the_weights_can_be_chosen(self, torch, pyg):
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

    def test_labels_and_masks(self, torch):
        data = SimpleNamespace(edge_index=[[0, 1], [1, 0]], num_nodes=3)
        data.y = torch.tensor([[0.0], [2.0], [np.nan]])
        data.train_mask = torch.tensor([[True, False], [False, True], [False, False]])
        read = from_pyg(data)
        assert_array_equal(read.labels, [0, 2, np.nan])
        assert read.statistics["labelled"] == 2
        assert [split.train.tolist() for split in read.splits.values()] == [[0], [1]]

    @pytest.mark.parametrize(("bad", "words"), [(np.nan, "Row 1, column 0 is nan"), (1j, "real")])
    def test_bad_features(self, torch, bad, words):
        x = torch.tensor([[1], [bad]])
        with pytest.raises(InputError, match=words):
            from_pyg(SimpleNamespace(edge_index=[[0, 1], [1, 0]], x=x))

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
        with pytest.raises(InputError, match="integer"):
            from_pyg(SimpleNamespace(edge_index=edges, num_nodes=4.5))
        with pytest.raises(InputError, match="set data.num_nodes"):
            from_pyg(pyg.data.Data(edge_index=edges))
        with pytest.raises(InputError, match="one row per node, 5"):
            from_pyg(pyg.data.Data(edge_index=edges, x=torch.ones(4, 1), num_nodes=5))

    def test_edges_of_the_wrong_shape(self, torch):
        for shape in ((3, 2), (2,), (0,)):
            with pytest.raises(InputError, match=r"edge_index must have shape \(2, edges\)"):
                from_pyg(SimpleNamespace(edge_index=torch.zeros(shape, dtype=int), num_nodes=3))
        with pytest.raises(InputError, match="integer"):
            from_pyg(SimpleNamespace(edge_index=torch.zeros(2, 2), num_nodes=3))
        with pytest.raises(InputError, match="edge 1: node 3 is outside 0..2"):
            from_pyg(SimpleNamespace(edge_index=torch.tensor([[0, 3], [0, 3]]), num_nodes=3))

    def test_batches_and_heterogeneous_data_are_refused(self, torch, pyg):
        data = pyg_data(torch, pyg, Graph(np.ones((3, 3)), np.eye(3)))
        with pytest.raises(InputError, match="batch of 2; data.to_data_list"):
            from_pyg(pyg.data.Batch.from_data_list([data, data]))
        assert_same_graph(
            from_pyg(pyg.data.Batch.from_data_list([data])).graph, from_pyg(data).graph
        )
        for use in (from_pyg, DiffuseFeatures(T=1.0)):
            with pytest.raises(InputError, match="to_homogeneous"):
                use(pyg.data.HeteroData())
            with pytest.raises(InputError, match=r"Got list without.*dataset\[0\]"):
                use([data])
            with pytest.raises(InputError, match="Got Data without"):
                use(pyg.data.Data(x=data.x))

    @given(graph=graphs(), seed=seeds)
    def test_the_data_are_not_modified(self, torch, pyg, graph, seed):
        data = pyg_data(torch, pyg, graph, *random_labels_and_parts(graph.num_nodes, seed))
        before = copy.deepcopy(data).to_dict()
        from_pyg(data)
        DiffuseFeatures(T=1.0, cat=True)(data)
        assert before.keys() == data.to_dict().keys()
        for name, value in data.to_dict().items():
            assert_array_equal(before[name], value)


class TestDiffuseFeatures:
    @given(graph=graphs(), wide=st.booleans(), self_loops=st.booleans(), cat=st.booleans())
    def test_equals_diffuse(self, torch, pyg, graph, wide, self_loops, cat):
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

    def test_the_dtype_is_kept(self, torch):
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

    def test_in_a_compose(self, torch, pyg):
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

    def test_features_that_require_gradients_are_refused(self, torch):
        data = SimpleNamespace(edge_index=[[0], [0]], x=torch.ones(1, 1, requires_grad=True))
        with pytest.raises(InputError, match="requires gradients.*detach"):
            DiffuseFeatures(T=1.0)(data)

    def test_repr_shows_all_settings(self):
        transform = DiffuseFeatures(T=2, K=4, cat=True)
        assert repr(transform) == (
            "DiffuseFeatures(scheme=Euler(T=2.0, K=4), self_loops=True, cat=True, attr='x', "
            "tol=1e-06, weight='edge_weight', symmetrize=None, duplicates='error')"
        )
        names = {"DiffuseFeatures": DiffuseFeatures, "Euler": Euler}
        assert repr(eval(repr(transform), names)) == repr(transform)
        assert repr(DiffuseFeatures(T=2.0)) == repr(DiffuseFeatures(scheme=Heat(2)))
        assert repr(pickle.loads(pickle.dumps(transform))) == repr(transform)

    def test_settings_are_validated_on_construction(self):
        for settings in ({}, {"T": -1}, {"T": 1.0, "scheme": "euler"}):
            with pytest.raises(InputError):
                DiffuseFeatures(**settings)
        with pytest.warns(StabilityWarning):
            DiffuseFeatures(T=9.0, K=2)
