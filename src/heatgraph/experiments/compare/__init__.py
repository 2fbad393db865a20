"""Methods compared on one graph: the same nodes to learn from, to choose by and to judge by."""
