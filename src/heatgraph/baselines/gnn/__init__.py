"""Graph neural networks that the paper compares with, on PyTorch Geometric (extra: gnn)."""
