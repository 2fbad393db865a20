"""Documents as plain values: sections of text, tables and charts.

They are rendered by `pages` (HTML), `markdown` and `charts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

# Cell of a number that does not exist.
MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """A value with a remark below it; marked if it is notable, such as a large difference."""

    value: str
    remark: str = ""
    marked: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head; the first `text_columns` are text, the others numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    text_columns: int = 1


@dataclass(frozen=True)
class Series:
    """A line through points, with a band of plus and minus `spread` if it is given.

    `colour` is an index into the palette; by default the index of the series in its panel.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None
    dashed: bool = False
    colour: int | None = None

    @classmethod
    def through(cls, name: str, points: Iterable[tuple[float, float]], **fields: Any) -> Series:
        """A line through pairs (x, y); `fields` are the other fields."""
        pairs = list(points)
        return cls(name, [x for x, _ in pairs], [y for _, y in pairs], **fields)


@dataclass(frozen=True)
class Scatter:
    """Points (n, 2), coloured by class."""

    points: npt.NDArray[np.floating]
    classes: npt.NDArray[np.integer]


@dataclass(frozen=True)
class Bars:
    """Horizontal bars with names."""

    names: Sequence[str]
    values: Sequence[float]


@dataclass(frozen=True)
class Points:
    """Points labelled with their names, with error bars of plus and minus `spread`."""

    names: Sequence[str]
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One pair of axes with lines, points or bars; `log` is "", "x", "y" or "xy"."""

    title: str
    content: Sequence[Series] | Scatter | Bars | Points
    x: str = ""
    y: str = ""
    log: str = ""


@dataclass(frozen=True)
class Chart:
    """Panels in a grid of `columns` columns; `name` is the stem of its files."""

    name: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 3


Part = str | Table | Chart


@dataclass(frozen=True)
class Section:
    """A heading and its parts, of which a text is a paragraph; `name` is the anchor."""

    name: str
    title: str
    parts: Sequence[Part] = field(default_factory=list)

    @property
    def charts(self) -> list[Chart]:
        """The charts among the parts."""
        return [part for part in self.parts if isinstance(part, Chart)]


@dataclass(frozen=True)
class Document:
    """A title, a preface and sections."""

    title: str
    preface: Sequence[Part]
    sections: Sequence[Section]
