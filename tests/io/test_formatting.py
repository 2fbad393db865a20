from heatgraph._io.formatting import format_bytes


def test_format_bytes():
    assert [format_bytes(x) for x in (0, 999, 1000, 9.14e9, 3e15)] == [
        "0 B", "999 B", "1.0 kB", "9.1 GB", "3000.0 TB",
    ]  # fmt: skip
