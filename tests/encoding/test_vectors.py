"""Vectors: equally long lists of numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heatgraph.encoding.block import Settings
from heatgraph.encoding.column import NothingToEncode
from heatgraph.encoding.vectors import VectorEncoding, read_vectors
from heatgraph.errors import InputError


def test_values_and_names(column, rows):
    x = column([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    encoding = VectorEncoding.fit(x, rows(x), Settings())
    assert encoding.names == ["x[0]", "x[1]"]
    assert encoding.description == "vector of 2 numbers"
    X = np.array(x.values.to_pylist())
    assert_array_equal(encoding.encode(x, Settings()).values, X)
    scaled = encoding.encode(x, Settings(scaled=True)).values
    assert_allclose(scaled, (X - X.mean(axis=0)) / X.std(axis=0))
    text = column(["[1, 2]", "[3, 4]", "[5, 9]"])
    assert_array_equal(encoding.encode(text, Settings()).values, X)


def test_missing_numbers_and_lists(column, rows):
    x = column([[1.0, None], None, [3.0, 5.0]])
    encoding = VectorEncoding.fit(x, rows(x), Settings())
    assert encoding.names[-1] == "x is missing"
    block = encoding.encode(x, Settings())
    assert_array_equal(block.values, [[1, 5, 1], [2, 5, 1], [3, 5, 0]])
    assert "is missing in 2 of 3 nodes" in block.notes[0]
    assert len(VectorEncoding.fit(x, rows(x), Settings("mean")).names) == 2
    for bad in (x, column([[1.0], [np.nan]])):
        with pytest.raises(InputError, match="set missing"):
            read_vectors(bad, Settings("error"))
    with pytest.raises(NothingToEncode, match="blank at every training node in position 1"):
        VectorEncoding.fit(x, np.array([0, 1]), Settings())


@pytest.mark.parametrize(
    ("values", "expected", "message"),
    [
        ([[1.0, 2.0], [1.0]], None, r"row 1: .* a list of 1 numbers, and the first has 2 \(1 such"),
        ([[1.0, 2.0]], 3, r"row 0: .* a list of 2 numbers, and the model expects 3 \(1 such"),
        ([["a"]], None, "lists in column 'x' must be numeric, and hold string"),
        ([[], []], None, "lists in column 'x' are empty"),
        ([1.0], None, "column 'x' must be lists of numbers, and has type double"),
        ([[1.0], [np.inf]], None, r"row 1: column 'x' is inf \(1 such values"),
    ],
)
def test_bad_lists(column, values, expected, message):
    with pytest.raises(InputError, match=message):
        read_vectors(column(values), Settings(), expected)
