import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from heatgraph import _arguments
from heatgraph._arguments import (
    as_array,
    check_finite,
    check_range,
    check_real,
    exact_array,
    float_dtype,
    index_dtype,
    memory_owners,
    positive_integer,
    row_of_entry,
    working_dtype,
)
from heatgraph.errors import InputError


class TestAsArray:
    def test_arrays_are_not_copied(self):
        X = np.ones(3)
        assert as_array(X, "X") is X

    def test_masked_values(self):
        with pytest.raises(InputError, match="X has masked values. Fill them"):
            as_array(np.ma.masked_equal([1, 2], 1), "X")
        assert_array_equal(as_array(np.ma.array([1, 2]), "X"), [1, 2])

    def test_ragged_lists(self):
        with pytest.raises(InputError, match="X cannot be read as an array"):
            as_array([[1], [1, 2]], "X")


class TestExactArray:
    @pytest.mark.parametrize(
        "values", [[1, "1", 2], [2**63 + 1, -1], [(0, 0), (0, 1)], ["a", None], [1, 2.5], []]
    )
    def test_values_and_types_are_kept(self, values):
        array = exact_array(values)
        assert array.shape == (len(values),)
        assert array.tolist() == values
        assert [type(value) for value in array.tolist()] == [type(value) for value in values]

    def test_values_of_one_type_get_its_dtype(self):
        assert exact_array([1, 2]).dtype.kind == "i"
        assert exact_array(["a", "bb"]).dtype.kind == "U"

    def test_arrays_are_copied(self):
        values = np.array([1, 2])
        assert not np.shares_memory(exact_array(values), values)


class TestCheckRange:
    def test_in_range(self):
        check_range(np.array([0, 4]), 5, "edge {}: node")
        check_range(np.array([], dtype=int), 0, "edge {}: node")

    @pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
    def test_the_first_position_and_the_number_are_named(self, dtype):
        with pytest.raises(
            InputError, match=r"edge 1: node 5 is outside 0\.\.4 \(2 outside in all\)"
        ):
            check_range(np.array([4, 5, 0, 9], dtype=dtype), 5, "edge {}: node")


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.longdouble])
def test_real_dtypes(dtype):
    check_real(np.dtype(dtype), "X")


@pytest.mark.parametrize("dtype", [object, complex, "U3", "S3", "M8[s]", "m8[s]"])
def test_dtypes_that_are_not_real(dtype):
    with pytest.raises(InputError, match=r"X must be real numbers.*Got dtype .*astype\(float\)"):
        check_real(np.dtype(dtype), "X")


class TestCheckFinite:
    X = np.ones((7, 3))
    X[[2, 6], [1, 0]] = np.nan, np.inf

    @pytest.mark.parametrize("container", [np.asarray, sp.csr_array, np.asfortranarray])
    @pytest.mark.parametrize("values_per_check", [1, 4, 1 << 20])
    def test_the_first_position_and_the_number_are_named(
        self, monkeypatch, container, values_per_check
    ):
        monkeypatch.setattr(_arguments, "_VALUES_PER_CHECK", values_per_check)
        with pytest.raises(
            InputError, match=r"X must be finite. Row 2, column 1 is nan \(2 such values in all\)"
        ):
            check_finite(container(self.X), "X")

    def test_finite_values(self):
        check_finite(np.ones((3, 2)), "X")
        check_finite(sp.csr_array((3, 2)), "X")


def test_memory_owners_end_at_the_memory():
    X = np.arange(6.0)
    view = X[1:].reshape(5, 1)
    owners = list(memory_owners(view))
    assert owners[0] is view
    assert owners[-1] is X


@pytest.mark.parametrize("good", [1, 7, np.int8(3), np.uint64(2**63)])
def test_positive_integers(good):
    assert positive_integer(good, "n") == good
    assert type(positive_integer(good, "n")) is int


@pytest.mark.parametrize("bad", [0, -1, 1.0, "1", True, np.True_, None])
def test_values_that_are_no_positive_integers(bad):
    with pytest.raises(InputError, match="n must be an integer >= 1. Got"):
        positive_integer(bad, "n")


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (bool, np.float32), (np.int16, np.float32), (np.float16, np.float32),
        (">f4", np.float32), (np.int32, np.float64), (np.float64, np.float64),
        (np.longdouble, np.float64), (np.uint64, np.float64),
    ],
)  # fmt: skip
def test_float_dtype(dtype, expected):
    assert float_dtype(np.dtype(dtype)) is expected


def test_working_dtype():
    assert working_dtype("float32") == np.float32
    assert working_dtype(float) == np.float64
    for bad in (int, np.float16, None, "foo", [1]):
        with pytest.raises(InputError, match="dtype must be float32 or float64"):
            working_dtype(bad)


def test_index_dtype():
    assert index_dtype(2**31 - 1) is np.int32
    assert index_dtype(2**31) is np.int64


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_row_of_entry(counts):
    rows = np.repeat(np.arange(len(counts)), counts)
    entries = (np.ones(len(rows)), (rows, np.arange(len(rows))))
    matrix = sp.csr_array(entries, shape=(len(counts), 1 + len(rows)))
    assert [row_of_entry(matrix, entry) for entry in range(len(rows))] == rows.tolist()
