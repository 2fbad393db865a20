import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from heatgraph.datasets.planetoid import read_planetoid

# In CI the examples are the same every time: a red run means that the change is wrong.
settings.register_profile(
    "heatgraph",
    deadline=None,
    max_examples=60,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("heatgraph")

# Under --doctest-modules, the one of a folder would be taken for this one.
collect_ignore_glob = ["*conftest.py"]

NEAR = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def planetoid_folder():
    folder = Path(os.environ.get("HEATGRAPH_DATA", NEAR)) / "planetoid"
    if not (folder / "ind.pubmed.graph").exists():
        pytest.skip(f"no Planetoid files in {folder}; HEATGRAPH_DATA names their parent folder")
    return folder


@pytest.fixture(scope="session")
def pubmed(planetoid_folder):
    return read_planetoid(planetoid_folder, "pubmed")
