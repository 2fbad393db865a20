import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense_operator
from strategies import adjacencies

from heatgraph import Graph, diffuse
from heatgraph.errors import InputError
from heatgraph.graph import _normalized_operator

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])


class TestOperator:
    @pytest.mark.parametrize("self_loops", [True, False])
    @given(A=adjacencies())
    def test_the_stored_matrix_is_similar_to_the_operator(self, self_loops, A):
        operator = Graph(A).operator(self_loops, np.float64)
        R = np.diag(np.ones(len(A)) if operator.root is None else operator.root)
        S = R @ operator.walk().toarray() @ np.linalg.inv(R)
        assert_allclose(S, dense_operator(A, self_loops), atol=1e-14)

    @given(A=adjacencies(), block=st.integers(1, 20))
    def test_block_size_does_not_change_the_values(self, A, block):
        expected = Graph(2 * A).operator().values
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_normalized_operator, "BLOCK_EDGES", block)
            values = Graph(2 * A).operator().values
        assert_array_equal(values, expected)

    @pytest.mark.parametrize("self_loops", [True, False])
    @given(A=adjacencies())
    def test_equals_the_formula(self, self_loops, A):
        S = Graph(A).operator(self_loops, np.float64).to_scipy().toarray()
        assert_allclose(S, dense_operator(A, self_loops), atol=1e-14)

    @pytest.mark.parametrize("self_loops", [True, False])
    @given(A=adjacencies())
    def test_spectrum_is_within_one(self, self_loops, A):
        s = np.linalg.eigvalsh(Graph(A).operator(self_loops, np.float64).to_scipy().toarray())
        assert s.min() >= -1 - 1e-12
        assert s.max() == pytest.approx(1)

    @pytest.mark.parametrize("self_loops", [True, False])
    @given(A=adjacencies())
    def test_stationary_vector(self, self_loops, A):
        v = Graph(A).stationary(self_loops)
        assert (v > 0).all()
        assert_allclose(dense_operator(A, self_loops) @ v, v)

    def test_existing_self_loops_count(self):
        S = Graph(np.array([[1.0]])).operator().to_scipy().toarray()
        assert_array_equal(S, [[1]])
        A = np.array([[1.0, 1], [1, 0]])
        S = Graph(A).operator(True, np.float64).to_scipy().toarray()
        assert_allclose(S, [[2 / 3, 1 / np.sqrt(6)], [1 / np.sqrt(6), 1 / 2]])

    def test_isolated_nodes_keep_their_features(self):
        graph = Graph(np.zeros((2, 2)), np.eye(2))
        assert_allclose(diffuse(graph, 3.0, self_loops=False), np.eye(2), rtol=1e-6)

    def test_tiny_weights_do_not_overflow(self):
        S = Graph(PATH * 1e-200).operator(self_loops=False).to_scipy().toarray()
        assert_allclose(S, dense_operator(PATH, self_loops=False), rtol=1e-6)

    @pytest.mark.parametrize("bad", [2, "no", None, 1.0])
    def test_bad_self_loops(self, bad):
        with pytest.raises(InputError, match="self_loops must be True or False"):
            diffuse(Graph(PATH, np.eye(3)), 1.0, self_loops=bad)

    @pytest.mark.parametrize("bad", [int, np.float16, None, "foo"])
    def test_bad_dtype(self, bad):
        with pytest.raises(InputError, match="dtype must be float32 or float64"):
            Graph(PATH).operator(dtype=bad)

    def test_product(self):
        S = Graph(PATH).operator(dtype=np.float64)
        assert_allclose(S @ np.eye(3), dense_operator(PATH))
        assert S.num_nodes == 3
