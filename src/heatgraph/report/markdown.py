"""A report as Markdown, with charts as links to image files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from heatgraph.report.document import (
    Cell,
    Chart,
    Document,
    KeyFigures,
    Notice,
    Part,
    Table,
    unescaped,
)

# Shown in marked cells.
MARK = "◆"


def to_markdown(document: Document, figures: str = "figures") -> str:
    """Write a document as Markdown; `figures` is the folder of its charts, relative to the file."""
    lines = [f"# {document.title}", ""]
    if document.headline:
        lines += [f"**{document.headline}**", ""]
    for part in document.preface:
        lines += _part(part, figures)
    for section in document.sections:
        lines += [f"## {section.title}", ""]
        for part in section.parts:
            lines += _part(part, figures)
    return "\n".join(lines).rstrip() + "\n"


def _part(part: Part, figures: str) -> Iterator[str]:
    if isinstance(part, Table):
        yield from _table(part)
    elif isinstance(part, Chart):
        yield f"![{part.caption}]({figures}/{part.name}.png)"
        yield ""
        yield f"*{part.caption}*"
    elif isinstance(part, Notice):
        yield f"> **Warning.** {part.text}" if part.is_warning else f"> {part.text}"
    elif isinstance(part, KeyFigures):
        yield from _table(Table("", ["", "", ""], part.figures, text_columns=3))
    else:
        yield part
    yield ""


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"**{table.title}**"
        yield ""
    yield _row(table.head)
    numbers = len(table.head) - table.text_columns
    yield _row(["---"] * table.text_columns + ["---:"] * numbers)
    for row in table.rows:
        yield _row([cell_text(cell) for cell in row])


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(_escape_pipes, cells)) + " |"


def plain_text(cell: str | Cell) -> str:
    """A cell as one line of text, without the backslashes of Markdown."""
    return unescaped(cell_text(cell))


def cell_text(cell: str | Cell) -> str:
    """A cell as one line of Markdown."""
    if isinstance(cell, str):
        return cell
    mark = f" {MARK}" if cell.marked else ""
    remark = f" ({cell.remark}{mark})" if cell.remark else mark
    return f"{cell.value}{remark}"


def _escape_pipes(text: str) -> str:
    """Escape what would end a cell, unless it is escaped already."""
    return re.sub(r"(?<!\\)((?:\\\\)*)\|", r"\1\\|", text)
