"""The graph, its normalised operator and its file format; validated once, on construction."""

from heatgraph.graph._graph import Graph, check_graph, node_indices

__all__ = ["Graph", "check_graph", "node_indices"]
