"""The explorer page: one HTML file with its style, script and data, and no request to anywhere.

The script and the style are built from ``web/`` and committed as assets. A content security policy
allows exactly these two, by their hashes, and nothing else to load. Texts of the user's data are in
the encoded data (`heatgraph.explorer.binary_data`), which the script shows as text, never as HTML;
only the title is in the page itself, escaped.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from heatgraph.explorer.binary_data import encode
from heatgraph.explorer.page_data import PageData
from heatgraph.report.content_policy import content_policy
from heatgraph.report.palette import DARK, LIGHT


def to_html(page: PageData) -> str:
    """Write the page."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    script, style = _asset("explorer.js"), theme_variables() + _asset("style.css")
    return environment.from_string(_asset("page.html")).render(
        title=page.values["title"],
        policy=content_policy(script, style),
        # Trusted: assets of the package, and base64.
        style=Markup(style),
        script=Markup(script),
        data=Markup(encode(page.values, page.arrays)),
    )


@cache
def _asset(name: str) -> str:
    return resources.files("heatgraph.explorer").joinpath("assets", name).read_text("utf-8")


def theme_variables() -> str:
    """CSS that sets the colours: those that the reader prefers, unless the page has chosen."""
    light, dark = (
        "".join(f"{name}:{value};" for name, value in theme.variables().items())
        for theme in (LIGHT, DARK)
    )
    return (
        f":root{{color-scheme:light;{light}}}\n"
        "@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
