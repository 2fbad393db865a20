"""``heatgraph version``: the versions installed."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import heatgraph
from heatgraph.cli import options
from heatgraph.cli.reporter import Reporter

LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "pyarrow", "jinja2", "torch")


@options.expand_groups
def version(*, output_options: options.OutputOptions) -> None:
    """Print the versions of heatgraph and of the libraries it uses."""
    reporter = Reporter(output_options)
    versions = {"heatgraph": heatgraph.__version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            versions[library] = installed(library)
        except PackageNotFoundError:
            continue
    reporter.print(f"heatgraph {heatgraph.__version__}")
    reporter.table([(name, number) for name, number in list(versions.items())[1:]])
    reporter.json(versions)
