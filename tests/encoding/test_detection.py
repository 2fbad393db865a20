"""The kind of a column, or why it is left out."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from heatgraph.encoding.bags import BagEncoding
from heatgraph.encoding.block import Settings
from heatgraph.encoding.categories import CategoryEncoding
from heatgraph.encoding.column import NothingToEncode
from heatgraph.encoding.dates import DateEncoding
from heatgraph.encoding.detection import detect_kind
from heatgraph.encoding.numbers import NumberEncoding
from heatgraph.encoding.texts import TextEncoding
from heatgraph.encoding.vectors import VectorEncoding
from heatgraph.errors import InputError

TITLES = [f"A study of topic {at}" for at in range(30)]
LONG_IDS = [10**7 + 31 * at for at in range(30)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], NumberEncoding),
        ([True, True], NumberEncoding),
        (["1", "2.5", "NA"], NumberEncoding),
        (["001", "002"], CategoryEncoding),
        (["FR", "DE"], CategoryEncoding),
        (["one", "2", "two"], CategoryEncoding),
        (pa.array([5, 6, 5]).dictionary_encode(), CategoryEncoding),
        (pa.array(TITLES).dictionary_encode(), CategoryEncoding),
        (["United States of America"] * 9 + ["France"], CategoryEncoding),
        (TITLES, TextEncoding),
        (TITLES * 40 + [f"one more title {at}" for at in range(1001)], TextEncoding),
        ([datetime.date(2024, 5, 31)], DateEncoding),
        (["2024-05-31", "2024-06-01T10:00", ""], DateEncoding),
        (["2024-05-31", "2024-06-01", "never"], DateEncoding),
        ([[1.0, 2.0]], VectorEncoding),
        ([[1, 2], [3, 4]], VectorEncoding),
        (["[1, 2]", "[3, 4]"], VectorEncoding),
        ([[1, 2], [3]], BagEncoding),
        (["[1, 2]", "[3]"], BagEncoding),
        ([[1.0, 2.0], [3.0]], VectorEncoding),
        ([["a"], ["b"]], BagEncoding),
        (['["a", "b"]', "['c']", None], BagEncoding),
        (["[Draft] A first title", "[Final] A second title"], TextEncoding),
        (np.random.default_rng(0).lognormal(10, 1, 500).round().astype(int), NumberEncoding),
        (list(range(19)), NumberEncoding),
        ([5, None, 5], NumberEncoding),
    ],
)  # fmt: skip
def test_kinds(column, values, kind):
    assert detect_kind(column(values), Settings(), is_named=False) is kind


@pytest.mark.parametrize(
    ("values", "reason", "named"),
    [
        (list(range(20)), "integers that look like ids", NumberEncoding),
        (LONG_IDS, "integers that look like ids", NumberEncoding),
        ([float(at) for at in LONG_IDS], "integers that look like ids", NumberEncoding),
        ([2**at for at in range(30)], "integers that look like ids", NumberEncoding),
        ([5, 5, 5], "constant", NumberEncoding),
        (["a", "a"], "constant", CategoryEncoding),
        ([f"user{at}" for at in range(20)], "names or ids: most nodes have", CategoryEncoding),
        ([None, None], "blank in every row", None),
        (["", " "], "blank in every row", None),
        ([float("nan")] * 2, "blank in every row", None),
        ([[], None], "empty lists in every row", None),
        ([{"u": 1}], "of type struct<u: int64>", None),
        ([b"u"], "of type binary", None),
        ([datetime.time(1)], r"of type time64\[us\]", None),
        ([datetime.timedelta(1)], r"of type duration\[us\]", None),
        (["1,5", "2,25"], r"decimal commas; set decimal \(--decimal\) to ',' to read them", None),
        (["1,234.5", "2"], "groups of digits; set decimal .* to '.' to read them$", None),
        (["1_000", "2_000"], "'_' between digits; set decimal", None),
        (["١٢", "٣"], "digits or marks that are not ASCII; set decimal", None),
        (["\uff10\uff0e\uff15", "\uff11"], "not ASCII; set decimal .* to '.' to read them$", None),
        (["\u0660\u066b\u0665"], "not ASCII; set decimal .* to '.' to read them$", None),
        (["\u0661\u066c\u0660\u0660\u0660"], "not ASCII; set decimal .* to '.'", None),
        (["\uff11\uff0c\uff15", "2"], "decimal commas; set decimal .* to ',' to read", None),
    ],
)
def test_columns_without_features(column, values, reason, named):
    with pytest.raises(NothingToEncode, match=reason):
        detect_kind(column(values), Settings(), is_named=False)
    if named is None:
        with pytest.raises(NothingToEncode, match=reason):
            detect_kind(column(values), Settings(), is_named=True)
    else:
        assert detect_kind(column(values), Settings(), is_named=True) is named


def test_a_word_among_numbers_is_an_error(column):
    with pytest.raises(InputError, match="t, row 3: column 'x' has 'word' among numbers"):
        detect_kind(column(["1", "2", "3", "word"]), Settings(), is_named=False)


@pytest.mark.parametrize("name", ["id", "user_id", "userId", "user id", "User.ID", "uuid"])
def test_names_of_ids(column, name):
    assert detect_kind(column([1, 2, 1, 2, 1], name=name), Settings(), False) is CategoryEncoding
    with pytest.raises(NothingToEncode, match="integers that look like ids"):
        detect_kind(column([1, 2, 3], name=name), Settings(), False)
    assert detect_kind(column([1, 2, 3], name=name), Settings(), True) is NumberEncoding


@pytest.mark.parametrize("name", ["paid", "grid", "identity", "valid"])
def test_names_of_other_columns(column, name):
    assert detect_kind(column([1, 2, 3], name=name), Settings(), False) is NumberEncoding


@pytest.mark.parametrize(
    ("mark", "values"), [(",", ["1,5", "2"]), (".", ["1,500", "2"]), (".", ["1_000", "٣"])]
)
def test_numbers_with_a_decimal_mark(column, mark, values):
    assert detect_kind(column(values), Settings(decimal=mark), False) is NumberEncoding


@pytest.mark.parametrize(
    ("mark", "values"), [(",", ["1.5", "2.25", "7,5"]), (".", ["1,5", "2,25", "7.5"])]
)
def test_numbers_with_another_decimal_mark_than_the_one_given(column, mark, values):
    with pytest.raises(NothingToEncode, match=f"where decimal .--decimal. is '{mark}'; one mark"):
        detect_kind(column(values), Settings(decimal=mark), False)


@pytest.mark.parametrize("mark", [None, ".", ","])
def test_codes_with_marks_between_digits_are_categories(column, mark):
    codes = column(["01_000", "02_000"])
    assert detect_kind(codes, Settings(decimal=mark), False) is CategoryEncoding


@pytest.mark.parametrize("form", ["{}/5/2023", "2023/05/{}", "{}.05.23", "{}/5/2023 10:00"])
def test_dates_in_another_form(column, form):
    dates = [form.format(day) for day in range(1, 31)]
    with pytest.raises(NothingToEncode, match=r"dates are read as ISO 8601, such as 2024-05-17"):
        detect_kind(column(dates), Settings(), False)
    assert detect_kind(column(dates * 3), Settings(), False) is CategoryEncoding
    assert detect_kind(column(dates), Settings(), True) is CategoryEncoding
