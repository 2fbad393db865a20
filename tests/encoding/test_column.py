"""Columns: their text, and errors about their rows."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from heatgraph.encoding.column import first_value, is_date, is_list, is_numeric, is_text
from heatgraph.errors import InputError


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([" a", "b ", "", "  ", None, "a"], ["a", "b", None, None, None, "a"]),
        ([True, None, False], ["true", None, "false"]),
        ([1, None, 2**60], ["1", None, str(2**60)]),
        ([1.0, None, 2.0], ["1", None, "2"]),
        ([1.5, 2.0], ["1.5", "2"]),
    ],
)
def test_texts(column, values, expected):
    texts = column(values).texts
    assert [texts.values[code] if code >= 0 else None for code in texts.codes] == expected
    assert texts.present.tolist() == [value is not None for value in expected]
    assert len(set(texts.values)) == len(texts.values)


def test_what_has_no_text_is_refused(column):
    with pytest.raises(InputError, match="t: column 'x' must be text, and has type struct"):
        _ = column([{"u": 1}]).texts


def test_the_first_bad_row_and_the_count_are_told(column):
    bad = column(["u", "v", "w"])
    bad.refuse([False, False, False], str, "")
    with pytest.raises(InputError, match=r"t, row 1: column 'x' is 1 \(2 such in all\). Mend it."):
        bad.refuse(np.array([False, True, True]), lambda row: f"is {row}", "Mend it.")
    bad.refuse_values([False] * 3, "{}", "")
    with pytest.raises(InputError, match=r"t, row 2: column 'x' has 'w' \(1 such in all\)"):
        bad.refuse_values([value == "w" for value in bad.texts.values], "has {}", "")


def test_types():
    assert is_text(pa.string())
    assert is_text(pa.large_string())
    assert is_numeric(pa.bool_())
    assert not is_numeric(pa.date32())
    assert is_date(pa.timestamp("s", "UTC"))
    assert not is_date(pa.time32("s"))
    assert is_list(pa.list_view(pa.int8()))
    assert not is_list(pa.map_(pa.string(), pa.int8()))
    assert first_value(pa.array([None, " a "])) == "a"
    assert first_value(pa.array([None, None])) == ""
    assert first_value(pa.array([-(10**6)], pa.int32()).cast(pa.date32())) == "-0768-02-04"
    assert first_value(pa.array([datetime.date(2024, 5, 31)])) == "2024-05-31"
