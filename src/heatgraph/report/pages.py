"""A report as one page of HTML that needs nothing beside it: style and charts are inside.

It is meant for a desk, a phone and paper. Tables too wide for a screen scroll by themselves, so
that the page never does; panels of a chart stand side by side where there is room.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from html import escape

from heatgraph.report.charts import panel_svg
from heatgraph.report.document import Cell, Chart, Document, Part, Points, Scatter, Table
from heatgraph.report.markdown import MARK

STYLE = """
:root { color-scheme: light; --ink: #1c2430; --soft: #5c6672; --line: #dfe3e8; --deep: #0072b2;
        --warm: #b34700; --tint: #fff3e6; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.1rem 4rem; max-width: 66rem; color: var(--ink);
       background: #fff; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
       overflow-wrap: break-word; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: .3em 0 .6em; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 2.6rem 0 .6rem; padding-top: 1rem;
     border-top: 1px solid var(--line); }
p { max-width: 46rem; margin: .7em 0; }
a { color: var(--deep); }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: #f3f5f7;
       padding: .1em .3em; border-radius: 3px; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: 1rem 0; font-size: .93rem; }
figure { margin: 1.2rem 0; display: flex; flex-wrap: wrap; gap: .6rem; }
figure img { width: 26rem; max-width: 100%; height: auto; flex: 0 1 auto; }
figure.large img { width: 46rem; }
figure.small img { width: calc(20% - .5rem); min-width: 9.5rem; }
figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem; flex: 1 0 100%; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .93rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .32rem .7rem; text-align: right; border-bottom: 1px solid var(--line);
         vertical-align: top; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; border-bottom-width: 2px; }
th.text, td.text { text-align: left; white-space: normal; min-width: 6.5rem; }
th.text:first-child, td.text:first-child { padding-left: 0; }
td small { display: block; color: var(--soft); font-size: .82em; }
td.marked { background: var(--tint); }
td.marked small { color: var(--warm); }
@media (max-width: 40rem) {
  body { padding: 1rem .8rem 3rem; font-size: 15px; }
  h1 { font-size: 1.45rem; } h2 { font-size: 1.15rem; }
  table { font-size: .77rem; }
  th, td { padding: .3rem .25rem; }
  th.text, td.text { min-width: 3.9rem; }
  td small { white-space: normal; max-width: 4.6rem; margin-left: auto; }
  th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  nav { display: none; }
  .table { overflow: visible; }
  table { font-size: 8.5pt; }
  th, td { padding: .2rem .4rem; }
  h2 { break-after: avoid; }
  figure img, tr { break-inside: avoid; }
  a { color: inherit; text-decoration: none; }
}
"""


def to_html(document: Document) -> str:
    """Write a document out."""
    title = escape(document.title)
    contents = "".join(
        f'<a href="#{escape(section.name)}">{escape(section.title.split(":")[0])}</a>'
        for section in document.sections
    )
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        *(line for part in document.preface for line in _part(part)),
        f"<nav>{contents}</nav>",
    ]
    for section in document.sections:
        lines += [f'<section id="{escape(section.name)}"><h2>{_inline(section.title)}</h2>']
        lines += [line for part in section.parts for line in _part(part)]
        lines += ["</section>"]
    return "\n".join([*lines, "</body></html>"]) + "\n"


def _part(part: Part) -> Iterator[str]:
    if isinstance(part, Table):
        yield from _table(part)
    elif isinstance(part, Chart):
        size = {Scatter: ' class="small"', Points: ' class="large"'}
        yield f"<figure{size.get(type(part.panels[0].content), '')}>"
        for panel in part.panels:
            drawn = base64.b64encode(panel_svg(panel)).decode()
            words = escape(f"{panel.title}. {part.caption}" if panel.title else part.caption)
            yield f'<img src="data:image/svg+xml;base64,{drawn}" alt="{words}">'
        yield f"<figcaption>{_inline(part.caption)}</figcaption></figure>"
    else:
        yield f"<p>{_inline(part)}</p>"


def _table(table: Table) -> Iterator[str]:
    yield '<div class="table"><table>'
    if table.title:
        yield f"<caption>{_inline(table.title)}</caption>"
    head = "".join(
        f'<th scope="col"{_kind(at, table)}>{_inline(name)}</th>'
        for at, name in enumerate(table.head)
    )
    yield f"<thead><tr>{head}</tr></thead><tbody>"
    for row in table.rows:
        yield (
            "<tr>" + "".join(_cell(cell, _kind(at, table)) for at, cell in enumerate(row)) + "</tr>"
        )
    yield "</tbody></table></div>"


def _kind(at: int, table: Table) -> str:
    return ' class="text"' if at < table.text_columns else ""


def _cell(cell: str | Cell, kind: str) -> str:
    if isinstance(cell, str):
        return f"<td{kind}>{_inline(cell)}</td>"
    mark = f" {MARK}" if cell.marked else ""
    kind = ' class="marked"' if cell.marked else kind
    remark = f"<small>{_inline(cell.remark)}{mark}</small>" if cell.remark else mark
    return f"<td{kind}>{_inline(cell.value)}{remark}</td>"


def _inline(text: str) -> str:
    """Escape a text; of Markdown it may have code, and words that are strong or stressed."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"(?<!\w)\*([^*\s][^*]*)\*", r"<em>\1</em>", text)
