"""Sizes and durations as text."""

from __future__ import annotations


def format_bytes(count: float) -> str:
    """Write a number of bytes for people.

    Examples
    --------
    >>> format_bytes(9.14e9)
    '9.1 GB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def format_seconds(seconds: float) -> str:
    """Write a time for people.

    Examples
    --------
    >>> format_seconds(0.021), format_seconds(7.3), format_seconds(4000)
    ('21 ms', '7.3 s', '1.1 h')
    """
    for unit, size, least in (("h", 3600.0, 1.0), ("min", 60.0, 2.0), ("s", 1.0, 1.0)):
        if seconds >= least * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "1 ms"
