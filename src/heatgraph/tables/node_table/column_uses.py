"""What becomes of each column of a node table: a feature of some kind, the label, or nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnUse:
    """The use of a column.

    `use` is "id", "label", "split", a kind of feature ("number", "vector", "category", "text",
    "date", "bag"), "feature table", or "left out"; `description` says more: how many values a
    category has, or why a column was left out.
    """

    column: str
    use: str
    description: str
    num_features: int = 0


LEFT_OUT = "left out"
