"""HTML that notebooks show for an object: a title and tables, in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

CELL = "padding: .15em .7em; text-align: {side}; vertical-align: top;"
BAR = "height: .6em; width: {width:.1f}em; background: currentColor; opacity: {opacity};"
# Width of the longest bar in em, and the opacities of bars of positive and of negative values.
BAR_WIDTH, POSITIVE, NEGATIVE = 6.0, 0.65, 0.25


def html_view(title: str, *parts: str) -> str:
    """A title above parts, which are HTML already.

    Examples
    --------
    >>> html_view("a < b")
    '<div><strong>a &lt; b</strong></div>'
    """
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def html_text(text: str) -> str:
    """A paragraph."""
    return f'<p style="margin: .3em 0; max-width: 46em;">{escape(text)}</p>'


def html_table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """A table of texts and numbers; numbers, such as "1,234" or "83.5%", are aligned to the right.

    Examples
    --------
    >>> "<td" in html_table([("nodes", "1,234")])
    True
    """
    lines = [
        "<tr>" + "".join(_cell("td", value, _is_number(str(value))) for value in row) + "</tr>"
        for row in rows
    ]
    top = "<tr>" + "".join(_cell("th", name, False) for name in head) + "</tr>" if head else ""
    return f'<table style="border-collapse: collapse;">{top}{"".join(lines)}</table>'


def html_bars(rows: Sequence[tuple[str, float]], head: Sequence[str] = ()) -> str:
    """A table of names and values with a bar for each, pale if the value is negative."""
    largest = max((abs(value) for _, value in rows), default=0.0) or 1.0
    lines = []
    for name, value in rows:
        width, opacity = BAR_WIDTH * abs(value) / largest, POSITIVE if value >= 0 else NEGATIVE
        bar = f'<div style="{BAR.format(width=width, opacity=opacity)}"></div>'
        cells = _cell("td", name, False) + _cell("td", f"{value:+.4f}", True)
        lines.append(f'<tr>{cells}<td style="vertical-align: middle;">{bar}</td></tr>')
    top = "<tr>" + "".join(_cell("th", title, False) for title in head) + "</tr>" if head else ""
    return f'<table style="border-collapse: collapse;">{top}{"".join(lines)}</table>'


def _cell(tag: str, value: object, is_number: bool) -> str:
    style = CELL.format(side="right" if is_number else "left")
    return f'<{tag} style="{style}">{escape(str(value))}</{tag}>'


def _is_number(text: str) -> bool:
    return (
        text[:1] in "+-−0123456789"
        and text.strip("+-−%").replace(",", "").replace(".", "").isdigit()
    )
