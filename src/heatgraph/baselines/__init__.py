"""Baselines of the paper: linear methods with the same search as DGC, and networks in `gnn`."""
