"""Names of files that a report can be written to."""

from __future__ import annotations

from pathlib import Path

from heatgraph.errors import InputError

SUFFIXES = (".html", ".md")


def check_report_name(path: str | Path) -> None:
    """Refuse a file name whose suffix is no supported format."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: the name of a report must end in {' or '.join(SUFFIXES)}.")
