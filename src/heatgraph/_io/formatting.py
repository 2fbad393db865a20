"""Sizes and durations as text for people."""

from __future__ import annotations


def format_bytes(count: float) -> str:
    """Format a number of bytes in decimal units.

    Examples
    --------
    >>> format_bytes(640), format_bytes(9.14e9)
    ('640 B', '9.1 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def format_seconds(seconds: float, digits: int = 3) -> str:
    """Format a duration with up to `digits` significant digits, from 0.001 ms on.

    Examples
    --------
    >>> format_seconds(0.02134), format_seconds(7.3), format_seconds(4000)
    ('21.3 ms', '7.3 s', '1.11 h')
    """
    for unit, size, least in (("h", 3600.0, 1.0), ("min", 60.0, 2.0), ("s", 1.0, 1.0)):
        if seconds >= least * size:
            return f"{_round(seconds / size, digits)} {unit}"
    return f"{_round(round(1000 * seconds, 3), digits)} ms"


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with `digits` significant digits, and those before the decimal point.

    Examples
    --------
    >>> format_number(57734.6), format_number(0.0123456), format_number(3e-9)
    ('57,735', '0.01235', '3e-09')
    """
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e15 else f"{value:,.{digits}g}"


def _round(value: float, digits: int) -> str:
    """A number with at most `digits` significant digits, never in scientific notation."""
    return f"{float(f'{value:.{digits}g}'):,.12g}"
