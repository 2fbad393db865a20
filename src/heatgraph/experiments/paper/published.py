"""Every number that the paper prints, from ``published.csv``, which holds each of them once.

Accuracies are in percent and times in milliseconds, as printed. Two rows of Table 2 deserve a word:
those of label propagation have Cora and Citeseer exchanged against their source (Yang et al. 2016),
and GWNN is spelled GWWN.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Published:
    """A number that the paper prints.

    `source` is a table or figure, `value` is None for what ran out of memory, and `spread` what
    stands behind the plus-minus, if anything does.
    """

    source: str
    method: str
    dataset: str
    setting: str
    measure: str
    value: float | None
    spread: float | None


def published(**wanted: str) -> list[Published]:
    """Numbers that the paper prints, those whose fields are as wanted.

    Examples
    --------
    >>> (cora,) = published(source="Table 2", method="DGC", dataset="cora")
    >>> cora.value, cora.spread
    (83.3, 0.0)
    """
    return [
        number
        for number in _numbers()
        if all(getattr(number, name) == value for name, value in wanted.items())
    ]


def only(**wanted: str) -> Published | None:
    """The one number whose fields are as wanted; None if the paper prints none."""
    numbers = published(**wanted)
    return numbers[0] if len(numbers) == 1 else None


@cache
def _numbers() -> tuple[Published, ...]:
    file = resources.files("heatgraph.experiments.paper") / "published.csv"
    return tuple(
        Published(
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
