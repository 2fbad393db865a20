"""Rows of a report that tell what each column of the node table is used as."""

from __future__ import annotations

from typing import Any

# Columns that are listed by name for each use, and rows of columns that have one to themselves.
MAX_LISTED, MAX_ROWS = 4, 20


def column_use_rows(uses: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """One row for each kind of feature; none if all features are numbers.

    Columns of the same use share a row, such as all numbers. Columns that were left out are told by
    notes.
    """
    columns: dict[str, list[dict[str, Any]]] = {}
    for use in uses:
        if use["num_features"] and use["use"] != "feature table":
            columns.setdefault(use["description"], []).append(use)
    if set(columns) <= {"number"}:
        return []
    rows: list[tuple[str, ...]] = [
        ("", f"{sum(use['num_features'] for use in group):,}", f"{_list(group)}: {description}")
        for description, group in columns.items()
    ]
    more = len(rows) - MAX_ROWS
    return rows if more <= 0 else [*rows[:MAX_ROWS], ("", "", f"... and {more:,} more kinds")]


def _list(group: list[dict[str, Any]]) -> str:
    names = [use["column"] for use in group]
    if len(names) <= MAX_LISTED:
        return ", ".join(names)
    return f"{', '.join(names[:MAX_LISTED])}, ... ({len(names):,} columns)"
