import numpy as np

from heatgraph import Graph, make_block_graph
from heatgraph.explorer.sample import sample_nodes


def test_a_sample_has_so_many_distinct_nodes_and_is_always_the_same():
    graph = make_block_graph(2000, 6000, 2, 2).graph
    sample = sample_nodes(graph, 700)
    assert len(np.unique(sample)) == 700
    assert (np.diff(sample) > 0).all()
    assert np.array_equal(sample, sample_nodes(graph, 700))


def test_small_graphs_are_whole():
    graph = make_block_graph(50, 100, 2, 2).graph
    assert np.array_equal(sample_nodes(graph, 50), np.arange(50))


def test_a_sample_keeps_neighbours_together():
    graph = make_block_graph(20_000, 40_000, 2, 2).graph
    sample = sample_nodes(graph, 5000)
    chosen = np.random.default_rng(0).choice(20_000, 5000, replace=False)
    assert graph.subgraph(sample).num_edges > 2 * graph.subgraph(chosen).num_edges


def test_graphs_without_edges():
    graph = Graph.from_edges([], [], num_nodes=1000)
    assert len(sample_nodes(graph, 600)) == 600
