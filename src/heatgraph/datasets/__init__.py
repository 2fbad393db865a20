"""Data sets by name, readers of their public formats, synthetic graphs and splits."""
