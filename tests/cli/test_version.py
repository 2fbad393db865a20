"""``heatgraph version`` and ``heatgraph --version``."""

import json

import numpy as np
import pyarrow as pa

import heatgraph as hg


def test_installed_versions(run):
    done = run("version")
    assert done.out.startswith(f"heatgraph {hg.__version__}\n  python ")
    assert f"  numpy         {np.__version__}\n" in done.out
    found = json.loads(run("version", "--json").out)
    assert found["heatgraph"] == hg.__version__
    assert found["pyarrow"] == pa.__version__


def test_missing_libraries_are_left_out(run, monkeypatch):
    from heatgraph.cli import version

    monkeypatch.setattr(version, "LIBRARIES", ("numpy", "no-such-library"))
    assert set(json.loads(run("version", "--json").out)) == {"heatgraph", "python", "numpy"}


def test_the_version_option(run):
    done = run("--version")
    assert (done.code, done.out) == (0, f"heatgraph {hg.__version__}\n")
