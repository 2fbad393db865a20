"""What a report is made of: sections of text, tables and charts, as plain values.

How they look is the business of `pages` (HTML), `markdown` and `charts`.
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
    """A value with a remark below it; marked if it deserves a second look."""

    value: str
    remark: str = ""
    marked: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head; the first columns are text, the others numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    text_columns: int = 1


@dataclass(frozen=True)
class Series:
    """A line through points, with a band of plus and minus `spread` if there is one.

    `colour` is a number; by default the series' own in its panel.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None
    dashed: bool = False
    colour: int | None = None

    @classmethod
    def through(cls, name: str, points: Iterable[tuple[float, float]], **look: Any) -> Series:
        """A line through pairs of x and y; `look` are the other fields."""
        pairs = list(points)
        return cls(name, [x for x, _ in pairs], [y for _, y in pairs], **look)


@dataclass(frozen=True)
class Scatter:
    """Points (n, 2) in the colours of their classes."""

    points: npt.NDArray[np.floating]
    classes: npt.NDArray[np.integer]


@dataclass(frozen=True)
class Bars:
    """A bar for each name."""

    names: Sequence[str]
    values: Sequence[float]


@dataclass(frozen=True)
class Points:
    """A point for each name, which stands beside it, with a bar of plus and minus `spread`."""

    names: Sequence[str]
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One pair of axes: lines, points or bars; `log` names the axes that are logarithmic."""

    title: str
    content: Sequence[Series] | Scatter | Bars | Points
    x: str = ""
    y: str = ""
    log: str = ""


@dataclass(frozen=True)
class Chart:
    """Panels side by side, `columns` to a row; `name` is that of its files."""

    name: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 3


Part = str | Table | Chart


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; a text is a paragraph, `name` an anchor."""

    name: str
    title: str
    parts: Sequence[Part] = field(default_factory=list)

    @property
    def charts(self) -> list[Chart]:
        """The charts among the parts."""
        return [part for part in self.parts if isinstance(part, Chart)]


@dataclass(frozen=True)
class Document:
    """A title, what to know first, and sections."""

    title: str
    preface: Sequence[Part]
    sections: Sequence[Section]
