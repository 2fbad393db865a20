"""The command ``heatgraph``: one module per command, each a thin layer over the Python API."""

from heatgraph.cli.entry_point import main as main
