import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from comparisons import assert_same_edges
from hypothesis import given
from numpy.testing import assert_array_equal
from strategies import adjacencies, planted

from heatgraph import DGCClassifier, Graph, diffuse
from heatgraph.errors import InputError

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]


class TestAdjacency:
    @pytest.mark.parametrize("form", FORMATS)
    @given(A=adjacencies())
    def test_every_sparse_format_is_the_same_graph(self, form, A):
        for container in (sp.csr_matrix, sp.csr_array):
            assert_same_edges(Graph(container(A).asformat(form)), Graph(A))

    @given(adjacencies())
    def test_adjacency_is_restored(self, A):
        assert_array_equal(Graph(A).adjacency.toarray(), A)

    @pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.longdouble, ">f8"])
    def test_dtypes(self, dtype):
        assert_same_edges(Graph(PATH.astype(dtype)), Graph(PATH))

    def test_unweighted_graphs_store_no_values(self):
        assert Graph(PATH).weights is None
        assert Graph(PATH).operator().values is None
        assert Graph(2 * PATH).weights is not None
        assert Graph(2 * PATH).operator().root is None

    def test_stored_zeros_are_not_edges(self):
        A = sp.coo_array(([1.0, 1, 0, 0], ([0, 1, 0, 2], [1, 0, 2, 0])), shape=(3, 3))
        assert Graph(A).num_edges == 1
        assert Graph(A).num_isolated == 1

    def test_unsorted_rows_are_sorted_in_a_copy(self):
        A = sp.csr_array((np.ones(4), np.array([2, 1, 0, 0]), np.array([0, 2, 3, 4])), shape=(3, 3))
        before = A.indices.copy()
        assert_array_equal(Graph(A).indices, [1, 2, 0, 0])
        assert_array_equal(A.indices, before)

    def test_inputs_are_not_modified_nor_shared(self):
        A = sp.csr_array(PATH)
        graph = Graph(A)
        A.indices[:] = 10**6
        A.indptr[:] = 10**6
        A.data[:] = np.nan
        assert_array_equal(graph.adjacency.toarray(), PATH)
        with pytest.raises(ValueError, match="read-only"):
            graph.indices[0] = 5

    def test_int64_indices_beyond_the_limit(self, monkeypatch):
        X = np.random.default_rng(0).normal(size=(3, 2))
        small = Graph(PATH, X)
        monkeypatch.setattr("heatgraph._arguments.INDEX_LIMIT", 2)
        large = Graph(PATH, X)
        assert small.indices.dtype == np.int32
        assert large.indices.dtype == np.int64
        assert_array_equal(diffuse(small, 1.0), diffuse(large, 1.0))
        assert Graph.from_edges([0, 1], [1, 0], num_nodes=3).indices.dtype == np.int64


class TestBadAdjacency:
    def test_not_square(self):
        with pytest.raises(InputError, match=r"square, nodes by nodes. Got shape \(2, 3\)"):
            Graph(np.zeros((2, 3)))
        with pytest.raises(InputError, match=r"Got shape \(2, 3\)"):
            Graph(sp.csr_array((2, 3)))

    def test_not_two_dimensional(self):
        with pytest.raises(InputError, match="two dimensions"):
            Graph(np.zeros(3))
        with pytest.raises(InputError, match="two dimensions"):
            Graph(sp.coo_array(np.ones(3)))

    def test_no_nodes(self):
        with pytest.raises(InputError, match="at least one node"):
            Graph(np.zeros((0, 0)))

    @pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
    @pytest.mark.parametrize("bad", [-1, 3, 2**31 - 1])
    def test_index_out_of_range(self, form, bad):
        A = sp.csr_array(PATH).asformat(form)
        A.indices[1] = bad
        with pytest.raises(
            InputError, match=rf"adjacency.indices\[1\]: index {bad} is outside 0\.\.2"
        ):
            Graph(A)

    @pytest.mark.parametrize("bad", [-1, 3])
    def test_coordinate_out_of_range(self, bad):
        A = sp.coo_array(PATH)
        A.coords[0][2] = bad
        with pytest.raises(InputError, match=f"adjacency entry 2: index {bad} is outside"):
            Graph(A)

    @pytest.mark.parametrize(
        ("indptr", "message"),
        [
            ([0, 3, 1, 4], "never decrease. Got 1 at position 2"),
            ([1, 1, 3, 4], "start at 0 and never decrease. Got 1 at position 0"),
            ([0, 1, 3, 5], "ends at 5, with 4 indices"),
            ([0, 1, 3, 3], "ends at 3, with 4 indices"),
            ([0, 1, 4], "must have 4 entries"),
            ([0, -5, 3, 4], "never decrease"),
        ],
    )
    @pytest.mark.parametrize("form", ["csr", "csc"])
    def test_broken_indptr(self, form, indptr, message):
        A = sp.csr_array(PATH).asformat(form)
        A.indptr = np.array(indptr)
        with pytest.raises(InputError, match=message):
            Graph(A)

    def test_indices_and_values_of_different_length(self):
        A = sp.csr_array(PATH)
        A.data = A.data[:-1]
        with pytest.raises(InputError, match="4 indices and 3 values"):
            Graph(A)

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    def test_not_finite(self, form, bad):
        A = PATH.copy()
        A[1, 2] = A[2, 1] = bad
        A = A if form == "dense" else sp.csr_array(A).asformat(form)
        with pytest.raises(InputError, match=r"adjacency\[1, 2\] has -?(nan|inf) \(2 such"):
            Graph(A)

    def test_negative(self):
        with pytest.raises(InputError, match=r"adjacency\[0, 1\] has -1 \(4 such in all\)"):
            Graph(-PATH)
        with pytest.raises(InputError, match="edge 0 -> 1 has -2"):
            Graph.from_edges([0, 1], [1, 0], weight=[-2.0, 1.0], num_nodes=2)

    @pytest.mark.parametrize("dtype", [object, complex, "U4"])
    def test_not_numbers(self, dtype):
        with pytest.raises(InputError, match="must be real numbers"):
            Graph(PATH.astype(dtype))

    def test_complex_sparse(self):
        with pytest.raises(InputError, match=r"Got dtype complex128"):
            Graph(sp.csr_array(PATH.astype(complex)))

    def test_coordinates_that_are_not_integers(self):
        A = sp.coo_array(PATH)
        A.coords = (A.coords[0] + 0.5, A.coords[1])
        with pytest.raises(InputError, match="integer row and column index"):
            Graph(A)

    def test_lil_rows_of_different_lengths(self):
        A = sp.lil_array(PATH)
        A.data[0] = []
        with pytest.raises(InputError, match="adjacency is not a valid lil matrix: its rows"):
            Graph(A)

    def test_weights_that_add_up_to_infinity(self):
        with pytest.raises(InputError, match="at node 1 they add up to infinity"):
            Graph(PATH * 1e308)


class TestDuplicates:
    SRC, DST = [0, 1, 0, 1], [1, 0, 1, 0]

    def test_unweighted_duplicates_are_merged_and_counted(self):
        for how in ("error", "sum", "max"):
            graph = Graph.from_edges(self.SRC, self.DST, num_nodes=2, duplicates=how)
            assert graph.weights is None
            assert graph.num_duplicates == 2
            assert "2 duplicates merged" in repr(graph)

    def test_equal_weights_are_merged(self):
        graph = Graph.from_edges(self.SRC, self.DST, weight=[3.0] * 4, num_nodes=2)
        assert_array_equal(graph.weights, [3, 3])

    def test_conflicting_weights_are_refused(self):
        with pytest.raises(
            InputError, match=r"edge 0 -> 1 is given several times.*2 such.*duplicates='sum'"
        ):
            Graph.from_edges(self.SRC, self.DST, weight=[1.0, 1, 2, 2], num_nodes=2)

    @pytest.mark.parametrize(("how", "value"), [("sum", 3), ("max", 2)])
    def test_conflicting_weights_are_merged_on_request(self, how, value):
        graph = Graph.from_edges(
            self.SRC, self.DST, weight=[1.0, 1, 2, 2], num_nodes=2, duplicates=how
        )
        assert_array_equal(graph.weights, [value, value])

    def test_weights_of_one_add_up_on_request(self):
        graph = Graph.from_edges(self.SRC, self.DST, weight=[1] * 4, num_nodes=2, duplicates="sum")
        assert_array_equal(graph.weights, [2, 2])

    @pytest.mark.parametrize("form", ["csr", "coo", "csc"])
    def test_in_sparse_matrices(self, form):
        A = sp.coo_array(([1.0, 2, 1, 2], ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
        if form == "coo":
            twice = A
        else:
            kind = sp.csr_array if form == "csr" else sp.csc_array
            twice = kind((np.array([1.0, 2, 1, 2]), np.array([1, 1, 0, 0]), np.array([0, 2, 4])))
        with pytest.raises(InputError, match=r"adjacency\[0, 1\] is given several times"):
            Graph(twice)
        assert_array_equal(Graph(twice, duplicates="sum").weights, [3, 3])

    def test_unknown_choice(self):
        with pytest.raises(InputError, match="duplicates must be one of 'error', 'sum', 'max'"):
            Graph(PATH, duplicates="min")


class TestFeatures:
    X = np.arange(6.0).reshape(3, 2)

    @pytest.mark.parametrize(
        "dtype", [bool, np.uint8, np.int64, np.float16, np.float32, ">f4", "<f8"]
    )
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_dtypes_and_memory_orders_give_the_same_result(self, dtype, order):
        X = self.X.astype(dtype, order=order)
        graph = Graph(PATH, X)
        assert graph.features.dtype in (np.float32, np.float64)
        assert graph.features.dtype.isnative
        assert_array_equal(diffuse(graph, 1.0), diffuse(Graph(PATH, X.astype(np.float64)), 1.0))

    def test_strided_and_read_only_memory_maps(self, tmp_path):
        wide = np.random.default_rng(0).normal(size=(6, 4))
        np.save(tmp_path / "x.npy", wide)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        for X in (mapped[::2, 1::2], wide[::2, 1::2], wide[::2, 1::2].copy()):
            result = diffuse(Graph(PATH, X), 1.0, dtype=np.float64)
            assert_array_equal(result, diffuse(Graph(PATH, wide[::2, 1::2]), 1.0, dtype=np.float64))

    @pytest.mark.parametrize("make", [Graph, lambda A, X: Graph(A).with_features(X)])
    @pytest.mark.parametrize("kind", ["array", "view", "read-only view", "sparse", "data frame"])
    def test_a_graph_does_not_change_with_the_array_of_the_caller(self, make, kind):
        X = np.arange(12.0).reshape(3, 4)
        given, values = X, X
        if kind == "view":
            given = X[:, 1:]
        elif kind == "read-only view":
            given = X[:, 1:]
            given.flags.writeable = False
        elif kind == "sparse":
            given = sp.csr_array(X)
            values = given.data
        elif kind == "data frame":
            given = pd.DataFrame(X, copy=False)
        graph = make(PATH, given)
        before = diffuse(graph, 1.0)
        values[...] = 7.0
        assert_array_equal(diffuse(graph, 1.0), before)

    def test_a_fitted_model_does_not_change_with_the_array_of_the_caller(self):
        graph, codes = planted(n=40, kind="dense")
        X = graph.features.copy()
        model = DGCClassifier(T=1.0, weight_decay=0.1).fit(graph.with_features(X), codes)
        before = model.predict_proba(model.graph_)
        X[...] = 0
        assert_array_equal(model.predict_proba(model.graph_), before)

    @pytest.mark.parametrize("mode", ["r", "array"])
    def test_read_only_features_are_shared(self, tmp_path, mode):
        X = self.X.copy()
        if mode == "r":
            np.save(tmp_path / "x.npy", X)
            X = np.load(tmp_path / "x.npy", mmap_mode="r")
        else:
            X.flags.writeable = False
        graph = Graph(PATH, X)
        assert np.shares_memory(graph.features, X)
        assert np.shares_memory(graph.with_features(X).features, X)

    @pytest.mark.parametrize("mode", ["r+", "c"])
    def test_memory_maps_that_can_be_written_to_are_refused(self, tmp_path, mode):
        np.save(tmp_path / "x.npy", self.X)
        X = np.load(tmp_path / "x.npy", mmap_mode=mode)
        for features in (X, X[:, :1], np.asarray(X)):
            with pytest.raises(InputError, match="memory map that can be written to.* mode 'r'"):
                Graph(PATH, features)
        X.flags.writeable = False
        assert np.shares_memory(Graph(PATH, X).features, X)

    @pytest.mark.parametrize("read", [np.asarray, sp.csr_array, sp.csc_array])
    @pytest.mark.parametrize(
        "make",
        [
            Graph,
            lambda A, X: Graph(A).with_features(X),
            lambda A, X: pickle.loads(pickle.dumps(Graph(A, X))),
            lambda A, X: copy.deepcopy(Graph(A, X)),
            lambda A, X: Graph(A, X).subgraph([2, 0]),
            lambda A, X: Graph(A, X).with_nodes(X[:1], num_nodes=1),
        ],
    )
    def test_features_of_a_graph_are_read_only(self, read, make):
        """Compiled code follows the indices of sparse features without checking them."""
        features = make(PATH, read(self.X)).features
        arrays = [features]
        if sp.issparse(features):
            arrays = [features.data, features.indices, features.indptr]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 10**6

    def test_features_are_never_written_to(self):
        for X in (self.X.copy(), sp.csr_array(self.X), sp.coo_array(self.X)):
            before = X.copy()
            diffuse(Graph(PATH, X), 2.0, dtype=np.float64)
            assert (before != X).sum() == 0

    @pytest.mark.parametrize("form", FORMATS)
    def test_sparse_features_stay_sparse(self, form):
        graph = Graph(PATH, sp.csr_array(self.X).asformat(form))
        assert sp.issparse(graph.features)
        assert_array_equal(graph.features.toarray(), self.X)

    def test_duplicates_in_sparse_features_add_up(self):
        X = sp.coo_array(([1.0, 1.0], ([0, 0], [1, 1])), shape=(3, 2))
        assert Graph(PATH, X).features[0, 1] == 2

    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, bad, sparse):
        X = np.ones((20000, 4))
        X[16390, 3] = X[19999, 0] = bad
        with pytest.raises(
            InputError, match=r"features must be finite. Row 16390, column 3 is .* \(2 such"
        ):
            Graph(sp.csr_array((20000, 20000)), sp.csr_array(X) if sparse else X)

    @pytest.mark.parametrize("dtype", [object, complex, "U3", "datetime64[s]"])
    def test_not_numbers(self, dtype):
        with pytest.raises(InputError, match="features must be real numbers"):
            Graph(PATH, self.X.astype(dtype))

    def test_masked_values(self):
        masked = np.ma.masked_less(self.X, 1)
        for attempt in (
            lambda: Graph(PATH, masked),
            lambda: Graph(np.ma.masked_equal(PATH, 1)),
            lambda: Graph.from_edges([0], [0], weight=np.ma.masked_equal([1.0], 1), num_nodes=1),
            lambda: Graph.from_edges(np.ma.masked_equal([0], 0), [0], num_nodes=1),
        ):
            with pytest.raises(InputError, match="masked values"):
                attempt()

    def test_ragged(self):
        with pytest.raises(InputError, match="features cannot be read as an array"):
            Graph(PATH, [[1], [1, 2], [3]])
        with pytest.raises(InputError, match="adjacency cannot be read as an array"):
            Graph([[1], [1, 2]])
        with pytest.raises(InputError, match="at least one node"):
            Graph.from_edges([], [], features=5.0)

    def test_shapes(self):
        with pytest.raises(InputError, match="one row per node, 3. Got 2 rows"):
            Graph(PATH, np.eye(2))
        with pytest.raises(InputError, match="no columns. Pass features=None"):
            Graph(PATH, np.zeros((3, 0)))
        with pytest.raises(InputError, match=r"two-dimensional, \(n, d\). Got shape \(3,\)"):
            Graph(PATH, np.zeros(3))

    def test_sparse_with_indices_out_of_range(self):
        X = sp.csr_array(self.X)
        X.indices[0] = 7
        with pytest.raises(InputError, match=r"features.indices\[0\]: index 7 is outside 0..1"):
            Graph(PATH, X)


class TestIds:
    @pytest.mark.parametrize(
        "ids", [["a", "b", "c"], [10, 5, 2**63], [b"x", b"y", b"z"], [None, "a", 3]]
    )
    def test_ids_of_any_kind(self, ids):
        ids = np.array(ids, dtype=object if None in ids else None)
        assert_array_equal(Graph(PATH, node_ids=ids).node_ids, ids)

    def test_bad_ids(self):
        with pytest.raises(InputError, match=r"one entry per node, 3. Got shape \(2,\)"):
            Graph(PATH, node_ids=["a", "b"])

    @pytest.mark.parametrize(
        "ids", [["a", "b", "a"], [1, 2.0, 1.0], [np.nan, 1.0, 2.0], [[1], "a", "b"]]
    )
    def test_ids_that_are_not_distinct_or_hashable(self, ids):
        with pytest.raises(InputError, match="node_ids must be distinct"):
            Graph(PATH, node_ids=ids)

    @pytest.mark.parametrize(
        "ids",
        [
            [1234567890123456789, None, 3],
            [2**63 + 1, -1, 3],
            [1, "1", 2],
            [1, "a", 2.5],
            (10**30, 1, 2),
            ["a", "bb", "ccc"],
        ],
    )
    def test_ids_are_exact(self, ids):
        kept = Graph(PATH, node_ids=ids).node_ids.tolist()
        assert kept == list(ids)
        assert [type(name) for name in kept] == [type(name) for name in ids]

    def test_ids_are_copied(self):
        ids = np.array(["a", "b", "c"])
        graph = Graph(PATH, node_ids=ids)
        ids[0] = "b"
        assert graph.node_ids.tolist() == ["a", "b", "c"]


def test_feature_names():
    X = np.arange(6.0).reshape(3, 2)
    graph = Graph(np.ones((3, 3)), X, feature_names=["size", "age"])
    assert graph.feature_names == ["size", "age"]
    assert graph.subgraph([2, 0]).feature_names == ["size", "age"]
    assert graph.with_features(X).feature_names is None
    assert graph.with_features(X, ["a", "b"]).feature_names == ["a", "b"]
    assert Graph(np.ones((3, 3)), X, feature_names=np.array(["a", "b"])).feature_names == ["a", "b"]


@pytest.mark.parametrize(
    ("names", "features", "message"),
    [
        (["a"], np.ones((3, 2)), "one name per feature, 2. Got 1"),
        (["a"], None, "one name per feature, 0. Got 1"),
        (["a", "a"], np.ones((3, 2)), "Entry 1 is 'a', which is not, or is a duplicate"),
        (["a", 7], np.ones((3, 2)), "distinct strings. Entry 1 is 7"),
    ],
)
def test_bad_feature_names(names, features, message):
    with pytest.raises(InputError, match=message):
        Graph(np.ones((3, 3)), features, feature_names=names)
