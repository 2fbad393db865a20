"""Graphs that keep the directed edges that they were made from."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from strategies import directed_adjacencies

from heatgraph import Dataset, Graph
from heatgraph.errors import InputError

CYCLE = np.roll(np.eye(3), 1, axis=1)


@given(directed_adjacencies())
def test_directed_edges_stand_beside_the_symmetrised_ones(A):
    graph = Graph(sp.csr_array(A), directed=True)
    np.testing.assert_array_equal(graph.directed_adjacency.toarray(), A)
    np.testing.assert_array_equal(graph.adjacency.toarray(), np.maximum(A, A.T))
    summed = Graph(A, directed=True, symmetrize="sum")
    np.testing.assert_array_equal(summed.directed_adjacency.toarray(), A)
    np.testing.assert_allclose(summed.adjacency.toarray(), A + A.T - np.diag(np.diag(A)))
    assert Graph(A, symmetrize="max").directed_adjacency is None


def test_edges_are_merged_and_weights_kept():
    graph = Graph.from_edges(
        [0, 0, 1, 2], [1, 1, 0, 2], [1, 2, 5, 0], num_nodes=3, directed=True, duplicates="sum"
    )
    assert graph.directed_adjacency.toarray().tolist() == [[0, 3, 0], [5, 0, 0], [0, 0, 0]]
    assert graph.num_duplicates == 1
    assert graph.directed_adjacency.nnz == 2
    assert Graph(CYCLE, directed=True).directed_adjacency.dtype == np.int8
    assert repr(graph) == (
        "Graph(3 nodes, 1 weighted edges from 2 directed ones, no features, 1 isolated, "
        "1 duplicates merged)"
    )


def test_arguments_are_checked():
    with pytest.raises(InputError, match="directed must be True or False. Got 'keep'"):
        Graph(CYCLE, directed="keep")
    with pytest.raises(InputError, match="symmetrize='max'.*directed=True. keeps"):
        Graph(CYCLE)
    with pytest.raises(InputError, match="finite and not negative"):
        Graph(-CYCLE, directed=True)


def test_arrays_are_read_only():
    graph = Graph(2 * CYCLE, directed=True)
    for matrix in (graph.directed_adjacency, pickle.loads(pickle.dumps(graph)).directed_adjacency):
        for name in ("data", "indices", "indptr"):
            assert not getattr(matrix, name).flags.writeable


@pytest.mark.parametrize(
    "derived",
    [
        lambda graph: graph.with_features(np.eye(3)),
        copy.deepcopy,
        lambda graph: pickle.loads(pickle.dumps(graph)),
        lambda graph: graph.subgraph([0, 1, 2]),
    ],
)
def test_derived_graphs_keep_directions(derived):
    kept = derived(Graph(CYCLE, directed=True)).directed_adjacency
    np.testing.assert_array_equal(kept.toarray(), CYCLE)


def test_subgraphs():
    A = np.arange(16.0).reshape(4, 4)
    part = Graph(A, directed=True).subgraph([3, 0, 2])
    np.testing.assert_array_equal(part.directed_adjacency.toarray(), A[[3, 0, 2]][:, [3, 0, 2]])
    assert part.directed_adjacency.has_canonical_format


def test_the_digest_of_a_data_set_depends_on_directions():
    graphs = [Graph(A, directed=True) for A in (CYCLE, CYCLE.T)]
    graphs.append(Graph(CYCLE, symmetrize="max"))
    assert len({Dataset("any", graph).digest() for graph in graphs}) == 3
