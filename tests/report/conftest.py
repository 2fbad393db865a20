import shutil

import numpy as np
import pytest

from heatgraph.report.document import (
    Bars,
    Cell,
    Chart,
    Document,
    Panel,
    Scatter,
    Section,
    Series,
    Table,
)

LINES = [
    Series("first", [1, 10, 100], [0.5, 0.2, 0.1], [0.1, 0.0, 0.05]),
    Series.through("second", [(1, 0.3), (100, 0.2)], dashed=True, colour=0),
]
POINTS = Scatter(np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 9)
CHART = Chart(
    "drawn",
    "A caption with <angles> & more",
    [
        Panel("lines", LINES, "x", "y", "xy"),
        Panel("one line", LINES[:1], "x", "y", "x"),
        Panel("points", POINTS),
        Panel("bars", Bars(["DGC, K = 100, Chebyshev\nat some nodes", "b"], [1.0, 2.5]), "time"),
    ],
    2,
)
TABLE = Table(
    "A title",
    ["method", "a|b", "c"],
    [
        ["one & two", Cell("83.3 ± 0.1", "+0.0"), "–"],
        ["<b>", Cell("73.0", "-1.0", marked=True), "`code`"],
    ],
)
DOCUMENT = Document(
    "The <title>",
    ["Words with `code`, *stress* and **strength**, but 2 * 3 * 4."],
    [
        Section("first", "First: a table", ["Text.", TABLE]),
        Section("second", "Second: a chart", [CHART]),
    ],
)


@pytest.fixture(scope="session")
def chart():
    """A chart with every kind of panel but named points."""
    return CHART


@pytest.fixture(scope="session")
def document():
    """A document with every kind of part."""
    return DOCUMENT


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as running:
        yield running.chromium.launch(executable_path=path, args=["--no-sandbox"])
