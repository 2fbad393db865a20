"""Charts drawn: the same look for all, colours that all can tell apart, and no clipped labels."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heatgraph._io.atomic_files import atomic_write
from heatgraph.report.document import Bars, Chart, Panel, Points, Scatter, Series
from heatgraph.report.plots import NO_DATE, STYLE

# Okabe and Ito's palette, with black last.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676", "#000000",
)  # fmt: skip
MARKERS = "osD^vPX*"
FORMATS = ("png", "svg")
# Inches of a panel with axes, and of a picture of points.
SIZE, SMALL, LARGE = (4.6, 3.6), (2.6, 2.8), (7.2, 5.0)
# Lines that a legend among them has room for.
MOST_LINES = 5
# Where a name may stand beside its point, in typographic points; the nearest first.
NAME_PLACES = [
    (side, sign * rise) for rise in range(0, 200, 9) for sign in (1, -1) for side in (7, -7)
]


def panel_svg(panel: Panel) -> bytes:
    """One panel by itself, as SVG."""
    from matplotlib import rc_context

    drawn = io.BytesIO()
    with rc_context(STYLE):
        figure = _figure([panel], 1)
        figure.savefig(drawn, format="svg", metadata=NO_DATE["svg"])
    return drawn.getvalue()


def write_chart(chart: Chart, folder: Path) -> list[Path]:
    """Draw a chart into `folder`, as PNG and as SVG; give the files."""
    from matplotlib import rc_context

    written = []
    with rc_context(STYLE):
        figure = _figure(chart.panels, chart.columns)
        for form in FORMATS:
            path = folder / f"{chart.name}.{form}"
            with atomic_write(path) as file:
                figure.savefig(file, format=form, metadata=NO_DATE.get(form))
            written.append(path)
    return written


def _figure(panels: Sequence[Panel], columns: int) -> Any:
    from matplotlib.figure import Figure

    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    width, height = {Scatter: SMALL, Points: LARGE}.get(type(panels[0].content), SIZE)
    figure = Figure(figsize=(width * columns, height * rows), dpi=130, layout="constrained")
    for place, panel in enumerate(panels, start=1):
        _draw(figure.add_subplot(rows, columns, place), panel)
    _explain_lines(figure, panels)
    named = [
        (axes, panel.content)
        for axes, panel in zip(figure.axes, panels, strict=True)
        if isinstance(panel.content, Points)
    ]
    if named:
        figure.draw_without_rendering()  # names are placed when axes have theirs
        for axes, points in named:
            _name_points(axes, points)
    return figure


def _draw(axes: Any, panel: Panel) -> None:
    axes.set_title(panel.title, fontsize=11, parse_math=False)
    if isinstance(panel.content, Scatter):
        _draw_points(axes, panel.content)
        return
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    if "x" in panel.log:
        axes.set_xscale("log")
        axes.tick_params(axis="x", which="minor", labelbottom=False)
    if "y" in panel.log:
        axes.set_yscale("log")
        axes.tick_params(axis="y", which="minor", labelleft=False)
    if isinstance(panel.content, Bars):
        _draw_bars(axes, panel.content)
        return
    if isinstance(panel.content, Points):
        _draw_named_points(axes, panel.content)
        return
    for number, series in enumerate(panel.content):
        colour = number if series.colour is None else series.colour
        _draw_line(axes, series, colour % len(COLOURS))


def _explain_lines(figure: Any, panels: Sequence[Panel]) -> None:
    """Name lines: in each panel, or once below all if they are many and everywhere the same."""
    labels = [
        [series.name for series in panel.content] if isinstance(panel.content, Sequence) else []
        for panel in panels
    ]
    if len(labels[0]) > MOST_LINES and all(names == labels[0] for names in labels):
        lines = figure.axes[0].get_lines()
        figure.legend(lines, labels[0], loc="outside lower center", ncols=4, frameon=False)
        return
    for axes, names in zip(figure.axes, labels, strict=True):
        if len(names) > 1:
            axes.legend(frameon=False, fontsize=9)


def _draw_line(axes: Any, series: Series, number: int) -> None:
    colour = COLOURS[number]
    look = {"ls": "--"} if series.dashed else {"marker": MARKERS[number], "ms": 4}
    axes.plot(series.x, series.y, color=colour, lw=1.8, label=series.name, **look)
    if series.spread is not None:
        low, high = (
            [y + sign * s for y, s in zip(series.y, series.spread, strict=True)] for sign in (-1, 1)
        )
        axes.fill_between(series.x, low, high, color=colour, alpha=0.2, lw=0)


def _draw_points(axes: Any, scatter: Scatter) -> None:
    # As an image inside the SVG too: thousands of points as paths make it slow to open.
    colours = [COLOURS[code % len(COLOURS)] for code in scatter.classes.tolist()]
    axes.scatter(*scatter.points.T, s=3, c=colours, lw=0, rasterized=True)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _draw_named_points(axes: Any, points: Points) -> None:
    for number, (x, y, spread) in enumerate(zip(points.x, points.y, points.spread, strict=True)):
        look = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        axes.errorbar([x], [y], [spread], ms=5, lw=1.2, capsize=2, **look)
    axes.margins(x=0.15, y=0.1)


def _name_points(axes: Any, points: Points) -> None:
    """Write names beside points, each at the first place where it covers no other and no point."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    places = axes.transData.transform(list(zip(points.x, points.y, strict=True)))
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in places]
    inside = axes.get_window_extent()
    for number, name in enumerate(points.names):
        for side, rise in NAME_PLACES:
            text = axes.annotate(
                name,
                (points.x[number], points.y[number]),
                (side, rise),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                va="center",
                fontsize=8,
                color=COLOURS[number % len(COLOURS)],
                arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "#999999"} if rise else None,
                parse_math=False,
            )
            text.get_window_extent()  # puts it into its place
            box = Text.get_window_extent(text)  # without the line that leads to it
            fits = inside.x0 <= box.x0 and box.x1 <= inside.x1
            fits = fits and inside.y0 <= box.y0 and box.y1 <= inside.y1
            if fits and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


def _readable(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _draw_bars(axes: Any, bars: Bars) -> None:
    places = range(len(bars.names))
    drawn = axes.barh(places, bars.values, color=COLOURS[0])
    axes.bar_label(drawn, [_readable(value) for value in bars.values], padding=3, fontsize=9)
    axes.set_yticks(places, bars.names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.2)
