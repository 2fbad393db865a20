"""A report as one self-contained HTML page, with inline style and charts.

The page is made from ``templates/page.html`` with automatic escaping. It suits desktops, phones and
print, and is light or dark as the reader prefers: tables that are too wide scroll by themselves,
and panels of a chart wrap. A small script sorts tables; without it, all else works. A content
security policy allows this script and the style, and nothing to be loaded.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from typing import TYPE_CHECKING

from heatgraph.report.charts import panel_svg
from heatgraph.report.content_policy import content_policy
from heatgraph.report.document import (
    Cell,
    Chart,
    Document,
    KeyFigures,
    Notice,
    Panel,
    Points,
    Scatter,
    Table,
    unescaped,
)
from heatgraph.report.markdown import MARK
from heatgraph.report.palette import css_variables

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# A backslash before punctuation, or code, in which backslashes have no meaning.
_CODE_OR_ESCAPED = re.compile(r"\\(?P<escaped>[!-/:-@\[-`{-~])|`(?P<code>[^`]+)`")
IMAGE_SIZES = {Scatter: "small", Points: "large"}


def to_html(document: Document) -> str:
    """Write a document as HTML."""
    from markupsafe import Markup

    environment = _environment()
    script, style = (environment.get_template(name).render() for name in ("sort.js", "style.css"))
    style = css_variables() + style
    return environment.get_template("page.html").render(
        document=document,
        mark=MARK,
        policy=content_policy(script, style),
        # Trusted: they come with the package.
        script=Markup(script),
        style=Markup(style),
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("heatgraph.report"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    kinds = {"table": Table, "notice": Notice, "key_figures": KeyFigures}
    environment.tests |= {
        name: lambda part, kind=kind: isinstance(part, kind) for name, kind in kinds.items()
    }
    environment.filters |= {
        "inline": inline_markup,
        "plain": unescaped,
        "data_uri": _data_uri,
        "size_class": _size_class,
        "cell_class": _cell_class,
    }
    return environment


def inline_markup(text: str) -> Markup:
    r"""Escape a text, and turn its Markdown for code, strong and emphasis into HTML.

    Examples
    --------
    >>> print(inline_markup(r"*Fit* with `K < 3` is **fast**, \*isn't it?"))
    <em>Fit</em> with <code>K &lt; 3</code> is <strong>fast</strong>, &#42;isn&#39;t it?
    """
    from markupsafe import Markup, escape

    html, end = "", 0
    for token in _CODE_OR_ESCAPED.finditer(text):
        html += str(escape(text[end : token.start()]))
        end = token.end()
        if token["escaped"]:
            html += f"&#{ord(token['escaped'])};"
        else:
            html += f"<code>{escape(token['code'])}</code>".replace("*", "&#42;")
    html += str(escape(text[end:]))
    html = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", html)
    return Markup(re.sub(r"(?<!\w)\*([^*\s][^*]*)\*", r"<em>\1</em>", html))


def _data_uri(panel: Panel) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(panel_svg(panel)).decode()}"


def _size_class(chart: Chart) -> Markup:
    from markupsafe import Markup

    size = IMAGE_SIZES.get(type(chart.panels[0].content))
    return Markup(f' class="{size}"' if size else "")


def _cell_class(cell: str | Cell, column: int, table: Table) -> Markup:
    from markupsafe import Markup

    names = []
    if isinstance(cell, Cell) and cell.marked:
        names.append("marked")
    elif column < table.text_columns:
        names.append("text")
    if isinstance(cell, Cell) and cell.level:
        names.append(f"level-{cell.level}")
    return Markup(f' class="{" ".join(names)}"' if names else "")
