"""Colours of charts, pages and plots, for light and for dark backgrounds.

Classes have the colours of Okabe and Ito, which people with any kind of colour blindness tell
apart, with black last. On dark backgrounds they are lighter versions of the same hues.
"""

from __future__ import annotations

from dataclasses import dataclass

# Shades of the eight class colours: the share of ink in them, or of the background if negative.
SHADES = (0.0, 0.4, -0.45)


@dataclass(frozen=True)
class Theme:
    """Colours as "#rrggbb".

    Attributes
    ----------
    background, ink : str
        The page, and the text on it.
    soft, line, code : str
        Secondary text, thin lines such as a grid, and the background of code.
    link, warning, marked : str
        Links, warnings, and the background of marked cells.
    classes : tuple of str
        The classes in their order, and the lines of a chart in theirs.
    """

    background: str
    ink: str
    soft: str
    line: str
    code: str
    link: str
    warning: str
    marked: str
    classes: tuple[str, ...]

    def variables(self) -> dict[str, str]:
        """Colours by the names of their CSS variables: "--ink", ..., "--class-0", ...."""
        named = {f"--{name}": value for name, value in vars(self).items() if name != "classes"}
        return named | {f"--class-{at}": colour for at, colour in enumerate(self.classes)}


LIGHT = Theme(
    background="#ffffff",
    ink="#1c2430",
    soft="#5c6672",
    line="#dfe3e8",
    code="#f3f5f7",
    link="#0068a3",
    warning="#a84300",
    marked="#fff3e6",
    classes=(
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#767676", "#000000",
    ),
)  # fmt: skip
DARK = Theme(
    background="#14181f",
    ink="#e6e9ee",
    soft="#a3adba",
    line="#343c48",
    code="#222935",
    link="#6cbcf2",
    warning="#ffab6b",
    marked="#3b2a17",
    classes=(
        "#2f86d0", "#f07a35", "#1fb98c", "#e092c1", "#f2bb3f", "#8fd2fa", "#6b7580", "#ffffff",
    ),
)  # fmt: skip


def class_colours(count: int, theme: Theme = LIGHT) -> list[str]:
    """Colours of `count` classes in order: eight, then darker and lighter shades of these.

    Only the first eight are safe for the colour-blind, and after 24 they repeat: names or shapes
    have to tell more classes apart.

    Examples
    --------
    >>> class_colours(3)
    ['#0072b2', '#d55e00', '#009e73']
    """
    every = [_shade(colour, share, theme) for share in SHADES for colour in theme.classes]
    return [every[at % len(every)] for at in range(count)]


def css_variables() -> str:
    """CSS that sets the variables of `Theme.variables`, dark ones if the reader prefers these.

    On paper they are light.
    """
    light, dark = (
        " ".join(f"{name}: {value};" for name, value in theme.variables().items())
        for theme in (LIGHT, DARK)
    )
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )


def _shade(colour: str, share: float, theme: Theme) -> str:
    if not share:
        return colour
    # Shades of black and white would be grey, which is a class of its own: make them sand.
    extremes = {"#000000": "#d8c9b0", "#ffffff": "#8f7f5f"}
    colour = extremes.get(colour, colour)
    towards = theme.ink if share > 0 else theme.background
    pairs = zip(_channels(colour), _channels(towards), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * abs(share)):02x}" for a, b in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
