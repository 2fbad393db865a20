"""What is found beside what is printed."""

import pytest

from heatgraph.experiments.paper.comparison import NOTHING, is_marked, measured, printed
from heatgraph.experiments.paper.published import Published, only, published
from heatgraph.report.document import Cell


def number(value, spread=None):
    return Published("Table 2", "DGC", "cora", "", "accuracy", value, spread)


def test_printed():
    assert printed(number(83.3, 0.0)) == "83.3 ± 0.0"
    assert printed(number(81.1)) == "81.1"
    assert printed(number(None)) == "out of memory"
    assert printed(None) == NOTHING


def test_measured():
    assert measured([]) == NOTHING
    assert measured([80.0]) == "80.0"
    assert measured([80.0, 82.0]) == Cell("81.0 ± 1.4", "n = 2")
    assert measured([80.0], number(None)) == "80.0"
    assert measured([80.0, 82.0], number(80.6)) == Cell("81.0 ± 1.4", "+0.4, n = 2")
    assert measured([82.1, 82.1], number(82.5)) == Cell("82.1 ± 0.0", "-0.4, n = 2", marked=True)
    assert measured([80.58], number(80.6)) == Cell("80.6", "+0.0")
    assert measured([80.0], number(80.6)) == Cell("80.0", "-0.6", marked=True)


@pytest.mark.parametrize(
    ("difference", "spread", "marked"),
    [
        (0.5, None, False),
        (64.4 - 63.9, None, False),
        (0.51, None, True),
        (-0.51, None, True),
        (-0.51, 9.0, True),  # half a point, however wide the spread
        (0.4, 0.1, True),
        (0.34, 0.1, False),  # three spreads and the rounding of what is printed
        (0.04, 0.01, False),
        (0.09, 0.01, True),
        (0.4, None, False),
        (0.4, 0.0, True),
        (0.05, 0.0, False),
    ],
)
def test_marks(difference, spread, marked):
    assert is_marked(difference, spread) is marked


def test_every_published_accuracy_can_be_shown():
    for one in published(measure="accuracy"):
        assert printed(one)


def test_one_number_or_none():
    assert only(source="Table 2", method="DGC", dataset="cora").value == 83.3
    assert only(source="Table 2", method="DGC") is None
    assert only(source="Table 1") is None
