"""``heatgraph version``: what is installed."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import heatgraph
from heatgraph.cli import options
from heatgraph.cli.console import Voice

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "safetensors", "torch")


@options.grouped
def version(*, report: options.Report) -> None:
    """Tell the versions of heatgraph and of what it works with."""
    voice = Voice(report)
    found = {"heatgraph": heatgraph.__version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = installed(library)
        except PackageNotFoundError:
            continue
    voice.say(f"heatgraph {heatgraph.__version__}")
    voice.table([(name, number) for name, number in list(found.items())[1:]])
    voice.json(found)
