"""Graphs of NetworkX, PyTorch Geometric and DGL, read without importing any of the three.

Each reader asks the object that it is given for its nodes, edges and attributes, and makes a
`Dataset`: the graph, the labels and the splits. Tensors are turned into arrays by methods of their
own. What is read is never written to; dense features are kept by reference, as in `Graph`.

Where an error of `Graph` speaks of node 3, it means the fourth node in the order of the source.
"""
