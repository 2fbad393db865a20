"""Every number that the paper prints, from ``published.csv``, which holds each of them once.

Accuracies are in percent and times in milliseconds, as printed. Two rows of Table 2 differ from
their sources: label propagation has Cora and Citeseer exchanged (Yang et al. 2016), and GWNN is
spelled GWWN.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class PublishedNumber:
    """A number that the paper prints.

    `source` is a table or figure, `value` is None where the paper prints "OOM" (out of memory), and
    `spread` is the number after the plus-minus sign, if any.
    """

    source: str
    method: str
    dataset: str
    setting: str
    measure: str
    value: float | None
    spread: float | None


def published_numbers(**fields: str) -> list[PublishedNumber]:
    """The numbers whose fields have these values, in the order of the paper.

    Examples
    --------
    >>> (cora,) = published_numbers(source="Table 2", method="DGC", dataset="cora")
    >>> cora.value, cora.spread
    (83.3, 0.0)
    """
    return [
        number
        for number in _read_csv()
        if all(getattr(number, name) == value for name, value in fields.items())
    ]


def published_number(**fields: str) -> PublishedNumber | None:
    """The number whose fields have these values; None unless there is exactly one."""
    numbers = published_numbers(**fields)
    return numbers[0] if len(numbers) == 1 else None


@cache
def _read_csv() -> tuple[PublishedNumber, ...]:
    file = resources.files("heatgraph.experiments.paper") / "published.csv"
    return tuple(
        PublishedNumber(
            row["source"],
            row["method"],
            row["dataset"],
            row["setting"],
            row["measure"],
            None if row["value"] == "OOM" else float(row["value"]),
            float(row["spread"]) if row["spread"] else None,
        )
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    )
