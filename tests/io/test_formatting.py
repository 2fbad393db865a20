import pytest

from heatgraph._io.formatting import format_bytes, format_number, format_seconds


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9.14e9, "9.1 GB"), (3e15, "3000.0 TB")],
)
def test_bytes_have_decimal_units(count, text):
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"), (1e-9, "0 ms"), (2e-6, "0.002 ms"), (0.00038, "0.38 ms"), (0.0038, "3.8 ms"),
        (0.123456, "123 ms"), (0.9994, "999 ms"), (0.9999, "1,000 ms"), (1, "1 s"),
        (1.2345, "1.23 s"), (99.96, "100 s"), (119.4, "119 s"), (120, "2 min"),
        (3599.9, "60 min"), (3600, "1 h"), (1e7, "2,780 h"),
    ],
)  # fmt: skip
def test_seconds_have_three_significant_digits(seconds, text):
    assert format_seconds(seconds) == text


def test_fewer_digits_for_estimates():
    assert [format_seconds(x, digits=2) for x in (0.0213, 0.213, 7.34, 4000)] == [
        "21 ms", "210 ms", "7.3 s", "1.1 h",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [(57_734.6, "57,735"), (-1e6, "-1,000,000"), (9999.4, "9,999"), (0.5, "0.5"), (1e20, "1e+20")],
)
def test_numbers(value, text):
    assert format_number(value) == text
