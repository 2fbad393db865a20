"""Experiments on data sets: the paper's tables and figures, and comparisons of methods."""
