"""Charts drawn by matplotlib: one style, a colour-blind safe palette, no clipped labels."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heatgraph._io.atomic_files import atomic_write
from heatgraph.report.document import Bars, Chart, Panel, Points, Scatter, Series, Span
from heatgraph.report.palette import LIGHT, css_variables
from heatgraph.report.plots import NO_DATE, STYLE

COLOURS = LIGHT.classes
MARKERS = "osD^vPX*"
FORMATS = ("png", "svg")
# Width and height of a panel in inches.
PANEL_SIZE, SCATTER_SIZE, POINTS_SIZE = (4.6, 3.6), (2.6, 2.8), (7.2, 5.0)
# With more lines, panels with the same lines share one legend below the figure.
MAX_LINES_IN_LEGEND = 5
# Candidate offsets of a name from its point, in typographic points, nearest first.
NAME_OFFSETS = [
    (side, sign * rise) for rise in range(0, 200, 9) for sign in (1, -1) for side in (7, -7)
]


def panel_svg(panel: Panel) -> bytes:
    """Draw one panel as SVG, whose colours are light or dark as the reader prefers."""
    from matplotlib import rc_context

    svg = io.BytesIO()
    with rc_context(STYLE):
        figure = _figure([panel], 1)
        figure.savefig(svg, format="svg", metadata=NO_DATE["svg"])
    return with_themes(svg.getvalue().decode()).encode()


def with_themes(svg: str) -> str:
    """Replace the colours of the light theme in an SVG by CSS variables, and define these."""
    by_colour = {colour: name for name, colour in LIGHT.variables().items()}
    themed = re.sub(
        r"#[0-9a-f]{6}\b",
        lambda found: f"var({by_colour[found[0]]})" if found[0] in by_colour else found[0],
        svg,
    )
    return themed.replace("<defs>", f"<style>{css_variables()}</style>\n<defs>", 1)


def write_chart(chart: Chart, folder: Path) -> list[Path]:
    """Draw a chart into `folder` as PNG and SVG; return the paths."""
    from matplotlib import rc_context

    written = []
    with rc_context(STYLE):
        figure = _figure(chart.panels, chart.columns)
        for suffix in FORMATS:
            path = folder / f"{chart.name}.{suffix}"
            with atomic_write(path) as file:
                figure.savefig(file, format=suffix, metadata=NO_DATE.get(suffix))
            written.append(path)
    return written


def _figure(panels: Sequence[Panel], columns: int) -> Any:
    from matplotlib.figure import Figure

    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    width, height = {Scatter: SCATTER_SIZE, Points: POINTS_SIZE}.get(
        type(panels[0].content), PANEL_SIZE
    )
    figure = Figure(figsize=(width * columns, height * rows), dpi=130, layout="constrained")
    for place, panel in enumerate(panels, start=1):
        _draw(figure.add_subplot(rows, columns, place), panel)
    _add_legends(figure, panels)
    with_names = [
        (axes, panel.content)
        for axes, panel in zip(figure.axes, panels, strict=True)
        if isinstance(panel.content, Points)
    ]
    if with_names:
        figure.draw_without_rendering()  # fixes the layout that names are placed in
        for axes, points in with_names:
            _place_names(axes, points)
    return figure


def _draw(axes: Any, panel: Panel) -> None:
    axes.set_title(panel.title, fontsize=11, parse_math=False)
    if isinstance(panel.content, Scatter):
        _draw_scatter(axes, panel.content)
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
        _draw_points(axes, panel.content)
        return
    for span in panel.spans:
        _draw_span(axes, span)
    for number, series in enumerate(panel.content):
        colour = number if series.colour is None else series.colour
        _draw_line(axes, series, colour % len(COLOURS))


def _add_legends(figure: Any, panels: Sequence[Panel]) -> None:
    """Add a legend to each panel, or one below the figure if panels share many lines."""
    labels = [_legend_names(panel) for panel in panels]
    if len(labels[0]) > MAX_LINES_IN_LEGEND and all(names == labels[0] for names in labels):
        lines = figure.axes[0].get_lines()
        figure.legend(lines, labels[0], loc="outside lower center", ncols=4, frameon=False)
        return
    for axes, names in zip(figure.axes, labels, strict=True):
        if len(names) > 1:
            axes.legend(frameon=False, fontsize=9)


def _legend_names(panel: Panel) -> list[str]:
    if not isinstance(panel.content, Sequence):
        return []
    return [span.name for span in panel.spans] + [series.name for series in panel.content]


def _draw_line(axes: Any, series: Series, number: int) -> None:
    colour = COLOURS[number]
    look = {"ls": "--"} if series.dashed else {"marker": MARKERS[number], "ms": 4}
    axes.plot(series.x, series.y, color=colour, lw=1.8, label=series.name, **look)
    if series.spread is not None:
        low, high = (
            [y + sign * s for y, s in zip(series.y, series.spread, strict=True)] for sign in (-1, 1)
        )
        axes.fill_between(series.x, low, high, color=colour, alpha=0.2, lw=0)


def _draw_span(axes: Any, span: Span) -> None:
    if span.low == span.high:
        axes.axvline(span.low, color=LIGHT.soft, lw=1.5, ls="--", label=span.name)
    else:
        axes.axvspan(span.low, span.high, color=LIGHT.soft, alpha=0.15, lw=0, label=span.name)


def _draw_scatter(axes: Any, scatter: Scatter) -> None:
    # Rasterised even in the SVG, which is slow to open with thousands of paths.
    # Such pixels cannot follow the reader's theme, so black is left out.
    colours = [COLOURS[code % (len(COLOURS) - 1)] for code in scatter.classes.tolist()]
    axes.scatter(*scatter.points.T, s=3, c=colours, lw=0, rasterized=True)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _draw_points(axes: Any, points: Points) -> None:
    for number, (x, y, spread) in enumerate(zip(points.x, points.y, points.spread, strict=True)):
        look = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        axes.errorbar([x], [y], [spread], ms=5, lw=1.2, capsize=2, **look)
    axes.margins(x=0.15, y=0.1)


def _place_names(axes: Any, points: Points) -> None:
    """Write each name at the first offset where it overlaps neither a name nor a point."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    positions = axes.transData.transform(list(zip(points.x, points.y, strict=True)))
    occupied = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in positions]
    inside = axes.get_window_extent()
    for number, name in enumerate(points.names):
        for side, rise in NAME_OFFSETS:
            text = axes.annotate(
                name,
                (points.x[number], points.y[number]),
                (side, rise),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                va="center",
                fontsize=8,
                color=COLOURS[number % len(COLOURS)],
                arrowprops={"arrowstyle": "-", "lw": 0.4, "color": LIGHT.soft} if rise else None,
                parse_math=False,
            )
            text.get_window_extent()  # computes the position
            box = Text.get_window_extent(text)  # without the arrow
            fits = inside.x0 <= box.x0 and box.x1 <= inside.x1
            fits = fits and inside.y0 <= box.y0 and box.y1 <= inside.y1
            if fits and not any(box.overlaps(other) for other in occupied):
                occupied.append(box)
                break
            text.remove()


def _format_value(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _draw_bars(axes: Any, bars: Bars) -> None:
    places = range(len(bars.names))
    drawn = axes.barh(places, bars.values, color=COLOURS[0])
    axes.bar_label(drawn, [_format_value(value) for value in bars.values], padding=3, fontsize=9)
    axes.set_yticks(places, bars.names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.2)
