"""Numbers per node."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError
from heatgraph.learning._node_numbers import NodeNumbers


@pytest.mark.parametrize(
    "y",
    [
        [1, None, -1],
        np.array([1.0, np.nan, -1.0]),
        np.array([1, None, -1], dtype=object),
        pd.Series([1, None, -1]),
        pd.array([1, pd.NA, -1], dtype="Int64"),
        pd.array([1, pd.NA, -1], dtype="Float64"),
    ],
)
def test_missing_numbers(y):
    numbers = NodeNumbers.read(y, 3)
    assert_array_equal(numbers.values[:, 0], [1, np.nan, -1])
    assert numbers.known.tolist() == [True, False, True]
    assert numbers.is_flat
    assert numbers.labelled(None, "train").tolist() == [0, 2]


def test_rows_of_numbers():
    numbers = NodeNumbers.read([[1, 2], [np.nan, np.nan]], 2)
    assert numbers.values.shape == (2, 2)
    assert not numbers.is_flat
    assert numbers.known.tolist() == [True, False]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([1, 2, np.inf], r"Entry 2 is infinite \(1 such in all\)"),
        (["a", "b", "c"], "y must be numbers. Got dtype <U1. For classes use DGCClassifier"),
        ([1.0, "b", None], "Entry 1 is 'b', a str"),
        ([1.0, 2.0], r"one number per node, 3 in all.*Got shape \(2,\)"),
        ([[1, 2], [np.nan, 2], [1, 2]], "all of its 2 numbers or none. Row 1 of y has some"),
        (np.empty((3, 0)), r"Got shape \(3, 0\)"),
        (np.array([1j, 2, 3]), "Got dtype complex128"),
    ],
)
def test_other_values_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        NodeNumbers.read(y, 3)


def test_nodes_without_a_number_are_named():
    with pytest.raises(InputError, match=r"val names nodes without.*Node 1 has none \(1 such"):
        NodeNumbers.read([1, None, 2], 3).labelled([0, 1], "val")
