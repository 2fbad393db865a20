"""Documents as plain values: sections of text, tables and charts.

They are rendered by `pages` (HTML), `markdown` and `charts`. Texts are a subset of Markdown: code,
strong and emphasised words, and backslashes before punctuation. Labels, names and whatever else is
not written by this package must pass through `literal`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

# Cell of a number that does not exist.
MISSING = "–"
# Levels of shading of a cell, from 1 on.
NUM_LEVELS = 5
# Punctuation that Markdown or HTML would read as markup.
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~&$])")
# Line breaks, and characters that change the direction of text or cannot be seen.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


def literal(text: object) -> str:
    r"""A text of a user, such as a label, for a place where a document has Markdown.

    Examples
    --------
    >>> print(literal("a*b <c>"))
    a\*b \<c\>
    """
    return _MARKUP.sub(r"\\\1", _INVISIBLE.sub(" ", str(text)))


def code(text: object) -> str:
    """A text of a user as code, for a place where a document has Markdown.

    Examples
    --------
    >>> code("fit *.csv")
    '`fit *.csv`'
    """
    line = _INVISIBLE.sub(" ", str(text)).strip()
    return literal(line) if "`" in line or not line else f"`{line}`"


def unescaped(text: str) -> str:
    """A text without the backslashes of `literal`, for places without Markdown.

    Examples
    --------
    >>> unescaped(literal("a*b <c>"))
    'a*b <c>'
    """
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


@dataclass(frozen=True)
class Cell:
    """A value with a remark below it; marked if it is notable, such as a large difference.

    `level` from 1 to `NUM_LEVELS` shades the cell, for tables that are read as a picture.
    """

    value: str
    remark: str = ""
    marked: bool = False
    level: int = 0


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head; the first `text_columns` are text, the others numbers.

    Readers of a page can sort the rows, unless `sortable` is False.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    text_columns: int = 1
    sortable: bool = True


@dataclass(frozen=True)
class Notice:
    """A sentence that stands out from the text, good news or a warning."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class KeyFigures:
    """The few numbers to read first: each a name, a value and a remark."""

    figures: Sequence[tuple[str, str, str]]


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
class Span:
    """A range of x that is shaded behind lines; a dashed line if it ends where it begins."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """One pair of axes with lines, points or bars; `log` is "", "x", "y" or "xy".

    Texts of panels are plain, without Markdown.
    """

    title: str
    content: Sequence[Series] | Scatter | Bars | Points
    x: str = ""
    y: str = ""
    log: str = ""
    spans: Sequence[Span] = ()


@dataclass(frozen=True)
class Chart:
    """Panels in a grid of `columns` columns; `name` is the stem of its files."""

    name: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 3


Part = str | Notice | KeyFigures | Table | Chart


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
    """A title, a headline (the result in one sentence), a preface and sections."""

    title: str
    preface: Sequence[Part]
    sections: Sequence[Section]
    headline: str = ""
