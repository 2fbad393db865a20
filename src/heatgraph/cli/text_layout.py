"""Text and tables within the width of a terminal: words are never broken.

Widths are those of a terminal's cells, of which a character may take none, one or two.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

# Cells between two columns of a table, and in front of its first.
GAP, INDENT = 2, 2
# A word longer than this is cut where a table is too wide, but never below the second.
LONGEST_WORD, SHORTEST_CUT = 28, 8


def wrap(text: str, width: int, hanging: int = 0) -> list[str]:
    """Break lines at spaces so that none is wider than `width`, unless a single word is.

    Indentation is kept, and lines that a break begins are indented by `hanging` more.

    Examples
    --------
    >>> wrap("  one two three", 9)
    ['  one two', '  three']
    """
    lines: list[str] = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip(" "))]
        current, is_first = indent, True
        for word in line.split(" ")[len(indent) :]:
            joined = current + word if is_first else f"{current} {word}"
            if is_first or cell_len(joined) <= width:
                current, is_first = joined, False
                continue
            lines.append(current.rstrip())
            current = indent + " " * hanging + word
        lines.append(current.rstrip())
    return lines


def table_lines(
    rows: Sequence[tuple[str, ...]], width: int, *, numbers: bool = False, ellipsis: str = "…"
) -> list[str]:
    r"""Rows in aligned columns, no wider than `width`: wide cells take several lines.

    With `numbers`, all columns but the first are aligned at the right.

    Examples
    --------
    >>> print("\n".join(table_lines([("T", "4.5"), ("scaling", "rows, as words are")], 24)))
      T        4.5
      scaling  rows, as words
               are
    """
    if not rows:
        return []
    columns = list(zip(*rows, strict=True))
    widths = _column_widths(columns, width - INDENT - GAP * (len(columns) - 1))
    lines = []
    for row in rows:
        cells = [
            [cut(line, size, ellipsis) for text in cell.split("\n") for line in _fit(text, size)]
            for cell, size in zip(row, widths, strict=True)
        ]
        for at in range(max(map(len, cells))):
            parts = []
            for column, (cell, size) in enumerate(zip(cells, widths, strict=True)):
                text = cell[at] if at < len(cell) else ""
                blank = " " * (size - cell_len(text))
                parts.append(blank + text if numbers and column else text + blank)
            lines.append((" " * INDENT + (" " * GAP).join(parts)).rstrip())
    return lines


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """The beginning of a text that is too wide, with an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - cell_len(ellipsis))).rstrip() + ellipsis


def _fit(text: str, width: int) -> list[str]:
    return [text] if cell_len(text) <= width else wrap(text, width)


def _column_widths(columns: Sequence[tuple[str, ...]], available: int) -> list[int]:
    """Widths that add up to what is available: the widest columns are narrowed first."""
    widths = [max(map(cell_len, column)) for column in columns]
    words = [
        max(cell_len(word) for cell in column for word in cell.split(" ")) for column in columns
    ]
    for least in (
        [min(longest, LONGEST_WORD) for longest in words],
        [min(longest, SHORTEST_CUT) for longest in words],
    ):
        while sum(widths) > available:
            narrowable = [at for at in range(len(widths)) if widths[at] > least[at]]
            if not narrowable:
                break
            widest = max(narrowable, key=lambda at: widths[at])
            widths[widest] -= 1
    return widths
