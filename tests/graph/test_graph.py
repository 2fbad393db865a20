import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from comparisons import assert_same_edges, assert_same_graph
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import adjacencies, graphs

from heatgraph import Graph, diffuse
from heatgraph.errors import InputError
from heatgraph.graph import node_indices

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])


class TestSymmetry:
    ONE_WAY = np.array([[0.0, 1, 0], [0, 0, 1], [0, 1, 0]])
    UNEVEN = np.array([[0.0, 2, 0], [3, 0, 0], [0, 0, 5]])

    def test_one_way_edges_are_counted(self):
        with pytest.raises(InputError, match=r"1 of 3 edges go one way only.*symmetrize="):
            Graph(self.ONE_WAY)

    def test_uneven_weights_are_counted(self):
        with pytest.raises(InputError, match=r"1 pairs of opposite edges differ.*symmetrize="):
            Graph(self.UNEVEN)

    def test_max_takes_the_larger_direction(self):
        graph = Graph(self.ONE_WAY, symmetrize="max")
        assert_array_equal(graph.adjacency.toarray(), PATH)
        assert graph.weights is None
        graph = Graph(self.UNEVEN, symmetrize="max")
        assert_array_equal(graph.adjacency.toarray(), [[0, 3, 0], [3, 0, 0], [0, 0, 5]])

    def test_the_first_asymmetric_edge_is_named(self):
        with pytest.raises(InputError, match=r"1 of 3 edges .* \(first: (1 - 2|2 - 1)\)"):
            Graph(np.array([[0.0, 2, 0], [3, 0, 5], [0, 0, 0]]))

    def test_sum_does_not_depend_on_other_edges(self):
        A = np.array([[0.0, 2, 0], [2, 0, 0], [0, 0, 0]])
        B = A.copy()
        B[1, 2] = 5
        for matrix in (A, B):
            assert Graph(matrix, symmetrize="sum").adjacency[0, 1] == 4

    def test_sum_adds_directions_but_not_self_loops(self):
        graph = Graph(self.UNEVEN, symmetrize="sum")
        assert_array_equal(graph.adjacency.toarray(), [[0, 5, 0], [5, 0, 0], [0, 0, 5]])

    @pytest.mark.parametrize("how", ["max", "sum"])
    def test_unweighted_edges_stay_unweighted(self, how):
        graph = Graph.from_edges([0, 1, 1], [1, 2, 0], num_nodes=3, symmetrize=how)
        assert_array_equal(graph.adjacency.toarray(), PATH)
        assert graph.weights is None
        assert Graph(self.ONE_WAY.astype(bool), symmetrize=how).weights is None

    def test_unknown_choice(self):
        with pytest.raises(InputError, match="one of None, 'sum', 'max'. Got 'mean'"):
            Graph(PATH, symmetrize="mean")

    @given(adjacencies())
    def test_symmetric_weights(self, A):
        assert_same_edges(Graph(A, symmetrize="max"), Graph(A))
        loops = np.diag(np.diag(A))
        assert_allclose(
            Graph(A, symmetrize="sum").adjacency.toarray(), 2 * A - loops if A.any() else A
        )


class TestEdges:
    def test_number_of_nodes_is_never_guessed(self):
        with pytest.raises(InputError, match="num_nodes= or features="):
            Graph.from_edges([0], [1], symmetrize="max")

    def test_trailing_isolated_nodes(self):
        graph = Graph.from_edges([0, 1], [1, 0], features=np.eye(5))
        assert (graph.num_nodes, graph.num_isolated) == (5, 3)
        assert Graph.from_edges([0, 1], [1, 0], num_nodes=4).num_nodes == 4

    def test_no_edges(self):
        graph = Graph.from_edges([], [], num_nodes=3)
        assert (graph.num_edges, graph.num_isolated) == (0, 3)

    @pytest.mark.parametrize("bad", [-1, 5])
    def test_ends_out_of_range(self, bad):
        src = np.zeros(20, dtype=int)
        dst = np.ones(20, dtype=int)
        dst[[17, 19]] = bad
        with pytest.raises(
            InputError, match=rf"edge 17: node {bad} is outside 0\.\.4 \(2 outside in all\)"
        ):
            Graph.from_edges(src, dst, num_nodes=5)

    def test_unsigned_ends_beyond_int64(self):
        with pytest.raises(InputError, match="node 18446744073709551615 is outside"):
            Graph.from_edges(
                np.array([2**64 - 1], dtype=np.uint64), np.array([0], dtype=np.uint64), num_nodes=2
            )

    @pytest.mark.parametrize(
        "bad", [[0.0, 1.0], ["a", "b"], [[0], [1]], np.array([0, 1], dtype="m8[s]")]
    )
    def test_ends_that_are_not_integers(self, bad):
        with pytest.raises(InputError, match="src must be"):
            Graph.from_edges(bad, [1, 0], num_nodes=2)

    def test_lengths(self):
        with pytest.raises(InputError, match="equally long. Got 2 and 1"):
            Graph.from_edges([0, 1], [1], num_nodes=2)
        with pytest.raises(InputError, match=r"one entry per edge, 2. Got shape \(1,\)"):
            Graph.from_edges([0, 1], [1, 0], weight=[1.0], num_nodes=2)

    def test_rows_and_num_nodes_disagree(self):
        with pytest.raises(InputError, match="one row per node, 3. Got 2 rows"):
            Graph.from_edges([0], [0], num_nodes=3, features=np.eye(2))

    @pytest.mark.parametrize("bad", [-1, 2.5, "3", True])
    def test_bad_num_nodes(self, bad):
        with pytest.raises(InputError, match="num_nodes must be an integer"):
            Graph.from_edges([], [], num_nodes=bad)

    def test_object_weights(self):
        with pytest.raises(InputError, match="weight must be real numbers"):
            Graph.from_edges([0, 1], [1, 0], weight=["a", "b"], num_nodes=2)


class TestViews:
    @given(graphs(), st.data())
    def test_subgraph(self, graph, data):
        nodes = data.draw(st.permutations(range(graph.num_nodes)))
        nodes = nodes[: data.draw(st.integers(1, graph.num_nodes))]
        part = graph.subgraph(np.array(nodes))
        A, X = graph.adjacency.toarray(), graph.features
        assert_array_equal(part.adjacency.toarray(), A[np.ix_(nodes, nodes)])
        dense, wanted = (Y.toarray() if sp.issparse(Y) else Y for Y in (part.features, X[nodes]))
        assert_array_equal(dense, wanted)
        assert part.degrees.sum() == pytest.approx(A[np.ix_(nodes, nodes)].sum())

    def test_subgraph_by_mask_keeps_ids(self):
        part = Graph(PATH, node_ids=["a", "b", "c"]).subgraph(np.array([True, False, True]))
        assert part.node_ids.tolist() == ["a", "c"]
        assert part.features is None
        assert part.num_edges == 0

    def test_subgraph_of_repeated_nodes(self):
        with pytest.raises(InputError, match=r"Node 2 is listed more than once \(1 such"):
            Graph(PATH).subgraph([0, 2, 2])

    @pytest.mark.parametrize("none", [[], np.zeros(3, dtype=bool)])
    def test_subgraph_of_no_nodes(self, none):
        with pytest.raises(InputError, match="at least one node"):
            Graph(PATH).subgraph(none)

    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
    @pytest.mark.parametrize("weight", [1, 2])
    def test_copies_are_read_only_too(self, duplicate, weight):
        graph = Graph(weight * PATH, np.eye(3))
        twin = duplicate(graph)
        assert_same_edges(graph, twin)
        assert_array_equal(diffuse(graph, 1.0), diffuse(twin, 1.0))
        for array in (twin.indptr, twin.indices, twin.weights):
            assert array is None or not array.flags.writeable

    def test_with_features_shares_the_edges(self):
        graph = Graph(PATH)
        other = graph.with_features(np.eye(3))
        assert graph.features is None
        assert other.indices is graph.indices
        with pytest.raises(InputError, match="one row per node"):
            graph.with_features(np.eye(2))

    @given(adjacencies())
    def test_degrees(self, A):
        assert_allclose(Graph(A).degrees, A.sum(axis=1))

    def test_components(self):
        A = np.zeros((5, 5))
        A[0, 3] = A[3, 0] = A[1, 2] = A[2, 1] = 1
        labels = Graph(A).components
        assert labels[0] == labels[3] != labels[1] == labels[2]
        assert len(set(labels)) == 3

    def test_repr(self):
        assert repr(Graph(PATH)) == "Graph(3 nodes, 2 edges, no features, 0 isolated)"
        A = sp.csr_array(np.diag([0, 0.5]))
        X = sp.csr_array(np.ones((2, 1)))
        assert repr(Graph(A, X)) == (
            "Graph(2 nodes, 1 weighted edges, 1 sparse features, 1 isolated, 1 self-loops)"
        )


class TestNodeIndices:
    def test_indices_and_masks(self):
        assert_array_equal(node_indices([2, 0, 2], 5, "rows"), [2, 0, 2])
        assert_array_equal(node_indices(np.array([True, False, True]), 3, "rows"), [0, 2])
        assert node_indices([], 3, "rows").dtype == np.int64
        assert_array_equal(node_indices(range(2), 2, "rows"), [0, 1])

    @pytest.mark.parametrize(
        ("nodes", "message"),
        [
            ([True, False], "rows is a mask of 2 entries, but the graph has 3 nodes"),
            ([0, 1, 1], "looks like a mask. Pass it as booleans"),
            ([0, 3], r"rows\[1\]: node 3 is outside 0..2"),
            ([-1], "node -1 is outside"),
            ([0.5], "integers or a boolean mask. Got float64"),
            ([[0]], "list of node indices or a mask. Got an array of shape"),
            (1, "list of node indices or a mask"),
        ],
    )
    def test_bad_choices(self, nodes, message):
        with pytest.raises(InputError, match=message):
            node_indices(nodes, 3, "rows")


def test_node_names():
    np.testing.assert_array_equal(Graph(np.ones((2, 2))).names, [0, 1])
    assert Graph(np.ones((2, 2)), node_ids=["x", "y"]).names.tolist() == ["x", "y"]
    pairs = [(0, 0), (0, 1)]  # np.asarray would make a matrix of them
    assert Graph(np.ones((2, 2)), node_ids=pairs).names.tolist() == pairs


@given(graphs())
def test_unchecked_construction_gives_the_same_graph(graph):
    same = Graph._from_canonical(graph.adjacency, graph.features)
    assert_same_graph(same, graph)
    assert repr(same) == repr(graph)


def test_ids_are_no_indices():
    graph = Graph.from_edges([0], [1], num_nodes=2, symmetrize="max", node_ids=["a", "b"])
    with pytest.raises(InputError, match=r"The index of an id is np.flatnonzero\(graph.node_ids"):
        graph.subgraph(["a"])
