"""The graph: validated once, then trusted by every other package."""

from heatgraph.graph._graph import Graph, check_graph, node_indices

__all__ = ["Graph", "check_graph", "node_indices"]
