"""Graphs to work with: readers of public formats."""
