import os
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from heatgraph._engine import plan
from heatgraph.datasets.planetoid import read_planetoid

# Examples are the same in every run, so that a red run means that the change is wrong. With
# HYPOTHESIS_EXPLORE=1, new ones are drawn.
settings.register_profile(
    "heatgraph",
    deadline=None,
    max_examples=60,
    derandomize=not os.environ.get("HYPOTHESIS_EXPLORE"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("fast", settings.get_profile("heatgraph"), max_examples=5)
settings.load_profile("heatgraph")

# With --doctest-modules, pytest would collect the conftest.py of a subfolder as this module.
collect_ignore_glob = ["*conftest.py"]

NEAR = Path(__file__).parents[2] / "shared" / "data"

# By marker, the words in the reason of a skip for lack of an extra; `make test-extras` runs them.
EXTRAS = {"torch": "torch", "planetoid": "Planetoid files", "browser": "make test-browser"}
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


@pytest.fixture
def always_cut(monkeypatch):
    """Cut even little work into panels, of 32 columns of float32 or more."""
    monkeypatch.setattr(plan, "PANEL_WORK", 1)
    monkeypatch.setattr(plan, "ROW_BYTES", 128)


@pytest.fixture(scope="session")
def planetoid_folder():
    folder = Path(os.environ.get("HEATGRAPH_DATA", NEAR)) / "planetoid"
    if not (folder / "ind.pubmed.graph").exists():
        pytest.skip(f"no Planetoid files in {folder}; HEATGRAPH_DATA names their parent folder")
    return folder


@pytest.fixture(scope="session")
def pubmed(planetoid_folder):
    return read_planetoid(planetoid_folder, "pubmed")


@pytest.fixture(scope="session")
def client():
    """A client of two worker processes with one thread each."""
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as processes,
            distributed.Client(processes) as client,
        ):
            yield client
