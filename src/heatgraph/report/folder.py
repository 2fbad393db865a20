"""A report in a folder: HTML, Markdown, and figures as PNG and SVG."""

from __future__ import annotations

from pathlib import Path

from heatgraph._io.atomic_files import atomic_write
from heatgraph.report.charts import write_chart
from heatgraph.report.document import Document
from heatgraph.report.markdown import to_markdown
from heatgraph.report.pages import to_html

FIGURES, PAGE, MARKDOWN = "figures", "report.html", "report.md"


def write_document(document: Document, folder: Path) -> None:
    """Write a document as HTML and Markdown with its figures, each file by an atomic write."""
    figures = folder / FIGURES
    figures.mkdir(exist_ok=True)
    for section in document.sections:
        for chart in section.charts:
            write_chart(chart, figures)
    write_text(folder / PAGE, to_html(document))
    write_text(folder / MARKDOWN, to_markdown(document, FIGURES))


def write_text(path: Path, text: str) -> None:
    """Write a text file by an atomic write."""
    with atomic_write(path) as file:
        file.write(text.encode())
