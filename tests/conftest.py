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

# What a test may skip for lack of, by the marker that has `make test-extras` run it.
EXTRAS = {"torch": "torch", "planetoid": "Planetoid files"}
# Fixtures that imply a marker.
MARKED_FIXTURES = {"planetoid_folder": "planetoid", "torch": "torch", "pyg": "torch"}


def pytest_collection_modifyitems(items):
    for item in items:
        for fixture in MARKED_FIXTURES.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARKED_FIXTURES[fixture])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that skips for lack of an extra without its marker: CI would never run it."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        for marker, name in EXTRAS.items():
            if name in report.longrepr[2] and not item.get_closest_marker(marker):
                report.outcome = "failed"
                report.longrepr = f"{item.nodeid} skips without {name}: mark it {marker}."
    return report


@pytest.fixture(scope="session")
def planetoid_folder():
    folder = Path(os.environ.get("HEATGRAPH_DATA", NEAR)) / "planetoid"
    if not (folder / "ind.pubmed.graph").exists():
        pytest.skip(f"no Planetoid files in {folder}; HEATGRAPH_DATA names their parent folder")
    return folder


@pytest.fixture(scope="session")
def pubmed(planetoid_folder):
    return read_planetoid(planetoid_folder, "pubmed")
