"""Cells of measured and published accuracies."""

import pytest

from heatgraph.experiments.paper.accuracy_tables import is_marked, measured_cell, published_cell
from heatgraph.experiments.paper.published import (
    PublishedNumber,
    published_number,
    published_numbers,
)
from heatgraph.report.document import MISSING, Cell


def number(value, spread=None):
    return PublishedNumber("Table 2", "DGC", "cora", "", "accuracy", value, spread)


def test_published_cells():
    assert published_cell(number(83.3, 0.0)) == "83.3 ± 0.0"
    assert published_cell(number(81.1)) == "81.1"
    assert published_cell(number(None)) == "out of memory"
    assert published_cell(None) == MISSING


def test_measured_cells():
    assert measured_cell([]) == MISSING
    assert measured_cell([80.0]) == "80.0"
    assert measured_cell([80.0, 82.0]) == Cell("81.0 ± 1.4", "n = 2")
    assert measured_cell([80.0], number(None)) == "80.0"
    assert measured_cell([80.0, 82.0], number(80.6)) == Cell("81.0 ± 1.4", "+0.4, n = 2")
    assert measured_cell([82.1, 82.1], number(82.5)) == Cell(
        "82.1 ± 0.0", "-0.4, n = 2", marked=True
    )
    assert measured_cell([80.58], number(80.6)) == Cell("80.6", "+0.0")
    assert measured_cell([80.0], number(80.6)) == Cell("80.0", "-0.6", marked=True)


@pytest.mark.parametrize(
    ("difference", "spread", "marked"),
    [
        (0.5, None, False),
        (64.4 - 63.9, None, False),
        (0.51, None, True),
        (-0.51, None, True),
        (-0.51, 9.0, True),  # more than half a point, whatever the deviation
        (0.4, 0.1, True),
        (0.34, 0.1, False),  # within three deviations and the rounding of the paper
        (0.04, 0.01, False),
        (0.09, 0.01, True),
        (0.4, None, False),
        (0.4, 0.0, True),
        (0.05, 0.0, False),
    ],
)
def test_marked_differences(difference, spread, marked):
    assert is_marked(difference, spread) is marked


def test_every_published_accuracy_can_be_shown():
    for one in published_numbers(measure="accuracy"):
        assert published_cell(one)


def test_published_number_is_unique_or_none():
    assert published_number(source="Table 2", method="DGC", dataset="cora").value == 83.3
    assert published_number(source="Table 2", method="DGC") is None
    assert published_number(source="Table 1") is None
