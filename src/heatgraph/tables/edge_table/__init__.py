"""What an edge table holds: a graph, of edges whose ends may be unknown or repeated."""
