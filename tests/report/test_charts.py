"""Charts drawn by matplotlib."""

import base64
import re

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from heatgraph.report import charts
from heatgraph.report.charts import panel_svg, write_chart
from heatgraph.report.document import Bars, Chart, Panel, Points, Series, Span
from heatgraph.report.palette import css_variables

SMALL_CHART = Chart("drawn", "", [Panel("bars", Bars(["a", "b"], [1.0, 2.5]), "time")], 1)


def test_charts_are_written_as_png_and_svg(tmp_path):
    files = write_chart(SMALL_CHART, tmp_path)
    assert [path.name for path in files] == ["drawn.png", "drawn.svg"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    drawn = files[1].read_bytes()
    write_chart(SMALL_CHART, tmp_path)
    assert files[1].read_bytes() == drawn  # the same chart is the same file
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drawn.png", "drawn.svg"]


@pytest.mark.parametrize("number", range(4))
def test_labels_are_not_clipped(chart, number):
    """Every text of a panel lies within its picture."""
    panel = chart.panels[number]
    with rc_context(charts.STYLE):
        figure = charts._figure([panel], 1)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    width, height = canvas.get_width_height()
    (axes,) = figure.axes
    names = axes.get_yticklabels() if isinstance(panel.content, Bars) else []
    for text in (axes.title, axes.xaxis.label, axes.yaxis.label, *names):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert box.x0 >= -1, text
            assert box.y0 >= -1, text
            assert box.x1 <= width + 1, text
            assert box.y1 <= height + 1, text


def test_one_series_needs_no_legend(chart):
    several, one, *_ = charts._figure(chart.panels, 2).axes
    assert [t.get_text() for t in several.get_legend().get_texts()] == ["first", "second"]
    assert one.get_legend() is None
    lines = several.get_lines()
    assert lines[0].get_color() == lines[1].get_color() == charts.COLOURS[0]
    assert (several.get_xscale(), several.get_yscale()) == ("log", "log")
    assert (one.get_xscale(), one.get_yscale()) == ("log", "linear")


def test_panels_with_the_same_many_lines_share_a_legend():
    names = [f"line {number}" for number in range(7)]
    panels = [
        Panel(title, [Series(name, [1, 2], [place, 3]) for place, name in enumerate(names)])
        for title in ("time", "memory")
    ]
    figure = charts._figure(panels, 2)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names
    assert [axes.get_legend() for axes in figure.axes] == [None, None]


def test_scatter_plots_are_rasterised_in_the_svg(chart):
    """Thousands of paths would make it slow to open."""
    drawn = panel_svg(chart.panels[2])
    (image,) = re.findall(rb"data:image/png;base64,([^\"]+)", drawn)
    assert base64.b64decode(image).startswith(b"\x89PNG")


def test_pictures_of_pages_have_colours_of_both_themes(chart):
    drawn = panel_svg(chart.panels[0]).decode()
    assert "prefers-color-scheme: dark" in drawn
    outside = drawn.replace(css_variables(), "")
    assert not set(re.findall("#[0-9a-f]{6}", outside))  # every colour is a variable
    assert {"var(--ink)", "var(--class-0)", "var(--background)"} <= set(
        re.findall(r"var\(--[\w-]+\)", outside)
    )


def test_spans_are_drawn_behind_lines():
    spans = [Span("plateau", 1.0, 2.0), Span("chosen", 1.5, 1.5)]
    panel = Panel("", [Series("line", [0, 3], [1, 2])], spans=spans)
    (axes,) = charts._figure([panel], 1).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "plateau", "chosen", "line"
    ]  # fmt: skip
    assert [set(line.get_xdata()) for line in axes.get_lines()] == [{1.5}, {0, 3}]
    (shaded,) = axes.patches
    assert (shaded.get_x(), shaded.get_x() + shaded.get_width()) == (1.0, 2.0)


def test_names_of_points_do_not_overlap():
    rng = np.random.default_rng(3)
    names = [f"method {number}" for number in range(25)]
    x, y = 10 ** rng.uniform(0, 2, 25), rng.uniform(80, 84, 25)
    points = Points(names, x.tolist(), y.tolist(), [0.3] * 25)
    figure = charts._figure([Panel("", points, "x", "y", "x")], 1)
    (axes,) = figure.axes
    figure.draw_without_rendering()
    written = {text.get_text(): Text.get_window_extent(text) for text in axes.texts}
    assert set(written) == set(names)
    boxes = list(written.values())
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:number])
