"""A report as one self-contained HTML page, with inline style and charts.

The page is made from ``templates/page.html`` with automatic escaping. It suits desktops, phones and
print: tables that are too wide scroll by themselves, and panels of a chart wrap.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from typing import TYPE_CHECKING

from heatgraph.report.charts import panel_svg
from heatgraph.report.document import Chart, Document, Panel, Points, Scatter, Table
from heatgraph.report.markdown import MARK

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

IMAGE_SIZES = {Scatter: "small", Points: "large"}


def to_html(document: Document) -> str:
    """Write a document as HTML."""
    return _environment().get_template("page.html").render(document=document, mark=MARK)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("heatgraph.report"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.tests["table"] = lambda part: isinstance(part, Table)
    environment.filters |= {
        "inline": inline_markup,
        "data_uri": _data_uri,
        "size_class": _size_class,
    }
    return environment


def inline_markup(text: str) -> Markup:
    """Escape a text, and turn its Markdown for code, strong and emphasis into HTML.

    Examples
    --------
    >>> print(inline_markup("*Fit* with `K < 3` is **fast**"))
    <em>Fit</em> with <code>K &lt; 3</code> is <strong>fast</strong>
    """
    from markupsafe import Markup, escape

    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    html = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", html)
    return Markup(re.sub(r"(?<!\w)\*([^*\s][^*]*)\*", r"<em>\1</em>", html))


def _data_uri(panel: Panel) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(panel_svg(panel)).decode()}"


def _size_class(chart: Chart) -> Markup:
    from markupsafe import Markup

    size = IMAGE_SIZES.get(type(chart.panels[0].content))
    return Markup(f' class="{size}"' if size else "")
