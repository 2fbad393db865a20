"""Comparison of methods on one graph, with the same training, validation and test nodes."""
