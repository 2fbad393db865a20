"""Converters from NetworkX, PyTorch Geometric and DGL, which do not import these libraries.

Each converter reads nodes, edges and attributes through the methods of the object it receives, and
returns a `Dataset`: the graph, the labels and the splits. The object is never modified, and
the graph does not change with it.

Node numbers in error messages of `Graph` are positions in the node order of the source, from 0.
"""
